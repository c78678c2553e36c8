// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the GPU programs of all templates for sm_90a share: tensor maps by the
// driver, launches of clusters, and cheap random bits.

#ifndef FUSEC_TEST_GPU_HOPPER_CASE_H
#define FUSEC_TEST_GPU_HOPPER_CASE_H

#include "gpu_matmul_case.cuh"
#include "prelude_hopper.h"

#include <cuda.h>

namespace fusec {
namespace {

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

/// A map of `outer` rows of `inner` elements, `ld` apart. `rounded`: floats are
/// rounded to tf32 as they are copied. `promotion`: bytes that a miss of the
/// copies brings into L2.
template <class T>
TensorMap makeMap(const T *base, i64 inner, i64 outer, i64 ld, int batches,
                  i64 batchStride, int boxInner, int boxOuter, int swizzle,
                  bool rounded, int promotion = 128) {
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
  CUresult result =
      encode(&map, type, batches > 1 ? 3 : 2, const_cast<T *>(base), sizes,
             strides, boxes, ones, CU_TENSOR_MAP_INTERLEAVE_NONE, mode,
             promotion == 256 ? CU_TENSOR_MAP_L2_PROMOTION_L2_256B
                              : CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    std::printf("cuTensorMapEncodeTiled: %d (inner %lld outer %lld ld %lld)\n",
                int(result), inner, outer, ld);
    std::exit(1);
  }
  return reinterpret_cast<TensorMap &>(map);
}

/// A launch of whole clusters, its shared memory allowed.
template <class Kernel, class... Arguments>
void launchClusters(Kernel kernel, int blocks, int threads, int shared,
                    int cluster, const Arguments &...arguments) {
  CHECK(cudaFuncSetAttribute(
      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {unsigned(cluster), 1, 1};
  cudaLaunchConfig_t launch = {};
  launch.gridDim = dim3(blocks);
  launch.blockDim = dim3(threads);
  launch.dynamicSmemBytes = shared;
  launch.attrs = &attribute;
  launch.numAttrs = cluster > 1;
  CHECK(cudaLaunchKernelEx(&launch, kernel, arguments...));
}

/// Random bits, the same for every run.
__host__ __device__ inline u32 scrambled(u64 index) {
  u32 x = u32(index) * 2654435761u + u32(index >> 32) * 40503u + 12345u;
  x ^= x >> 15;
  x *= 2246822519u;
  x ^= x >> 13;
  x *= 3266489917u;
  x ^= x >> 16;
  return x;
}

} // namespace
} // namespace fusec

#endif // FUSEC_TEST_GPU_HOPPER_CASE_H
