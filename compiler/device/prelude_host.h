// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The names of prelude.h for a C++17 compiler. A block is one thread that runs
// whole loops (thread 0 of 1, lane 0 of 1), so that kernels written with the
// scopes of reduce.h need neither barriers nor shuffles; blocks may run on any
// number of CPU threads at once.

#ifndef FUSEC_DEVICE_PRELUDE_HOST_H
#define FUSEC_DEVICE_PRELUDE_HOST_H

#ifndef FUSEC_HOST
#define FUSEC_HOST
#endif

#include <cmath>
#include <cstddef>
#include <cstring>
#include <utility>

#define FUSEC_DEVICE inline
#define FUSEC_KERNEL(threads) void
#define FUSEC_KERNEL_RESIDENT(threads, blocks) void
#define FUSEC_SHARED static thread_local
#define FUSEC_CONSTANT static const
#define FUSEC_GRID_CONSTANT
#define FUSEC_UNROLL
#define FUSEC_UNROLL_BY(times)
#define FUSEC_RESTRICT __restrict__

#include "types.h"

namespace fusec {

namespace launch {
struct Coordinates {
  int block[3] = {0, 0, 0};
  int blocks[3] = {1, 1, 1};
};
inline thread_local Coordinates coordinates;

inline int thread() { return 0; }
inline int threads() { return 1; }
inline int block() { return coordinates.block[0]; }
inline int blocks() { return coordinates.blocks[0]; }
inline int blockY() { return coordinates.block[1]; }
inline int blocksY() { return coordinates.blocks[1]; }
inline int blockZ() { return coordinates.block[2]; }
inline int blocksZ() { return coordinates.blocks[2]; }
inline int lane() { return 0; }
inline int lanes() { return 1; }
/// Whose work a thread does that is one of a group of `size` on the GPU.
constexpr int workersOf(int size) { return size; }
inline int warp() { return 0; }
inline int warps() { return 1; }
inline void barrier() {}
inline void admitNext() {}
inline void awaitPrevious() {}
inline void followPrevious() {}
inline void warpBarrier() {}

template <class... Params, std::size_t... I>
void call(void (*kernel)(Params...), void **params, std::index_sequence<I...>) {
  kernel(*static_cast<Params *>(params[I])...);
}

/// Runs blocks [first, last) of a grid, counted along x, then y, then z.
/// `params` points at each parameter, as in cuLaunchKernel.
template <class... Params>
void runBlocks(void (*kernel)(Params...), void **params, const int (&grid)[3],
               long long first, long long last) {
  for (int i = 0; i < 3; ++i)
    coordinates.blocks[i] = grid[i];
  for (long long id = first; id < last; ++id) {
    coordinates.block[0] = int(id % grid[0]);
    coordinates.block[1] = int(id / grid[0] % grid[1]);
    coordinates.block[2] = int(id / grid[0] / grid[1]);
    call(kernel, params, std::index_sequence_for<Params...>());
  }
}
} // namespace launch

namespace primitive {

inline void assume(bool) {}
inline int opaque(int value) { return value; }
template <class To, class From> inline To copyBits(From from) {
  static_assert(sizeof(To) == sizeof(From), "types of one size");
  To to;
  std::memcpy(&to, &from, sizeof(To));
  return to;
}
inline u32 bitsOf(float x) { return copyBits<u32>(x); }
inline u64 bitsOf(double x) { return copyBits<u64>(x); }
inline float floatOf(u32 bits) { return copyBits<float>(bits); }
inline u32 permuteBytes(u32 a, u32 b, u32 which) {
  const u64 all = u64(b) << 32 | a;
  u32 result = 0;
  for (int i = 0; i < 4; ++i)
    result |= u32(all >> (which >> 4 * i & 7) * 8 & 255) << 8 * i;
  return result;
}
inline double doubleOf(u64 bits) { return copyBits<double>(bits); }

inline float toFloat(bf16 x) { return floatOf(u32(x.bits) << 16); }
inline float toFloat(f16 x) {
  u32 sign = u32(x.bits & 0x8000u) << 16;
  u32 exponent = (x.bits >> 10) & 31u, fraction = x.bits & 1023u;
  if (exponent == 31)
    return floatOf(sign | 0x7f800000u | fraction << 13);
  if (exponent == 0) // Subnormal: a multiple of 2^-24, exact in float.
    return floatOf(sign | bitsOf(float(fraction) * 0x1p-24f));
  return floatOf(sign | (exponent + 112) << 23 | fraction << 13);
}

/// Round to nearest even; NaN becomes 0x7fff as on the GPU.
inline bf16 toBf16(float x) {
  if (x != x)
    return bf16{0x7fff};
  u32 bits = bitsOf(x);
  return bf16{u16((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16)};
}
inline f16 toF16(float x) {
  if (x != x)
    return f16{0x7fff};
  u32 bits = bitsOf(x), sign = bits >> 16 & 0x8000u,
      magnitude = bits & 0x7fffffffu;
  if (magnitude >= 0x477ff000u) // 65520 and above round to infinity.
    return f16{u16(sign | 0x7c00u)};
  if (magnitude < 0x38800000u) { // Below 2^-14 the unit is 2^-24.
    float scaled = floatOf(magnitude) * 0x1p24f;
    return f16{u16(sign | u32(::nearbyintf(scaled)))};
  }
  magnitude += 0xfffu + (magnitude >> 13 & 1u);
  return f16{u16(sign | (magnitude - 0x38000000u) >> 13)};
}

inline float maxNan(float a, float b) {
  if (a != a || b != b)
    return a != a ? a : b;
  return a > b || (a == b && !std::signbit(a)) ? a : b;
}
inline float minNan(float a, float b) {
  if (a != a || b != b)
    return a != a ? a : b;
  return a < b || (a == b && std::signbit(a)) ? a : b;
}
/// function(a, b) of each of two 16-bit floats.
template <class T, class Function>
u32 ofPairs(u32 a, u32 b, Function function) {
  const auto ofHalf = [&](int shift) {
    const float value =
        function(toFloat(T{u16(a >> shift)}), toFloat(T{u16(b >> shift)}));
    if constexpr (isSame<T, f16>)
      return u32(toF16(value).bits) << shift;
    else
      return u32(toBf16(value).bits) << shift;
  };
  return ofHalf(0) | ofHalf(16);
}
template <class T, bool isMax> u32 extremesOfPairs(u32 a, u32 b) {
  return ofPairs<T>(a, b, [](float x, float y) {
    return isMax ? maxNan(x, y) : minNan(x, y);
  });
}
inline float rsqrt(float x) { return 1.0f / ::sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / ::sqrt(x); }
inline float sinApproximate(float x) { return ::sinf(x); }
inline float tanhApproximate(float x) { return ::tanhf(x); }
inline float exp2Approximate(float x) { return ::exp2f(x); }
inline float reciprocalApproximate(float x) { return 1.0f / x; }

template <class T> inline T shuffleXor(T value, int) { return value; }
template <class T> inline T shuffle(T value, int) { return value; }

// Copied member by member: of a whole object no compiler's sanitizer need ask
// whether it is aligned, of one whose members are read it does.
struct alignas(16) Word16 {
  u32 x, y, z, w;
  Word16() = default;
  Word16(u32 x, u32 y, u32 z, u32 w) : x(x), y(y), z(z), w(w) {}
  Word16(const Word16 &from) : x(from.x), y(from.y), z(from.z), w(from.w) {}
  Word16 &operator=(const Word16 &from) {
    x = from.x;
    y = from.y;
    z = from.z;
    w = from.w;
    return *this;
  }
};
struct alignas(8) Word8 {
  u32 x, y;
  Word8() = default;
  Word8(u32 x, u32 y) : x(x), y(y) {}
  Word8(const Word8 &from) : x(from.x), y(from.y) {}
  Word8 &operator=(const Word8 &from) {
    x = from.x;
    y = from.y;
    return *this;
  }
};
template <class T> inline T loadOnce(const T *p) { return *p; }
template <class T> inline T loadOfLine(const T *p) { return *p; }
template <class T> inline T loadPassing(const T *p) { return *p; }
template <class T> inline T loadStaying(const T *p) { return *p; }
template <class T> inline void storeOnce(T *p, T v) { *p = v; }

inline void countAtomically(u64 *counter, u64 amount) {
  __atomic_fetch_add(counter, amount, __ATOMIC_RELAXED);
}

} // namespace primitive
} // namespace fusec

#include "activations.h"

/// Gives a kernel a C entry that a test loads from a shared object: runs the
/// blocks [first, last) of the grid on the calling thread.
#define FUSEC_HOST_ENTRY(name)                                                 \
  extern "C" void name##_host(void **params, const int *grid, long long first, \
                              long long last) {                                \
    const int sizes[3] = {grid[0], grid[1], grid[2]};                          \
    ::fusec::launch::runBlocks(name, params, sizes, first, last);              \
  }

#endif // FUSEC_DEVICE_PRELUDE_HOST_H
