// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constant weights lie along K, the only way the tensor cores of sm_90 read
// 32-bit elements from shared memory. Those of 16 bits can be read across K,
// too, but a tile's columns are then loaded 64 at a time: tiles of 96 or 160,
// which fit some shapes best, would load more than they have. What is quantised
// is made of bytes that lie along K. Exporters leave weights either way.

#include "compiler/Names.h"
#include "compiler/Passes.h"
#include "compiler/Remarks.h"
#include "compiler/transforms/tensor/QuantizedWeights.h"
#include "compiler/transforms/tensor/Rewrites.h"
#include "ir/Constants.h"
#include "ir/FusecOps.h"
#include "ir/reference/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/Parallel.h"
#include <cstring>

namespace fusec {
#define GEN_PASS_DEF_LAYOUTWEIGHTS
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace mlir;
using namespace fusec;

/// Whether an operand of a product is read across its rows.
static bool isAcrossK(OpOperand &use) {
  auto product = dyn_cast<MatmulOp>(use.getOwner());
  return product && (use.getOperandNumber() == 0 ? product.getTransposeLhs()
                                                 : !product.getTransposeRhs());
}

/// Of matrices one after another: each with its rows as columns.
template <class T>
static void transpose(ArrayRef<char> from, MutableArrayRef<T> to, int64_t rows,
                      int64_t columns) {
  // By squares of whole cache lines, each of which is read and written once:
  // lines a power of two apart would evict one another in between. A thread has
  // rows of the target to itself, so that no two ask the system for one page.
  constexpr int64_t side = 64 / sizeof(T);
  int64_t blocks = llvm::divideCeil(columns, side);
  int64_t batches = to.size() / (rows * columns);
  llvm::parallelFor(0, batches * blocks, [&](size_t index) {
    int64_t batch = index / blocks, first = index % blocks * side;
    int64_t width = std::min(side, columns - first);
    const char *source =
        from.data() + (batch * rows * columns + first) * sizeof(T);
    T *target = to.data() + (batch * columns + first) * rows;
    T square[side][side];
    for (int64_t firstRow = 0; firstRow < rows; firstRow += side) {
      int64_t height = std::min(side, rows - firstRow);
      for (int64_t row = 0; row < height; ++row)
        for (int64_t column = 0; column < width; ++column)
          std::memcpy(&square[column][row],
                      source +
                          ((firstRow + row) * columns + column) * sizeof(T),
                      sizeof(T));
      for (int64_t column = 0; column < width; ++column)
        std::copy_n(square[column], height, target + column * rows + firstRow);
    }
  });
}

/// The constant with its last two dimensions exchanged; where its elements are
/// not to be had, `reason` says why.
static FailureOr<ElementsAttr> transpose(ElementsAttr value, Location loc,
                                         std::string &reason) {
  FailureOr<ConstantData> from = getConstantData(value, reason);
  if (failed(from))
    return failure();
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> sizes(type.getShape());
  int64_t columns = sizes.pop_back_val(), rows = sizes.pop_back_val();
  sizes.append({columns, rows});
  auto to = reference::Tensor::allocate(type.getElementType(), sizes);
  if (to.getElementBytes() == 4)
    transpose(from->bytes, to.getMutableElements<uint32_t>(), rows, columns);
  else if (to.getElementBytes() == 2)
    transpose(from->bytes, to.getMutableElements<uint16_t>(), rows, columns);
  else
    transpose(from->bytes, to.getMutableElements<uint8_t>(), rows, columns);
  return to.toConstant(getNodeName(loc));
}

/// The factor of an update as it is then stored; nothing for whole weights,
/// which sessions replace by such as the model has.
static std::optional<ReplaceableAttr> transpose(ReplaceableAttr slot) {
  AdapterPart part = AdapterPart::Whole;
  switch (slot.getPart()) {
  case AdapterPart::A:
    part = AdapterPart::ATransposed;
    break;
  case AdapterPart::B:
    part = AdapterPart::BTransposed;
    break;
  case AdapterPart::ATransposed:
    part = AdapterPart::A;
    break;
  case AdapterPart::BTransposed:
    part = AdapterPart::B;
    break;
  case AdapterPart::Whole:
    return std::nullopt;
  }
  return ReplaceableAttr::get(slot.getContext(), slot.getName(), part);
}

/// A product reads the value along K from now on.
static void exchange(OpOperand &use, Value along) {
  auto product = cast<MatmulOp>(use.getOwner());
  if (use.getOperandNumber() == 0)
    product.setTransposeLhs(false);
  else
    product.setTransposeRhs(true);
  use.set(along);
}

static Type getTransposedType(Value value, Type element) {
  Sizes sizes = getSizes(value);
  std::swap(sizes[0], sizes[1]);
  return getTensorType(sizes, element);
}

//===----------------------------------------------------------------------===//
// Quantised weights
//===----------------------------------------------------------------------===//

/// Scales or zeros of the transposed matrix.
static Value transposeSpread(OpBuilder &builder, Value value) {
  Type type = getTransposedType(value, getElementType(value));
  if (auto splat = value.getDefiningOp<SplatOp>())
    return SplatOp::create(builder, value.getLoc(), type, splat.getValueAttr());
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  SmallVector<int64_t> dimensions(broadcast.getDimensions());
  for (int64_t &dimension : dimensions)
    dimension = 1 - dimension;
  Value source = broadcast.getOperand();
  if (dimensions.size() == 2) { // which are in order
    source = createMatrixTranspose(builder, value.getLoc(), source);
    std::swap(dimensions[0], dimensions[1]);
  }
  return BroadcastOp::create(builder, value.getLoc(), type, source, dimensions);
}

static void layOutQuantized(ConstantOp weights, int64_t leastK) {
  auto type = cast<RankedTensorType>(weights.getType());
  if (!type.getElementType().isInteger(8) || type.getRank() != 2 ||
      type.getDimSize(0) < leastK || type.getNumElements() == 0 ||
      weights.getValue().isSplat())
    return;
  OpOperand *read = nullptr;
  SmallVector<Operation *> ops = findDequantization(weights, read);
  if (ops.empty() || !isAcrossK(*read) || llvm::any_of(ops, isView))
    return;
  std::string reason;
  FailureOr<ElementsAttr> along =
      transpose(weights.getValue(), weights.getLoc(), reason);
  if (failed(along)) {
    remarkMissed(remarks::layOutWeights, weights.getLoc())
        << "the weights stay as they are: " << reason;
    return;
  }
  OpBuilder builder(read->getOwner());
  Value from = weights, to = ConstantOp::create(builder, weights.getLoc(),
                                                along->getType(), *along);
  remarkPassed(remarks::layOutWeights, to.getLoc())
      << "the quantised weights lie along K";
  for (Operation *op : ops) {
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand,
                  operand == from ? to : transposeSpread(builder, operand));
    Operation *copy = builder.clone(*op, mapping);
    Value result = copy->getResult(0);
    result.setType(getTransposedType(result, getElementType(result)));
    from = op->getResult(0);
    to = result;
  }
  exchange(*read, to);
  for (Operation *op : llvm::reverse(ops))
    op->erase();
  weights->erase();
}

//===----------------------------------------------------------------------===//
// Others
//===----------------------------------------------------------------------===//

/// `weights`: a constant, or one that sessions replace.
static void layOut(Operation *weights, ElementsAttr value, int64_t leastK) {
  auto type = cast<RankedTensorType>(value.getType());
  int64_t rank = type.getRank();
  Type element = type.getElementType();
  if (!(element.isF32() || element.isF16() || element.isBF16()) || rank < 2 ||
      type.getDimSize(rank - 2) < leastK || type.getNumElements() == 0)
    return;
  // Where it is also used as it is, there would be two of it.
  if (weights->use_empty() || !llvm::all_of(weights->getUses(), isAcrossK))
    return;
  auto replaceable = dyn_cast<ReplaceableOp>(weights);
  // All elements equal: a view of it would be one of a value to compute.
  if (!replaceable && value.isSplat())
    return;
  std::optional<ReplaceableAttr> slot;
  if (replaceable && !(slot = transpose(replaceable.getSlot())))
    return;
  std::string reason;
  FailureOr<ElementsAttr> along = transpose(value, weights->getLoc(), reason);
  if (failed(along)) {
    remarkMissed(remarks::layOutWeights, weights->getLoc())
        << "the weights stay as they are: " << reason;
    return;
  }
  OpBuilder builder(weights);
  Operation *laidOut =
      slot ? ReplaceableOp::create(builder, weights->getLoc(), along->getType(),
                                   *slot, *along)
                 .getOperation()
           : ConstantOp::create(builder, weights->getLoc(), along->getType(),
                                *along);
  for (OpOperand &use : llvm::make_early_inc_range(weights->getUses()))
    exchange(use, laidOut->getResult(0));
  weights->erase();
  remarkPassed(remarks::layOutWeights, laidOut->getLoc())
      << "the weights lie along K";
}

namespace {
struct LayOutWeights : fusec::impl::LayOutWeightsBase<LayOutWeights> {
  using LayOutWeightsBase::LayOutWeightsBase;

  void runOnOperation() override {
    Block &block = getOperation().getBody().front();
    // Listed first: what dequantises a constant may be the next op, and goes.
    for (auto constant : llvm::to_vector(block.getOps<ConstantOp>()))
      if (getElementType(constant).isInteger(8))
        layOutQuantized(constant, leastK);
      else
        layOut(constant, constant.getValue(), leastK);
    for (auto replaceable : llvm::to_vector(block.getOps<ReplaceableOp>()))
      layOut(replaceable, replaceable.getValue(), leastK);
  }
};
} // namespace
