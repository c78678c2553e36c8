// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuBLASLt on the work that gpu_wgmma_bench.cu times.

#ifndef FUSEC_TEST_GPU_WGMMA_PEER_H
#define FUSEC_TEST_GPU_WGMMA_PEER_H

#include "gpu_matmul_case.cuh"

#include <cublasLt.h>
#include <functional>

namespace fusec {
namespace {

/// relu(AB + bias), gelu(AB + bias) by tanh, relu(AB + bias + residual).
enum class Kind { Relu, Gelu, Residual };

template <class T> struct Data {
  T *a, *b, *bias, *y, *want, *residual;
  Shape shape;
  int k, accumulators;
};

#define BLAS(call)                                                             \
  do {                                                                         \
    cublasStatus_t status = (call);                                            \
    if (status != CUBLAS_STATUS_SUCCESS) {                                     \
      std::printf("%s:%d: cublas %d\n", __FILE__, __LINE__, int(status));      \
      std::exit(1);                                                            \
    }                                                                          \
  } while (0)

/// A warm launch first.
static float timeOnce(const std::function<void()> &launch, int repeats) {
  cudaEvent_t start, stop;
  cudaEventCreate(&start), cudaEventCreate(&stop);
  launch();
  cudaEventRecord(start);
  for (int i = 0; i < repeats; ++i)
    launch();
  cudaEventRecord(stop);
  CHECK(cudaEventSynchronize(stop));
  float ms;
  cudaEventElapsedTime(&ms, start, stop);
  cudaEventDestroy(start), cudaEventDestroy(stop);
  return ms;
}

/// The fastest of cuBLASLt's own first choices. Several accumulators count as
/// one matrix of as many times the columns.
template <class T, Major MB, Kind Which>
std::function<void()> blas(const Data<T> &data) {
  static cublasLtHandle_t handle = nullptr;
  static void *space = nullptr;
  const size_t spaceBytes = size_t(64) << 20;
  if (!handle) {
    BLAS(cublasLtCreate(&handle));
    CHECK(cudaMalloc(&space, spaceBytes));
  }
  cudaDataType_t type = isSame<T, f16>    ? CUDA_R_16F
                        : isSame<T, bf16> ? CUDA_R_16BF
                                          : CUDA_R_32F;
  i64 m = data.shape.m, n = i64(data.shape.n) * data.accumulators, k = data.k;
  cublasLtMatmulDesc_t operation;
  BLAS(cublasLtMatmulDescCreate(&operation,
                                isSame<T, float> ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                 : CUBLAS_COMPUTE_32F,
                                CUDA_R_32F));
  cublasOperation_t first = MB == Major::K ? CUBLAS_OP_T : CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = Which == Kind::Gelu
                                    ? CUBLASLT_EPILOGUE_GELU_BIAS
                                    : CUBLASLT_EPILOGUE_RELU_BIAS;
  BLAS(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSA,
                                      &first, sizeof(first)));
  BLAS(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_EPILOGUE,
                                      &epilogue, sizeof(epilogue)));
  BLAS(cublasLtMatmulDescSetAttribute(operation,
                                      CUBLASLT_MATMUL_DESC_BIAS_POINTER,
                                      &data.bias, sizeof(data.bias)));
  cublasLtMatrixLayout_t a, b, y;
  BLAS(cublasLtMatrixLayoutCreate(&a, type, MB == Major::K ? k : n,
                                  MB == Major::K ? n : k,
                                  MB == Major::K ? k : n));
  BLAS(cublasLtMatrixLayoutCreate(&b, type, k, m, k));
  BLAS(cublasLtMatrixLayoutCreate(&y, type, n, m, n));
  cublasLtMatmulPreference_t preference;
  BLAS(cublasLtMatmulPreferenceCreate(&preference));
  BLAS(cublasLtMatmulPreferenceSetAttribute(
      preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &spaceBytes,
      sizeof(spaceBytes)));
  const int most = 6;
  cublasLtMatmulHeuristicResult_t results[most];
  int found = 0;
  BLAS(cublasLtMatmulAlgoGetHeuristic(handle, operation, a, b, y, y, preference,
                                      most, results, &found));
  std::function<void()> best;
  float bestTime = 0;
  for (int i = 0; i < found; ++i) {
    cublasLtMatmulAlgo_t algorithm = results[i].algo;
    auto run = [=] {
      float one = 1, beta = Which == Kind::Residual ? 1 : 0;
      BLAS(cublasLtMatmul(handle, operation, &one, data.b, a, data.a, b, &beta,
                          beta ? data.residual : data.want, y, data.want, y,
                          &algorithm, space, spaceBytes, nullptr));
    };
    float time = timeOnce(run, 10);
    if (!best || time < bestTime) {
      best = run;
      bestTime = time;
    }
  }
  return best;
}

} // namespace
} // namespace fusec

#endif // FUSEC_TEST_GPU_WGMMA_PEER_H
