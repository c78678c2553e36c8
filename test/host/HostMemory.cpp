// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/host/HostMemory.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>

namespace fusec {

constexpr uint64_t page = 4096;

static uint64_t roundUp(uint64_t value, uint64_t to) {
  return (value + to - 1) / to * to;
}

HostMemory::HostMemory(uint64_t bytes, Placement placement,
                       uint64_t elementBytes, unsigned char poison)
    : bytes(bytes), poison(poison) {
  pageBytes = roundUp(bytes + 256, page);
  void *all = mmap(nullptr, pageBytes + 2 * page, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED)
    return;
  pages = static_cast<char *>(all) + page;
  mprotect(pages, pageBytes, PROT_READ | PROT_WRITE);
  std::memset(pages, poison, pageBytes);
  switch (placement) {
  case Placement::Aligned:
    start = pages + pageBytes - roundUp(bytes, 256);
    break;
  case Placement::Flush:
    start = pages + pageBytes - bytes;
    break;
  case Placement::Shifted:
    start = pages + elementBytes;
    break;
  }
}

HostMemory::~HostMemory() {
  if (pages)
    munmap(pages - page, pageBytes + 2 * page);
}

void HostMemory::protect() { mprotect(pages, pageBytes, PROT_READ); }

bool HostMemory::isIntact() const {
  auto isPoison = [&](char c) {
    return static_cast<unsigned char>(c) == poison;
  };
  return std::all_of(static_cast<const char *>(pages),
                     static_cast<const char *>(start), isPoison) &&
         std::all_of(static_cast<const char *>(start + bytes),
                     static_cast<const char *>(pages + pageBytes), isPoison);
}

} // namespace fusec
