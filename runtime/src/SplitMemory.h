// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One range of addresses whose first part is memory of the device and whose
// rest is the host's, pinned: kernels and copies read and write all of it as
// they do device memory, the rest as fast as the bus goes.

#ifndef FUSEC_RUNTIME_SRC_SPLITMEMORY_H
#define FUSEC_RUNTIME_SRC_SPLITMEMORY_H

#include "runtime/src/Device.h"

#include <array>

namespace fusec::rt {

class SplitMemory {
public:
  // Parts are whole pages of so many bytes, but for the last page.
  static constexpr uint64_t pageBytes = uint64_t(2) << 20;

  // `deviceBytes` is a multiple of pageBytes and less than `bytes`. Where the
  // driver maps no host memory behind the device's, all of it is the host's.
  // Needs a SetUpScope. Throws Failure naming `purpose`.
  SplitMemory(const Device &device, uint64_t bytes, uint64_t deviceBytes,
              const std::string &purpose);
  SplitMemory(SplitMemory &&other) noexcept { swap(other); }
  SplitMemory &operator=(SplitMemory &&) = delete;
  ~SplitMemory();

  cuda::DevicePointer pointer() const { return range; }
  uint64_t size() const { return bytes; }
  // Of the first part.
  uint64_t deviceBytes() const { return parts[0].size; }

private:
  // Memory that is mapped one part behind the other.
  struct Part {
    cuda::MemHandle handle = 0;
    uint64_t size = 0;
    bool isMapped = false;
  };

  void swap(SplitMemory &other) noexcept;
  cuda::Result map(uint64_t deviceBytes, const std::string &purpose);
  cuda::Result mapPart(Part &part, uint64_t offset,
                       const cuda::MemLocation &location);
  void pin(const std::string &purpose);
  void release() noexcept;

  const Device *device = nullptr;
  cuda::DevicePointer range = 0;
  uint64_t bytes = 0;
  uint64_t reserved = 0; // of addresses; 0: all is one pinned allocation
  std::array<Part, 2> parts;
  void *pinned = nullptr;
};

} // namespace fusec::rt

#endif
