// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the GPU programs of the wgmma template share: tensor maps by the driver,
// data made on the GPU, launches of clusters.

#ifndef FUSEC_TEST_GPU_WGMMA_CASE_H
#define FUSEC_TEST_GPU_WGMMA_CASE_H

#include "gemm_wgmma.h"
#include "gpu_matmul_case.cuh"

#include <cuda.h>

namespace fusec {
namespace {

constexpr int sharedLimit = 227 * 1024;

typedef CUresult (*Encode)(CUtensorMap *, CUtensorMapDataType, cuuint32_t,
                           void *, const cuuint64_t *, const cuuint64_t *,
                           const cuuint32_t *, const cuuint32_t *,
                           CUtensorMapInterleave, CUtensorMapSwizzle,
                           CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
static Encode encode;

static void findEncode() {
  CHECK(cudaFree(nullptr));
  cudaDriverEntryPointQueryResult found;
  void *entry = nullptr;
  CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry,
                                         12000, cudaEnableDefault, &found));
  encode = reinterpret_cast<Encode>(entry);
}

/// A map of `outer` rows of `inner` elements, `ld` apart.
template <class T>
TensorMap makeMap(const T *base, int inner, int outer, i64 ld, int batches,
                  i64 batchStride, int boxInner, int boxOuter, int swizzle,
                  bool rounded) {
  CUtensorMap map = {};
  if (inner == 0 || outer == 0)
    return reinterpret_cast<TensorMap &>(map);
  cuuint64_t sizes[] = {cuuint64_t(inner), cuuint64_t(outer),
                        cuuint64_t(batches)};
  cuuint64_t strides[] = {ld * sizeof(T), batchStride * sizeof(T)};
  cuuint32_t boxes[] = {cuuint32_t(boxInner), cuuint32_t(boxOuter), 1};
  cuuint32_t ones[] = {1, 1, 1};
  CUtensorMapDataType type = isSame<T, f16> ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
                             : isSame<T, bf16>
                                 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                             : rounded ? CU_TENSOR_MAP_DATA_TYPE_TFLOAT32
                                       : CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  CUtensorMapSwizzle mode = swizzle == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                            : swizzle == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                            : CU_TENSOR_MAP_SWIZZLE_32B;
  CUresult result = encode(
      &map, type, batches > 1 ? 3 : 2, const_cast<T *>(base), sizes, strides,
      boxes, ones, CU_TENSOR_MAP_INTERLEAVE_NONE, mode,
      CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    std::printf("cuTensorMapEncodeTiled: %d (inner %d outer %d ld %lld)\n",
                int(result), inner, outer, ld);
    std::exit(1);
  }
  return reinterpret_cast<TensorMap &>(map);
}
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
    u32 x = u32(i + salt) * 2654435761u + u32((i + salt) >> 32) * 40503u;
    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    x *= 3266489917u;
    x ^= x >> 16;
    to[i] = cast<T>(full ? float(int(x)) * 0x1p-31f
                         : float(int(x) >> 25) * 0x1p-6f);
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
  u32 x = u32(id + salt) * 2654435761u;
  x ^= x >> 15;
  x *= 2246822519u;
  x ^= x >> 13;
  to[batch * batchStride + outer * outerStride + at * kStride] =
      cast<T>(float(int(x) >> 25) * 0x1p-6f);
}

/// Persistent blocks of a config.
template <class Config>
cudaLaunchConfig_t launchOf(Shape shape, int accumulators,
                            cudaLaunchAttribute &attribute,
                            bool hasMappedOperands = false) {
  WgmmaTiling tiling{Config::tileM,    Config::tileN,    Config::stages,
                     Config::clusterM, Config::clusterN, Config::schedule};
  int most = 132 / Config::cluster * Config::cluster;
  cudaLaunchConfig_t launch = {};
  launch.gridDim = dim3(unsigned(std::min<long long>(
      wgmmaBlocks(tiling, shape.m, shape.n, shape.batch), most)));
  launch.blockDim = dim3(Config::threads);
  launch.dynamicSmemBytes =
      wgmmaSharedBytes(Config::tileM, Config::tileN, Config::stages,
                       accumulators, hasMappedOperands);
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {unsigned(Config::cluster), 1, 1};
  launch.attrs = &attribute;
  launch.numAttrs = Config::cluster > 1;
  return launch;
}

} // namespace
} // namespace fusec

#endif // FUSEC_TEST_GPU_WGMMA_CASE_H
