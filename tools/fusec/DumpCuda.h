// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels as files that people read and nvcc compiles.

#ifndef FUSEC_TOOLS_FUSEC_DUMPCUDA_H
#define FUSEC_TOOLS_FUSEC_DUMPCUDA_H

#include "compiler/bundle/KernelSet.h"

namespace fusec {

/// The kernel's text, and how many steps launch it where several do.
std::string getText(const EmittedKernel &kernel);

/// Writes `folder`/KERNEL.cu for each kernel, or KERNEL.TARGET.cu where its
/// text depends on the target, and the headers they include into
/// `folder`/fusec. Throws Failure.
void dumpCuda(llvm::ArrayRef<EmittedKernel> kernels, const std::string &folder);

} // namespace fusec

#endif // FUSEC_TOOLS_FUSEC_DUMPCUDA_H
