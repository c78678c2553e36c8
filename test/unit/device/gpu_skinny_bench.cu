// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times linear layers of few rows beside cuBLAS, the other templates and plain
// reading of the weights, the L2 flushed.
// Build: nvcc -std=c++17 --expt-relaxed-constexpr
//             -gencode arch=compute_90a,code=sm_90a
//             -I compiler/device test/unit/device/gpu_skinny_bench.cu -ldl

#include "gemm_skinny.h"
#include "gpu_narrow_case.cuh"

#include <cublas_v2.h>
#include <dlfcn.h>

namespace fusec {
namespace {

struct Maps {
  TensorMap a[1], b[1][2];
};

// Linear layers: y = relu(sum of accumulators + bias).
template <class Out, int J> struct Linear {
  typedef float Accumulator;
  static constexpr int accumulators = J;
  typedef Pack<RowOperand<Out, Contiguous, 16>> Operands;
  typedef Pack<FullResult<Out, Stride, Contiguous, 16>> Results;
  Operands operands;
  Results results;
  FUSEC_DEVICE static void apply(const float (&acc)[J], float bias, float &y) {
    float sum = acc[0] + bias;
    for (int j = 1; j < J; ++j)
      sum = sum * acc[j];
    y = relu(sum);
  }
};

template <class T> struct LinearProblem {
  int m, n, k;
  const T *x, *w[2], *packed[2], *bias;
  T *y;
};

template <class Config, class T, Major MB, int J, int Together, bool Pack>
__global__ void __launch_bounds__(Config::threads, Together)
    linearKernel(const __grid_constant__ Maps maps, LinearProblem<T> p) {
  typedef Mapped<Matrix<T, MB, 16>> Plain;
  typedef typename Conditional<Pack, Packed<T>, Plain>::Type B;
  typedef Segment<Mapped<Matrix<T, Major::K, 16>>, B, J> Main;
  Main main = {};
  main.a.map = &maps.a[0];
  for (int j = 0; j < J; ++j)
    if constexpr (Pack) {
      main.b[j].pointer = p.packed[j];
      main.b[j].blocksK = tilesOf(p.k, Config::tileK);
    } else {
      main.b[j].map = &maps.b[0][j];
    }
  main.k = p.k;
  gemmSkinny<Config>({p.m, p.n, 1}, Linear<T, J>{{{p.bias}}, {{p.y, {p.n}}}},
                     main);
}

template <class Config, class T, Major MB, int J, int Kind>
__global__ void __launch_bounds__(Config::threads, 1)
    otherKernel(LinearProblem<T> p) {
  typedef Segment<Matrix<T, Major::K, 16>, Matrix<T, MB, 16>, J> Main;
  Main main = {{p.x, p.k}, {}, p.k};
  for (int j = 0; j < J; ++j)
    main.b[j] = {p.w[j], MB == Major::K ? p.k : p.n};
  Linear<T, J> e{{{p.bias}}, {{p.y, {p.n}}}};
  if constexpr (Kind == 0)
    gemmMma<Config>({p.m, p.n, 1}, e, main);
  else
    gemv<Config, Narrow::M>({p.m, p.n, 1}, e, main);
}

__global__ void emptyKernel() {}

/// Whole vectors, eight in flight a thread: the time that reading takes.
__global__ void __launch_bounds__(512)
    readAll(const float4 *p, int count, float *out) {
  float sum = 0;
  int step = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += 8 * step)
    for (int j = 0; j < 8; ++j)
      if (i + j * step < count)
        sum += __ldcs(p + i + j * step).x;
  if (sum == 1.2345f)
    *out = sum;
}

template <class T>
__global__ void packKernel(const T *from, T *to, bool alongK, int n, int k,
                           int columns, int padded) {
  int blocksK = padded / (128 / int(sizeof(T)));
  for (i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x;
       i < i64(columns) * padded; i += i64(gridDim.x) * blockDim.x) {
    int c = int(i / padded), kk = int(i % padded);
    T value = {};
    if (c < n && kk < k)
      value = from[alongK ? i64(c) * k + kk : i64(kk) * n + c];
    if constexpr (sizeof(T) == 4)
      value = primitive::floatOf(
          primitive::toTf32(primitive::bitsOf(float(value))));
    to[skinnyPackedOffset(c, kk, blocksK, sizeof(T)) / sizeof(T)] = value;
  }
}

struct Blas {
  cublasHandle_t handle = nullptr;
  cublasStatus_t (*gemm)(cublasHandle_t, cublasOperation_t, cublasOperation_t,
                         int, int, int, const void *, const void *,
                         cudaDataType, int, const void *, cudaDataType, int,
                         const void *, void *, cudaDataType, int,
                         cublasComputeType_t, cublasGemmAlgo_t) = nullptr;
  Blas() {
    void *library = dlopen("libcublas.so.13", RTLD_NOW);
    if (!library) {
      std::printf("no cuBLAS: %s\n", dlerror());
      return;
    }
    auto create = reinterpret_cast<cublasStatus_t (*)(cublasHandle_t *)>(
        dlsym(library, "cublasCreate_v2"));
    gemm = reinterpret_cast<decltype(gemm)>(dlsym(library, "cublasGemmEx"));
    if (!create || !gemm || create(&handle) != CUBLAS_STATUS_SUCCESS)
      gemm = nullptr;
  }
};

/// y = x W, without bias or activation.
template <class T, Major MB>
void runBlas(const Blas &blas, const LinearProblem<T> &p) {
  cudaDataType type = isSame<T, f16>    ? CUDA_R_16F
                      : isSame<T, bf16> ? CUDA_R_16BF
                                        : CUDA_R_32F;
  float one = 1, zero = 0;
  blas.gemm(blas.handle, MB == Major::K ? CUBLAS_OP_T : CUBLAS_OP_N,
            CUBLAS_OP_N, p.n, p.m, p.k, &one, p.w[0], type,
            MB == Major::K ? p.k : p.n, p.x, type, p.k, &zero, p.y, type, p.n,
            isSame<T, float> ? CUBLAS_COMPUTE_32F_FAST_TF32
                             : CUBLAS_COMPUTE_32F,
            CUBLAS_GEMM_DEFAULT);
}

template <class T, Major MB, int J, int Tokens> struct LinearBench {
  LinearProblem<T> p;
  std::vector<Timed> bodies;
  std::vector<T> want;

  LinearBench(int m, int n, int k) {
    p = {m,      n, k, filled<T>(i64(m) * k, 1, 5), {}, {}, filled<T>(n, 1, 3),
         nullptr};
    int columns = tilesOf(n, 256) * 256, perRow = 128 / int(sizeof(T));
    for (int j = 0; j < J; ++j) {
      p.w[j] = filled<T>(i64(n) * k, 0.1f, 1000 + j * 77777);
      T *packed;
      CHECK(cudaMalloc(&packed, skinnyPackedBytes(n, k, 4, sizeof(T))));
      packKernel<<<1024, 256>>>(p.w[j], packed, MB == Major::K, n, k, columns,
                                tilesOf(k, perRow) * perRow);
      p.packed[j] = packed;
    }
    CHECK(cudaMalloc(&p.y, i64(m) * n * sizeof(T)));
    std::printf("linear, m %d n %d k %d, %d bytes, %s, %d accumulators: floor "
                "%.5f ms\n",
                m, n, k, int(sizeof(T)),
                MB == Major::K ? "K-major" : "row-major", J,
                double(sizeof(T)) * n * k * J / 4.26e9);
  }
  ~LinearBench() {
    cudaFree(const_cast<T *>(p.x));
    cudaFree(const_cast<T *>(p.bias));
    cudaFree(p.y);
    for (int j = 0; j < J; ++j) {
      cudaFree(const_cast<T *>(p.w[j]));
      cudaFree(const_cast<T *>(p.packed[j]));
    }
  }
  /// Differences between kernels: all must agree with the first one.
  void verify(const std::string &name) {
    CHECK(cudaDeviceSynchronize());
    std::vector<T> got(i64(p.m) * p.n);
    CHECK(cudaMemcpy(got.data(), p.y, got.size() * sizeof(T),
                     cudaMemcpyDeviceToHost));
    auto number = [](T v) {
      if constexpr (isSame<T, bf16>) {
        u32 bits = u32(v.bits) << 16;
        float f;
        std::memcpy(&f, &bits, 4);
        return double(f);
      } else {
        return toHost(v);
      }
    };
    if (want.empty()) {
      want = got;
      return;
    }
    double worst = 0, largest = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      double a = number(got[i]), b = number(want[i]);
      worst = std::max(worst, a == a ? std::fabs(a - b) : 1e30);
      largest = std::max(largest, std::fabs(b));
    }
    if (worst > 0.01 * largest)
      std::printf("  %s differs: %g of %g\n", name.c_str(), worst, largest),
          ++failures;
  }
  template <int Blocks, int Cluster, int Together, bool Pack = false,
            bool Streamed = true>
  void skinny() {
    constexpr int stages = skinnyStages(Tokens, Blocks, Cluster, J, Together);
    if constexpr (stages >= 2) {
      typedef SkinnyConfig<Tokens, Blocks, 128 / int(sizeof(T)), stages,
                           Cluster, Streamed>
          Config;
      Maps maps = {};
      WgmmaBox box = wgmmaBox(true, Tokens, sizeof(T));
      maps.a[0] = mapOf(p.x, p.k, p.m, p.k, box.inner, box.outer);
      box = wgmmaBox(MB == Major::K, Config::tileN, sizeof(T));
      for (int j = 0; j < J; ++j)
        maps.b[0][j] = MB == Major::K
                           ? mapOf(p.w[j], p.k, p.n, p.k, box.inner, box.outer)
                           : mapOf(p.w[j], p.n, p.k, p.n, box.inner, box.outer);
      char name[80];
      std::snprintf(
          name, sizeof name, "n%d cluster %d, %d an SM, %d stages%s%s%s",
          64 * Blocks, Cluster, Together, stages, Pack ? ", packed" : "",
          Streamed ? "" : ", no hint", promotion == 256 ? ", 256 B" : "");
      LinearProblem<T> q = p;
      bodies.push_back(
          {name, [=] {
             launchClusters(
                 linearKernel<Config, T, MB, J, Together, Pack>,
                 skinnyGrid(q.m, q.n, 1, Tokens, Blocks, Cluster),
                 Config::threads,
                 skinnySharedBytes(Tokens, Blocks, stages, Cluster, J), Cluster,
                 maps, q);
           }});
    }
  }
  template <class Config> void mma(const char *name) {
    LinearProblem<T> q = p;
    int shared = mmaSharedBytes(Config::tileM, Config::tileN, Config::tileK,
                                Config::warpsM, Config::warpsN, Config::stages,
                                J, sizeof(T));
    int grid = tilesOf(q.m, Config::tileM) * tilesOf(q.n, Config::tileN);
    bodies.push_back({name, [=] {
                        launchClusters(otherKernel<Config, T, MB, J, 0>, grid,
                                       Config::threads, shared, 1, q);
                      }});
  }
  template <class Config> void vector(const char *name) {
    LinearProblem<T> q = p;
    int grid = gemvBlocks(q.n, 1, MB == Major::K, Config::threads);
    bodies.push_back({name, [=] {
                        launchClusters(otherKernel<Config, T, MB, J, 1>, grid,
                                       Config::threads, 0, 1, q);
                      }});
  }
  void time(const Blas &blas, bool cleanToo = false) {
    for (auto &body : bodies) {
      CHECK(cudaMemset(p.y, 0xff, i64(p.m) * p.n * sizeof(T)));
      body.body();
      verify(body.name);
    }
    if (blas.gemm && J == 1) {
      LinearProblem<T> q = p;
      bodies.push_back({"cublasGemmEx (no bias, no relu)",
                        [=, &blas] { runBlas<T, MB>(blas, q); }});
    }
    LinearProblem<T> q = p;
    float *out = reinterpret_cast<float *>(p.y);
    bodies.push_back({"reading the weights", [=] {
                        for (int j = 0; j < J; ++j)
                          readAll<<<132 * 4, 512>>>(
                              reinterpret_cast<const float4 *>(q.w[j]),
                              int(i64(q.n) * q.k * sizeof(T) / 16), out);
                      }});
    bodies.push_back({"empty kernel", [] { emptyKernel<<<132, 160>>>(); }});
    if (cleanToo)
      bodies.push_back({"empty kernel, clusters of 2", [] {
                          launchClusters(emptyKernel, 128, 160, 200 << 10, 2);
                        }});
    timeInTurn(bodies, true);
    if (cleanToo) {
      std::printf("  (L2 flushed by reading)\n");
      timeInTurn(bodies, false);
    }
  }
};

template <class T, Major MB, int J, int Tokens>
void benchLinear(const Blas &blas, int m, int n, int k, bool full) {
  LinearBench<T, MB, J, Tokens> bench(m, n, k);
  bool large = i64(n) * k * J > 64 << 20;
  for (int bytes : {128, 256}) {
    promotion = bytes;
    bench.template skinny<1, 2, 2>();
    bench.template skinny<1, 2, 2, false, false>();
    if (large) {
      bench.template skinny<1, 1, 2>();
      bench.template skinny<1, 1, 2, false, false>();
      bench.template skinny<2, 1, 2, false, false>();
      bench.template skinny<2, 1, 1, false, false>();
      bench.template skinny<4, 1, 1, false, false>();
      bench.template skinny<4, 2, 1, false, false>();
    } else {
      bench.template skinny<1, 2, 1>();
      bench.template skinny<1, 1, 2>();
    }
  }
  promotion = 128;
  bench.template skinny<1, 2, 2, true>();
  bench.template skinny<1, 2, 2, true, false>();
  bench.template skinny<1, 1, 2, true, false>();
  if (full) {
    bench.template skinny<1, 4, 4>();
    bench.template skinny<1, 8, 4>();
  }
  if constexpr (sizeof(T) == 2)
    bench.template mma<MmaConfig<16, 128, 64, 1, 4, 4>>("gemmMma 16x128");
  if constexpr (Tokens == 8)
    bench.template vector<GemvConfig<8, 256>>("gemv 8");
  if (m == 1)
    bench.template vector<GemvConfig<1, (MB == Major::K ? 256 : 1024)>>(
        "gemv 1");
  bench.time(blas, full);
}

int run() {
  constexpr Major K = Major::K, O = Major::Outer;
  findEncode();
  Blas blas;
  benchLinear<f16, O, 1, 16>(blas, 16, 4096, 4096, true);
  benchLinear<f16, K, 1, 16>(blas, 16, 4096, 4096, true);
  benchLinear<f16, K, 1, 8>(blas, 1, 4096, 4096, false);
  benchLinear<f16, O, 1, 64>(blas, 64, 4096, 4096, false);
  benchLinear<bf16, K, 2, 16>(blas, 16, 11008, 4096, false);
  benchLinear<f16, O, 1, 16>(blas, 16, 28672, 8192, false);
  benchLinear<f16, O, 1, 16>(blas, 16, 11008, 4096, false);
  benchLinear<f16, O, 1, 16>(blas, 16, 4096, 11008, false);
  benchLinear<float, K, 1, 16>(blas, 16, 4096, 4096, false);
  return failures != 0;
}

} // namespace
} // namespace fusec

int main() { return fusec::run(); }
