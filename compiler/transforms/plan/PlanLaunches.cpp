// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How each variant's kernel is launched becomes part of the plan.

#include "compiler/Passes.h"
#include "compiler/kernels/Launch.h"

namespace fusec {
#define GEN_PASS_DEF_PLANLAUNCHES
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace mlir;
using namespace fusec;

namespace {
struct PlanLaunches : fusec::impl::PlanLaunchesBase<PlanLaunches> {
  void runOnOperation() override { planLaunches(getOperation()); }
};
} // namespace
