// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tile of two blocks, which multiply half of its K each: where its sums meet.
// Consumer i of both has the same rows; block i finishes those of consumer i,
// whose other half the other block sends to the memory of the ring, once nobody
// reads that any more. So partial sums never leave shared memory, and are added
// as one block's half and the other's whichever comes first.

#ifndef FUSEC_KERNELS_GEMM_WGMMA_SPLIT_K_H
#define FUSEC_KERNELS_GEMM_WGMMA_SPLIT_K_H

#include "gemm_wgmma_ring.h"

#ifndef FUSEC_HOST
namespace fusec {
namespace detail {

template <class Config, int J> struct WgmmaMeeting {
  /// Of a thread of a consumer.
  static constexpr int values = J * Config::tileN / 2;
  static_assert(Config::blocksM == 1 && Config::consumers == 2,
                "a consumer's rows for each block");
  static_assert(WgmmaRing<Config, J>::sumBytes <=
                    Config::stages * WgmmaRing<Config, J>::stageBytes,
                "sums that the ring has room for");

  const WgmmaRing<Config, J> &ring;
  int rank;
  WgmmaAccumulators<Config, J> &acc;

  FUSEC_DEVICE WgmmaMeeting(const WgmmaRing<Config, J> &ring, int rank,
                            WgmmaAccumulators<Config, J> &acc)
      : ring(ring), rank(rank), acc(acc) {}

  /// Where a thread's next four values are, in both blocks: those of a warp
  /// beside each other.
  FUSEC_DEVICE int place(int i) const {
    return (i / 4 * 128 + launch::thread() % 128) * 16;
  }
  /// This warp has read all of the block's stages. `isEmpty`: there were none.
  FUSEC_DEVICE void start(bool isEmpty) {
    if (launch::lane() == 0)
      primitive::arriveAt(ring.otherIsFree(), rank ^ 1);
    if (isEmpty) {
      FUSEC_UNROLL
      for (int i = 0; i < values; ++i)
        acc[0][i] = 0;
    }
  }
  FUSEC_DEVICE void send() const {
    primitive::waitBarrier(ring.otherIsFree(), 0);
    u32 to = primitive::addressInCluster(ring.base + place(0), rank ^ 1),
        barrier = primitive::addressInCluster(ring.received(), rank ^ 1);
    FUSEC_UNROLL
    for (int i = 0; i < values; i += 4)
      primitive::sendInCluster(to + i * (128 * 4), barrier, acc[0] + i);
  }
  FUSEC_DEVICE void receive() {
    primitive::waitBarrier(ring.received(), 0);
    FUSEC_UNROLL
    for (int i = 0; i < values; i += 4) {
      Vec<float, 4> other = load<4>(
          reinterpret_cast<const float *>(launch::sharedMemory() + place(i)));
      FUSEC_UNROLL
      for (int e = 0; e < 4; ++e)
        acc[0][i + e] += other[e];
    }
  }
};

} // namespace detail
} // namespace fusec
#endif // FUSEC_HOST

#endif // FUSEC_KERNELS_GEMM_WGMMA_SPLIT_K_H
