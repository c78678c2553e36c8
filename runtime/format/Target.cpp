// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading names of targets.

#include "runtime/format/Target.h"

namespace fusec::format {

std::optional<Target> parseTarget(std::string_view name) {
  Target target;
  if (name == "ptx") {
    target.capability = ptxCapability;
    target.ptx = true;
    return target;
  }
  if (name.substr(0, 3) != "sm_")
    return std::nullopt;
  name.remove_prefix(3);
  if (!name.empty() && name.back() == 'a') {
    target.archSpecific = true;
    name.remove_suffix(1);
  }
  if (name.size() < 2 || name.size() > 3 || name.front() == '0')
    return std::nullopt;
  for (char digit : name) {
    if (digit < '0' || digit > '9')
      return std::nullopt;
    target.capability = 10 * target.capability + unsigned(digit - '0');
  }
  return target;
}

} // namespace fusec::format
