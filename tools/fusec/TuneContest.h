// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The schedules of one step, compiled and run against each other. A step
// becomes a model of its own, with one variant.

#ifndef FUSEC_TOOLS_FUSEC_TUNECONTEST_H
#define FUSEC_TOOLS_FUSEC_TUNECONTEST_H

#include "compiler/Compiler.h"
#include "compiler/schedule/Schedules.h"
#include "tools/fusec/StepTimer.h"

namespace fusec {

struct Contender {
  VariantAttr variant; // of the plan in `compilation`
  double predicted = 0, measured = 0;
  std::unique_ptr<Compilation> compilation;
  /// Why it does not run; empty where it does.
  std::string refusal;

  std::string getSchedule() const {
    return getScheduleText(variant.getSchedule());
  }
};

/// The steps of one problem. The first contender that runs is what would have
/// been compiled.
struct Contest {
  TuningEntry entry;
  std::vector<Contender> contenders;
  /// After the last rounds, in microseconds.
  double model = 0, tuned = 0;
  std::string modelSchedule, tunedSchedule;
  double predicted = 0;
  /// What the device said where measuring ended early.
  std::string failure;
  TouchedRows touched;

  double getGain() const { return model / tuned - 1; }
  /// Less is noise, or not worth an entry.
  bool isKept() const { return getGain() >= 0.02; }
};

/// Of a step whose problem is not among the contests yet; nothing otherwise,
/// nor of steps without a choice. `limit`: schedules, 0 for all.
void addContest(StepOp step, const CompileOptions &compileOptions,
                unsigned limit, std::vector<Contest> &contests);
/// All kernels together, which keeps all cores busy, and again those that stand
/// in for others.
void compileContests(llvm::MutableArrayRef<Contest> contests,
                     KernelCompiler &compiler, const std::string &model,
                     bool quiet);
/// Whether there were two schedules to compare; what the device refuses is kept
/// as the contest's failure.
bool measureContest(Contest &contest, StepTimer &timer,
                    const NvrtcVersion &nvrtc, int ordinal, unsigned rounds);

} // namespace fusec

#endif // FUSEC_TOOLS_FUSEC_TUNECONTEST_H
