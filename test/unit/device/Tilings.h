// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The constants of many matmul kernels, by their order: tests name a tile a
// line. Includes nothing, so that NVRTC takes it, too.

#ifndef FUSEC_TEST_UNIT_DEVICE_TILINGS_H
#define FUSEC_TEST_UNIT_DEVICE_TILINGS_H

namespace tiles {

template <int TileM, int TileN, int TileK, int ThreadM, int ThreadN>
struct Simt {
  static constexpr int tileM = TileM, tileN = TileN, tileK = TileK;
  static constexpr int threadM = ThreadM, threadN = ThreadN;
};

template <int TileM, int TileN, int TileK, int WarpsM, int WarpsN, int Stages>
struct Mma {
  static constexpr int tileM = TileM, tileN = TileN, tileK = TileK;
  static constexpr int warpsM = WarpsM, warpsN = WarpsN, stages = Stages;
};

template <int Small, int Threads> struct Gemv {
  static constexpr int small = Small, threads = Threads;
};

template <int TileM, int TileN, int TileK, int Stages, int ClusterM = 1,
          bool PingPong = false>
struct Wgmma {
  static constexpr int tileM = TileM, tileN = TileN, tileK = TileK;
  static constexpr int stages = Stages, clusterM = ClusterM, clusterN = 1,
                       band = 16;
  static constexpr bool pingPong = PingPong;
  static constexpr bool streamed = false, early = false, swapped = false;
};

template <int Tokens, int Blocks, int TileK, int Stages, int Cluster>
struct Skinny {
  static constexpr int tokens = Tokens, blocks = Blocks, tileK = TileK;
  static constexpr int stages = Stages, cluster = Cluster;
  static constexpr bool early = false;
};

template <int Columns, int TileN, int Consumers, int Stages> struct Resident {
  static constexpr int columns = Columns, tileN = TileN;
  static constexpr int consumers = Consumers, stages = Stages;
};

} // namespace tiles

#endif // FUSEC_TEST_UNIT_DEVICE_TILINGS_H
