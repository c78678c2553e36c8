// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows that indices name.

#include "compiler/kernels/pointwise/Pointwise.h"

using namespace mlir;
using namespace fusec;

/// How many rows, of whole dimensions of the source, indices name.
static double countRows(GatherOp gather, int64_t dim) {
  SmallVector<Expr> source = getSizes(gather.getSource());
  ArrayRef<int64_t> positions = gather.getPositions();
  size_t first = positions.size();
  while (first && positions[first - 1] >= 0)
    --first;
  auto count = [&](ArrayRef<Expr> sizes) {
    return double(
        getSampledValue(getElementCount(sizes, gather.getContext()), dim));
  };
  return count(getSizes(gather.getResult())) /
         std::max(1.0, count(ArrayRef(source).drop_front(first)));
}

double fusec::getBytesBesideRows(StepOp step, const Target &target,
                                 int64_t dim) {
  double beside = 0;
  auto getBytes = [&](ValueRange values) {
    double bytes = 0;
    for (Value value : values)
      bytes += double(getSampledValue(
                   getElementCount(getSizes(value), step.getContext()), dim)) *
               getElementBytes(getElementType(value));
    return bytes;
  };
  auto add = [&](double rows, ValueRange tables, Value result) {
    double others = std::max(0.0, getBytes(tables) - getBytes(result));
    beside += std::min(rows * target.pointwise.rowBytes, others);
  };
  step.getBody().walk([&](Operation *op) {
    if (auto gather = dyn_cast<GatherOp>(op))
      add(countRows(gather, dim), gather.getSource(), gather.getResult());
    if (auto lookup = dyn_cast<LookupOp>(op))
      add(double(getSampledValue(
              getElementCount(getSizes(lookup.getIndices()), step.getContext()),
              dim)),
          lookup.getTables(), lookup.getResult());
  });
  return beside;
}
