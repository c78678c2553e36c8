// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the GPU programs of the wgmma template share: its tensor maps, data made
// on the GPU, persistent launches.

#ifndef FUSEC_TEST_GPU_WGMMA_CASE_H
#define FUSEC_TEST_GPU_WGMMA_CASE_H

#include "gemm_wgmma.h"
#include "gpu_hopper_case.cuh"
#include "gpu_matmul_case.cuh"

namespace fusec {
namespace {

constexpr int sharedLimit = 227 * 1024;

/// Of a matrix of which a block loads `tile` rows or columns.
template <class T>
TensorMap makeInputMap(const T *base, Major major, int tile, int outers, int k,
                       i64 ld, int batches, i64 batchStride) {
  bool alongK = major == Major::K;
  WgmmaBox box = wgmmaBox(alongK, tile, sizeof(T));
  return makeMap(base, alongK ? k : outers, alongK ? outers : k, ld, batches,
                 batchStride, box.inner, box.outer, wgmmaRowBytes, true);
}
/// Of one of the results that take `bytes` an element together.
template <class T>
TensorMap makeResultMap(const T *base, int tileN, int bytes, int m, int n,
                        i64 ld, int batches, i64 batchStride) {
  WgmmaResultBox box = wgmmaResultBox(tileN, bytes, sizeof(T));
  return makeMap(base, n, m, ld, batches, batchStride, box.inner, box.outer,
                 box.swizzle, false);
}

/// Uniform in [-1, 1): multiples of 1/64, exact in every type, or `full` ones.
template <class T>
__global__ void fillKernel(T *to, i64 count, u64 salt, bool full) {
  for (i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += i64(gridDim.x) * blockDim.x) {
    int x = int(scrambled(i + salt));
    to[i] = cast<T>(full ? float(x) * 0x1p-31f : float(x >> 25) * 0x1p-6f);
  }
}
/// The same for the valid part of a matrix.
template <class T>
__global__ void fillMatrixKernel(T *to, int outers, int k, int batches,
                                 i64 outerStride, i64 kStride, i64 batchStride,
                                 u64 salt) {
  i64 id = i64(blockIdx.x) * blockDim.x + threadIdx.x;
  if (id >= i64(outers) * k * batches)
    return;
  i64 outer = id / k % outers, at = id % k, batch = id / k / outers;
  to[batch * batchStride + outer * outerStride + at * kStride] =
      cast<T>(float(int(scrambled(id + salt)) >> 25) * 0x1p-6f);
}

/// Persistent blocks of a config.
template <class Config, class Kernel, class... Arguments>
void launchWgmma(Kernel kernel, Shape shape, int accumulators,
                 bool hasMappedOperands, const Arguments &...arguments) {
  WgmmaTiling tiling{Config::tileM,    Config::tileN,    Config::stages,
                     Config::clusterM, Config::clusterN, Config::schedule};
  int most = 132 / Config::cluster * Config::cluster;
  long long blocks = wgmmaBlocks(tiling, shape.m, shape.n, shape.batch);
  launchClusters(kernel, int(std::min<long long>(blocks, most)),
                 Config::threads,
                 wgmmaSharedBytes(Config::tileM, Config::tileN, Config::stages,
                                  accumulators, hasMappedOperands),
                 Config::cluster, arguments...);
}

} // namespace
} // namespace fusec

#endif // FUSEC_TEST_GPU_WGMMA_CASE_H
