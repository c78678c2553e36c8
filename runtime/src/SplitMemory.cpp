// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The driver maps memory of a node of the host as it maps the device's, in
// pages of 2 MiB, since 12.2.

#include "runtime/src/SplitMemory.h"

#include "runtime/format/AlignUp.h"
#include "runtime/src/Failure.h"

#include <utility>

namespace fusec::rt {

SplitMemory::SplitMemory(const Device &device, uint64_t bytes,
                         uint64_t deviceBytes, const std::string &purpose)
    : device(&device), bytes(bytes) {
  try {
    if (map(deviceBytes, purpose) != cuda::success) {
      release();
      pin(purpose);
    }
  } catch (...) {
    release();
    throw;
  }
}

cuda::Result SplitMemory::mapPart(Part &part, uint64_t offset,
                                  const cuda::MemLocation &location) {
  const cuda::Driver &driver = device->driver();
  cuda::MemProperties properties = {};
  properties.type = cuda::MemPinned;
  properties.location = location;
  cuda::Result result =
      driver.memCreate(&part.handle, part.size, &properties, 0);
  if (result == cuda::success)
    result = driver.memMap(range + offset, part.size, 0, part.handle, 0);
  part.isMapped = result == cuda::success;
  if (!part.isMapped)
    return result;
  cuda::MemAccess access = {{cuda::LocationDevice, device->ordinal()},
                            cuda::AccessReadWrite};
  return driver.memSetAccess(range + offset, part.size, &access, 1);
}

// Success, or why the driver maps no memory of the host, as to processes
// without the right to choose a node.
cuda::Result SplitMemory::map(uint64_t deviceBytes,
                              const std::string &purpose) {
  const cuda::Driver &driver = device->driver();
  std::optional<int> node = device->mappableNode();
  if (!node)
    return cuda::notSupported;
  uint64_t total = format::alignUp(bytes, pageBytes);
  cuda::Result result = driver.memReserve(&range, total, pageBytes, 0, 0);
  if (result != cuda::success)
    return result;
  reserved = total;
  parts[0].size = deviceBytes;
  parts[1].size = total - deviceBytes;
  if (deviceBytes != 0)
    driver.check(
        mapPart(parts[0], 0, {cuda::LocationDevice, device->ordinal()}),
        "allocating " + std::to_string(deviceBytes) + " bytes for " + purpose);
  return mapPart(parts[1], deviceBytes, {cuda::LocationHostNode, *node});
}

void SplitMemory::pin(const std::string &purpose) {
  const cuda::Driver &driver = device->driver();
  driver.check(driver.hostAlloc(&pinned, bytes),
               "pinning " + std::to_string(bytes) +
                   " bytes of host memory for " + purpose);
  // Where addresses are unified, which is all that there is for fusec, the
  // device has the host's.
  range = reinterpret_cast<uintptr_t>(pinned);
}

void SplitMemory::release() noexcept {
  if (!device)
    return;
  const cuda::Driver &driver = device->driver();
  uint64_t offset = 0;
  for (Part &part : parts) {
    if (part.isMapped)
      driver.memUnmap(range + offset, part.size);
    if (part.handle)
      driver.memRelease(part.handle);
    offset += part.size;
    part = {};
  }
  if (reserved)
    driver.memFreeRange(range, reserved);
  if (pinned)
    driver.hostFree(pinned);
  reserved = range = 0;
  pinned = nullptr;
}

SplitMemory::~SplitMemory() {
  if (!device)
    return;
  try {
    SetUpScope scope(*device);
    release();
  } catch (const Failure &) {
    // The context is gone, and its memory with it.
  }
}

void SplitMemory::swap(SplitMemory &other) noexcept {
  std::swap(device, other.device);
  std::swap(range, other.range);
  std::swap(bytes, other.bytes);
  std::swap(reserved, other.reserved);
  std::swap(parts, other.parts);
  std::swap(pinned, other.pinned);
}

} // namespace fusec::rt
