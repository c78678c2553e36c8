// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX of sm_90a beyond prelude_hopper.h: shared memory of the other blocks of a
// cluster, copies by tensor map with a cache policy and back to memory, and
// wgmma of every shape that narrow roots need.

#ifndef FUSEC_DEVICE_PRELUDE_CLUSTER_H
#define FUSEC_DEVICE_PRELUDE_CLUSTER_H

#include "prelude_hopper.h"

#ifndef FUSEC_HOST
namespace fusec {
namespace primitive {

// The two halves of clusterBarrier(): what was written before the arrival, to
// any block's shared memory, is seen by all after the wait.
FUSEC_DEVICE void arriveInCluster() {
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");
}
FUSEC_DEVICE void waitForCluster() {
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}

/// The address of `address`, in this block's shared memory, in that of another
/// block of the cluster.
FUSEC_DEVICE u32 addressInCluster(u32 address, u32 block) {
  u32 remote;
  asm("mapa.shared::cluster.u32 %0, %1, %2;"
      : "=r"(remote)
      : "r"(address), "r"(block));
  return remote;
}
FUSEC_DEVICE void storeInCluster(u32 address, float value) {
  asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(address), "f"(value)
               : "memory");
}

/// What L2 does with copied lines: those of streams go first.
FUSEC_DEVICE u64 streamPolicy() {
  u64 policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

/// copyBox() with a cache policy.
FUSEC_DEVICE void copyBoxAs(u64 policy, u32 to, const TensorMap *map,
                            u32 barrier, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::"
               "complete_tx::bytes.L2::cache_hint [%0], [%1, {%3, %4}], [%2],"
               " %5;" ::"r"(to),
               "l"(map), "r"(barrier), "r"(x), "r"(y), "l"(policy)
               : "memory");
}
FUSEC_DEVICE void copyBoxAs(u64 policy, u32 to, const TensorMap *map,
                            u32 barrier, int x, int y, int z) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::"
               "complete_tx::bytes.L2::cache_hint [%0], [%1, {%3, %4, %5}],"
               " [%2], %6;" ::"r"(to),
               "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z), "l"(policy)
               : "memory");
}

/// Copies contiguous bytes, a multiple of 16.
FUSEC_DEVICE void copyBytes(u32 to, const void *from, u32 bytes, u32 barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::"
               "complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(from), "r"(bytes), "r"(barrier)
               : "memory");
}
FUSEC_DEVICE void copyBytesAs(u64 policy, u32 to, const void *from, u32 bytes,
                              u32 barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::"
      "complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;" ::"r"(to),
      "l"(from), "r"(bytes), "r"(barrier), "l"(policy)
      : "memory");
}

/// storeBox() with a cache policy.
FUSEC_DEVICE void storeBoxAs(u64 policy, const TensorMap *map, u32 from, int x,
                             int y) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group"
               ".L2::cache_hint [%0, {%2, %3}], [%1], %4;" ::"l"(map),
               "r"(from), "r"(x), "r"(y), "l"(policy)
               : "memory");
}
FUSEC_DEVICE void waitStores() {
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

/// d += a . b, one warpgroup: 64 x N accumulators, 32 bytes of K, both operands
/// in shared memory by descriptor. Accumulators that were set by anything but
/// wgmma are pinned before, lest ptxas serialises them (C7515).
template <class T, int N> struct NarrowWgmma {
  static constexpr bool exists = false;
};

#define FUSEC_D4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define FUSEC_D8(i) FUSEC_D4(i), FUSEC_D4(i + 4)
#define FUSEC_D12(i) FUSEC_D8(i), FUSEC_D4(i + 8)
#define FUSEC_D16(i) FUSEC_D8(i), FUSEC_D8(i + 8)
#define FUSEC_D20(i) FUSEC_D16(i), FUSEC_D4(i + 16)
#define FUSEC_D24(i) FUSEC_D16(i), FUSEC_D8(i + 16)
#define FUSEC_D28(i) FUSEC_D24(i), FUSEC_D4(i + 24)
#define FUSEC_D32(i) FUSEC_D16(i), FUSEC_D16(i + 16)
#define FUSEC_D48(i) FUSEC_D32(i), FUSEC_D16(i + 32)
#define FUSEC_D64(i) FUSEC_D32(i), FUSEC_D32(i + 32)
#define FUSEC_D96(i) FUSEC_D64(i), FUSEC_D32(i + 64)
#define FUSEC_D128(i) FUSEC_D64(i), FUSEC_D64(i + 64)

#define FUSEC_R4 "%0,%1,%2,%3"
#define FUSEC_R8 FUSEC_R4 ",%4,%5,%6,%7"
#define FUSEC_R12 FUSEC_R8 ",%8,%9,%10,%11"
#define FUSEC_R16 FUSEC_R12 ",%12,%13,%14,%15"
#define FUSEC_R20 FUSEC_R16 ",%16,%17,%18,%19"
#define FUSEC_R24 FUSEC_R20 ",%20,%21,%22,%23"
#define FUSEC_R28 FUSEC_R24 ",%24,%25,%26,%27"
#define FUSEC_R32 FUSEC_R28 ",%28,%29,%30,%31"
#define FUSEC_R48                                                              \
  FUSEC_R32 ",%32,%33,%34,%35,%36,%37,%38,%39,"                                \
            "%40,%41,%42,%43,%44,%45,%46,%47"
#define FUSEC_R64                                                              \
  FUSEC_R48 ",%48,%49,%50,%51,%52,%53,%54,%55,"                                \
            "%56,%57,%58,%59,%60,%61,%62,%63"
#define FUSEC_R96                                                              \
  FUSEC_R64 ",%64,%65,%66,%67,%68,%69,%70,%71,"                                \
            "%72,%73,%74,%75,%76,%77,%78,%79,"                                 \
            "%80,%81,%82,%83,%84,%85,%86,%87,"                                 \
            "%88,%89,%90,%91,%92,%93,%94,%95"
#define FUSEC_R128                                                             \
  FUSEC_R96 ",%96,%97,%98,%99,%100,%101,%102,%103,"                            \
            "%104,%105,%106,%107,%108,%109,%110,%111,"                         \
            "%112,%113,%114,%115,%116,%117,%118,%119,"                         \
            "%120,%121,%122,%123,%124,%125,%126,%127"

// R: accumulators a thread; a, b, ta, tb: the numbers of the asm's inputs.
#define FUSEC_NARROW_HALF(T, type, N, R, a, b, ta, tb)                         \
  template <> struct NarrowWgmma<T, N> {                                       \
    static constexpr bool exists = true;                                       \
    template <bool TransposedA, bool TransposedB>                              \
    static FUSEC_DEVICE void run(float *d, u64 first, u64 second) {            \
      asm volatile("wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." type      \
                   "." type " {" FUSEC_R##R "}, %" #a ", %" #b                 \
                                            ", 1, 1, 1, %" #ta ", %" #tb ";"   \
                   : FUSEC_D##R(0)                                             \
                   : "l"(first), "l"(second), "n"(int(TransposedA)),           \
                     "n"(int(TransposedB)));                                   \
    }                                                                          \
  };
#define FUSEC_NARROW_TF32(N, R, a, b)                                          \
  template <> struct NarrowWgmma<float, N> {                                   \
    static constexpr bool exists = true;                                       \
    template <bool TransposedA, bool TransposedB>                              \
    static FUSEC_DEVICE void run(float *d, u64 first, u64 second) {            \
      static_assert(!TransposedA && !TransposedB, "tf32 is K-major");          \
      asm volatile("wgmma.mma_async.sync.aligned.m64n" #N                      \
                   "k8.f32.tf32.tf32 {" FUSEC_R##R "}, %" #a ", %" #b          \
                                                   ", 1, 1, 1;"                \
                   : FUSEC_D##R(0)                                             \
                   : "l"(first), "l"(second));                                 \
    }                                                                          \
  };
#define FUSEC_NARROW(N, R, a, b, ta, tb)                                       \
  FUSEC_NARROW_HALF(f16, "f16", N, R, a, b, ta, tb)                            \
  FUSEC_NARROW_HALF(bf16, "bf16", N, R, a, b, ta, tb)                          \
  FUSEC_NARROW_TF32(N, R, a, b)
FUSEC_NARROW(8, 4, 4, 5, 6, 7)
FUSEC_NARROW(16, 8, 8, 9, 10, 11)
FUSEC_NARROW(24, 12, 12, 13, 14, 15)
FUSEC_NARROW(32, 16, 16, 17, 18, 19)
FUSEC_NARROW(40, 20, 20, 21, 22, 23)
FUSEC_NARROW(48, 24, 24, 25, 26, 27)
FUSEC_NARROW(56, 28, 28, 29, 30, 31)
FUSEC_NARROW(64, 32, 32, 33, 34, 35)
FUSEC_NARROW(96, 48, 48, 49, 50, 51)
FUSEC_NARROW(128, 64, 64, 65, 66, 67)
FUSEC_NARROW(192, 96, 96, 97, 98, 99)
FUSEC_NARROW(256, 128, 128, 129, 130, 131)

#undef FUSEC_NARROW
#undef FUSEC_NARROW_HALF
#undef FUSEC_NARROW_TF32
#undef FUSEC_D4
#undef FUSEC_D8
#undef FUSEC_D12
#undef FUSEC_D16
#undef FUSEC_D20
#undef FUSEC_D24
#undef FUSEC_D28
#undef FUSEC_D32
#undef FUSEC_D48
#undef FUSEC_D64
#undef FUSEC_D96
#undef FUSEC_D128
#undef FUSEC_R4
#undef FUSEC_R8
#undef FUSEC_R12
#undef FUSEC_R16
#undef FUSEC_R20
#undef FUSEC_R24
#undef FUSEC_R28
#undef FUSEC_R32
#undef FUSEC_R48
#undef FUSEC_R64
#undef FUSEC_R96
#undef FUSEC_R128

/// The descriptor of a tile in swizzled rows of 128 bytes: start address,
/// distance of boxes (outer-major), distance of groups of eight rows (1024
/// bytes), swizzle of 128 bytes; in units of 16.
FUSEC_DEVICE u64 tileDescriptor(u32 address, u32 boxBytes) {
  return u64(boxBytes / 16) << 16 | u64(1024 / 16) << 32 | u64(1) << 62 |
         (address & 0x3ffff) >> 4;
}

} // namespace primitive
} // namespace fusec
#endif // FUSEC_HOST

#endif // FUSEC_DEVICE_PRELUDE_CLUSTER_H
