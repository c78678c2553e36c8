// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps that do not read one another become one where they read the same:
// pointwise ones, also where they are so short that a launch shows (q and k
// that are rotated, the parts that a tensor is split into), and reductions (a
// sum and a maximum of one tensor, or the maximum and its place).

#include "compiler/Passes.h"
#include "compiler/kernels/pointwise/Pointwise.h"
#include "compiler/kernels/reduce/Reduce.h"
#include "compiler/schedule/Schedules.h"
#include "compiler/transforms/plan/JoinPairs.h"

using namespace mlir;

namespace fusec {
#define GEN_PASS_DEF_JOINSIBLINGS
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace fusec;

/// Steps back that a sibling may be, and stores and ops of a kernel: more are
/// long to read, and what they load is in registers together.
static constexpr size_t mostBack = 4, mostStores = 8, mostOps = 64;

static std::string nameSiblings(StepOp first, StepOp second) {
  std::string name = (first.getName() + "_" + second.getName()).str();
  return name.size() < 48 ? name : first.getName().str();
}

/// Whether a step of the family looks nothing up by indices: that is in flight
/// best alone.
static bool isPlain(StepOp step, Family family) {
  return step.getFamily() == family && step.getOutputs().size() <= mostStores &&
         step.getBody().front().getOps<GatherOp>().empty() &&
         step.getBody().front().getOps<LookupOp>().empty();
}

static bool isTooLong(StepOp joined) {
  Block &body = joined.getBody().front();
  return joined.getOutputs().size() > mostStores ||
         llvm::range_size(body.without_terminator()) > mostOps;
}

/// Of reductions, what registers hold of a row is little where one walk finds
/// all of it, and nothing waits for it to be stored: kernels of both largest
/// and smallest places, or of a softmax and its logarithm, were spilled.
static std::string checkReductions(StepOp joined) {
  if (isTooLong(joined))
    return "one kernel would have too many results or ops";
  FailureOr<RowIteration> rows = analyzeRows(joined);
  if (failed(rows))
    return "they reduce other rows";
  if (getPasses(*rows).size() > 1)
    return "one walk along a row does not find all of it";
  if (!getFullStores(*rows).empty())
    return "something is stored at every point of a row";
  return "";
}

static std::string checkPointwise(StepOp joined) {
  if (isTooLong(joined))
    return "one kernel would have too many results or ops";
  auto pieces = analyzePointwisePieces(joined, getAlignmentIfGuarded);
  if (failed(pieces))
    return "they share no kernel";
  size_t stores = 0;
  for (const PointwisePiece &piece : *pieces)
    stores += piece.iteration.stores.size();
  if (stores > mostStoresTogether)
    return "one kernel would have too many pieces";
  // A thread of narrow accesses has more of them on their way, which leaves
  // short kernels with too few threads.
  for (const PointwisePiece &piece : *pieces)
    if (piece.accesses.width != pieces->front().accesses.width ||
        piece.isByRows() != pieces->front().isByRows())
      return "their accesses are of different widths";
  return "";
}

static bool shareReading(StepOp first, StepOp second) {
  return llvm::any_of(first.getInputs(), [&](Attribute ref) {
    return llvm::is_contained(second.getInputs(), ref);
  });
}

namespace {
struct JoinSiblings : fusec::impl::JoinSiblingsBase<JoinSiblings> {
  using JoinSiblingsBase::JoinSiblingsBase;

  void runOnOperation() override {
    PlanOp plan = getOperation();
    const Target *target = getPlanTarget(plan);
    if (!target)
      return signalPassFailure();
    Family family = reductions ? Family::Reduce : Family::Pointwise;
    PairJoiner joiner(plan, *target, {},
                      {remarks::joinSiblings, family, siblingTolerance,
                       nameSiblings,
                       reductions ? checkReductions : checkPointwise,
                       "they share no kernel", always});
    // A launch less shows then, whatever the steps read.
    auto isShort = [&](StepOp step) {
      if (reductions)
        return false;
      auto time = estimateStep(step, *target, {}, typicalDim)[0];
      return time && time->microseconds < target->pointwise.siblingMicros;
    };
    SmallVector<StepOp> before; // the last ones
    for (StepOp step : llvm::to_vector(plan.getOps<StepOp>())) {
      if (!isPlain(step, family))
        continue;
      while (true) {
        SmallVector<StepOp> producers = joiner.getProducers(step), siblings;
        // One that was joined at the place of the earlier of two is before
        // others, which may read what it computes.
        for (StepOp other : llvm::reverse(before))
          if (other->isBeforeInBlock(step) &&
              !llvm::is_contained(producers, other) &&
              (shareReading(other, step) || (isShort(other) && isShort(step))))
            siblings.push_back(other);
        StepOp joined = joiner.join(siblings, step);
        if (!joined)
          break;
        step = joined;
        llvm::SmallPtrSet<Operation *, 16> left;
        for (StepOp each : plan.getOps<StepOp>())
          left.insert(each);
        llvm::erase_if(before,
                       [&](StepOp other) { return !left.contains(other); });
      }
      before.push_back(step);
      if (before.size() > mostBack)
        before.erase(before.begin());
    }
  }
};
} // namespace
