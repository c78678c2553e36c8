// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/transforms/tensor/Accumulators.h"
#include "compiler/kernels/gemm/wgmma/device/gemm_wgmma_config.h"
#include "compiler/transforms/fusion/FusionGroups.h"

using namespace mlir;
using namespace fusec;

bool fusec::canBeGrouped(ContractionOp a, ContractionOp b) {
  if (a.getLhs() != b.getLhs() || a.getRhs().empty() ||
      a.getNumAccumulators() + b.getNumAccumulators() >
          unsigned(wgmmaMaxAccumulators))
    return false;
  for (unsigned s = 0; s < a.getNumSegments(); ++s)
    if (a.getRhs(s, 0).getType() != b.getRhs(s, 0).getType() ||
        !lieAlike(a.getRhs(s, 0), b.getRhs(s, 0)))
      return false;
  return true;
}

ContractionOp fusec::groupContractions(ArrayRef<ContractionOp> members) {
  OpBuilder builder(members.back());
  SmallVector<Value> rhs;
  SmallVector<Type> types;
  SmallVector<Location> locs;
  ContractionOp first = members.front();
  for (unsigned s = 0; s < first.getNumSegments(); ++s)
    for (ContractionOp member : members)
      for (unsigned j = 0; j < member.getNumAccumulators(); ++j)
        rhs.push_back(member.getRhs(s, j));
  for (ContractionOp member : members) {
    llvm::append_range(types, member.getAccumulators().getTypes());
    locs.push_back(member.getLoc());
  }
  Location loc = builder.getFusedLoc(locs);
  auto grouped =
      ContractionOp::create(builder, loc, types, first.getLhs(), rhs);
  unsigned next = 0;
  for (ContractionOp member : members)
    for (Value result : member.getAccumulators())
      result.replaceAllUsesWith(grouped.getAccumulators()[next++]);
  for (ContractionOp member : members)
    member.erase();
  return grouped;
}
