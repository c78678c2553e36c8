// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PyTorch exports nn.EmbeddingBag as a loop over bags. What the loop's body
// computes of one bag is followed symbolically; where that is a reduction of
// the bag's rows, the loop is an embedding bag. The two exporters' forms are
// read by the same rules: one lists results as a scan output, the other inserts
// them into a sequence, with branches for empty bags, the last one, and
// padding.

#ifndef FUSEC_FRONTENDS_ONNX_BAGLOOP_H
#define FUSEC_FRONTENDS_ONNX_BAGLOOP_H

#include "frontends/onnx/GraphImporter.h"

namespace fusec::onnx {

/// Ids that are compared with that of padding, which is left out.
struct BagPadding {
  mlir::Value ids;
  int64_t rows = 0; // added to negative ids; 0: nothing is
  int64_t row = 0;

  bool operator==(const BagPadding &other) const {
    return ids == other.ids && rows == other.rows && row == other.row;
  }
};

/// The rows of the loop's bag b: those whose places are from offsets[b] to
/// offsets[b + 1].
struct BagRows {
  mlir::Value offsets;
  mlir::Value table;
  mlir::Value ids; // null: the places are the table's rows
  mlir::Value weights;
  std::optional<BagPadding> padding;
  BagMode mode = BagMode::Sum; // once they are reduced

  bool operator==(const BagRows &other) const {
    return offsets == other.offsets && table == other.table &&
           ids == other.ids && weights == other.weights &&
           padding == other.padding && mode == other.mode;
  }
};

/// What a name in the loop's body stands for.
struct LoopValue {
  enum class Kind {
    Unknown,
    Outer,    // the same for all bags: `value`
    Bag,      // the bag's number, and `shift`
    Bound,    // offsets[bag + shift] of `rows`
    Count,    // places in the bag; of those without padding where it is given
    Range,    // `value` at the bag's places
    Rows,     // the bag's rows
    Reduced,  // and their reduction
    Sequence, // results; of the bags before, or with this one's `rows`
    // Of the loop that leaves out padding:
    Place,  // a place in the bag, and `shift`
    Id,     // `value` there
    Places, // places without padding, of those before or with this one
    // Conditions:
    IsEmpty,    // the bag
    HasRows,    // or its opposite
    IsLast,     // the bag
    GoesOn,     // the number `shift` from this is one of a bag
    GoesOnIn,   // the same of places
    IsNegative, // an id
    IsPadding,
    IsNoPadding
  };
  Kind kind = Kind::Unknown;
  mlir::Value value;
  int64_t shift = 0;
  BagRows rows;
  bool isColumn = false; // a range as a column
  bool isNew = false;    // of what grows: with this turn's
};

class BagLoop {
public:
  BagLoop(GraphImporter &graph, GraphImporter::Scope &scope,
          const ::onnx::NodeProto &loop);

  /// The bags; null where the loop is none, and `reason` says why.
  mlir::Value import();
  /// Whether results are a sequence, and which of the outputs they are.
  bool isSequence() const { return sequence.has_value(); }
  int getOutput() const { return sequence.value_or(0); }
  std::string reason;
  /// Whether something of it has been refused before.
  bool dependsOnProblem = false;

private:
  using Kind = LoopValue::Kind;
  using Values = llvm::SmallVector<LoopValue>;

  /// The loop's form: counts bags, and gives the body's inputs.
  std::optional<Values> readInputs();
  LoopValue getResult(llvm::ArrayRef<LoopValue> outputs);
  mlir::Value createBag(BagRows rows);
  /// Sees through gathers whose rows are reduced later.
  void findTable(BagRows &rows);

  LoopValue find(llvm::StringRef name);
  Values evaluate(const ::onnx::GraphProto &graph,
                  llvm::ArrayRef<LoopValue> inputs);
  void evaluate(const ::onnx::NodeProto &node);
  LoopValue evaluateOperator(const ::onnx::NodeProto &node,
                             llvm::ArrayRef<LoopValue> inputs);
  LoopValue evaluateSum(llvm::StringRef type, LoopValue a, LoopValue b);
  LoopValue evaluateComparison(llvm::StringRef type, const LoopValue &a,
                               const LoopValue &b);
  LoopValue evaluateGather(const LoopValue &source, const LoopValue &index);
  LoopValue evaluateSlice(llvm::ArrayRef<LoopValue> inputs);
  LoopValue evaluateProduct(LoopValue a, LoopValue b);
  LoopValue evaluateReduction(const ::onnx::NodeProto &node,
                              llvm::ArrayRef<LoopValue> inputs);
  LoopValue evaluateIf(const ::onnx::NodeProto &node,
                       const LoopValue &condition);
  /// Which output of the loop that leaves out padding are the places.
  static int getPlacesOutput(llvm::ArrayRef<LoopValue> inputs) {
    return inputs.size() == 4 && inputs[2].kind == Kind::Bound ? 1 : 0;
  }
  LoopValue evaluatePlaces(const ::onnx::NodeProto &node,
                           llvm::ArrayRef<LoopValue> inputs);

  static LoopValue outer(mlir::Value value);
  LoopValue getBound(mlir::Value offsets, int64_t shift);
  std::optional<Expr> getKnown(const LoopValue &value);
  bool isKnown(const LoopValue &value, int64_t number);

  GraphImporter &graph;
  GraphImporter::Scope &scope;
  const ::onnx::NodeProto &loop;
  GraphImporter::Scope inner;
  llvm::StringMap<LoopValue> values;
  TensorBuilder builder;
  std::optional<Expr> bags;
  std::optional<Expr> last;    // what the number of the last bag must be
  std::optional<int> sequence; // which output is one
};

} // namespace fusec::onnx

#endif // FUSEC_FRONTENDS_ONNX_BAGLOOP_H
