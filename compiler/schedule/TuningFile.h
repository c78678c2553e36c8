// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tuning files: schedules that ran faster on a device than the cost model's, as
// JSON that people can read, compare and merge.

#ifndef FUSEC_COMPILER_SCHEDULE_TUNINGFILE_H
#define FUSEC_COMPILER_SCHEDULE_TUNINGFILE_H

#include "compiler/schedule/TuningProblem.h"
#include "llvm/Support/Error.h"
#include <vector>

namespace fusec {

/// A schedule as text, with its time.
struct MeasuredSchedule {
  std::string schedule;
  int64_t nanoseconds = 0;
};

struct TuningEntry {
  TuningKey key;
  std::map<std::string, int64_t> sizes;
  /// What the kernel was called, for readers.
  std::string kernel;
  MeasuredSchedule tuned, model;

  /// Whether both are about one problem; the order of entries in a file.
  bool isSame(const TuningEntry &other) const;
  bool operator<(const TuningEntry &other) const;
};

/// What was measured on one device.
struct TuningDevice {
  std::string target, name;
  unsigned multiprocessors = 0;
  unsigned keyVersion = tuningKeyVersion;
  std::vector<TuningEntry> entries;
};

struct TuningFile {
  std::vector<TuningDevice> devices;
  /// SHA-256, in hex, of the text that was parsed.
  std::string digest;

  /// Fails with what was expected, and where, for everything that print() would
  /// not write; a file of other key versions is sound.
  static llvm::Expected<TuningFile> parse(llvm::StringRef text);
  /// Sorted: a file that was parsed is printed as it was.
  std::string print() const;

  /// Measurements for a target under this key version; null where there are
  /// none. parse() allows one device a target, so that this is unambiguous.
  const TuningDevice *find(llvm::StringRef target) const;
};

/// Puts an entry in the place of the one about the same problem, if any.
void setEntry(TuningDevice &device, TuningEntry entry);
/// Drops the entry about the same problem, if any.
void dropEntry(TuningDevice &device, const TuningEntry &entry);

/// "mma_schedule<tileM = 128, ...>".
std::string getScheduleText(mlir::Attribute schedule);

} // namespace fusec

#endif // FUSEC_COMPILER_SCHEDULE_TUNINGFILE_H
