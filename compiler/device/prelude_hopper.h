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

/// d += a . b, one warpgroup: 64 x N accumulators, 32 bytes of K, operands in
/// shared memory by descriptor. An outer-major operand is read transposed.
template <class T, int N> struct Wgmma;

#define FUSEC_ACC4(d, i)                                                       \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define FUSEC_ACC16(d, i)                                                      \
  FUSEC_ACC4(d, i), FUSEC_ACC4(d, i + 4), FUSEC_ACC4(d, i + 8),                \
      FUSEC_ACC4(d, i + 12)
#define FUSEC_ACC32(d, i) FUSEC_ACC16(d, i), FUSEC_ACC16(d, i + 16)
#define FUSEC_ACC64(d, i) FUSEC_ACC32(d, i), FUSEC_ACC32(d, i + 32)
#define FUSEC_ACC128(d, i) FUSEC_ACC64(d, i), FUSEC_ACC64(d, i + 64)

#define FUSEC_REGISTERS32                                                      \
  "%0,%1,%2,%3,%4,%5,%6,%7,"                                                   \
  "%8,%9,%10,%11,%12,%13,%14,%15,"                                             \
  "%16,%17,%18,%19,%20,%21,%22,%23,"                                           \
  "%24,%25,%26,%27,%28,%29,%30,%31"
#define FUSEC_REGISTERS64                                                      \
  FUSEC_REGISTERS32 ","                                                        \
                    "%32,%33,%34,%35,%36,%37,%38,%39,"                         \
                    "%40,%41,%42,%43,%44,%45,%46,%47,"                         \
                    "%48,%49,%50,%51,%52,%53,%54,%55,"                         \
                    "%56,%57,%58,%59,%60,%61,%62,%63"
#define FUSEC_REGISTERS128                                                     \
  FUSEC_REGISTERS64 ","                                                        \
                    "%64,%65,%66,%67,%68,%69,%70,%71,"                         \
                    "%72,%73,%74,%75,%76,%77,%78,%79,"                         \
                    "%80,%81,%82,%83,%84,%85,%86,%87,"                         \
                    "%88,%89,%90,%91,%92,%93,%94,%95,"                         \
                    "%96,%97,%98,%99,%100,%101,%102,%103,"                     \
                    "%104,%105,%106,%107,%108,%109,%110,%111,"                 \
                    "%112,%113,%114,%115,%116,%117,%118,%119,"                 \
                    "%120,%121,%122,%123,%124,%125,%126,%127"

// `a`, `b`, `ta`, `tb` are the numbers of the asm's operands.
#define FUSEC_WGMMA_HALF(T, type, N, R, a, b, ta, tb)                          \
  template <> struct Wgmma<T, N> {                                             \
    template <bool TransposedA, bool TransposedB>                              \
    static FUSEC_DEVICE void run(float (&d)[R], u64 first, u64 second) {       \
      asm volatile("wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." type      \
                   "." type " {" FUSEC_REGISTERS##R                            \
                   "}, %" #a ", %" #b ", 1, 1, 1, %" #ta ", %" #tb ";"         \
                   : FUSEC_ACC##R(d, 0)                                        \
                   : "l"(first), "l"(second), "n"(int(TransposedA)),           \
                     "n"(int(TransposedB)));                                   \
    }                                                                          \
  };
#define FUSEC_WGMMA_TF32(N, R, a, b)                                           \
  template <> struct Wgmma<float, N> {                                         \
    template <bool TransposedA, bool TransposedB>                              \
    static FUSEC_DEVICE void run(float (&d)[R], u64 first, u64 second) {       \
      static_assert(!TransposedA && !TransposedB, "tf32 is K-major");          \
      asm volatile("wgmma.mma_async.sync.aligned.m64n" #N                      \
                   "k8.f32.tf32.tf32 {" FUSEC_REGISTERS##R "}, %" #a ", %" #b  \
                                                           ", 1, 1, 1;"        \
                   : FUSEC_ACC##R(d, 0)                                        \
                   : "l"(first), "l"(second));                                 \
    }                                                                          \
  };
FUSEC_WGMMA_HALF(f16, "f16", 64, 32, 32, 33, 34, 35)
FUSEC_WGMMA_HALF(bf16, "bf16", 64, 32, 32, 33, 34, 35)
FUSEC_WGMMA_TF32(64, 32, 32, 33)
FUSEC_WGMMA_HALF(f16, "f16", 128, 64, 64, 65, 66, 67)
FUSEC_WGMMA_HALF(bf16, "bf16", 128, 64, 64, 65, 66, 67)
FUSEC_WGMMA_TF32(128, 64, 64, 65)
FUSEC_WGMMA_HALF(f16, "f16", 256, 128, 128, 129, 130, 131)
FUSEC_WGMMA_HALF(bf16, "bf16", 256, 128, 128, 129, 130, 131)
FUSEC_WGMMA_TF32(256, 128, 128, 129)

#undef FUSEC_WGMMA_HALF
#undef FUSEC_WGMMA_TF32
#undef FUSEC_REGISTERS32
#undef FUSEC_REGISTERS64
#undef FUSEC_REGISTERS128
#undef FUSEC_ACC4
#undef FUSEC_ACC16
#undef FUSEC_ACC32
#undef FUSEC_ACC64
#undef FUSEC_ACC128

} // namespace primitive
#endif // FUSEC_HOST
} // namespace fusec

#endif // FUSEC_DEVICE_PRELUDE_HOPPER_H
