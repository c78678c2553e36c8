// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What became of a model, as facts: `fusec explain` prints them as text or as
// JSON. Names are as the model has them.

#ifndef FUSEC_TOOLS_FUSEC_EXPLANATION_H
#define FUSEC_TOOLS_FUSEC_EXPLANATION_H

#include "compiler/Compiler.h"
#include "compiler/analysis/StepBytes.h"
#include "tools/fusec/MeasuredSteps.h"
#include "llvm/Support/JSON.h"

namespace fusec {

struct Explanation {
  struct Estimate {
    double microseconds;
    int64_t dim; // of what is named, where anything is
    std::string bound;
  };
  struct Schedule {
    std::string text;
    /// All of them hold where it runs.
    std::vector<std::string> guards;
    std::optional<Estimate> estimate;
    /// By `fusec tune`; 0: not.
    double measuredMicroseconds = 0;
  };
  /// In microseconds, of the launch that ran; what was predicted of it when
  /// its bundle was compiled is 0 where nothing was.
  struct Measured {
    double microseconds, predicted;
  };
  struct Kernel {
    std::string name, family;
    StepBytes bytes;
    std::vector<std::string> nodes;
    /// The kernel that computes this one's result first, in all cases or where
    /// its schedule has a lead; empty where there is none.
    std::string ledBy;
    bool isAlwaysLed = false;
    /// The first whose guards hold; none of what is always led.
    std::vector<Schedule> schedules;
    unsigned variants = 0;
    /// By a profile that was given, whose run launched it.
    std::optional<Measured> measured;
  };
  struct Total {
    /// Of a run in which each step takes its first schedule, and of one in
    /// which no kernel computes another's product first.
    unsigned kernels, mostKernels;
    StepBytes bytes;
  };
  struct Remark {
    std::string topic, name, message;
    bool passed;
    std::vector<std::string> nodes;
  };
  /// A low-rank update that no option marks yet.
  struct Update {
    std::string name, a, b;
    int64_t rank, rows, columns;
    std::optional<double> scale;
  };

  std::string target;
  std::map<std::string, int64_t> dims;
  /// Not fixed; bytes are of `typicalDim` each.
  std::vector<std::string> namedDims;
  Total fused, plain;
  std::vector<Kernel> kernels;
  std::vector<Remark> remarks;
  std::vector<Update> updates;

  llvm::json::Object toJson() const;
};

/// Of the first plan.
Explanation::Total getTotal(const Compilation &compilation);
std::vector<Explanation::Kernel> explainKernels(Compilation &compilation);
/// Each once.
std::vector<Explanation::Remark> explainRemarks(const Compilation &compilation);
std::vector<Explanation::Update> explainUpdates(ModelOp imported);
/// Throws Failure where the steps, which are of `file`, are not those of the
/// explained kernels.
void addMeasured(Explanation &explanation, llvm::ArrayRef<MeasuredStep> steps,
                 const std::string &file);

} // namespace fusec

#endif // FUSEC_TOOLS_FUSEC_EXPLANATION_H
