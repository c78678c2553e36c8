// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Remarks: which rewrite or merge happened, which did not and why. They go
// through MLIR's remark engine, so that a pass builds no text when nobody
// listens; `fusec explain` listens with `collectRemarks`, `fusec-opt` with
// `--remarks-filter`.

#ifndef FUSEC_COMPILER_REMARKS_H
#define FUSEC_COMPILER_REMARKS_H

#include "compiler/RemarkKinds.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Remarks.h"
#include <string>
#include <vector>

namespace fusec {

/// The topic as `--remarks-filter` matches it.
llvm::StringRef getName(RemarkTopic topic);

/// A decision taken, and one not taken. The reason follows by `<<`. Emit before
/// the op is erased.
mlir::remark::detail::InFlightRemark remarkPassed(RemarkKind kind,
                                                  mlir::Location loc);
mlir::remark::detail::InFlightRemark remarkMissed(RemarkKind kind,
                                                  mlir::Location loc);

struct CollectedRemark {
  bool passed;
  std::string topic, name, message;
  mlir::Location loc;
};

/// From now on appends each remark of the context to `remarks`, which must
/// outlive the context's use.
mlir::LogicalResult collectRemarks(mlir::MLIRContext &context,
                                   std::vector<CollectedRemark> &remarks);

/// The names of the model's nodes behind a location, each once, in order.
std::vector<std::string> getSourceNames(mlir::Location loc);

} // namespace fusec

#endif // FUSEC_COMPILER_REMARKS_H
