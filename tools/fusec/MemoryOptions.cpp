// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/fusec/MemoryOptions.h"
#include "tools/fusec/Failure.h"
#include "tools/fusec/ModelOptions.h"
#include "llvm/ADT/StringRef.h"
#include <fmt/core.h>

using namespace fusec;

void MemoryOptions::addTo(CLI::App &app) {
  app.add_option("--device-memory", deviceMemory,
                 "what weights may take of the device's memory; rows of tables "
                 "beyond it lie in pinned memory of the host")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false))
      ->type_name("BYTES[K|M|G]");
  app.add_option("--device-rows", deviceRows,
                 "how many of a table's first rows lie on the device")
      ->type_name("TABLE=N");
}

LoadOptions MemoryOptions::getLoadOptions(int ordinal) const {
  LoadOptions options;
  options.device = ordinal;
  options.deviceMemory = deviceMemory;
  for (const std::string &text : deviceRows) {
    auto [name, count] = splitPair("--device-rows", text);
    int64_t rows = 0;
    if (llvm::StringRef(count).getAsInteger(10, rows) || rows < 0)
      fail(ExitCode::Usage,
           fmt::format("--device-rows {}: expected a number of rows, got '{}'",
                       name, count));
    options.deviceRows.emplace_back(name, rows);
  }
  return options;
}
