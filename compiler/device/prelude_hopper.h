// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The PTX of the sm_90a tensor path beside wgmma: copies by tensor map, with
// and without a cache policy, and mbarriers. On the host only the kernel's
// parameter type remains.

#ifndef FUSEC_DEVICE_PRELUDE_HOPPER_H
#define FUSEC_DEVICE_PRELUDE_HOPPER_H

#include "prelude.h"

#ifndef FUSEC_HOST
#include "prelude_tensor.h"
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

/// True in one lane of a warp, always the same one. The compiler knows that it
/// is one: copies of more lanes would be issued in a loop.
FUSEC_DEVICE bool elect() {
  u32 elected;
  asm volatile("{\n"
               ".reg .pred p;\n"
               "elect.sync _|p, 0xffffffff;\n"
               "selp.u32 %0, 1, 0, p;\n"
               "}"
               : "=r"(elected));
  return elected != 0;
}

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

/// Copies bytes, a multiple of 16, to shared memory.
FUSEC_DEVICE void copyBulk(u32 to, const void *from, u32 bytes, u32 barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::"
               "bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(from), "r"(bytes), "r"(barrier)
               : "memory");
}

/// Has L2 fetch bytes, a multiple of 16.
FUSEC_DEVICE void fetchBulk(const void *from, u32 bytes) {
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from),
               "r"(bytes));
}
/// The same of what is to stay there longer than other data. The policy is what
/// createpolicy makes of evict_last.
FUSEC_DEVICE void fetchBulkStaying(const void *from, u32 bytes) {
  constexpr u64 policy = 0x14F0000000000000ull;
  asm volatile(
      "cp.async.bulk.prefetch.L2.global.L2::cache_hint [%0], %1, %2;" ::"l"(
          from),
      "r"(bytes), "l"(policy));
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
/// Waits until all stores of this thread have been done.
FUSEC_DEVICE void waitStores() {
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
/// Shows this thread's writes of shared memory to the copy engine and wgmma,
/// after the next barrier.
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
/// The same of the matrices transposed: row i holds their column i.
FUSEC_DEVICE void storeMatrix4Transposed(u32 address, u32 m0, u32 m1, u32 m2,
                                         u32 m3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], "
               "{%1, %2, %3, %4};" ::"r"(address),
               "r"(m0), "r"(m1), "r"(m2), "r"(m3));
}
FUSEC_DEVICE void storeShared(u32 address, u32 first, u32 second) {
  asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(address), "r"(first),
               "r"(second));
}

FUSEC_DEVICE void storeShared(u32 address, u32 value) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}
FUSEC_DEVICE void storeShared(u32 address, float value) {
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(address), "f"(value) : "memory");
}

FUSEC_DEVICE void loadShared(u32 (&words)[2], u32 address) {
  asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];"
               : "=r"(words[0]), "=r"(words[1])
               : "r"(address)
               : "memory");
}

FUSEC_DEVICE u16 loadSharedPair(u32 address) {
  u16 pair;
  asm volatile("ld.shared.u16 %0, [%1];"
               : "=h"(pair)
               : "r"(address)
               : "memory");
  return pair;
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
/// Two differences of fp16, rounded once.
FUSEC_DEVICE u32 subtractHalves(u32 a, u32 b) {
  u32 difference;
  asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(difference) : "r"(a), "r"(b));
  return difference;
}

// The whole warpgroup changes its registers a thread, on one path.
template <int Registers> FUSEC_DEVICE void takeRegisters() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers));
}
template <int Registers> FUSEC_DEVICE void giveRegisters() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers));
}

} // namespace primitive
#endif // FUSEC_HOST
} // namespace fusec

#endif // FUSEC_DEVICE_PRELUDE_HOPPER_H
