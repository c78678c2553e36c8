// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One range of addresses whose first part lies on the device and whose rest in
// memory of the host: kernels and copies read and write all of it as they do
// device memory, the rest as fast as the bus goes.

#ifndef FUSEC_RUNTIME_SRC_SPLITMEMORY_H
#define FUSEC_RUNTIME_SRC_SPLITMEMORY_H

#include "runtime/src/Device.h"

namespace fusec::rt {

class SplitMemory {
public:
  // Both parts begin at whole pages of so many bytes.
  static constexpr uint64_t pageBytes = uint64_t(2) << 20;

  // `deviceBytes` is a multiple of pageBytes and less than `bytes`. Where the
  // driver cannot split memory, all of it is the host's. Needs a SetUpScope.
  // Throws Failure naming `purpose`.
  SplitMemory(const Device &device, uint64_t bytes, uint64_t deviceBytes,
              const std::string &purpose);
  SplitMemory(SplitMemory &&other) noexcept { swap(other); }
  SplitMemory &operator=(SplitMemory &&) = delete;
  ~SplitMemory();

  cuda::DevicePointer pointer() const { return range; }
  // Of the first part.
  uint64_t deviceBytes() const { return onDevice; }

private:
  void swap(SplitMemory &other) noexcept;
  void place(uint64_t bytes, const std::string &what) const;
  void release() noexcept;

  const Device *device = nullptr;
  cuda::DevicePointer range = 0;
  uint64_t onDevice = 0;
  bool isManaged = false; // else pinned
};

} // namespace fusec::rt

#endif
