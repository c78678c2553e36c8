// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fake driver's memory, copies and streams. Copies are done at once, but
// for those of pinned memory where a test wants them to be late.

#include "test/unit/runtime/FakeDriverParts.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>

using namespace fusec::rt::cuda;

// An empty tensor's address may be null.
static void copyBytes(void *to, const void *from, size_t size) {
  if (size)
    std::memcpy(to, from, size);
}

static void recordCopy(FakeCopy copy) {
  std::lock_guard<std::mutex> lock(state().mutex);
  if (state().record)
    state().copies.push_back(copy);
}

// Those of uploads for which `isLost` holds are never done.
template <typename Predicate> static void loseUploads(Predicate isLost) {
  auto &all = state().uploads;
  auto end = std::remove_if(all.begin(), all.end(), isLost);
  state().lostCopies += int(all.end() - end);
  all.erase(end, all.end());
}

// Where these bytes lie within one allocation; else null.
static FakeManaged *findManaged(DevicePointer pointer, size_t size) {
  auto &all = state().managed;
  auto next = all.upper_bound(pointer);
  if (next == all.begin())
    return nullptr;
  auto &[begin, memory] = *std::prev(next);
  return pointer + size <= begin + memory.size ? &memory : nullptr;
}

extern "C" {
Result cuMemAlloc_v2(DevicePointer *pointer, size_t size) {
  ENTER("cuMemAlloc", true)
  if (Result refused = allowAllocating())
    return refused;
  if (size > state().memoryBytes)
    return outOfMemory;
  void *memory = std::aligned_alloc(256, (size + 255) / 256 * 256);
  if (!memory)
    return outOfMemory;
  std::memset(memory, 0xcd, size);
  *pointer = reinterpret_cast<DevicePointer>(memory);
  std::lock_guard<std::mutex> lock(state().mutex);
  ++state().liveAllocations;
  return success;
}
Result cuMemAllocManaged(DevicePointer *pointer, size_t size, unsigned flags) {
  ENTER("cuMemAllocManaged", true)
  if (Result refused = allowAllocating())
    return refused;
  if (flags != ManagedByAll)
    return invalidValue;
  void *memory = std::aligned_alloc(256, (size + 255) / 256 * 256);
  if (!memory)
    return outOfMemory;
  *pointer = reinterpret_cast<DevicePointer>(memory);
  std::lock_guard<std::mutex> lock(state().mutex);
  ++state().liveAllocations;
  state().managed[*pointer].size = size;
  return success;
}
Result cuMemAdvise(DevicePointer pointer, size_t size, int advice,
                   Device device) {
  ENTER("cuMemAdvise", true)
  std::lock_guard<std::mutex> lock(state().mutex);
  FakeManaged *memory = findManaged(pointer, size);
  if (!memory)
    return invalidValue;
  (advice == AdviceAccessedBy ? memory->mapped
   : device == hostDevice     ? memory->host
                              : memory->device) += size;
  return success;
}
Result cuMemPrefetchAsync(DevicePointer pointer, size_t size, Device,
                          Stream stream) {
  ENTER("cuMemPrefetchAsync", true)
  if (Result refused = allowStream(stream))
    return refused;
  std::lock_guard<std::mutex> lock(state().mutex);
  FakeManaged *memory = findManaged(pointer, size);
  if (!memory)
    return invalidValue;
  if (size > state().memoryBytes)
    return outOfMemory;
  memory->prefetched += size;
  return success;
}
Result cuMemFree_v2(DevicePointer pointer) {
  if (Result refused = allowAllocating())
    return refused;
  std::free(reinterpret_cast<void *>(pointer));
  std::lock_guard<std::mutex> lock(state().mutex);
  --state().liveAllocations;
  state().managed.erase(pointer);
  return success;
}
Result cuMemAllocHost_v2(void **pointer, size_t size) {
  ENTER("cuMemAllocHost", true)
  if (Result refused = allowAllocating())
    return refused;
  *pointer = std::malloc(size);
  if (!*pointer)
    return outOfMemory;
  std::lock_guard<std::mutex> lock(state().mutex);
  ++state().livePinned;
  state().pinned[static_cast<uint8_t *>(*pointer)] = size;
  return success;
}
Result cuMemFreeHost(void *pointer) {
  if (Result refused = allowAllocating())
    return refused;
  const uint8_t *begin = static_cast<uint8_t *>(pointer);
  std::lock_guard<std::mutex> lock(state().mutex);
  --state().livePinned;
  loseUploads([&](const FakeUpload &upload) {
    return upload.from >= begin && upload.from < begin + state().pinned[begin];
  });
  state().pinned.erase(begin);
  std::free(pointer);
  return success;
}
Result cuMemcpyHtoDAsync_v2(DevicePointer to, const void *from, size_t size,
                            Stream stream) {
  ENTER("cuMemcpyHtoDAsync", true)
  if (Result refused = allowStream(stream))
    return refused;
  const uint8_t *bytes = static_cast<const uint8_t *>(from);
  if (state().defersCopies) {
    std::lock_guard<std::mutex> lock(state().mutex);
    auto pinned = state().pinned.upper_bound(bytes);
    if (pinned != state().pinned.begin() &&
        bytes < (--pinned)->first + pinned->second) {
      state().uploads.push_back({to, bytes, size, stream});
      return success;
    }
  }
  copyBytes(reinterpret_cast<void *>(to), from, size);
  return success;
}
Result cuMemcpyDtoHAsync_v2(void *to, DevicePointer from, size_t size,
                            Stream stream) {
  ENTER("cuMemcpyDtoHAsync", true)
  if (Result refused = allowStream(stream))
    return refused;
  copyBytes(to, reinterpret_cast<void *>(from), size);
  return success;
}
// These two wait for the default stream: tools may, the library may not, since
// another thread may be capturing.
Result cuMemcpyHtoD_v2(DevicePointer to, const void *from, size_t size) {
  return cuMemcpyHtoDAsync_v2(to, from, size, nullptr);
}
Result cuMemcpyDtoH_v2(void *to, DevicePointer from, size_t size) {
  return cuMemcpyDtoHAsync_v2(to, from, size, nullptr);
}
Result cuMemcpyDtoDAsync_v2(DevicePointer to, DevicePointer from, size_t size,
                            Stream stream) {
  ENTER("cuMemcpyDtoDAsync", true)
  if (Result refused = allowStream(stream))
    return refused;
  recordCopy({to, from, size, stream});
  copyBytes(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from), size);
  return success;
}
Result cuMemsetD8Async(DevicePointer to, unsigned char byte, size_t size,
                       Stream stream) {
  ENTER("cuMemsetD8Async", true)
  if (Result refused = allowStream(stream))
    return refused;
  recordCopy({to, 0, size, stream});
  std::memset(reinterpret_cast<void *>(to), byte, size);
  return success;
}
Result cuStreamCreate(Stream *stream, unsigned) {
  ENTER("cuStreamCreate", true)
  *stream = reinterpret_cast<Stream>(new char);
  std::lock_guard<std::mutex> lock(state().mutex);
  ++state().liveStreams;
  return success;
}
Result cuStreamDestroy_v2(Stream stream) {
  std::lock_guard<std::mutex> lock(state().mutex);
  --state().liveStreams;
  loseUploads(
      [&](const FakeUpload &upload) { return upload.stream == stream; });
  delete reinterpret_cast<char *>(stream);
  return success;
}
Result cuStreamSynchronize(Stream stream) {
  ENTER("cuStreamSynchronize", true)
  std::lock_guard<std::mutex> lock(state().mutex);
  auto &all = state().uploads;
  auto end = std::stable_partition(
      all.begin(), all.end(),
      [&](const FakeUpload &upload) { return upload.stream != stream; });
  for (auto upload = end; upload != all.end(); ++upload)
    copyBytes(reinterpret_cast<void *>(upload->to), upload->from, upload->size);
  all.erase(end, all.end());
  return allowStream(stream);
}
}
