// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs whose inputs come from the host's memory, and whose outputs go there.

#ifndef FUSEC_TOOLS_FUSEC_TRANSFERS_H
#define FUSEC_TOOLS_FUSEC_TRANSFERS_H

#include "tools/fusec/BenchRun.h"

namespace fusec {

/// Times in milliseconds on the device.
struct TransferResult {
  /// Of whole runs with the copies on their stream, and of runs alone.
  std::vector<double> with, without;
  /// Of all copies before a run, and after it.
  std::vector<double> in, out;
  uint64_t bytesIn = 0, bytesOut = 0;

  void print() const;
  llvm::json::Object toJson() const;
};

/// Rounds with and without copies from and to pinned memory, in turn.
TransferResult measureTransfers(BenchRun &run, const MeasureOptions &options);

} // namespace fusec

#endif // FUSEC_TOOLS_FUSEC_TRANSFERS_H
