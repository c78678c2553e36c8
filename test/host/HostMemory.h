// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory for kernels that run on the host: poisoned, between two pages that
// nobody may touch, and placed so that what an access assumes shows.

#ifndef FUSEC_TEST_HOST_HOSTMEMORY_H
#define FUSEC_TEST_HOST_HOSTMEMORY_H

#include <cstddef>
#include <cstdint>
#include <utility>

namespace fusec {

enum class Placement {
  Aligned, // begins at a multiple of 256, as the library places everything of
           // its own
  Flush,   // ends where the last page does
  Shifted  // begins one element after a page does: aligned for the element only
};

class HostMemory {
public:
  HostMemory() = default;
  HostMemory(uint64_t bytes, Placement placement, uint64_t elementBytes,
             unsigned char poison);
  HostMemory(HostMemory &&other) noexcept { *this = std::move(other); }
  HostMemory &operator=(HostMemory &&other) noexcept {
    std::swap(pages, other.pages);
    std::swap(pageBytes, other.pageBytes);
    std::swap(start, other.start);
    std::swap(bytes, other.bytes);
    std::swap(poison, other.poison);
    return *this;
  }
  ~HostMemory();

  char *data() const { return start; }
  uint64_t size() const { return bytes; }
  /// From now on writing traps.
  void protect();
  /// Whether the bytes around are as they were.
  bool isIntact() const;

private:
  char *pages = nullptr; // without the two outer ones
  uint64_t pageBytes = 0;
  char *start = nullptr;
  uint64_t bytes = 0;
  unsigned char poison = 0;
};

} // namespace fusec

#endif // FUSEC_TEST_HOST_HOSTMEMORY_H
