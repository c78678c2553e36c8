// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows that the blocks of a cluster reduce together: each keeps a share of the
// row in registers that no block alone could hold, and sends what it found to
// the shared memory of all others.

#ifndef FUSEC_KERNELS_REDUCE_CLUSTER_H
#define FUSEC_KERNELS_REDUCE_CLUSTER_H

#include "prelude_cluster.h"
#include "prelude_hopper.h"
#include "reduce_blocks.h"

namespace fusec {

#ifndef FUSEC_HOST
namespace detail {
/// A value, in words to send.
template <class T> union ValueWords {
  static constexpr int count = int(sizeof(T) + 3) / 4;
  T value;
  u32 words[count];
  FUSEC_DEVICE ValueWords() {}
};

/// How the blocks of a cluster tell each other what they found: each sends it
/// to a place of its own in all of them, where a barrier counts what came. The
/// cluster's barrier would wait for all that a thread has read and written, and
/// empty L1. Places and barriers are there twice: a block sends the next but
/// one turn when it has the next of all others, which then have read this one.
template <int Threads, int Blocks> class ClusterExchange {
  static_assert(Threads > 32, "barriers of the block lie between turns");

public:
  /// By all threads.
  static FUSEC_DEVICE void begin() {
    State &own = state();
    if (launch::thread() == 0) {
      FUSEC_UNROLL
      for (int place = 0; place < 2; ++place)
        primitive::initBarrier(primitive::sharedAddress(&own.barriers[place]),
                               1);
      primitive::fenceBarriers();
    }
    if (launch::lane() == 0)
      own.turns[launch::warp()] = 0;
    launch::warpBarrier();
    primitive::arriveInCluster();
  }
  /// No block sends to one that has not begun, nor ends before all have begun.
  static FUSEC_DEVICE void end() {
    launch::warpBarrier(); // One lane has written which turn it is.
    if (state().turns[launch::warp()] == 0)
      primitive::waitForCluster();
  }

  /// What each block has, by its place in the cluster, of a value that all
  /// threads of a block have; behind a barrier of the block.
  template <class T>
  static FUSEC_DEVICE void exchange(const T &value, T (&all)[Blocks]) {
    constexpr int words = ValueWords<T>::count;
    FUSEC_SHARED u32 found[2][Blocks][words];
    State &own = state();
    const u32 turn = own.turns[launch::warp()], place = turn % 2;
    if (turn == 0)
      primitive::waitForCluster();
    const u32 barrier = primitive::sharedAddress(&own.barriers[place]);
    if (launch::thread() == 0)
      primitive::arriveExpecting(barrier, Blocks * words * 4);
    if (launch::thread() < Blocks) {
      ValueWords<T> sent;
      sent.value = value;
      const u32 receiver = u32(launch::thread()),
                to = primitive::addressInCluster(
                    primitive::sharedAddress(
                        found[place][launch::block() % Blocks]),
                    receiver),
                counter = primitive::addressInCluster(barrier, receiver);
      FUSEC_UNROLL
      for (int word = 0; word < words; ++word)
        primitive::sendInCluster(to + word * 4, counter, sent.words[word]);
    }
    primitive::waitBarrier(barrier, turn / 2 % 2);
    FUSEC_UNROLL
    for (int block = 0; block < Blocks; ++block) {
      ValueWords<T> came;
      FUSEC_UNROLL
      for (int word = 0; word < words; ++word)
        came.words[word] = found[place][block][word];
      all[block] = came.value;
    }
    launch::warpBarrier(); // All lanes have read which turn it is.
    if (launch::lane() == 0)
      own.turns[launch::warp()] = turn + 1;
  }

private:
  /// Each warp counts turns, so that none waits to learn which it is.
  struct State {
    u64 barriers[2];
    u32 turns[Threads / 32];
  };
  static FUSEC_DEVICE State &state() {
    FUSEC_SHARED State own;
    return own;
  }
};
} // namespace detail
#endif // FUSEC_HOST

/// A scope like those of reduce.h of `Blocks` blocks of `Threads` threads; rows
/// by forEachRowOfCluster.
template <int Threads, int Blocks>
struct ClusterScope : BlocksOfRow<Threads, Blocks> {
  using BlocksOfRow<Threads, Blocks>::blocks;

  template <class Op>
  static FUSEC_DEVICE typename Op::Value reduce(typename Op::Value v) {
    v = BlockScope<Threads>::template reduce<Op>(v);
    typename Op::Value all[blocks];
    exchange(v, all);
    v = all[0];
    FUSEC_UNROLL
    for (int block = 1; block < blocks; ++block)
      v = Op::combine(v, all[block]);
    return v;
  }
  /// What each block has of a value that all threads of a block have; behind a
  /// barrier of the block.
  template <class T>
  static FUSEC_DEVICE void exchange(const T &value, T (&all)[blocks]) {
#ifdef FUSEC_HOST
    all[0] = value;
#else
    detail::ClusterExchange<Threads, Blocks>::exchange(value, all);
#endif
  }

  // Around all that a cluster reduces.
  static FUSEC_DEVICE void begin() {
#ifndef FUSEC_HOST
    detail::ClusterExchange<Threads, Blocks>::begin();
#endif
  }
  static FUSEC_DEVICE void end() {
#ifndef FUSEC_HOST
    detail::ClusterExchange<Threads, Blocks>::end();
#endif
  }
};

template <int Threads, int Blocks>
constexpr bool isOfBlocks<ClusterScope<Threads, Blocks>> = true;

/// Calls body(row) for each row, each row by one cluster.
template <class Scope, bool IsOnce = false, class Body>
FUSEC_DEVICE void forEachRowOfCluster(i64 rows, Body body) {
  if (launch::lanes() == 1 && Scope::rank() != 0)
    return;
  Scope::begin();
  forEachRow<Scope, IsOnce>(rows, body);
  Scope::end();
}

} // namespace fusec

#endif // FUSEC_KERNELS_REDUCE_CLUSTER_H
