// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vectors that begin anywhere, against single elements. What is read ends with
// an allocation, so that an address sanitizer sees what is read behind it.

#include "shifted.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace {
/// Elements from a multiple of 16 bytes on; the bits of each say where it is.
template <class T> struct Buffer {
  explicit Buffer(int count)
      : count(count), at(static_cast<T *>(getMemory(count * sizeof(T)))) {
    for (int i = 0; i < count; ++i)
      at.get()[i] = number(i);
  }
  static void *getMemory(size_t bytes) {
    void *memory = nullptr;
    return posix_memalign(&memory, 16, bytes) ? nullptr : memory;
  }
  static T number(int i) {
    return fusec::primitive::copyBits<T>(fusec::Unsigned<T>(1000003u * i + 1));
  }

  struct Free {
    void operator()(T *memory) { std::free(memory); }
  };
  int count;
  std::unique_ptr<T, Free> at;
};

template <class T, int V>
void expectElements(const fusec::Vec<T, V> &got, int first, int from, int to) {
  for (int i = from; i < to; ++i) {
    T expected = Buffer<T>::number(first + i);
    EXPECT_EQ(std::memcmp(&got[i], &expected, sizeof(T)), 0)
        << "of " << V << " elements of " << sizeof(T) << " bytes from " << first
        << " on, lane " << i;
  }
}

/// From each element on, of buffers that end with a granule and within one.
template <class T, int V> void checkShifts() {
  constexpr int granule = std::min<int>(16, sizeof(T) * V) / int(sizeof(T));
  for (int count = V; count <= 4 * V; ++count) {
    Buffer<T> buffer(count);
    const T *at = buffer.at.get(),
            *end = count % granule ? at + count : nullptr;
    for (int first = 0; first + V <= count; ++first) {
      expectElements(fusec::shift(fusec::loadAround<V>(at + first, end)), first,
                     0, V);
      if (first % granule == 0 && first + V == count)
        expectElements(fusec::shift(fusec::loadAround<V>(at + first)), first, 0,
                       V);
    }
    // Lanes that the buffer has, at both of its ends and of what is no longer
    // than they are.
    for (int first = -V; first <= count; ++first)
      for (int past : {count, std::min(count, V / 2 + 1)}) {
        const int from = std::max(0, -first), to = std::min(V, past - first);
        auto around =
            fusec::loadAround<V>(at + first, -first, past - first, end);
        expectElements(fusec::shift(around), first, from, to);
      }
    // By loads of what is read once.
    const fusec::Staying<T> once(at), pastOnce(end);
    for (int first = 0; first + V <= count; ++first) {
      expectElements(fusec::shift(fusec::loadAround<V>(once + first, pastOnce)),
                     first, 0, V);
      auto some = fusec::loadAround<V>(once + first, 1, V - 1, pastOnce);
      expectElements(fusec::shift(some), first, 1, V - 1);
    }
  }
}

template <class T> void checkTail() {
  Buffer<T> buffer(1);
  for (int first : {-1, 0, 1}) {
    auto around = fusec::loadAround<1>(buffer.at.get() + first, -first,
                                       1 - first, buffer.at.get() + 1);
    expectElements(fusec::shift(around), first, first == 0 ? 0 : 1, 1);
  }
}
} // namespace

TEST(Shifted, VectorsAreTheirElements) {
  checkShifts<fusec::i8, 8>();
  checkShifts<fusec::i8, 16>();
  checkShifts<fusec::f16, 4>();
  checkShifts<fusec::bf16, 8>();
  checkShifts<fusec::f16, 16>();
  checkShifts<float, 2>();
  checkShifts<float, 4>();
  checkShifts<float, 8>();
  checkShifts<fusec::i64, 2>();
  checkShifts<double, 4>();
}

TEST(Shifted, SingleElementsOfTails) {
  checkTail<fusec::f16>();
  checkTail<float>();
}
