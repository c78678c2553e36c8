// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The checks of a manifest, as one class because most of them need its
// dimensions and tensors. Private to checkManifest.

#ifndef FUSEC_RUNTIME_FORMAT_MANIFESTCHECKER_H
#define FUSEC_RUNTIME_FORMAT_MANIFESTCHECKER_H

#include "runtime/format/Bounds.h"
#include "runtime/format/Manifest.h"
#include "runtime/format/Target.h"
#include "runtime/format/Where.h"

namespace fusec::format {

// Every member throws ReadError at the first value that is wrong.
class ManifestChecker {
public:
  explicit ManifestChecker(Manifest &manifest) : manifest(manifest) {}
  void check();

private:
  // Returns what it can be.
  Bounds checkExpr(Expr &expr, const Where &where);
  void checkSize(Expr &expr, const Where &where);
  void checkDims();
  void checkTensors(std::vector<TensorSpec> &tensors, const char *key);
  void checkIndexRanges(const TensorSpec &tensor, const Where &where);
  void checkWeight(const Weight &weight, const Where &where);
  void checkFactor(const Weight &weight, const Where &where);
  void checkDense(const Weight &weight, const Where &where);
  void checkWeightNames(const Plan &plan, const Where &where);
  void checkAdapters(const Plan &plan, const Where &where);
  void checkBuffer(Plan &plan, Buffer &buffer, const Where &where);
  void checkPlan(Plan &plan, const Where &where);

  void checkStep(Plan &plan, const Target &target, Step &step,
                 const Where &where);
  void checkCondition(Condition &condition, const Where &where);
  void checkLaunch(Plan &plan, const Target &target, Launch &launch,
                   const Where &where);
  void checkWork(const Plan &plan, Work &work, const Where &where);
  void checkParam(const Plan &plan, const Target &target, Param &param,
                  const Where &where);
  void checkPointer(const Plan &plan, Pointer &pointer, const Where &where);
  void checkTensorMap(const Plan &plan, const Target &target,
                      TensorMapParam &map, const Where &where);

  Manifest &manifest;
};

} // namespace fusec::format

#endif
