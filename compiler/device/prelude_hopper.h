// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The PTX of the sm_90a tensor path: copies by tensor map, mbarriers, wgmma.
// On the host only the kernel's parameter type remains.

#ifndef FUSEC_DEVICE_PRELUDE_HOPPER_H
#define FUSEC_DEVICE_PRELUDE_HOPPER_H

#include "prelude.h"

#ifdef FUSEC_HOST
#define FUSEC_GRID_CONSTANT
#else
#include "prelude_tensor.h"
#define FUSEC_GRID_CONSTANT __grid_constant__
#endif

namespace fusec {

/// What the driver encodes for the copy engine; a kernel parameter
/// `const FUSEC_GRID_CONSTANT TensorMap`, used by its address. The host reads
/// matrices by their pointers and passes nothing.
#ifdef FUSEC_HOST
struct TensorMap {};
#else
struct alignas(64) TensorMap {
  u64 words[16];
};
#endif

#ifndef FUSEC_HOST
namespace primitive {

FUSEC_DEVICE void initBarrier(u32 barrier, u32 arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier),
               "r"(arrivals)
               : "memory");
}
/// Makes initialised barriers visible to the copy engine.
FUSEC_DEVICE void fenceBarriers() {
  asm volatile("fence.mbarrier_init.release.cluster;\n"
               "fence.proxy.async.shared::cta;" ::
                   : "memory");
}
FUSEC_DEVICE void arrive(u32 barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier)
               : "memory");
}
/// Arrives at the barrier of the same place in another block of the cluster.
FUSEC_DEVICE void arriveAt(u32 barrier, u32 blockInCluster) {
  asm volatile(
      "{\n.reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n}" ::"r"(barrier),
      "r"(blockInCluster)
      : "memory");
}
FUSEC_DEVICE u32 blockInCluster() {
  u32 rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
/// All threads of all blocks of the cluster.
FUSEC_DEVICE void clusterBarrier() {
  asm volatile("barrier.cluster.arrive.release;\n"
               "barrier.cluster.wait.acquire;" ::
                   : "memory");
}
/// Arrives, and lets the phase end only after `bytes` have been copied.
FUSEC_DEVICE void arriveExpecting(u32 barrier, u32 bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
      "r"(bytes)
      : "memory");
}
/// Waits until the phase of this parity has ended.
FUSEC_DEVICE void waitBarrier(u32 barrier, u32 parity) {
  u32 done;
  do {
    asm volatile("{\n.reg .pred p;\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, p;\n}"
                 : "=r"(done)
                 : "r"(barrier), "r"(parity)
                 : "memory");
  } while (!done);
}

/// Copies the map's box at the coordinates (innermost first) to shared memory;
/// what lies outside of the tensor is zero, and counts as copied. With Blocks >
/// 1 to the same place, and barrier, of all blocks of the cluster.
template <int Blocks>
FUSEC_DEVICE void copyBox(u32 to, const TensorMap *map, u32 barrier, int x,
                          int y) {
  if constexpr (Blocks == 1)
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::"
                 "complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(to),
                 "l"(map), "r"(barrier), "r"(x), "r"(y)
                 : "memory");
  else
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::"
                 "complete_tx::bytes.multicast::cluster"
                 " [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(to),
                 "l"(map), "r"(barrier), "r"(x), "r"(y),
                 "h"(u16((1 << Blocks) - 1))
                 : "memory");
}
template <int Blocks>
FUSEC_DEVICE void copyBox(u32 to, const TensorMap *map, u32 barrier, int x,
                          int y, int z) {
  if constexpr (Blocks == 1)
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::"
                 "complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(to),
                 "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z)
                 : "memory");
  else
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::"
                 "complete_tx::bytes.multicast::cluster"
                 " [%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(to),
                 "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z),
                 "h"(u16((1 << Blocks) - 1))
                 : "memory");
}

/// Fetches a map that the copy engine is going to read.
FUSEC_DEVICE void prefetchMap(const TensorMap *map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/// Copies shared memory to the map's box at the coordinates; what lies outside
/// of the tensor is left out. A group of stores ends by commitStores().
FUSEC_DEVICE void storeBox(const TensorMap *map, u32 from, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group"
               " [%0, {%2, %3}], [%1];" ::"l"(map),
               "r"(from), "r"(x), "r"(y)
               : "memory");
}
FUSEC_DEVICE void storeBox(const TensorMap *map, u32 from, int x, int y,
                           int z) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group"
               " [%0, {%2, %3, %4}], [%1];" ::"l"(map),
               "r"(from), "r"(x), "r"(y), "r"(z)
               : "memory");
}
FUSEC_DEVICE void commitStores() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
/// Waits until the shared memory of all but the `Pending` youngest groups of
/// this thread has been read.
template <int Pending> FUSEC_DEVICE void waitStoresRead() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Pending) : "memory");
}
/// Shows this thread's writes of shared memory to the copy engine, after the
/// next barrier.
FUSEC_DEVICE void fenceCopies() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// Four 8 x 8 matrices of 16-bit elements, as accumulators hold them; lane i
/// gives the address of row i % 8 of matrix i / 8.
FUSEC_DEVICE void storeMatrix4(u32 address, u32 m0, u32 m1, u32 m2, u32 m3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], "
               "{%1, %2, %3, %4};" ::"r"(address),
               "r"(m0), "r"(m1), "r"(m2), "r"(m3));
}
FUSEC_DEVICE void storeShared(u32 address, u32 first, u32 second) {
  asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(address), "r"(first),
               "r"(second));
}

FUSEC_DEVICE void loadShared(u32 (&words)[2], u32 address) {
  asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];"
               : "=r"(words[0]), "=r"(words[1])
               : "r"(address)
               : "memory");
}

/// Two elements in a word, the first in its low half.
FUSEC_DEVICE u32 packPair(f16, float first, float second) {
  u32 pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
}
FUSEC_DEVICE u32 packPair(bf16, float first, float second) {
  u32 pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
}

// The whole warpgroup changes its registers a thread, on one path.
template <int Registers> FUSEC_DEVICE void takeRegisters() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers));
}
template <int Registers> FUSEC_DEVICE void giveRegisters() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers));
}

/// Orders accesses of accumulators before the next wgmma.
FUSEC_DEVICE void fenceWgmma() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
FUSEC_DEVICE void commitWgmma() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int Pending> FUSEC_DEVICE void waitWgmma() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}
/// Keeps the compiler from moving accesses of an accumulator across.
FUSEC_DEVICE void pin(float &x) { asm volatile("" : "+f"(x)::"memory"); }

/// Hides where a value comes from: what follows from it is computed anew.
FUSEC_DEVICE void pin(int &x) { asm volatile("" : "+r"(x)); }

/// d += a . b, one warpgroup: 64 x N accumulators, 32 bytes of K, operands in
/// shared memory by descriptor. An outer-major operand is read transposed.
template <class T, int N> struct Wgmma;

#define FUSEC_ACC4(d, i)                                                       \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define FUSEC_ACC8(d, i) FUSEC_ACC4(d, i), FUSEC_ACC4(d, i + 4)
#define FUSEC_ACC16(d, i) FUSEC_ACC8(d, i), FUSEC_ACC8(d, i + 8)
#define FUSEC_ACC32(d) FUSEC_ACC16(d, 0), FUSEC_ACC16(d, 16)
#define FUSEC_ACC48(d) FUSEC_ACC32(d), FUSEC_ACC16(d, 32)
#define FUSEC_ACC64(d) FUSEC_ACC48(d), FUSEC_ACC16(d, 48)
#define FUSEC_ACC80(d) FUSEC_ACC64(d), FUSEC_ACC16(d, 64)
#define FUSEC_ACC96(d) FUSEC_ACC80(d), FUSEC_ACC16(d, 80)
#define FUSEC_ACC104(d) FUSEC_ACC96(d), FUSEC_ACC8(d, 96)
#define FUSEC_ACC112(d) FUSEC_ACC104(d), FUSEC_ACC8(d, 104)
#define FUSEC_ACC128(d) FUSEC_ACC112(d), FUSEC_ACC16(d, 112)
#define FUSEC_REGISTERS32                                                      \
  "%0,%1,%2,%3,%4,%5,%6,%7,"                                                   \
  "%8,%9,%10,%11,%12,%13,%14,%15,"                                             \
  "%16,%17,%18,%19,%20,%21,%22,%23,"                                           \
  "%24,%25,%26,%27,%28,%29,%30,%31"
#define FUSEC_REGISTERS48                                                      \
  FUSEC_REGISTERS32 ","                                                        \
                    "%32,%33,%34,%35,%36,%37,%38,%39,"                         \
                    "%40,%41,%42,%43,%44,%45,%46,%47"
#define FUSEC_REGISTERS64                                                      \
  FUSEC_REGISTERS48 ","                                                        \
                    "%48,%49,%50,%51,%52,%53,%54,%55,"                         \
                    "%56,%57,%58,%59,%60,%61,%62,%63"
#define FUSEC_REGISTERS80                                                      \
  FUSEC_REGISTERS64 ","                                                        \
                    "%64,%65,%66,%67,%68,%69,%70,%71,"                         \
                    "%72,%73,%74,%75,%76,%77,%78,%79"
#define FUSEC_REGISTERS96                                                      \
  FUSEC_REGISTERS80 ","                                                        \
                    "%80,%81,%82,%83,%84,%85,%86,%87,"                         \
                    "%88,%89,%90,%91,%92,%93,%94,%95"
#define FUSEC_REGISTERS104                                                     \
  FUSEC_REGISTERS96 ","                                                        \
                    "%96,%97,%98,%99,%100,%101,%102,%103"
#define FUSEC_REGISTERS112                                                     \
  FUSEC_REGISTERS104 ","                                                       \
                     "%104,%105,%106,%107,%108,%109,%110,%111"
#define FUSEC_REGISTERS128                                                     \
  FUSEC_REGISTERS112 ","                                                       \
                     "%112,%113,%114,%115,%116,%117,%118,%119,"                \
                     "%120,%121,%122,%123,%124,%125,%126,%127"

// `a`, `b`, `ta`, `tb` are the numbers of the asm's operands.
#define FUSEC_WGMMA_HALF(T, type, N, R, a, b, ta, tb)                          \
  template <> struct Wgmma<T, N> {                                             \
    template <bool TransposedA, bool TransposedB>                              \
    static FUSEC_DEVICE void run(float (&d)[R], u64 first, u64 second) {       \
      asm volatile("wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." type      \
                   "." type " {" FUSEC_REGISTERS##R                            \
                   "}, %" #a ", %" #b ", 1, 1, 1, %" #ta ", %" #tb ";"         \
                   : FUSEC_ACC##R(d)                                           \
                   : "l"(first), "l"(second), "n"(int(TransposedA)),           \
                     "n"(int(TransposedB)));                                   \
    }                                                                          \
  };
#define FUSEC_WGMMA(N, R, a, b, ta, tb)                                        \
  FUSEC_WGMMA_HALF(f16, "f16", N, R, a, b, ta, tb)                             \
  FUSEC_WGMMA_HALF(bf16, "bf16", N, R, a, b, ta, tb)                           \
  template <> struct Wgmma<float, N> {                                         \
    template <bool TransposedA, bool TransposedB>                              \
    static FUSEC_DEVICE void run(float (&d)[R], u64 first, u64 second) {       \
      static_assert(!TransposedA && !TransposedB, "tf32 is K-major");          \
      asm volatile("wgmma.mma_async.sync.aligned.m64n" #N                      \
                   "k8.f32.tf32.tf32 {" FUSEC_REGISTERS##R "}, %" #a ", %" #b  \
                                                           ", 1, 1, 1;"        \
                   : FUSEC_ACC##R(d)                                           \
                   : "l"(first), "l"(second));                                 \
    }                                                                          \
  };
FUSEC_WGMMA(64, 32, 32, 33, 34, 35)
FUSEC_WGMMA(96, 48, 48, 49, 50, 51)
FUSEC_WGMMA(128, 64, 64, 65, 66, 67)
FUSEC_WGMMA(160, 80, 80, 81, 82, 83)
FUSEC_WGMMA(192, 96, 96, 97, 98, 99)
FUSEC_WGMMA(208, 104, 104, 105, 106, 107)
FUSEC_WGMMA(224, 112, 112, 113, 114, 115)
FUSEC_WGMMA(256, 128, 128, 129, 130, 131)

#undef FUSEC_WGMMA
#undef FUSEC_WGMMA_HALF
#undef FUSEC_REGISTERS32
#undef FUSEC_REGISTERS48
#undef FUSEC_REGISTERS64
#undef FUSEC_REGISTERS80
#undef FUSEC_REGISTERS96
#undef FUSEC_REGISTERS104
#undef FUSEC_REGISTERS112
#undef FUSEC_REGISTERS128
#undef FUSEC_ACC4
#undef FUSEC_ACC8
#undef FUSEC_ACC16
#undef FUSEC_ACC32
#undef FUSEC_ACC48
#undef FUSEC_ACC64
#undef FUSEC_ACC80
#undef FUSEC_ACC96
#undef FUSEC_ACC104
#undef FUSEC_ACC112
#undef FUSEC_ACC128

} // namespace primitive
#endif // FUSEC_HOST
} // namespace fusec

#endif // FUSEC_DEVICE_PRELUDE_HOPPER_H
