// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times tall, narrow roots beside copies of as many bytes, the L2 flushed.
// Build: nvcc -std=c++17 --expt-relaxed-constexpr
//             -gencode arch=compute_90a,code=sm_90a
//             -I compiler/device test/unit/device/gpu_resident_bench.cu

#include "gemm_resident.h"
#include "gpu_narrow_case.cuh"

namespace fusec {
namespace {

struct Maps {
  TensorMap a[1], b[1][2], y;
};

// Gates: y = sigmoid(x W1 + b1) * (x W2 + b2).
// Exact; by tanh.approx; by approximations of 22 bits.
enum class Form { Exact, Tanh, Approximate };

template <Form Which> struct Gate {
  typedef float Accumulator;
  static constexpr int accumulators = 2;
  typedef Pack<RowOperand<f16, Contiguous, 16>, RowOperand<f16, Contiguous, 16>>
      Operands;
  typedef Pack<Mapped<FullResult<f16, Stride, Contiguous, 16>>> Results;
  Operands operands;
  Results results;
  FUSEC_DEVICE static void apply(const float (&acc)[2], float b1, float b2,
                                 float &y) {
    float gate = acc[0] + b1;
    float open = Which == Form::Exact ? sigmoid(gate)
                 : Which == Form::Tanh
                     ? fast::sigmoid(gate)
                     : fast::reciprocal(1.0f + fast::exp(-gate));
    y = open * (acc[1] + b2);
  }
};

template <class Config, Form Which>
__global__ void __launch_bounds__(Config::threads, 1)
    gateKernel(const __grid_constant__ Maps maps, const f16 *b1, const f16 *b2,
               f16 *y, int m, int n, int k) {
  typedef Segment<Mapped<Matrix<f16, Major::K, 16>>,
                  Mapped<Matrix<f16, Major::Outer, 16>>, 2>
      Main;
  Main main = {};
  main.a.map = &maps.a[0];
  main.b[0].map = &maps.b[0][0];
  main.b[1].map = &maps.b[0][1];
  main.k = k;
  gemmResident<Config>({m, n, 1},
                       Gate<Which>{{{b1}, {b2}}, {{{y, {n}}, &maps.y}}}, main);
}

__global__ void gateError(const f16 *x, const f16 *w1, const f16 *w2,
                          const f16 *b1, const f16 *b2, const f16 *y, i64 m,
                          int n, int k, i64 every, double *worst) {
  double most = 0;
  for (i64 row = blockIdx.x * every + blockIdx.x % every; row < m;
       row += every * gridDim.x)
    for (int c = threadIdx.x; c < n; c += blockDim.x) {
      double s = cast<double>(b1[c]), t = cast<double>(b2[c]);
      for (int i = 0; i < k; ++i) {
        s += cast<double>(x[row * k + i]) * cast<double>(w1[i * n + c]);
        t += cast<double>(x[row * k + i]) * cast<double>(w2[i * n + c]);
      }
      double want = t / (1 + ::exp(-s));
      double off =
          ::fabs(cast<double>(y[row * n + c]) - want) / (::fabs(want) + 0.01);
      most = most > off || off != off ? most : off;
      if (off != off)
        most = 1e9;
    }
  // Diagnostics only: doubles of one sign compare like integers.
  atomicMax(reinterpret_cast<unsigned long long *>(worst),
            (unsigned long long)__double_as_longlong(most));
}

void benchGates(i64 m) {
  const int n = 64, k = 128;
  f16 *x = filled<f16>(m * k, 1.0f, 1), *w1 = filled<f16>(n * k, 0.1f, 7),
      *w2 = filled<f16>(n * k, 0.1f, 99999), *b1 = filled<f16>(n, 0.5f, 3),
      *b2 = filled<f16>(n, 0.5f, 77);
  f16 *y, *copy;
  CHECK(cudaMalloc(&y, m * n * 2));
  CHECK(cudaMalloc(&copy, m * (n + k)));
  Maps maps = {};
  std::vector<Timed> bodies;
  std::printf("gate, %lld rows, 128 to 64, f16\n", m);
  double *worst;
  CHECK(cudaMalloc(&worst, 8));
  auto add = [&](auto config, auto form, std::string name) {
    typedef decltype(config) Config;
    int shared =
        residentSharedBytes(Config::tileN, 2, Config::stages, Config::consumers,
                            residentStagedBytes(64, 2), 2);
    auto body = [=] {
      launchClusters(gateKernel<Config, Form(decltype(form)::value)>,
                     residentGrid(int(m), 132), Config::threads, shared, 1,
                     maps, b1, b2, y, int(m), n, k);
    };
    CHECK(cudaMemset(y, 0xff, m * n * 2));
    CHECK(cudaMemset(worst, 0, 8));
    body();
    gateError<<<512, 64>>>(x, w1, w2, b1, b2, y, m, n, k, 37, worst);
    double off;
    CHECK(cudaMemcpy(&off, worst, 8, cudaMemcpyDeviceToHost));
    std::printf("  %-46s worst relative error %.2e\n", name.c_str(), off);
    bodies.push_back({name, body});
  };
  Width<int(Form::Exact)> exact;
  Width<int(Form::Tanh)> tanh;
  Width<int(Form::Approximate)> approximate;
  for (int bytes : {256, 128}) {
    promotion = bytes;
    WgmmaBox box = wgmmaBox(false, 64, 2);
    maps.a[0] = mapOf(x, k, m, k, 64, residentRows);
    maps.b[0][0] = mapOf(w1, n, k, n, box.inner, box.outer);
    maps.b[0][1] = mapOf(w2, n, k, n, box.inner, box.outer);
    maps.y = mapOf(y, n, m, n, 64, residentResultRows, false);
    std::string suffix = bytes == 128 ? ", 128 B a miss" : "";
    if (bytes == 256) {
      add(ResidentConfig<64, 64, 3, 3>(), exact, "3 x 3 stages, exact");
      add(ResidentConfig<64, 64, 3, 3>(), tanh, "3 x 3 stages, tanh");
      add(ResidentConfig<64, 64, 2, 4>(), approximate,
          "2 x 4 stages, approximate");
    }
    add(ResidentConfig<64, 64, 3, 3>(), approximate,
        "3 x 3 stages, approximate" + suffix);
    add(ResidentConfig<64, 64, 3, 4>(), approximate,
        "3 x 4 stages, approximate" + suffix);
    add(ResidentConfig<64, 64, 3, 6>(), approximate,
        "3 x 6 stages, approximate" + suffix);
    add(ResidentConfig<64, 64, 3, 3, 1>(), approximate,
        "3 x 3 stages, rows first out" + suffix);
    add(ResidentConfig<64, 64, 3, 3, 3>(), approximate,
        "3 x 3 stages, both first out" + suffix);
  }
  promotion = 256;
  i64 half = m * (n + k);
  bodies.push_back(
      {"copy of as many bytes", [=] {
         CHECK(cudaMemcpyAsync(copy, x, half, cudaMemcpyDeviceToDevice));
       }});
  timeInTurn(bodies, true, 30);
  std::printf("  (L2 flushed by reading)\n");
  timeInTurn(bodies, false, 30);
  for (void *p : {x, w1, w2, b1, b2, y, copy})
    CHECK(cudaFree(p));
}

/// y = relu(x W + b), all of one type.
template <class T> struct Linear {
  typedef float Accumulator;
  static constexpr int accumulators = 1;
  typedef Pack<RowOperand<T, Contiguous, 16>> Operands;
  typedef Pack<Mapped<FullResult<T, Stride, Contiguous, 16>>> Results;
  Operands operands;
  Results results;
  FUSEC_DEVICE static void apply(const float (&acc)[1], float bias, float &y) {
    y = relu(acc[0] + bias);
  }
};

template <class Config, class T>
__global__ void __launch_bounds__(Config::threads, 1)
    linearKernel(const __grid_constant__ Maps maps, const T *b, T *y, int m,
                 int k) {
  constexpr int n = Config::columns;
  typedef Segment<Mapped<Matrix<T, Major::K, 16>>,
                  Mapped<Matrix<T, Major::K, 16>>>
      Main;
  Main main = {};
  main.a.map = &maps.a[0];
  main.b[0].map = &maps.b[0][0];
  main.k = k;
  gemmResident<Config>({m, n, 1}, Linear<T>{{{b}}, {{{y, {n}}, &maps.y}}},
                       main);
}

template <class T, int N, int K> void benchLinear(i64 m) {
  constexpr int consumers = residentConsumers(N, 1);
  constexpr int staged = residentStagedBytes(N, sizeof(T));
  constexpr int blocksK = residentBlocksK(K, sizeof(T));
  constexpr int stages = residentStages(N, 1, consumers, staged, blocksK);
  typedef ResidentConfig<N, N, consumers, stages> Config;
  T *x = filled<T>(m * K, 1.0f, 1), *w = filled<T>(N * K, 0.1f, 7),
    *b = filled<T>(N, 0.5f, 3), *y, *copy;
  CHECK(cudaMalloc(&y, m * N * sizeof(T)));
  i64 half = m * (N + K) * sizeof(T) / 2;
  CHECK(cudaMalloc(&copy, half));
  constexpr int perRow = wgmmaRowBytes / int(sizeof(T));
  Maps maps = {};
  maps.a[0] = mapOf(x, K, m, K, perRow, residentRows);
  maps.b[0][0] = mapOf(w, K, N, K, perRow, N);
  maps.y = mapOf(y, N, m, N, perRow, residentResultRows, false);
  std::printf("linear, %lld rows, %d to %d, %d bytes, %d x %d stages\n", m, K,
              N, int(sizeof(T)), consumers, stages);
  int shared = residentSharedBytes(N, 1, stages, consumers, staged, blocksK);
  timeInTurn({{"resident",
               [=] {
                 launchClusters(linearKernel<Config, T>,
                                residentGrid(int(m), 132), Config::threads,
                                shared, 1, maps, b, y, int(m), K);
               }},
              {"copy of as many bytes",
               [=] {
                 CHECK(cudaMemcpyAsync(copy, N < K ? (void *)x : (void *)y,
                                       half, cudaMemcpyDeviceToDevice));
               }}},
             true, 30);
  for (void *p : {x, w, b, y, copy})
    CHECK(cudaFree(p));
}

void run() {
  findEncode();
  benchGates(4 * 256 * 256);
  benchGates(4 << 20);
  benchLinear<f16, 64, 64>(2 << 20);
  benchLinear<f16, 128, 128>(2 << 20);
  benchLinear<f16, 256, 128>(1 << 20);
  benchLinear<bf16, 128, 256>(1 << 20);
  benchLinear<float, 64, 128>(1 << 20);
  benchLinear<float, 128, 64>(1 << 20);
}

} // namespace
} // namespace fusec

int main() { fusec::run(); }
