// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What passes that join pairs of steps have in common: try a pair, ask whether
// the one kernel is there and pays by the target's cost model, keep it or say
// why not.

#ifndef FUSEC_COMPILER_TRANSFORMS_PLAN_JOINPAIRS_H
#define FUSEC_COMPILER_TRANSFORMS_PLAN_JOINPAIRS_H

#include "compiler/Options.h"
#include "compiler/Remarks.h"
#include "compiler/transforms/plan/JoinSteps.h"

namespace fusec {

/// When one kernel pays instead of two. There is one plan for all sizes of the
/// named dimensions: over `sampledDims`, the product of its times must be no
/// larger than that of the two's.
struct JoinTolerance {
  /// At one size of them it may take up to so many times as long.
  double atOneSize;
  /// Whether the two are timed as launches of which the second is placed while
  /// the first drains.
  bool overlaps;
};

/// Chains are of narrow products, of which launches are most of the time: what
/// two of them hide counts, and a loss at one size is one of a whole launch.
constexpr JoinTolerance chainTolerance = {1, /*overlaps=*/true};
/// About what the cost model errs by: a reduction saves a trip to memory, too.
constexpr JoinTolerance rowEpilogueTolerance = {1.1, /*overlaps=*/false};
/// What computes an operand is a short launch that hides in part: less than
/// this gain is no more than what the model errs by.
constexpr JoinTolerance prologueTolerance = {0.97, /*overlaps=*/true};
/// Of weights that would be computed when compiling nothing is saved but the
/// bytes that they have more: a gain where rows are few, which the many may
/// lose a little of.
constexpr JoinTolerance weightTolerance = {1.25, /*overlaps=*/false};
/// Products of one operand save a launch and its second read, which L2 has: a
/// gain too small to lose as much at another size.
constexpr JoinTolerance groupTolerance = {1.03, /*overlaps=*/false};
/// Pointwise steps beside one another save what both read, or a launch, which
/// is more than predicted: 132.7 us for 135.9 where 129.2 were for 131.0.
constexpr JoinTolerance siblingTolerance = {0.99, /*overlaps=*/true};

/// How a pass joins.
struct JoinRule {
  RemarkKind remark;
  /// Of the joined step.
  Family family;
  JoinTolerance tolerance;
  std::string (*name)(StepOp first, StepOp second);
  /// Why there is no kernel of such a form, or nothing; it may bring the joined
  /// step into that form. Null: every one has it.
  std::function<std::string(StepOp joined)> check;
  /// The reason where the target has no schedule for the joined step.
  llvm::StringRef noKernel;
  /// For tests: join wherever there is a kernel, whatever its time.
  bool always = false;
};

/// Of a reduction with what it reduces: both names, unless that is long to
/// read.
std::string nameReduced(StepOp producer, StepOp reduction);

/// Joins steps of one plan by one rule.
class PairJoiner {
public:
  PairJoiner(PlanOp plan, const Target &target, Products products,
             JoinRule rule)
      : joiner(plan), target(target), products(products),
        rule(std::move(rule)) {}
  /// Buffers that passed from one step to another are gone with its last use.
  ~PairJoiner() {
    if (changed)
      joiner.eraseUnusedBuffers();
  }

  /// The steps of which the step reads a result, the last one first.
  llvm::SmallVector<StepOp> getProducers(StepOp step) const {
    return joiner.getProducers(step);
  }

  /// The second step and the first of the others with which it may and should
  /// be one step; null where there is none, with a remark on each.
  StepOp join(llvm::ArrayRef<StepOp> firsts, StepOp second);

private:
  StepOp tryJoin(StepOp first, StepOp second, std::string &reason);
  std::string checkTime(const Estimates &together, StepOp first, StepOp second);
  const Estimates &getTimes(StepOp step);

  StepJoiner joiner;
  const Target &target;
  Products products;
  JoinRule rule;
  bool changed = false;
  /// At each of `sampledDims`, of steps that are there.
  llvm::DenseMap<mlir::Operation *, Estimates> times;
};

} // namespace fusec

#endif // FUSEC_COMPILER_TRANSFORMS_PLAN_JOINPAIRS_H
