// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether the kernels of a plan compute what the reference says, whichever of
// their variants run and wherever the user's tensors lie.

#ifndef FUSEC_TEST_HOST_HOSTCHECK_H
#define FUSEC_TEST_HOST_HOSTCHECK_H

#include "test/host/HostPlan.h"

namespace fusec {

/// Executes the plan once for each variant that may run, then with tensors that
/// are not aligned. Empty where all results agree with the reference's of the
/// plan and `judge` finds nothing to say about them.
std::string checkPlan(
    HostPlan &plan, const KernelLibrary &library,
    llvm::ArrayRef<reference::Tensor> inputs,
    llvm::function_ref<std::string(const reference::Tensors &outputs)> judge);

/// How results differ from those of the reference, or nothing: sums in another
/// order, and functions of another library, move a float by some units in its
/// last place; what is not a float does not move.
std::string compareWithReference(const reference::Tensor &expected,
                                 const reference::Tensor &got);

} // namespace fusec

#endif // FUSEC_TEST_HOST_HOSTCHECK_H
