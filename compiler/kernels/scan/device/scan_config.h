// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kernels of cumulative sums and the compiler share.

#ifndef FUSEC_KERNELS_SCAN_CONFIG_H
#define FUSEC_KERNELS_SCAN_CONFIG_H

namespace fusec {

/// Vectors of a thread that are on their way together.
constexpr int scanSteps = 4;

} // namespace fusec

#endif // FUSEC_KERNELS_SCAN_CONFIG_H
