// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The PTX of clusters: their barriers, and shared memory of other blocks.

#ifndef FUSEC_DEVICE_PRELUDE_CLUSTER_H
#define FUSEC_DEVICE_PRELUDE_CLUSTER_H

#include "prelude.h"

#ifndef FUSEC_HOST
namespace fusec {
namespace primitive {

/// Arrives at the barrier of the same place in another block of the cluster.
FUSEC_DEVICE void arriveAt(u32 barrier, u32 blockInCluster) {
  asm volatile(
      "{\n.reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n}" ::"r"(barrier),
      "r"(blockInCluster)
      : "memory");
}
/// All threads of all blocks of the cluster; what they wrote and where they
/// arrived before is done.
FUSEC_DEVICE void clusterBarrier() {
  asm volatile("barrier.cluster.arrive.release;\n"
               "barrier.cluster.wait.acquire;" ::
                   : "memory");
}
// The two halves of a barrier that orders nothing but barriers' initialisation
// (fenceBarriers): a release waits for all of a thread's writes, half a
// microsecond, where all that counts is that blocks have started.
FUSEC_DEVICE void arriveInCluster() {
  asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory");
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
/// Writes to another block; `barrier`, there, counts the bytes as copied.
FUSEC_DEVICE void sendInCluster(u32 address, u32 barrier, u32 word) {
  asm volatile(
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, "
      "[%2];" ::"r"(address),
      "r"(word), "r"(barrier)
      : "memory");
}
FUSEC_DEVICE void sendInCluster(u32 address, u32 barrier, float value) {
  sendInCluster(address, barrier, bitsOf(value));
}
/// The same of four.
FUSEC_DEVICE void sendInCluster(u32 address, u32 barrier, const float *values) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 "
               "[%0], {%1, %2, %3, %4}, [%5];" ::"r"(address),
               "f"(values[0]), "f"(values[1]), "f"(values[2]), "f"(values[3]),
               "r"(barrier)
               : "memory");
}

} // namespace primitive
} // namespace fusec
#endif // FUSEC_HOST

#endif // FUSEC_DEVICE_PRELUDE_CLUSTER_H
