// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fake driver's mapping of memory: ranges of addresses that cannot be used
// until something is mapped there and made accessible.

#include "test/unit/runtime/FakeDriverParts.h"

#include <sys/mman.h>

using namespace fusec::rt::cuda;

static constexpr size_t page = size_t(2) << 20;

namespace {
struct Physical {
  size_t size;
  bool isHost;
};
} // namespace

static void *toPointer(DevicePointer pointer) {
  return reinterpret_cast<void *>(pointer);
}

extern "C" {
Result cuMemAddressReserve(DevicePointer *pointer, size_t size,
                           size_t alignment, DevicePointer,
                           unsigned long long) {
  ENTER("cuMemAddressReserve", true)
  if (size == 0 || size % page != 0 || alignment != page)
    return invalidValue;
  void *memory = mmap(nullptr, size + page, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return outOfMemory;
  DevicePointer begin = reinterpret_cast<DevicePointer>(memory);
  *pointer = (begin + page - 1) / page * page;
  // What lies around it goes back.
  if (*pointer != begin)
    munmap(memory, *pointer - begin);
  munmap(toPointer(*pointer + size), begin + page - *pointer);
  std::lock_guard<std::mutex> lock(state().mutex);
  ++state().liveRanges;
  return success;
}
Result cuMemAddressFree(DevicePointer pointer, size_t size) {
  std::lock_guard<std::mutex> lock(state().mutex);
  auto mapping = state().mappings.lower_bound(pointer);
  if (mapping != state().mappings.end() && mapping->first < pointer + size)
    return invalidValue;
  munmap(toPointer(pointer), size);
  --state().liveRanges;
  return success;
}
Result cuMemCreate(MemHandle *handle, size_t size,
                   const MemProperties *properties, unsigned long long) {
  ENTER("cuMemCreate", true)
  if (Result refused = allowAllocating())
    return refused;
  bool isHost = properties->location.type == LocationHostNode;
  if (size == 0 || size % page != 0 || properties->type != MemPinned ||
      (isHost && !state().mapsHostMemory))
    return invalidValue;
  if (!isHost && size > state().memoryBytes)
    return outOfMemory;
  *handle = reinterpret_cast<MemHandle>(new Physical{size, isHost});
  std::lock_guard<std::mutex> lock(state().mutex);
  ++state().liveHandles;
  return success;
}
Result cuMemRelease(MemHandle handle) {
  delete reinterpret_cast<Physical *>(handle);
  std::lock_guard<std::mutex> lock(state().mutex);
  --state().liveHandles;
  return success;
}
Result cuMemMap(DevicePointer pointer, size_t size, size_t offset,
                MemHandle handle, unsigned long long) {
  ENTER("cuMemMap", true)
  const Physical *memory = reinterpret_cast<Physical *>(handle);
  if (offset != 0 || size != memory->size || pointer % page != 0)
    return invalidValue;
  std::lock_guard<std::mutex> lock(state().mutex);
  state().mappings[pointer] = {size, memory->isHost, false};
  return success;
}
Result cuMemUnmap(DevicePointer pointer, size_t size) {
  std::lock_guard<std::mutex> lock(state().mutex);
  auto mapping = state().mappings.find(pointer);
  if (mapping == state().mappings.end() || mapping->second.size != size)
    return invalidValue;
  state().mappings.erase(mapping);
  mprotect(toPointer(pointer), size, PROT_NONE);
  return success;
}
Result cuMemSetAccess(DevicePointer pointer, size_t size,
                      const MemAccess *access, size_t count) {
  ENTER("cuMemSetAccess", true)
  std::lock_guard<std::mutex> lock(state().mutex);
  auto mapping = state().mappings.find(pointer);
  if (mapping == state().mappings.end() || mapping->second.size != size ||
      count != 1 || access->location.type != LocationDevice ||
      access->flags != AccessReadWrite)
    return invalidValue;
  mapping->second.isAccessible = true;
  return mprotect(toPointer(pointer), size, PROT_READ | PROT_WRITE) == 0
             ? success
             : outOfMemory;
}
}
