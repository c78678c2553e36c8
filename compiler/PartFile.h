// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A file while it is written: beside its place, as PATH.part and eight
// hexadecimal digits, until it is whole. Nobody sees half a file, and the one
// that was there stays until then. Whoever writes a part holds a lock on it;
// one that can be locked was left by a process that was killed.

#ifndef FUSEC_COMPILER_PARTFILE_H
#define FUSEC_COMPILER_PARTFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>

namespace fusec {

/// Objects of one path may live in several threads and processes at once; the
/// last that is kept counts.
class PartFile {
public:
  /// Removes what killed processes left of the same path. `mode` is that of
  /// open(), of which the process's umask is taken.
  static llvm::Expected<std::unique_ptr<PartFile>> create(llvm::StringRef path,
                                                          unsigned mode = 0666);
  /// Removes the parts of `path` that nobody writes.
  static void removeAbandoned(llvm::StringRef path);

  PartFile(const PartFile &) = delete;
  PartFile &operator=(const PartFile &) = delete;
  /// What was not kept is removed, as by exit() and by signals that end the
  /// process.
  ~PartFile();

  int getDescriptor() const { return descriptor; }

  enum class Sync { No, Yes };
  /// Gives the file its name. With `Sync::Yes` its bytes and its name are on
  /// the disk afterwards: a loss of power leaves the old file or the new one.
  llvm::Error keep(Sync sync = Sync::Yes);

private:
  PartFile(std::string path, std::string part, int descriptor);

  std::string path, part;
  int descriptor;
};

} // namespace fusec

#endif // FUSEC_COMPILER_PARTFILE_H
