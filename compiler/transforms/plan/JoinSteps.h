// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two planned steps as one: the mechanics, for a pair that JoinPairs.h tries.

#ifndef FUSEC_COMPILER_TRANSFORMS_PLAN_JOINSTEPS_H
#define FUSEC_COMPILER_TRANSFORMS_PLAN_JOINSTEPS_H

#include "compiler/Remarks.h"
#include "compiler/kernels/Family.h"
#include "ir/PlanBuffers.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace fusec {

/// What two steps become.
struct JoinedStep {
  RemarkKind remark;
  Family family;
  std::string name;
  /// Why the new step, which then stands beside the two, is not wanted; or
  /// nothing.
  llvm::function_ref<std::string(StepOp)> check;
};
/// "'producer' and 'consumer'", as the remarks call them.
std::string nameBoth(StepOp producer, StepOp consumer);

/// Whether all that the step reads are weights, which no session replaces.
bool readsWeightsOnly(StepOp step, const PlanBuffers &buffers);

/// Joins steps of one plan, whose buffers stay what they are in between.
class StepJoiner {
public:
  explicit StepJoiner(PlanOp plan);

  /// The steps of which the step reads a result, the last one first.
  llvm::SmallVector<StepOp> getProducers(StepOp step) const;

  /// Whether the step is none at run time: fusec-fold-steps computes it.
  bool isOfWeights(StepOp step) const {
    return readsWeightsOnly(step, buffers);
  }

  /// One step of both regions in place of the two, with a remark. Null, and the
  /// reason, where a step between them needs the one's results for the other's
  /// operands, where those hold the one's results as parts, or where it is not
  /// wanted. Values that only pass from one to the other are no results of it.
  StepOp join(StepOp producer, StepOp consumer, const JoinedStep &joined,
              std::string &reason);
  /// Erases buffers and slots that no step is left to touch; the last call.
  void eraseUnusedBuffers();

private:
  /// The kind and index of buffers that may overlap.
  using Place = std::pair<unsigned, int64_t>;
  using Steps = llvm::SmallPtrSet<mlir::Operation *, 4>;

  BufferOp lookUp(mlir::Attribute ref) const;
  /// The step of which the buffer is a result; null where there is none.
  StepOp getWriter(mlir::Attribute ref) const { return writers.lookup(ref); }
  void add(StepOp step);
  void remove(StepOp step);
  const Steps &getSteps(bool write, BufferOp buffer) const;
  bool touches(mlir::ArrayAttr refs, BufferOp buffer) const;
  StepOp findPlace(StepOp producer, StepOp consumer) const;
  bool readsPartly(StepOp consumer, StepOp producer) const;
  bool isBetween(BufferOp buffer, StepOp producer, StepOp consumer) const;
  StepOp buildJoined(StepOp producer, StepOp consumer, StepOp place,
                     const JoinedStep &joined) const;

  PlanOp plan;
  PlanBuffers buffers;
  llvm::DenseMap<mlir::Attribute, StepOp> writers;
  /// Those that read a place, and those that write it; of weights, none.
  llvm::DenseMap<Place, Steps> steps[2];
};

} // namespace fusec

#endif // FUSEC_COMPILER_TRANSFORMS_PLAN_JOINSTEPS_H
