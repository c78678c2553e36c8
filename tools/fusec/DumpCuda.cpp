// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/fusec/DumpCuda.h"
#include "tools/fusec/WriteFile.h"

#include <fmt/core.h>
#include <set>

using namespace fusec;

std::string fusec::getText(const EmittedKernel &kernel) {
  std::string whose;
  if (kernel.steps > 1)
    whose = fmt::format("// Of the first of {} steps that launch it and differ "
                        "in names alone.\n",
                        kernel.steps);
  return whose + kernel.text;
}

void fusec::dumpCuda(llvm::ArrayRef<EmittedKernel> kernels,
                     const std::string &folder) {
  makeFolder(folder + "/fusec");
  for (auto [name, text] : getDeviceHeaders())
    dumpFile(folder + "/fusec/" + name.str(), text);
  // symbol -> distinct texts.
  std::map<std::string, std::set<std::string>> texts;
  for (const EmittedKernel &kernel : kernels)
    texts[kernel.symbol].insert(kernel.text);
  std::set<std::string> written;
  for (const EmittedKernel &kernel : kernels) {
    std::string file = kernel.symbol;
    if (texts[kernel.symbol].size() > 1)
      file += "." + kernel.target;
    if (!written.insert(file).second)
      continue;
    std::string arch = kernel.target == "ptx" ? "compute_80" : kernel.target;
    dumpFile(fmt::format("{}/{}.cu", folder, file),
             fmt::format("// nvcc -std=c++17 -arch={} -Ifusec -{} {}.cu\n{}",
                         arch, kernel.target == "ptx" ? "ptx" : "cubin", file,
                         getText(kernel)));
  }
}
