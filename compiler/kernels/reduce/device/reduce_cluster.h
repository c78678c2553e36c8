// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows that the blocks of a cluster reduce together: each keeps a share of the
// row in registers that no block alone could hold, and sends what it found to
// the shared memory of all others. On the host the first block does it all.

#ifndef FUSEC_KERNELS_REDUCE_CLUSTER_H
#define FUSEC_KERNELS_REDUCE_CLUSTER_H

#include "prelude_cluster.h"
#include "reduce.h"

namespace fusec {

/// A scope like those of reduce.h of `Blocks` blocks of `Threads` threads; rows
/// by forEachRowOfCluster.
template <int Threads, int Blocks> struct ClusterScope {
  static constexpr int maxSize = Threads * Blocks;
  static FUSEC_DEVICE int rank() {
    return launch::block() % Blocks * launch::threads() + launch::thread();
  }
  static FUSEC_DEVICE int size() {
    return maxSize / launch::workersOf(maxSize);
  }
  static FUSEC_DEVICE void barrier() { cluster::barrier(); }
  static FUSEC_DEVICE i64 group() { return launch::block() / Blocks; }
  static FUSEC_DEVICE i64 groups() { return launch::blocks() / Blocks; }

  /// Between a barrier's arrival and the wait for it: that what was sent before
  /// has been read.
  template <class Op>
  static FUSEC_DEVICE typename Op::Value reduce(typename Op::Value v) {
    if (launch::threads() == 1)
      return v;
    v = BlockScope<Threads>::template reduce<Op>(v);
    FUSEC_SHARED typename Op::Value partial[Blocks];
    cluster::wait();
    if (launch::thread() < Blocks)
      *cluster::inBlock(&partial[launch::block() % Blocks], launch::thread()) =
          v;
    cluster::barrier();
    v = partial[0];
    FUSEC_UNROLL
    for (int b = 1; b < Blocks; ++b)
      v = Op::combine(v, partial[b]);
    cluster::arrive();
    return v;
  }
};

/// Calls body(row) for each row, each row by one cluster.
template <class Scope, class Body>
FUSEC_DEVICE void forEachRowOfCluster(i64 rows, Body body) {
  if (launch::threads() == 1 && Scope::rank() != 0)
    return;
  cluster::arrive();
  forEachRow<Scope>(rows, body);
  cluster::wait();
}

} // namespace fusec

#endif // FUSEC_KERNELS_REDUCE_CLUSTER_H
