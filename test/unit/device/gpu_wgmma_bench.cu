// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times the wgmma template against cuBLASLt, relu(A B + bias), every candidate
// schedule on every shape: rounds in which all run once in turn, each after the
// L2 cache has been read full of other data. Prints a line of CSV for each:
// median microseconds of both and the median of the rounds' quotients.
// Build: nvcc -std=c++17 --expt-relaxed-constexpr
//             -gencode arch=compute_90a,code=sm_90a -lcublasLt
//             -I compiler/device test/unit/device/gpu_wgmma_bench.cu
// Run: gpu_wgmma_bench [rounds] [file]

#include "gpu_wgmma_case.cuh"
#include "gpu_wgmma_peer.cuh"

namespace fusec {
namespace {

constexpr Major K = Major::K, O = Major::Outer;
constexpr WgmmaSchedule Co = WgmmaSchedule::Cooperative,
                        PP = WgmmaSchedule::PingPong;

template <Kind Which, class T, int J> struct LinearEpilogue {
  typedef float Accumulator;
  static constexpr int accumulators = J;
  typedef Pack<RowOperand<T, Contiguous, 16>> Operands;
  typedef Pack<Mapped<FullResult<T, Stride, Contiguous, 16>>> Results;
  Operands operands;
  Results results;
  FUSEC_DEVICE static void apply(const float (&acc)[J], float bias, float &y) {
    float sum = acc[0] + bias;
    for (int j = 1; j < J; ++j)
      sum = sum + acc[j];
    y = Which == Kind::Gelu ? fast::geluTanh(sum) : relu(sum);
  }
};
template <class T, int J> struct LinearEpilogue<Kind::Residual, T, J> {
  typedef float Accumulator;
  static constexpr int accumulators = J;
  typedef Pack<RowOperand<T, Contiguous, 16>,
               Mapped<FullOperand<T, Stride, Contiguous, 16>>>
      Operands;
  typedef Pack<Mapped<FullResult<T, Stride, Contiguous, 16>>> Results;
  Operands operands;
  Results results;
  FUSEC_DEVICE static void apply(const float (&acc)[J], float bias,
                                 float residual, float &y) {
    y = relu(acc[0] + bias + residual);
  }
};

struct BenchMaps {
  TensorMap a, b[4], y, residual;
};
template <class Config, class T, Major MB, int J, Kind Which>
__global__ void __launch_bounds__(Config::threads, 1)
    benchKernel(const __grid_constant__ BenchMaps maps, const T *bias,
                const T *residual, T *y, Shape shape, int k) {
  Segment<Mapped<Matrix<T, K, 16>>, Mapped<Matrix<T, MB, 16>>, J> segment;
  segment.a.map = &maps.a;
  for (int j = 0; j < J; ++j)
    segment.b[j].map = &maps.b[j];
  segment.k = k;
  auto epilogue = [&] {
    typedef LinearEpilogue<Which, T, J> Epilogue;
    if constexpr (Which == Kind::Residual)
      return Epilogue{{{bias}, {{residual, {shape.n}}, &maps.residual}},
                      {{{y, {shape.n}}, &maps.y}}};
    else
      return Epilogue{{{bias}}, {{{y, {shape.n}}, &maps.y}}};
  }();
  gemmWgmma<Config>(shape, epilogue, segment);
}

/// Something to time, and its columns of the table.
struct Candidate {
  std::string fields;
  std::function<void()> launch;
  cudaEvent_t start, stop;
  std::vector<float> times;
};

template <class T, class Config, Major MB, int J, Kind Which>
void add(std::vector<Candidate> &to, const Data<T> &data) {
  constexpr WgmmaTiling tiling{Config::tileM,    Config::tileN,
                               Config::stages,   Config::clusterM,
                               Config::clusterN, Config::schedule};
  constexpr bool loads = Which == Kind::Residual;
  if constexpr (!wgmmaFits(tiling, J, loads ? 2 : 1, sharedLimit, loads)) {
    return;
  } else {
    auto kernel = benchKernel<Config, T, MB, J, Which>;
    int m = data.shape.m, n = data.shape.n, k = data.k;
    BenchMaps maps;
    maps.a = makeInputMap(data.a, K, Config::tileM / Config::clusterN, m, k, k,
                          1, 0);
    for (int j = 0; j < J; ++j)
      maps.b[j] = makeInputMap(data.b + i64(j) * n * k, MB,
                               Config::tileN / Config::clusterM, n, k,
                               MB == K ? k : n, 1, 0);
    maps.y = makeResultMap(data.y, Config::tileN, sizeof(T), m, n, n, 1, 0);
    maps.residual =
        makeResultMap(data.residual, Config::tileN, sizeof(T), m, n, n, 1, 0);
    auto run = [=] {
      launchWgmma<Config>(
          kernel, data.shape, J, loads, maps, static_cast<const T *>(data.bias),
          static_cast<const T *>(data.residual), data.y, data.shape, k);
    };
    char fields[128];
    std::snprintf(fields, sizeof(fields), "%d,%d,%d,%d,%d,%s,%d", Config::tileM,
                  Config::tileN, Config::stages, Config::clusterM,
                  Config::clusterN,
                  Config::pingPong ? "pingpong" : "cooperative",
                  Config::band * Config::clusterM);
    to.push_back({fields, run, {}, {}, {}});
  }
}

template <class T>
__global__ void differKernel(const T *y, const T *want, i64 count, float bound,
                             u32 *wrong) {
  for (i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += i64(gridDim.x) * blockDim.x) {
    float w = cast<float>(want[i]);
    if (!(::fabsf(cast<float>(y[i]) - w) <= bound * (1 + ::fabsf(w))))
      atomicAdd(wrong, 1);
  }
}
__global__ void readKernel(const float4 *from, i64 count, float *never) {
  float sum = 0;
  for (i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += i64(gridDim.x) * blockDim.x) {
    float4 v = from[i];
    sum += v.x + v.y + v.z + v.w;
  }
  if (sum == 123.456f)
    *never = sum;
}
static void readOtherData() {
  static float4 *other = nullptr;
  const i64 bytes = i64(192) << 20;
  if (!other) {
    CHECK(cudaMalloc(&other, bytes));
    CHECK(cudaMemset(other, 0, bytes));
  }
  readKernel<<<528, 512>>>(other, bytes / 16, reinterpret_cast<float *>(other));
}

static float medianOf(std::vector<float> v) {
  std::sort(v.begin(), v.end());
  return v.empty() ? 0 : v[v.size() / 2];
}

template <class T> const char *nameOf() {
  return isSame<T, f16> ? "f16" : isSame<T, bf16> ? "bf16" : "tf32";
}

static int rounds = 30;
static std::FILE *file = nullptr;

template <class T, Major MB, int J, Kind Which, class AddAll>
void measure(int m, int n, int k, AddAll addAll) {
  Data<T> data{{}, {}, {}, {}, {}, {}, {m, n, 1}, k, J};
  CHECK(cudaMalloc(&data.a, sizeof(T) * m * k));
  CHECK(cudaMalloc(&data.b, sizeof(T) * n * k * J));
  CHECK(cudaMalloc(&data.bias, sizeof(T) * n * J));
  CHECK(cudaMalloc(&data.y, sizeof(T) * m * n));
  CHECK(cudaMalloc(&data.want, sizeof(T) * m * n * J));
  CHECK(cudaMalloc(&data.residual, sizeof(T) * m * n));
  fillKernel<<<528, 256>>>(data.residual, i64(m) * n, u64(3) << 33, true);
  fillKernel<<<528, 256>>>(data.a, i64(m) * k, 1, true);
  fillKernel<<<528, 256>>>(data.b, i64(n) * k * J, u64(1) << 33, true);
  fillKernel<<<528, 256>>>(data.bias, i64(n) * J, u64(1) << 34, true);
  std::vector<Candidate> all;
  all.push_back({"cublas", blas<T, MB, Which>(data), {}, {}, {}});
  addAll(all, data);
  Buffer<u32> wrong(1);
  for (auto &candidate : all) {
    cudaEventCreate(&candidate.start), cudaEventCreate(&candidate.stop);
    CHECK(cudaMemset(data.y, 0xff, sizeof(T) * m * n));
    candidate.launch();
    if (cudaError_t status = cudaDeviceSynchronize(); status != cudaSuccess) {
      std::printf("FAIL %s: %s\n", candidate.fields.c_str(),
                  cudaGetErrorString(status));
      std::exit(1);
    }
    if (J > 1 || &candidate == &all[0])
      continue; // cuBLASLt does not add accumulators
    CHECK(cudaMemset(wrong.data, 0, 4));
    differKernel<<<528, 256>>>(data.y, data.want, i64(m) * n,
                               isSame<T, bf16> ? 0.02f : 0.004f, wrong.data);
    wrong.down();
    if (wrong.host[0])
      std::printf("FAIL %s %d x %d x %d %s: %u differ\n", nameOf<T>(), m, n, k,
                  candidate.fields.c_str(), wrong.host[0]);
  }
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < all.size(); ++i) {
      Candidate &candidate = all[(i + round) % all.size()];
      readOtherData();
      cudaEventRecord(candidate.start);
      candidate.launch();
      cudaEventRecord(candidate.stop);
    }
    CHECK(cudaDeviceSynchronize());
    for (auto &candidate : all) {
      float ms;
      cudaEventElapsedTime(&ms, candidate.start, candidate.stop);
      candidate.times.push_back(ms * 1000);
    }
  }
  float reference = medianOf(all[0].times);
  double flops = 2.0 * m * n * k * J;
  const char *kindName = Which == Kind::Relu   ? "relu"
                         : Which == Kind::Gelu ? "gelu"
                                               : "residual";
  std::vector<size_t> order;
  for (size_t i = 1; i < all.size(); ++i) {
    order.push_back(i);
    std::vector<float> ratios;
    for (int round = 0; round < rounds; ++round)
      ratios.push_back(all[0].times[round] / all[i].times[round]);
    if (file)
      std::fprintf(file, "%s,%s,%s,%d,%d,%d,%d,%s,%.2f,%.2f,%.4f\n",
                   nameOf<T>(), MB == K ? "KK" : "KO", kindName, m, n, k, J,
                   all[i].fields.c_str(), medianOf(all[i].times), reference,
                   medianOf(ratios));
  }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return medianOf(all[a].times) < medianOf(all[b].times);
  });
  std::printf("%s %s %s %dx%dx%d J%d cublas %.1f us %.0f TFLOP/s:", nameOf<T>(),
              MB == K ? "KK" : "KO", kindName, m, n, k, J, reference,
              flops / reference * 1e-6);
  for (size_t i = 0; i < order.size() && i < 5; ++i)
    std::printf("  %s %.3f", all[order[i]].fields.c_str(),
                reference / medianOf(all[order[i]].times));
  std::printf("\n");
  std::fflush(stdout);
  for (auto &candidate : all)
    cudaEventDestroy(candidate.start), cudaEventDestroy(candidate.stop);
  cudaFree(data.a), cudaFree(data.b), cudaFree(data.bias);
  cudaFree(data.y), cudaFree(data.want), cudaFree(data.residual);
}

/// As many stages as fit, at most eight.
template <class T, int M, int N, int J, int ClusterM = 1,
          WgmmaSchedule Schedule = Co, int ClusterN = 1, int Band = 16>
struct Fitted {
  template <bool Loads>
  using Config = WgmmaConfig<M, N, wgmmaRowBytes / int(sizeof(T)),
                             wgmmaStagesIn(sharedLimit, M, N, J, 8, Loads),
                             ClusterM, Schedule, ClusterN, Band>;
};
#define ADD(J, ...)                                                            \
  add<T,                                                                       \
      typename Fitted<T,                                                       \
                      __VA_ARGS__>::template Config<Which == Kind::Residual>,  \
      MB, J, Which>(all, data)

template <class T, Major MB, Kind Which>
void addWide(std::vector<Candidate> &all, const Data<T> &data) {
  ADD(1, 128, 256, 1, 2);
  ADD(1, 128, 256, 1, 1);
  ADD(1, 128, 256, 1, 1, Co, 2);
  ADD(1, 256, 128, 1, 2);
  ADD(1, 256, 128, 1, 1, Co, 2);
  ADD(1, 128, 192, 1, 2);
  ADD(1, 128, 192, 1, 2, PP);
  ADD(1, 128, 128, 1, 2);
  ADD(1, 128, 128, 1, 2, PP);
  ADD(1, 128, 128, 1, 1, PP);
  ADD(1, 128, 160, 1, 2, PP);
  ADD(1, 64, 256, 1, 2, PP);
  ADD(1, 64, 128, 1, 1, PP);
  ADD(1, 128, 64, 1, 1, PP);
  ADD(1, 128, 64, 1, 1);
}
template <class T, Major MB, Kind Which>
void addRest(std::vector<Candidate> &all, const Data<T> &data) {
  ADD(1, 128, 256, 1, 2, Co, 1, 8);
  ADD(1, 128, 256, 1, 2, Co, 1, 32);
  ADD(1, 256, 192, 1, 2);
  ADD(1, 256, 160, 1, 2);
  ADD(1, 192, 192, 1, 2);
  ADD(1, 192, 160, 1, 2);
  ADD(1, 192, 128, 1, 1);
  ADD(1, 128, 224, 1, 2);
  ADD(1, 128, 208, 1, 2);
  ADD(1, 128, 208, 1, 2, PP);
  ADD(1, 128, 192, 1, 1, PP);
  ADD(1, 128, 192, 1, 1, PP, 2);
  ADD(1, 128, 128, 1, 1, PP, 2);
  ADD(1, 128, 96, 1, 2, PP);
  ADD(1, 64, 192, 1, 2, PP);
  ADD(1, 64, 64, 1, 1, PP);
}

int runAll(int argc, char **argv) {
  if (argc > 1)
    rounds = std::atoi(argv[1]);
  if (argc > 2)
    file = std::fopen(argv[2], "w");
  findEncode();
  if (file)
    std::fprintf(file,
                 "type,layout,epilogue,m,n,k,accumulators,tileM,tileN,stages,"
                 "clusterM,clusterN,schedule,band,microseconds,"
                 "cublas_microseconds,median_ratio\n");
  static const int shapes[][3] = {
      {1024, 1024, 1024},   {2048, 2048, 2048}, {4096, 4096, 4096},
      {8192, 8192, 8192},   {8192, 4096, 4096}, {8192, 11008, 4096},
      {16384, 1024, 1024},  {8192, 1024, 8192}, {4096, 4096, 1024},
      {2048, 4096, 4096},   {512, 4096, 4096},  {1024, 11008, 4096},
      {3000, 3000, 3000},   {16384, 4096, 512}, {65536, 512, 256},
      {16384, 16384, 16384}};
  for (auto &s : shapes) {
#define MEASURE(T, MB, J, Which, ...)                                          \
  measure<T, MB, J, Which>(s[0], s[1], s[2], [                                 \
  ](std::vector<Candidate> & all, const Data<T> &data) __VA_ARGS__)
    MEASURE(f16, O, 1, Kind::Relu, {
      (addWide<f16, O, Kind::Relu>(all, data));
      (addRest<f16, O, Kind::Relu>(all, data));
    });
    if (i64(s[0]) * s[1] * s[2] > i64(1) << 40)
      continue;
    MEASURE(f16, K, 1, Kind::Relu,
            { (addWide<f16, K, Kind::Relu>(all, data)); });
    MEASURE(bf16, O, 1, Kind::Relu,
            { (addWide<bf16, O, Kind::Relu>(all, data)); });
    MEASURE(bf16, K, 1, Kind::Gelu,
            { (addWide<bf16, K, Kind::Gelu>(all, data)); });
    MEASURE(f16, O, 1, Kind::Residual,
            { (addWide<f16, O, Kind::Residual>(all, data)); });
    MEASURE(float, K, 1, Kind::Relu, {
      (addWide<float, K, Kind::Relu>(all, data));
      (addRest<float, K, Kind::Relu>(all, data));
    });
    MEASURE(f16, O, 2, Kind::Relu, {
      typedef f16 T;
      constexpr Major MB = O;
      constexpr Kind Which = Kind::Relu;
      ADD(2, 128, 128, 2, 2);
      ADD(2, 128, 128, 2, 1);
      ADD(2, 128, 96, 2, 2, PP);
      ADD(2, 128, 64, 2, 1, PP);
      ADD(2, 64, 128, 2, 2, PP);
      ADD(2, 256, 64, 2, 1);
      ADD(2, 128, 64, 2, 1);
    });
  }
  return 0;
}

} // namespace
} // namespace fusec

int main(int argc, char **argv) { return fusec::runAll(argc, argv); }
