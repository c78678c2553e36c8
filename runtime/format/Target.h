// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of targets: "sm_90a", "sm_80", "ptx".

#ifndef FUSEC_RUNTIME_FORMAT_TARGET_H
#define FUSEC_RUNTIME_FORMAT_TARGET_H

#include <optional>
#include <string_view>

namespace fusec::format {

// The compute capability that PTX plans are written for.
inline constexpr unsigned ptxCapability = 80;

struct Target {
  unsigned capability = 0;   // 10 * major + minor
  bool archSpecific = false; // the "a" suffix: this capability only
  bool ptx = false;

  unsigned major() const { return capability / 10; }
  unsigned minor() const { return capability % 10; }
};

std::optional<Target> parseTarget(std::string_view name);

} // namespace fusec::format

#endif
