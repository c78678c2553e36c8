// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A profile's runs in Chrome's trace event format, which Perfetto opens.

#ifndef FUSEC_TOOLS_FUSEC_TRACE_H
#define FUSEC_TOOLS_FUSEC_TRACE_H

#include "runtime/include/fusec/fusec.hpp"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

namespace fusec {

/// A lane of the host, with a slice for each run that it enqueues, and for each
/// stream of the device one, with a slice for each kernel; a second where
/// kernels start before the one ahead of them has ended. `model` and `device`
/// name what was measured.
void writeTrace(llvm::raw_ostream &os, const Profile &profile,
                llvm::StringRef model, llvm::StringRef device);

} // namespace fusec

#endif // FUSEC_TOOLS_FUSEC_TRACE_H
