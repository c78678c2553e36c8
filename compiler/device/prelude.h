// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything that only the GPU compiler knows: function attributes, launch
// coordinates, shuffles, cache hints and PTX. prelude_host.h gives the same
// names to a C++17 compiler; all other headers are written on top of either.

#ifndef FUSEC_DEVICE_PRELUDE_H
#define FUSEC_DEVICE_PRELUDE_H

#ifdef FUSEC_HOST
#include "prelude_host.h"
#else

#define FUSEC_DEVICE __device__ __forceinline__
#define FUSEC_KERNEL(threads) __global__ void __launch_bounds__(threads, 1)
#define FUSEC_KERNEL_RESIDENT(threads, blocks)                                 \
  __global__ void __launch_bounds__(threads, blocks)
#define FUSEC_SHARED __shared__
#define FUSEC_CONSTANT __constant__ const
#define FUSEC_GRID_CONSTANT __grid_constant__
#define FUSEC_PRAGMA(text) _Pragma(#text)
#define FUSEC_UNROLL _Pragma("unroll")
#define FUSEC_UNROLL_BY(times) FUSEC_PRAGMA(unroll times)
#define FUSEC_RESTRICT __restrict__

#include "types.h"

namespace fusec {

namespace launch {
FUSEC_DEVICE int thread() { return int(threadIdx.x); }
FUSEC_DEVICE int threads() { return int(blockDim.x); }
FUSEC_DEVICE int block() { return int(blockIdx.x); }
FUSEC_DEVICE int blocks() { return int(gridDim.x); }
FUSEC_DEVICE int blockY() { return int(blockIdx.y); }
FUSEC_DEVICE int blocksY() { return int(gridDim.y); }
FUSEC_DEVICE int blockZ() { return int(blockIdx.z); }
FUSEC_DEVICE int blocksZ() { return int(gridDim.z); }
FUSEC_DEVICE int lane() { return int(threadIdx.x & 31); }
FUSEC_DEVICE int lanes() { return 32; }
/// Of a group of `size` threads, how many one stands for: on the host for all.
constexpr FUSEC_DEVICE int workersOf(int) { return 1; }
FUSEC_DEVICE int warp() { return int(threadIdx.x >> 5); }
FUSEC_DEVICE int warps() { return int(blockDim.x >> 5); }
FUSEC_DEVICE void barrier() { __syncthreads(); }
FUSEC_DEVICE void warpBarrier() { __syncwarp(); }

/// Lets the next kernel of the stream place its blocks where this one leaves
/// room (programmatic dependent launch).
FUSEC_DEVICE void admitNext() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}
/// Waits until what earlier kernels wrote can be read; constants can be before.
/// All kernels wait, so that the end of one is the end of all before it.
FUSEC_DEVICE void awaitPrevious() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
/// What a kernel begins with unless its template waits.
FUSEC_DEVICE void followPrevious() {
  admitNext();
  awaitPrevious();
}

/// The dynamic shared memory of the launch, 1024-byte aligned as the widest
/// swizzle needs.
FUSEC_DEVICE unsigned char *sharedMemory() {
  extern __shared__ __align__(1024) unsigned char fusecShared[];
  return fusecShared;
}
} // namespace launch

namespace primitive {

/// The same, of which the compiler knows nothing.
/// Tells the compiler what holds.
FUSEC_DEVICE void assume(bool holds) { __builtin_assume(holds); }
FUSEC_DEVICE int opaque(int value) {
  asm("" : "+r"(value));
  return value;
}
FUSEC_DEVICE u32 bitsOf(float x) { return __float_as_uint(x); }
FUSEC_DEVICE u64 bitsOf(double x) { return u64(__double_as_longlong(x)); }
FUSEC_DEVICE float floatOf(u32 bits) { return __uint_as_float(bits); }
/// The bytes of a, then of b, that the digits of `which` number; the first
/// digit is the last byte.
FUSEC_DEVICE u32 permuteBytes(u32 a, u32 b, u32 which) {
  return __byte_perm(a, b, which);
}
FUSEC_DEVICE double doubleOf(u64 bits) {
  return __longlong_as_double(i64(bits));
}

FUSEC_DEVICE float toFloat(f16 x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
}
FUSEC_DEVICE float toFloat(bf16 x) { return floatOf(u32(x.bits) << 16); }
FUSEC_DEVICE f16 toF16(float x) {
  f16 y;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
  return y;
}
FUSEC_DEVICE bf16 toBf16(float x) {
  // In a pair: alone it is left to the special-function unit, a quarter as
  // fast.
  u32 pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(0.0f), "f"(x));
  return bf16{u16(pair)};
}

FUSEC_DEVICE float maxNan(float a, float b) {
  float c;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
  return c;
}
FUSEC_DEVICE float minNan(float a, float b) {
  float c;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
  return c;
}
/// The larger or smaller of each of two 16-bit floats.
template <class T, bool isMax> FUSEC_DEVICE u32 extremesOfPairs(u32 a, u32 b) {
  u32 c;
  if constexpr (isSame<T, f16> && isMax)
    asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(c) : "r"(a), "r"(b));
  else if constexpr (isSame<T, f16>)
    asm("min.NaN.f16x2 %0, %1, %2;" : "=r"(c) : "r"(a), "r"(b));
  else if constexpr (isMax)
    asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(c) : "r"(a), "r"(b));
  else
    asm("min.NaN.bf16x2 %0, %1, %2;" : "=r"(c) : "r"(a), "r"(b));
  return c;
}
FUSEC_DEVICE float rsqrt(float x) { return ::rsqrtf(x); }
FUSEC_DEVICE double rsqrt(double x) { return ::rsqrt(x); }

// Approximations of about 11 bits (tanh), to 2^-20.5 of absolute error within a
// half turn (sin), and of 22 bits (the others).
FUSEC_DEVICE float sinApproximate(float x) {
  float y;
  asm("sin.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
FUSEC_DEVICE float tanhApproximate(float x) {
  float y;
  asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
FUSEC_DEVICE float exp2Approximate(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
FUSEC_DEVICE float reciprocalApproximate(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// The value of the lane whose number differs by the bits of `mask`.
template <class T> FUSEC_DEVICE T shuffleXor(T value, int mask) {
  if constexpr (sizeof(T) < 4)
    return T(__shfl_xor_sync(0xffffffffu, int(value), mask));
  else
    return __shfl_xor_sync(0xffffffffu, value, mask);
}
/// Whether it holds in all lanes of a warp.
FUSEC_DEVICE bool inAllLanes(bool holds) {
  return __all_sync(0xffffffffu, holds);
}
template <class T> FUSEC_DEVICE T shuffle(T value, int lane) {
  if constexpr (sizeof(T) < 4)
    return T(__shfl_sync(0xffffffffu, int(value), lane));
  else
    return __shfl_sync(0xffffffffu, value, lane);
}

/// The same in all lanes of a warp. Told so, the compiler keeps what follows
/// from it in uniform registers.
FUSEC_DEVICE int uniform(int value) { return shuffle(value, 0); }

/// Memory words of 1 to 16 bytes, as registers.
struct alignas(16) Word16 {
  u32 x, y, z, w;
};
struct alignas(8) Word8 {
  u32 x, y;
};

// Without a "memory" clobber, so that loads of several rows may be in flight:
// what is read this way is not written by the same kernel, except from the
// value read.
FUSEC_DEVICE Word16 loadOnce(const Word16 *p) {
  Word16 v;
  asm volatile("ld.global.L1::no_allocate.L2::128B.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(p));
  return v;
}
FUSEC_DEVICE Word8 loadOnce(const Word8 *p) {
  Word8 v;
  asm volatile("ld.global.L1::no_allocate.v2.u32 {%0,%1}, [%2];"
               : "=r"(v.x), "=r"(v.y)
               : "l"(p));
  return v;
}
FUSEC_DEVICE u32 loadOnce(const u32 *p) {
  u32 v;
  asm volatile("ld.global.L1::no_allocate.u32 %0, [%1];" : "=r"(v) : "l"(p));
  return v;
}
/// Loads an element and lets L2 fetch its line.
template <class Word> FUSEC_DEVICE Word loadOfLine(const Word *p) { return *p; }
FUSEC_DEVICE Word8 loadOfLine(const Word8 *p) {
  Word8 v;
  asm volatile("ld.global.L2::128B.v2.u32 {%0,%1}, [%2];"
               : "=r"(v.x), "=r"(v.y)
               : "l"(p));
  return v;
}
FUSEC_DEVICE u32 loadOfLine(const u32 *p) {
  u32 v;
  asm volatile("ld.global.L2::128B.u32 %0, [%1];" : "=r"(v) : "l"(p));
  return v;
}
FUSEC_DEVICE u16 loadOfLine(const u16 *p) {
  u16 v;
  asm volatile("ld.global.L2::128B.u16 %0, [%1];" : "=h"(v) : "l"(p));
  return v;
}
/// What L2 does with lines: those of streams go first, others last.
FUSEC_DEVICE u64 streamPolicy() {
  u64 policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}
FUSEC_DEVICE u64 stayPolicy() {
  u64 policy;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}
FUSEC_DEVICE Word16 loadBy(const Word16 *p, u64 policy) {
  Word16 v;
  asm volatile("ld.global.L2::cache_hint.v4.u32 {%0,%1,%2,%3}, [%4], %5;"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(p), "l"(policy));
  return v;
}
FUSEC_DEVICE Word8 loadBy(const Word8 *p, u64 policy) {
  Word8 v;
  asm volatile("ld.global.L2::cache_hint.v2.u32 {%0,%1}, [%2], %3;"
               : "=r"(v.x), "=r"(v.y)
               : "l"(p), "l"(policy));
  return v;
}
FUSEC_DEVICE u32 loadBy(const u32 *p, u64 policy) {
  u32 v;
  asm volatile("ld.global.L2::cache_hint.u32 %0, [%1], %2;"
               : "=r"(v)
               : "l"(p), "l"(policy));
  return v;
}
FUSEC_DEVICE u16 loadBy(const u16 *p, u64 policy) {
  u16 v;
  asm volatile("ld.global.L2::cache_hint.u16 %0, [%1], %2;"
               : "=h"(v)
               : "l"(p), "l"(policy));
  return v;
}
template <class Word> FUSEC_DEVICE Word loadPassing(const Word *p) {
  return loadBy(p, streamPolicy());
}
template <class Word> FUSEC_DEVICE Word loadStaying(const Word *p) {
  return loadBy(p, stayPolicy());
}
FUSEC_DEVICE void storeOnce(Word16 *p, Word16 v) {
  asm volatile("st.global.cs.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(p), "r"(v.x),
               "r"(v.y), "r"(v.z), "r"(v.w)
               : "memory");
}
FUSEC_DEVICE void storeOnce(Word8 *p, Word8 v) {
  asm volatile("st.global.cs.v2.u32 [%0], {%1,%2};" ::"l"(p), "r"(v.x), "r"(v.y)
               : "memory");
}
FUSEC_DEVICE void storeOnce(u32 *p, u32 v) {
  asm volatile("st.global.cs.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

/// Adds to a counter shared by all threads; used for faults only, never for
/// results, so that runs repeat bit for bit.
FUSEC_DEVICE void countAtomically(u64 *counter, u64 amount) {
  atomicAdd(counter, amount);
}

} // namespace primitive
} // namespace fusec

#include "activations.h"

#endif // FUSEC_HOST
#endif // FUSEC_DEVICE_PRELUDE_H
