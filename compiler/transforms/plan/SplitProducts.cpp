// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/transforms/plan/SplitProducts.h"
#include "compiler/analysis/Iteration.h"
#include "compiler/kernels/Family.h"
#include "compiler/kernels/gemm/device/gemm_config.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace fusec;

/// Of a tile along K in shared memory, to every unit that multiplies by tensor
/// cores; others take less at a time.
static constexpr int64_t rowBytes = 128;

/// Whether matrices begin at constant places of their buffers: ranges are all
/// that kernels then add.
static bool haveConstantPlaces(StepOp step) {
  auto isConstant = [](const MatrixAccess &access) {
    return access.batch.isConstant();
  };
  FailureOr<MatmulIteration> iteration = analyzeMatmul(step);
  return succeeded(iteration) && llvm::all_of(iteration->lhs, isConstant) &&
         llvm::all_of(iteration->rhs,
                      [&](auto &rhs) { return llvm::all_of(rhs, isConstant); });
}

ContractionOp fusec::getSplittableProduct(StepOp step, std::string &reason) {
  auto products = step.getBody().front().getOps<ContractionOp>();
  if (step.getFamily() != Family::Gemm || !llvm::hasSingleElement(products)) {
    reason = "it is not one product";
    return {};
  }
  ContractionOp product = *products.begin();
  Type type = getElementType(product.getLhs()[0]);
  if (!type.isF16() && !type.isBF16() && !type.isF32())
    reason = "its sums are not kept in fp32";
  else if (getRank(product.getAccumulators()[0]) != 2)
    reason = "it has a batch";
  else if (!llvm::all_of(product.getLhs(), [](Value lhs) {
             return getSizes(lhs).back().isConstant();
           }))
    reason = "its K is only named";
  else if (llvm::any_of(product.getLhs(), [](Value lhs) {
             return getSizes(lhs).back().getValue() > mostExtent;
           }))
    reason = "its K is longer than kernels count";
  else if (!haveConstantPlaces(step))
    reason = "its matrices begin where only sizes tell";
  return reason.empty() ? product : ContractionOp();
}

/// What a part sums of a segment: whole rows of shared memory.
static int64_t getRange(Value lhs, int64_t parts) {
  int64_t row = rowBytes / getElementBytes(getElementType(lhs));
  return llvm::alignTo(llvm::divideCeil(getSizes(lhs).back().getValue(), parts),
                       row);
}

SmallVector<int64_t> fusec::getSplits(ContractionOp product, int64_t most,
                                      int64_t leastK) {
  int64_t sum = 0, longest = 0;
  for (Value lhs : product.getLhs()) {
    int64_t k = getSizes(lhs).back().getValue();
    sum += k;
    longest = std::max(longest, k);
  }
  auto fillsAll = [&](int64_t parts) {
    return llvm::any_of(product.getLhs(), [&](Value lhs) {
      int64_t k = getSizes(lhs).back().getValue();
      return k == longest && (parts - 1) * getRange(lhs, parts) < k;
    });
  };
  SmallVector<int64_t> splits;
  for (int64_t parts = 2; parts <= most && sum / parts >= leastK; ++parts)
    if (fillsAll(parts))
      splits.push_back(parts);
  return splits;
}

void SplitStep::erase() {
  sum.erase();
  products.erase();
  auto plan = cast<PlanOp>(parts[0]->getParentOp());
  // Theirs are the last of the slots.
  plan.setSlotsAttr(ArrayAttr::get(
      plan.getContext(), plan.getSlots().getValue().drop_back(parts.size())));
  for (BufferOp buffer : parts)
    buffer.erase();
}

namespace {
/// Builds one of the two from some of the step's ops.
class StepBuilder {
public:
  StepBuilder(StepOp from, Family family, const Twine &name)
      : from(from), builder(from), context(from.getContext()) {
    auto plain =
        VariantAttr::get(context, {}, getPlainSchedule(family, context));
    step = StepOp::create(builder, from.getLoc(), name.str(), family,
                          builder.getArrayAttr({}), builder.getArrayAttr({}),
                          builder.getArrayAttr({plain}), from.getSources());
    builder.setInsertionPointToEnd(&step.getBody().emplaceBlock());
  }

  /// Reads the buffer.
  Value addInput(Attribute ref, Type type) {
    inputs.push_back(ref);
    return step.getBody().front().addArgument(type, step.getLoc());
  }
  /// Clones what the values depend on, down to those that are mapped already.
  void clone(ValueRange values);
  StepOp finish(ArrayRef<Attribute> outputs, ValueRange yielded);

  IRMapping mapping;

private:
  StepOp from;

public:
  OpBuilder builder;
  StepOp step;

private:
  MLIRContext *context;
  SmallVector<Attribute> inputs;
};
} // namespace

void StepBuilder::clone(ValueRange values) {
  llvm::SmallPtrSet<Operation *, 16> needed;
  SmallVector<Value> open(values);
  while (!open.empty()) {
    Value value = open.pop_back_val();
    if (mapping.contains(value))
      continue;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      Attribute ref = from.getInputs()[argument.getArgNumber()];
      mapping.map(value, addInput(ref, value.getType()));
    } else if (needed.insert(value.getDefiningOp()).second) {
      llvm::append_range(open, value.getDefiningOp()->getOperands());
    }
  }
  for (Operation &op : from.getBody().front())
    if (needed.contains(&op))
      builder.clone(op, mapping);
}

StepOp StepBuilder::finish(ArrayRef<Attribute> outputs, ValueRange yielded) {
  YieldOp::create(builder, step.getLoc(), yielded);
  step.setInputsAttr(builder.getArrayAttr(inputs));
  step.setOutputsAttr(builder.getArrayAttr(outputs));
  return step;
}

/// In a slot of its own.
static BufferOp createSlot(StepOp before, StringRef name,
                           RankedTensorType type) {
  auto plan = cast<PlanOp>(before->getParentOp());
  MLIRContext *context = plan.getContext();
  SmallVector<Attribute> slots(plan.getSlots().getValue());
  SmallVector<Expr> sizes = getSizes(type);
  OpBuilder builder(*plan.getOps<StepOp>().begin());
  SmallVector<Attribute> strides =
      llvm::map_to_vector(getDenseStrides(sizes, context),
                          [](Expr e) { return Attribute(e.getAttr()); });
  std::string free = name.str();
  for (unsigned i = 0; SymbolTable::lookupSymbolIn(plan, free); ++i)
    free = (name + "_" + Twine(i)).str();
  auto buffer = BufferOp::create(
      builder, before.getLoc(), builder.getStringAttr(free),
      BufferKindAttr::get(context, BufferKind::Slot),
      builder.getI64IntegerAttr(slots.size()),
      Expr::constant(context, 0).getAttr(), builder.getArrayAttr(strides),
      TypeAttr::get(type), ElementsAttr(), ReplaceableAttr());
  slots.push_back(
      (getElementCount(sizes, context) * getElementBytes(type.getElementType()))
          .getAttr());
  plan.setSlotsAttr(builder.getArrayAttr(slots));
  return buffer;
}

/// "sum_add_relu" of "matmul_add_relu".
static std::string nameSum(StringRef name) {
  return name.consume_front("matmul") ? ("sum" + name).str()
                                      : ("sum_" + name).str();
}

SplitStep fusec::splitProduct(StepOp step, ContractionOp product,
                              int64_t parts) {
  SplitStep split;
  Location loc = step.getLoc();
  StepBuilder first(step, Family::Gemm, "matmul_ranges");
  OpBuilder &builder = first.builder;
  first.clone(product->getOperands());
  auto map = [&](ValueRange factors) {
    return llvm::map_to_vector(
        factors, [&](Value factor) { return first.mapping.lookup(factor); });
  };
  SmallVector<int64_t> lengths = llvm::map_to_vector(
      product.getLhs(), [&](Value lhs) { return getRange(lhs, parts); });
  SmallVector<Expr> sizes = getSizes(product.getAccumulators()[0]);
  sizes.insert(sizes.begin(), Expr::constant(step.getContext(), parts));
  RankedTensorType type = getTensorType(sizes, builder.getF32Type());
  SmallVector<Type> types(product.getNumAccumulators(), type);
  auto ranges = ContractionOp::create(
      builder, loc, types, map(product.getLhs()), map(product.getRhs()),
      builder.getDenseI64ArrayAttr(lengths));

  StepBuilder second(step, Family::Reduce, nameSum(step.getName()));
  SmallVector<Attribute> refs;
  for (Value accumulator : product.getAccumulators()) {
    split.parts.push_back(createSlot(step, "ranges", type));
    refs.push_back(FlatSymbolRefAttr::get(split.parts.back()));
    Value value = second.addInput(refs.back(), type);
    Type sumType =
        getTensorType(ArrayRef(sizes).drop_front(), builder.getF32Type());
    value = ReduceOp::create(second.builder, loc, sumType, ReduceKind::Sum,
                             value, ArrayRef<int64_t>{0});
    if (sumType != accumulator.getType())
      value = CastOp::create(second.builder, loc, accumulator.getType(), value);
    second.mapping.map(accumulator, value);
  }
  split.products = first.finish(refs, ranges.getAccumulators());
  auto results = step.getBody().front().getTerminator()->getOperands();
  second.clone(results);
  SmallVector<Value> yielded = llvm::map_to_vector(
      results, [&](Value value) { return second.mapping.lookup(value); });
  split.sum = second.finish(step.getOutputs().getValue(), yielded);
  return split;
}
