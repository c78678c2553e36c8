// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which plan of a bundle a device runs.

#ifndef FUSEC_RUNTIME_SRC_PLANCHOICE_H
#define FUSEC_RUNTIME_SRC_PLANCHOICE_H

#include "runtime/format/Manifest.h"

#include <optional>
#include <string>

namespace fusec::rt {

struct DeviceLimits {
  unsigned capability;      // 10 * major + minor
  unsigned maxSharedMemory; // bytes a block can opt in to
  unsigned driver;          // as cuDriverGetVersion says it
};

// The index of the best plan that fits: the device's own "a" target, else the
// highest of its major version that is not above it, else PTX. Nothing where
// none fits, with `reasons` saying why, plan by plan.
std::optional<size_t> choosePlan(const format::Manifest &manifest,
                                 const DeviceLimits &limits,
                                 std::string &reasons);

// The --arch value that compiles for a device of this capability.
std::string archFor(unsigned capability);
// The command that makes the bundle anew, with the options that it was made
// with, for a device of this capability.
std::string compileCommand(const format::Manifest &manifest,
                           unsigned capability);

} // namespace fusec::rt

#endif
