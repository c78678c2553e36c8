// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a handler sees of the ONNX node that it imports: inputs as values,
// attributes with their types checked, outputs to be set, and the words for
// what is wrong. Attribute getters record a fault and give the default, so that
// handlers read straight on; the driver looks at the faults afterwards.

#ifndef FUSEC_FRONTENDS_ONNX_NODE_H
#define FUSEC_FRONTENDS_ONNX_NODE_H

#include "frontends/onnx/ElementTypes.h"
#include "frontends/onnx/KnownValues.h"
#include "frontends/onnx/Problems.h"
#include "frontends/onnx/TensorBuilder.h"
#include "frontends/onnx/proto/onnx.pb.h"
#include "llvm/ADT/StringSet.h"

namespace fusec::onnx {

class GraphImporter;

class Node {
public:
  using Value = mlir::Value;
  using LogicalResult = mlir::LogicalResult;
  template <typename T> using ArrayRef = llvm::ArrayRef<T>;
  template <typename T> using FailureOr = mlir::FailureOr<T>;

  Node(GraphImporter &graph, const ::onnx::NodeProto &proto, int64_t opset,
       TensorBuilder &b);

  TensorBuilder &b;
  const ::onnx::NodeProto &proto;
  const int64_t opset;
  llvm::StringRef getOpType() const { return proto.op_type(); }
  IndexPolicy getGatherPolicy() const;

  // Inputs. Those a table entry requires are there.
  unsigned getNumInputs() const { return inputs.size(); }
  bool hasInput(unsigned i) const { return i < inputs.size() && inputs[i]; }
  Value getInput(unsigned i) const { return inputs[i]; }
  ArrayRef<Value> getInputs() const { return inputs; }
  Sizes getInputSizes(unsigned i) const { return getSizes(inputs[i]); }
  int64_t getInputRank(unsigned i) const { return getRank(inputs[i]); }
  mlir::Type getInputType(unsigned i) const {
    return getElementType(inputs[i]);
  }
  void setInputs(llvm::SmallVector<Value> values) {
    inputs = std::move(values);
  }

  /// The elements of an input that shapes depend on; a problem, with how to go
  /// on, where they are not known. At most one-dimensional.
  FailureOr<llvm::SmallVector<Expr>> getShapeInput(unsigned i,
                                                   llvm::StringRef what);
  /// The same where they must be numbers.
  FailureOr<llvm::SmallVector<int64_t>> getIntsInput(unsigned i,
                                                     llvm::StringRef what);
  /// The elements of any integer value, if known.
  std::optional<llvm::SmallVector<Expr>> getKnown(Value value);

  // Attributes.
  bool hasAttr(llvm::StringRef name) const;
  int64_t getInt(llvm::StringRef name, int64_t defaultValue);
  bool getBool(llvm::StringRef name, bool defaultValue);
  double getFloat(llvm::StringRef name, float defaultValue);
  std::string getString(llvm::StringRef name, llvm::StringRef defaultValue);
  std::optional<llvm::SmallVector<int64_t>> getInts(llvm::StringRef name);
  std::optional<llvm::SmallVector<float>> getFloats(llvm::StringRef name);
  /// Null where it is absent or bad.
  mlir::ElementsAttr getTensor(llvm::StringRef name);
  /// An attribute that changes nothing here.
  void ignoreAttr(llvm::StringRef name);
  /// An attribute of an element type, null where it is bad or excluded.
  mlir::Type getTypeAttr(llvm::StringRef name, int64_t defaultValue);

  /// An axis in 0..rank-1, or failure. `rank` may be one more than the input's.
  FailureOr<int64_t> getAxis(int64_t axis, int64_t rank);
  FailureOr<llvm::SmallVector<int64_t>> getAxes(ArrayRef<int64_t> axes,
                                                int64_t rank);

  // Checks that several handlers share.
  LogicalResult checkTypes(unsigned input, Types allowed);
  LogicalResult checkSameTypes(ArrayRef<unsigned> inputs);
  /// Before products of sizes that are computed values are formed.
  LogicalResult checkProduct(ArrayRef<Expr> sizes);
  LogicalResult checkRank(unsigned input, int64_t least);
  /// Inputs as values of their common broadcast sizes.
  FailureOr<llvm::SmallVector<Value>>
  broadcastInputs(ArrayRef<unsigned> inputs);
  /// An input as a value of the sizes given (unidirectional broadcasting).
  FailureOr<Value> broadcastInput(unsigned input, ArrayRef<Expr> sizes);
  /// Records that two sizes must be equal.
  FailureOr<Expr> agree(Expr a, Expr b, llvm::StringRef reason);

  // Outputs.
  unsigned getNumOutputs() const { return proto.output_size(); }
  bool wantsOutput(unsigned i) const;
  LogicalResult setOutput(unsigned i, Value value);
  ArrayRef<Value> getOutputs() const { return outputs; }

  LogicalResult malformed(const llvm::Twine &message,
                          const llvm::Twine &note = "");
  LogicalResult unsupported(const llvm::Twine &message,
                            const llvm::Twine &note = "");

  /// Reports attributes that the handler did not ask for.
  LogicalResult checkAttributesUsed();
  bool hasFaults() const { return faults; }

private:
  const ::onnx::AttributeProto *
  find(llvm::StringRef name, ::onnx::AttributeProto::AttributeType type);

  GraphImporter &graph;
  llvm::SmallVector<Value> inputs, outputs;
  llvm::StringSet<> used;
  bool faults = false;
};

} // namespace fusec::onnx

#endif // FUSEC_FRONTENDS_ONNX_NODE_H
