// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies from host memory to the device, as fast as the bus takes them.

#ifndef FUSEC_RUNTIME_SRC_UPLOAD_H
#define FUSEC_RUNTIME_SRC_UPLOAD_H

#include "runtime/format/Bundle.h"
#include "runtime/src/Device.h"

#include <functional>
#include <vector>

namespace fusec::rt {

// Of `total` bytes `done` have been read. Called on the thread that uploads, at
// last with both equal.
using Progress = std::function<void(uint64_t done, uint64_t total)>;

// Fewer bytes are copied from where they lie: pinning the buffers would take
// longer than they save.
inline constexpr uint64_t leastStagedBytes = uint64_t(128) << 20;

// Is told of bytes by the thread that copies them: before, so that what reads
// them first leaves them in its caches, and when they are not read again. Not
// of bytes that are copied from where they lie.
struct Source {
  std::function<void(format::ByteSpan)> willRead, hasRead;
};

// Memory, and the pieces that go to offsets of it, in ascending order, which do
// not overlap.
struct Destination {
  cuda::DevicePointer pointer = 0;
  uint64_t size = 0;
  std::vector<format::Piece> pieces;
  bool isHosts = false; // which its threads can write
};

// Puts the pieces of all destinations there, zeros beside them where there are
// many bytes, and waits for them. Needs a SetUpScope. Throws Failure saying
// that `what` could not be copied, when no copy reads or writes any more.
void upload(const Device &device, const std::vector<Destination> &all,
            const std::string &what, const Source &source,
            const Progress &progress);

} // namespace fusec::rt

#endif
