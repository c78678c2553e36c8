// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls a kernel that may crash or never end.

#ifndef FUSEC_TEST_HOST_HOSTCALL_H
#define FUSEC_TEST_HOST_HOSTCALL_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include <string>

namespace fusec {

/// What stopped the call, or nothing. It must own nothing that a jump out of it
/// would leak.
std::string callGuarded(llvm::function_ref<void()> call, unsigned seconds);

} // namespace fusec

#endif // FUSEC_TEST_HOST_HOSTCALL_H
