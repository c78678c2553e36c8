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
FUSEC_DEVICE void sendInCluster(u32 address, u32 barrier, float value) {
  asm volatile(
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [%0], %1, "
      "[%2];" ::"r"(address),
      "f"(value), "r"(barrier)
      : "memory");
}

} // namespace primitive

namespace cluster {
FUSEC_DEVICE void barrier() { primitive::clusterBarrier(); }
/// The two halves of a barrier: what a thread read and wrote before it arrived
/// is done for whoever has waited.
FUSEC_DEVICE void arrive() {
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");
}
FUSEC_DEVICE void wait() { primitive::waitForCluster(); }
/// What lies in another block of the cluster where `p` lies in this one.
template <class T> FUSEC_DEVICE T *inBlock(T *p, int block) {
  T *there;
  asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(p), "r"(block));
  return there;
}
} // namespace cluster
} // namespace fusec
#else
namespace fusec {
namespace cluster { // of one thread
inline void barrier() {}
inline void arrive() {}
inline void wait() {}
template <class T> inline T *inBlock(T *p, int) { return p; }
} // namespace cluster
} // namespace fusec
#endif // FUSEC_HOST

#endif // FUSEC_DEVICE_PRELUDE_CLUSTER_H
