// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/transforms/plan/SplitProducts.h"
#include "compiler/analysis/Iteration.h"
#include "compiler/kernels/gemm/device/gemm_config.h"

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

/// "sum_add_relu" of "matmul_add_relu".
static std::string nameSum(StringRef name) {
  return name.consume_front("matmul") ? ("sum" + name).str()
                                      : ("sum_" + name).str();
}

CutStep fusec::splitProduct(StepOp step, ContractionOp product, int64_t parts) {
  CutStep split;
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
  split.first = first.finish(refs, ranges.getAccumulators());
  split.second = second.finishAll();
  return split;
}
