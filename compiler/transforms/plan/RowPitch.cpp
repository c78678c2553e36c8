// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/transforms/plan/RowPitch.h"
#include "compiler/Remarks.h"
#include "compiler/analysis/Iteration.h"
#include "compiler/transforms/fusion/Regroupings.h"
#include "ir/Constants.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fusec;

/// What wide copies and tensor maps ask for.
static constexpr int64_t alignment = 16;
/// What they are fastest with: a row of a tile then touches one line of L2
/// instead of two. 2048 x 2000 x 2048 in fp16, rows of 15.6 lines, takes 30%
/// longer than 2048 cubed.
static constexpr int64_t line = 128;
/// Elements of a row that are worth a thought: a longer one gains nothing.
static constexpr int64_t longestRow = int64_t(1) << 40;

/// Whether a contraction reads the value as a matrix, maybe transposed.
static bool isMatrix(Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    return isa<ContractionOp>(user) ||
           (isa<TransposeOp>(user) && isMatrix(user->getResult(0)));
  });
}

/// Whether dimensions of the value are joined or split, which takes rows that
/// lie one after another. Matmuls are only formed where operands and results
/// are matrices in memory.
static bool isRegrouped(Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    return isa<CollapseOp, ExpandOp>(user) ||
           (isa<TransposeOp, SliceOp, BroadcastOp>(user) &&
            isRegrouped(user->getResult(0)));
  });
}

/// Bytes that a row should take: whole lines where they cost an eighth at most,
/// else aligned where that costs a quarter at most.
static int64_t getPaddedBytes(int64_t row) {
  int64_t lines = llvm::alignTo(row, line),
          aligned = llvm::alignTo(row, alignment);
  return 8 * (lines - row) <= row     ? lines
         : 4 * (aligned - row) <= row ? aligned
                                      : row;
}

/// The pitch that suits the value, as far as it can be seen alone.
static std::optional<int64_t> getWantedPitch(Value value) {
  SmallVector<Expr> sizes = getSizes(value);
  if (sizes.size() < 2 || !sizes.back().isConstant() ||
      sizes.back().getValue() > longestRow)
    return std::nullopt;
  int64_t width = getElementBytes(getElementType(value)),
          row = sizes.back().getValue() * width, padded = getPaddedBytes(row);
  if (padded == row)
    return std::nullopt;
  auto isOfMatmul = [](FusionOp fusion) {
    return fusion && fusion.getFamily() == Family::Gemm;
  };
  if (auto producer = value.getDefiningOp<FusionOp>(); isOfMatmul(producer)) {
    Value yielded = producer.getBody().front().getTerminator()->getOperand(
        cast<OpResult>(value).getResultNumber());
    if (isa_and_nonnull<CollapseOp, ExpandOp>(yielded.getDefiningOp()))
      return std::nullopt;
  }
  bool isRead = false;
  for (OpOperand &use : value.getUses()) {
    auto fusion = dyn_cast<FusionOp>(use.getOwner());
    if (!fusion)
      continue;
    Value inside = fusion.getBody().getArgument(use.getOperandNumber());
    // Lookups read tables whose rows lie one after another.
    if (llvm::any_of(inside.getUsers(), llvm::IsaPred<LookupOp, BagOp>))
      return std::nullopt;
    if (!isOfMatmul(fusion))
      continue;
    if (isRegrouped(inside))
      return std::nullopt;
    isRead |= isMatrix(inside);
  }
  if (!isRead)
    return std::nullopt;
  return padded / width;
}

namespace {
/// Where values lie, as BuildPlans places them.
class Layouts {
public:
  explicit Layouts(ModelOp model);
  /// Where a pitch takes a view away from a matmul, the pitch gives way.
  void settle();

  llvm::DenseMap<Value, int64_t> pitches;

private:
  SmallVector<Expr> getStrides(Value value) const;
  bool isMatmul(FusionOp fusion) const;
  llvm::SetVector<Value> getPitched(FusionOp fusion) const;

  /// The concat that a value is stored into, and the regrouping of the value
  /// that is the concat's operand.
  struct Slice {
    Value concat, operand;
  };
  ModelOp model;
  llvm::DenseMap<Value, Slice> slices;
};
} // namespace

Layouts::Layouts(ModelOp model) : model(model) {
  Block &block = model.getBody().front();
  auto want = [&](Value value) {
    if (auto pitch = getWantedPitch(value))
      pitches[value] = *pitch;
  };
  for (auto constant : block.getOps<ConstantOp>())
    want(constant);
  for (auto concat : block.getOps<ConcatOp>()) {
    want(concat);
    SmallVector<Expr> strides = getStrides(concat);
    for (Value operand : concat.getValues()) {
      slices[followRegroupings(operand).back()] = {concat, operand};
      // Operands that join rows rule out a pitch.
      if (!getStridesBehindRegroupings(operand, strides))
        pitches.erase(concat);
    }
  }
  for (auto fusion : block.getOps<FusionOp>())
    for (Value result : fusion.getResults())
      if (!slices.count(result))
        want(result);
  // The user's tensors are dense.
  for (Value output : block.getTerminator()->getOperands())
    pitches.erase(output);
}

SmallVector<Expr> Layouts::getStrides(Value value) const {
  SmallVector<Expr> sizes = getSizes(value);
  if (auto it = slices.find(value); it != slices.end())
    if (auto strides = getStridesBehindRegroupings(
            it->second.operand, getStrides(it->second.concat)))
      return *strides;
  if (auto it = pitches.find(value); it != pitches.end())
    return getPitchedStrides(sizes, it->second, value.getContext());
  return getDenseStrides(sizes, value.getContext());
}

/// Whether the fusion is still a matmul with an epilogue where its values lie.
bool Layouts::isMatmul(FusionOp fusion) const {
  Block &block = fusion.getBody().front();
  return succeeded(analyzeMatmul(
      llvm::to_vector(block.getTerminator()->getOperands()),
      [&](Operation *op) { return op->getBlock() == &block; },
      [&](Value v) {
        return getStrides(
            fusion.getInputs()[cast<BlockArgument>(v).getArgNumber()]);
      },
      [&](unsigned i) { return getStrides(fusion.getResults()[i]); }));
}

/// The values with a pitch whose memory the fusion reads or writes.
llvm::SetVector<Value> Layouts::getPitched(FusionOp fusion) const {
  llvm::SetVector<Value> found;
  for (ValueRange values :
       {ValueRange(fusion.getInputs()), ValueRange(fusion.getResults())})
    for (Value value : values) {
      auto slice = slices.find(value);
      Value memory = slice == slices.end() ? value : slice->second.concat;
      if (pitches.count(memory))
        found.insert(memory);
    }
  return found;
}

void Layouts::settle() {
  SmallVector<FusionOp> unchecked;
  llvm::DenseMap<Value, SmallVector<FusionOp>> matmulsOf;
  for (auto fusion : model.getBody().front().getOps<FusionOp>())
    if (fusion.getFamily() == Family::Gemm) {
      unchecked.push_back(fusion);
      for (Value value : getPitched(fusion))
        matmulsOf[value].push_back(fusion);
    }
  while (!unchecked.empty()) {
    FusionOp fusion = unchecked.pop_back_val();
    if (isMatmul(fusion))
      continue;
    // One value, if that is enough.
    SmallVector<Value> dense = getPitched(fusion).takeVector();
    auto isEnough = [&](Value value) {
      int64_t pitch = pitches.lookup(value);
      pitches.erase(value);
      bool enough = isMatmul(fusion);
      pitches[value] = pitch;
      return enough;
    };
    if (auto one = llvm::find_if(dense, isEnough); one != dense.end())
      dense = {*one};
    for (Value value : dense) {
      remarkMissed(remarks::rowPitch, value.getLoc())
          << "rows of " << std::to_string(pitches.lookup(value))
          << " elements: the value would no longer be a matrix of '"
          << fusion.getName() << "'";
      pitches.erase(value);
      // Accumulators of one kernel lie alike: other matmuls may be none now.
      llvm::append_range(unchecked, matmulsOf.lookup(value));
    }
  }
}

llvm::DenseMap<Value, int64_t> fusec::chooseRowPitches(ModelOp model) {
  Layouts layouts(model);
  layouts.settle();
  return std::move(layouts.pitches);
}

SmallVector<Expr> fusec::getPitchedStrides(ArrayRef<Expr> sizes, int64_t pitch,
                                           MLIRContext *context) {
  SmallVector<Expr> padded(sizes);
  padded.back() = Expr::constant(context, pitch);
  return getDenseStrides(padded, context);
}

FailureOr<ElementsAttr> fusec::padRows(ElementsAttr value, int64_t pitch,
                                       std::string &error) {
  FailureOr<ConstantData> data = getConstantData(value, error);
  if (failed(data))
    return failure();
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  int64_t width = getElementBytes(type.getElementType()),
          row = shape.back() * width, count = data->bytes.size() / row;
  shape.back() = pitch;
  auto bytes = std::make_shared<std::vector<char>>(count * pitch * width);
  for (int64_t i = 0; i != count; ++i)
    llvm::copy(data->bytes.slice(i * row, row),
               bytes->begin() + i * pitch * width);
  return makeConstant(RankedTensorType::get(shape, type.getElementType()),
                      *bytes, "padded", bytes);
}
