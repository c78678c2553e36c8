// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/transforms/plan/SplitProducts.h"
#include "compiler/kernels/Family.h"
#include "compiler/transforms/tensor/Rewrites.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace fusec;

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
  return reason.empty() ? product : ContractionOp();
}

SmallVector<int64_t> fusec::getSplits(ContractionOp product, int64_t most,
                                      int64_t leastK) {
  constexpr int64_t lineBytes = 16;
  int64_t line =
              lineBytes / getElementBytes(getElementType(product.getLhs()[0])),
          sum = 0;
  SmallVector<int64_t> splits;
  auto divides = [&](int64_t parts) {
    return llvm::all_of(product.getLhs(), [&](Value lhs) {
      return getSizes(lhs).back().getValue() % (parts * line) == 0;
    });
  };
  for (Value lhs : product.getLhs())
    sum += getSizes(lhs).back().getValue();
  for (int64_t parts = 2; parts <= most && sum / parts >= leastK; ++parts)
    if (divides(parts))
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

/// A factor's ranges of K, in front: [m, k] as [part, m, k], [k, n] as
/// [part, k, n].
static Value createRanges(OpBuilder &builder, Value factor, unsigned axisK,
                          int64_t parts) {
  SmallVector<Expr> sizes = getSizes(factor);
  Expr count = Expr::constant(builder.getContext(), parts),
       k = Expr::constant(builder.getContext(),
                          sizes[axisK].getValue() / parts);
  Location loc = factor.getLoc();
  if (axisK == 0)
    return createExpand(builder, loc, factor, {count, k, sizes[1]},
                        {{0, 1}, {2}});
  Value ranges =
      createExpand(builder, loc, factor, {sizes[0], count, k}, {{0}, {1, 2}});
  return createTranspose(builder, loc, ranges, {1, 0, 2});
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
  auto getRanges = [&](ValueRange factors, unsigned axisK) {
    return llvm::map_to_vector(factors, [&](Value factor) {
      return createRanges(builder, first.mapping.lookup(factor), axisK, parts);
    });
  };
  SmallVector<Value> lhs = getRanges(product.getLhs(), 1),
                     rhs = getRanges(product.getRhs(), 0);
  SmallVector<Expr> sizes = getSizes(product.getAccumulators()[0]);
  sizes.insert(sizes.begin(), Expr::constant(step.getContext(), parts));
  RankedTensorType type = getTensorType(sizes, builder.getF32Type());
  SmallVector<Type> types(product.getNumAccumulators(), type);
  auto ranges = ContractionOp::create(builder, loc, types, lhs, rhs);

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
