// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One case of a matmul template on a GPU: operands surrounded by NaN, outputs
// poisoned, results compared with a naive kernel in double.

#ifndef FUSEC_TEST_GPU_MATMUL_CASE_H
#define FUSEC_TEST_GPU_MATMUL_CASE_H

#include "gemm_mma.h"
#include "gemm_simt.h"
#include "gemv.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace fusec {
namespace {

#define CHECK(call)                                                            \
  do {                                                                         \
    cudaError_t status = (call);                                               \
    if (status != cudaSuccess) {                                               \
      std::printf("%s:%d: %s\n", __FILE__, __LINE__,                           \
                  cudaGetErrorString(status));                                 \
      std::exit(1);                                                            \
    }                                                                          \
  } while (0)

/// Everything a test kernel gets. Strides are of outer and k, in elements.
template <class T, class Acc_, class Out> struct Problem {
  typedef Acc_ Acc;
  Shape shape;
  int k[2];
  const T *a[2], *b[2][2];
  i64 aOuter[2], aK[2], bOuter[2], bK[2], aBatch, bBatch;
  const Acc *bias, *scale;
  const Out *residual;
  Out *y;
  Acc *second;
  i64 ldy, yBatch;
};

template <class Acc_, class Out, int J, int Align> struct TestEpilogue {
  typedef Acc_ Accumulator;
  static constexpr int accumulators = J;
  typedef Pack<RowOperand<Acc_>, ColumnOperand<Acc_>,
               FullOperand<Out, Stride, Contiguous, Align, Stride>>
      Operands;
  typedef Pack<FullResult<Out, Stride, Contiguous, Align, Stride>> Results;
  Operands operands;
  Results results;
  FUSEC_DEVICE static void apply(const Acc_ (&acc)[J], Acc_ bias, Acc_ scale,
                                 Compute<Out> residual, Compute<Out> &y) {
    Acc_ sum = acc[0] + bias;
    for (int j = 1; j < J; ++j)
      sum = sum + acc[j] * scale;
    y = sum + residual;
  }
};

/// Blocks an SM should hold of a kernel.
template <class Config> constexpr int residentBlocks = 1;
template <>
inline constexpr int residentBlocks<SimtConfig<128, 128, 8, 8, 8>> = 2;

enum class Family { Mma, Simt, GemvN, GemvM };
constexpr bool isGemv(Family f) {
  return f == Family::GemvN || f == Family::GemvM;
}

template <Family F, class Config, class T, class Acc, class Out, Major MA,
          Major MB, int Align, int J, int S>
__global__ void __launch_bounds__(Config::threads, residentBlocks<Config>)
    testKernel(Problem<T, Acc, Out> p) {
  typedef Matrix<T, MA, Align, Stride> A;
  typedef Matrix<T, MB, Align, Stride> B;
  typedef Segment<A, B, J> Seg;
  constexpr int outAlign = Align == 16 ? 16 : int(sizeof(Out));
  TestEpilogue<Acc, Out, J, outAlign> e{
      {{p.bias}, {p.scale}, {p.residual, {p.ldy}, {}, {p.yBatch}}},
      {{p.y, {p.ldy}, {}, {p.yBatch}}}};
  Seg segments[2];
  for (int s = 0; s < 2; ++s) {
    segments[s].a = A{p.a[s],
                      MA == Major::Outer ? p.aK[s] : p.aOuter[s],
                      {p.aBatch},
                      p.aK[s]};
    for (int j = 0; j < J; ++j)
      segments[s].b[j] = B{p.b[s][j],
                           MB == Major::Outer ? p.bK[s] : p.bOuter[s],
                           {p.bBatch},
                           p.bK[s]};
    segments[s].k = p.k[s];
  }
  auto call = [&](auto &&...s) {
    if constexpr (F == Family::Mma)
      gemmMma<Config>(p.shape, e, s...);
    else if constexpr (F == Family::Simt)
      gemmSimt<Config>(p.shape, e, s...);
    else
      gemv<Config, F == Family::GemvN ? Narrow::N : Narrow::M>(p.shape, e,
                                                               s...);
  };
  if constexpr (S == 2)
    call(segments[0], segments[1]);
  else
    call(segments[0]);
}

/// Value and sum of magnitudes of each element, in double.
template <class T, class Acc, class Out>
__global__ void reference(Problem<T, Acc, Out> p, int J, int S, double *value,
                          double *magnitude) {
  i64 id = i64(blockIdx.x) * blockDim.x + threadIdx.x;
  i64 perBatch = i64(p.shape.m) * p.shape.n;
  if (id >= perBatch * p.shape.batch)
    return;
  i64 batch = id / perBatch, m = id % perBatch / p.shape.n, n = id % p.shape.n;
  double v = 0, g = 0;
  for (int j = 0; j < J; ++j)
    for (int s = 0; s < S; ++s) {
      if (!p.b[s][j])
        continue;
      double sum = 0, abs = 0;
      for (int k = 0; k < p.k[s]; ++k) {
        double x = cast<double>(
            p.a[s][batch * p.aBatch + m * p.aOuter[s] + k * p.aK[s]]);
        double y = cast<double>(
            p.b[s][j][batch * p.bBatch + n * p.bOuter[s] + k * p.bK[s]]);
        sum += x * y;
        abs += ::fabs(x * y);
      }
      v += j == 0 ? sum : sum * double(p.scale[m]);
      g += j == 0 ? abs : abs * ::fabs(double(p.scale[m]));
    }
  double bias = double(p.bias[n]);
  double residual = cast<double>(p.residual[batch * p.yBatch + m * p.ldy + n]);
  value[id] = v + bias + residual;
  magnitude[id] = g + ::fabs(bias) + ::fabs(residual);
}

static u64 seed = 1;
static double uniform() {
  seed = seed * 6364136223846793005ull + 1442695040888963407ull;
  return double(i64(seed >> 33)) / double(1ll << 30) - 1.0;
}

static double toHost(f16 x) {
  int e = x.bits >> 10 & 31, f = x.bits & 1023;
  double v = e == 31  ? NAN
             : e == 0 ? std::ldexp(f, -24)
                      : std::ldexp(f + 1024, e - 25);
  return x.bits & 0x8000 ? -v : v;
}
template <class T> static double toHost(T x) { return double(x); }
/// Small integers are exact in every type: a few bits of a uniform value.
template <class T> static T make(double v) {
  if constexpr (isSame<T, f16> || isSame<T, bf16>) {
    float f = float(std::round(v * 64) / 64);
    u32 bits;
    std::memcpy(&bits, &f, 4);
    if (f == 0)
      return T{0};
    if constexpr (isSame<T, bf16>)
      return T{u16(bits >> 16)};
    return T{u16((bits >> 16 & 0x8000) | (((bits >> 23 & 255) - 112) << 10) |
                 (bits >> 13 & 1023))};
  } else if constexpr (isInteger<T>) {
    return T(v * 100);
  } else {
    return T(v);
  }
}

template <class T> struct Buffer {
  T *data;
  std::vector<T> host;
  explicit Buffer(size_t count) : host(std::max<size_t>(count, 1)) {
    CHECK(cudaMalloc(&data, host.size() * sizeof(T)));
  }
  ~Buffer() { cudaFree(data); }
  void poison() {
    std::memset(static_cast<void *>(host.data()), 0xff,
                host.size() * sizeof(T));
  }
  void up() {
    CHECK(cudaMemcpy(data, host.data(), host.size() * sizeof(T),
                     cudaMemcpyHostToDevice));
  }
  void down() {
    CHECK(cudaMemcpy(host.data(), data, host.size() * sizeof(T),
                     cudaMemcpyDeviceToHost));
  }
};

static int failures = 0, runs = 0;
static bool bench = false;

template <Family F, class Config, class T, class Acc, class Out, Major MA,
          Major MB, int Align, int J, int S>
void runCase(const char *name, Shape shape, int k0, int k1, bool nullB) {
  auto kernel = testKernel<F, Config, T, Acc, Out, MA, MB, Align, J, S>;
  int ks[2] = {k0, S == 2 ? k1 : 0};
  constexpr int unit = std::max(1, Align / int(sizeof(T)));
  auto pitch = [](int n) {
    return i64((n + unit - 1) / unit | (unit < 16 ? 1 : 0)) * unit;
  };
  Problem<T, Acc, Out> p = {};
  p.shape = shape;
  std::vector<Buffer<T> *> keep;
  // A matrix of NaN, or -1, with the valid part filled in; its base
  // has exactly the promised alignment.
  auto matrix = [&](Major order, int outers, int k, i64 &so, i64 &sk,
                    i64 &batchStride) {
    int wide = order == Major::Outer ? outers : k;
    i64 spread = order == Major::Strided ? 3 : 1;
    i64 ld = pitch(wide * int(spread));
    so = order == Major::Outer ? 1 : ld;
    sk = order == Major::Outer ? ld : spread;
    batchStride = (i64(std::max(k0, ks[1])) + 16) *
                      (std::max(shape.m, shape.n) + 16) * 4 / unit * unit +
                  unit;
    auto *buffer = new Buffer<T>(unit + batchStride * shape.batch + 64);
    keep.push_back(buffer);
    buffer->poison();
    for (int batch = 0; batch < shape.batch; ++batch)
      for (int o = 0; o < outers; ++o)
        for (int kk = 0; kk < k; ++kk)
          buffer->host[unit + batch * batchStride + o * so + kk * sk] =
              make<T>(uniform());
    buffer->up();
    return buffer->data + unit;
  };
  for (int s = 0; s < S; ++s) {
    p.k[s] = ks[s];
    p.a[s] = matrix(MA, shape.m, ks[s], p.aOuter[s], p.aK[s], p.aBatch);
    for (int j = 0; j < J; ++j)
      p.b[s][j] =
          nullB && s == S - 1 && j == J - 1
              ? nullptr
              : matrix(MB, shape.n, ks[s], p.bOuter[s], p.bK[s], p.bBatch);
  }
  Buffer<Acc> bias(shape.n), scale(shape.m);
  for (auto &v : bias.host)
    v = make<Acc>(uniform());
  for (auto &v : scale.host)
    v = make<Acc>(uniform());
  bias.up();
  scale.up();
  p.bias = bias.data;
  p.scale = scale.data;
  p.ldy = Align == 16 ? (shape.n + 15) / 8 * 8 : shape.n + 1;
  p.yBatch = p.ldy * (shape.m + 1);
  Buffer<Out> residual(p.yBatch * shape.batch), y(p.yBatch * shape.batch);
  for (auto &v : residual.host)
    v = make<Out>(uniform());
  y.poison();
  residual.up();
  y.up();
  p.residual = residual.data;
  p.y = y.data;

  int blocks, shared = 0;
  if constexpr (isGemv(F)) {
    bool along = (F == Family::GemvN ? MA : MB) == Major::K;
    blocks = gemvBlocks(F == Family::GemvN ? shape.m : shape.n, shape.batch,
                        along, Config::threads);
  } else {
    blocks = tilesOf(shape.m, Config::tileM) * tilesOf(shape.n, Config::tileN) *
             shape.batch;
    if constexpr (F == Family::Mma)
      shared = mmaSharedBytes(Config::tileM, Config::tileN, Config::tileK,
                              Config::warpsM, Config::warpsN, Config::stages, J,
                              sizeof(T));
    else
      shared = simtSharedBytes(Config::tileM, Config::tileN, Config::tileK, J,
                               sizeof(Acc));
    CHECK(cudaFuncSetAttribute(
        kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
  }
  auto launchAll = [&] { kernel<<<blocks, Config::threads, shared>>>(p); };
  launchAll();
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  ++runs;
  if (bench) {
    std::vector<float> times;
    for (int i = 0; i < 12; ++i) {
      cudaEvent_t t0, t1;
      cudaEventCreate(&t0), cudaEventCreate(&t1);
      cudaEventRecord(t0);
      launchAll();
      cudaEventRecord(t1);
      CHECK(cudaEventSynchronize(t1));
      float ms;
      cudaEventElapsedTime(&ms, t0, t1);
      times.push_back(ms);
    }
    std::sort(times.begin(), times.end());
    double flops =
        2.0 * shape.m * shape.n * (k0 + (S == 2 ? k1 : 0)) * J * shape.batch;
    double bytes =
        double(sizeof(T)) * k0 * (double(shape.m) + double(shape.n) * J);
    std::printf("%-28s %5dx%5dx%5d  %8.4f ms %7.1f TFLOP/s %6.0f GB/s\n", name,
                shape.m, shape.n, k0, times[6], flops / times[6] * 1e-9,
                bytes / times[6] * 1e-6);
  } else {
    i64 total = i64(shape.m) * shape.n * shape.batch;
    Buffer<double> value(total), magnitude(total);
    reference<<<unsigned((total + 127) / 128), 128>>>(p, J, S, value.data,
                                                      magnitude.data);
    CHECK(cudaDeviceSynchronize());
    value.down();
    magnitude.down();
    y.down();
    constexpr bool tensor = F == Family::Mma;
    double eps = isSame<T, float> && tensor ? 1.0 / 1024
                 : isSame<Acc, double>      ? 1e-15
                 : isInteger<Acc>           ? 0
                                            : 1.0 / (1 << 22);
    if (isSame<Out, f16>)
      eps += 1.0 / 2048;
    i64 wrong = 0, first = -1, touched = 0;
    for (i64 i = 0; i < i64(y.host.size()); ++i) {
      i64 batch = i / p.yBatch, m = i % p.yBatch / p.ldy, n = i % p.ldy;
      if (m >= shape.m || n >= shape.n) {
        unsigned char poison[sizeof(Out)];
        std::memset(poison, 0xff, sizeof(Out));
        touched += std::memcmp(&y.host[i], poison, sizeof(Out)) != 0;
        continue;
      }
      i64 id = (batch * shape.m + m) * shape.n + n;
      if (!(std::fabs(toHost(y.host[i]) - value.host[id]) <=
            2 * eps * magnitude.host[id])) {
        first = wrong++ ? first : i;
      }
    }
    if (wrong || touched) {
      ++failures;
      i64 i = std::max<i64>(first, 0),
          id = (i / p.yBatch * shape.m + i % p.yBatch / p.ldy) * shape.n +
               i % p.ldy;
      std::printf("FAIL %s m %d n %d batch %d k %d,%d: %lld wrong, %lld "
                  "outside touched; first at %lld: %g, want %g\n",
                  name, shape.m, shape.n, shape.batch, ks[0], ks[1], wrong,
                  touched, i, first < 0 ? 0 : toHost(y.host[i]),
                  first < 0 ? 0 : value.host[id]);
    }
  }
  for (auto *buffer : keep)
    delete buffer;
}

} // namespace
} // namespace fusec

#endif // FUSEC_TEST_GPU_MATMUL_CASE_H
