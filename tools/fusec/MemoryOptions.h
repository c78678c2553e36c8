// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How much of a model's tables lies on the device: shared by commands that run
// models.

#ifndef FUSEC_TOOLS_FUSEC_MEMORYOPTIONS_H
#define FUSEC_TOOLS_FUSEC_MEMORYOPTIONS_H

#include "runtime/include/fusec/fusec.hpp"

#include <CLI/CLI.hpp>

namespace fusec {

class MemoryOptions {
public:
  void addTo(CLI::App &app);
  /// Throws Failure.
  LoadOptions getLoadOptions(int ordinal) const;

private:
  uint64_t deviceMemory = 0;
  std::vector<std::string> deviceRows;
};

} // namespace fusec

#endif // FUSEC_TOOLS_FUSEC_MEMORYOPTIONS_H
