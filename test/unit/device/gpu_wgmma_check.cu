// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the wgmma template on a GPU over odd sizes, layouts and tiles.
// `gpu_wgmma_check` tests, `gpu_wgmma_check --bench` times large shapes.
// Build: nvcc -std=c++17 --expt-relaxed-constexpr
//             -gencode arch=compute_90a,code=sm_90a
//             -I compiler/device test/unit/device/gpu_wgmma_check.cu

#include "gemm_wgmma.h"
#include "gpu_matmul_case.cuh"

#include <cuda.h>

namespace fusec {
namespace {

struct Maps {
  TensorMap a[2], b[2][2];
};

/// What a linear layer stores, for timing.
template <class Out, int J> struct BiasEpilogue {
  typedef float Accumulator;
  static constexpr int accumulators = J;
  typedef Pack<RowOperand<float>> Operands;
  typedef Pack<FullResult<Out, Stride, Contiguous, 16>> Results;
  Operands operands;
  Results results;
  FUSEC_DEVICE static void apply(const float (&acc)[J], float bias,
                                 Compute<Out> &y) {
    float sum = acc[0] + bias;
    for (int j = 1; j < J; ++j)
      sum = sum + acc[j];
    y = sum;
  }
};

template <class Config, class T, class Out, Major MA, Major MB, int J, int S,
          bool Batched, bool Plain>
__global__ void __launch_bounds__(Config::threads, 1)
    wgmmaKernel(const __grid_constant__ Maps maps, Problem<T, float, Out> p) {
  typedef typename Conditional<Batched, Stride, Unbatched>::Type Batch;
  typedef Mapped<Matrix<T, MA, 16, Batch>> A;
  typedef Mapped<Matrix<T, MB, 16, Batch>> B;
  typedef Segment<A, B, J> Seg;
  TestEpilogue<float, Out, J, 16> e{
      {{p.bias}, {p.scale}, {p.residual, {p.ldy}, {}, {p.yBatch}}},
      {{p.y, {p.ldy}, {}, {p.yBatch}}}};
  auto segment = [&](int s) {
    Seg seg;
    seg.a.map = &maps.a[s];
    for (int j = 0; j < J; ++j)
      seg.b[j].map = &maps.b[s][j];
    seg.k = p.k[s];
    return seg;
  };
  if constexpr (Plain)
    gemmWgmma<Config>(p.shape,
                      BiasEpilogue<Out, J>{{{p.bias}}, {{p.y, {p.ldy}}}},
                      segment(0));
  else if constexpr (S == 2)
    gemmWgmma<Config>(p.shape, e, segment(0), segment(1));
  else
    gemmWgmma<Config>(p.shape, e, segment(0));
}

typedef CUresult (*Encode)(CUtensorMap *, CUtensorMapDataType, cuuint32_t,
                           void *, const cuuint64_t *, const cuuint64_t *,
                           const cuuint32_t *, const cuuint32_t *,
                           CUtensorMapInterleave, CUtensorMapSwizzle,
                           CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
static Encode encode;

template <class T>
TensorMap makeMap(const T *base, Major major, int tile, int outers, int k,
                  i64 ld, int batches, i64 batchStride) {
  CUtensorMap map = {};
  if (outers == 0 || k == 0)
    return reinterpret_cast<TensorMap &>(map);
  bool alongK = major == Major::K;
  WgmmaBox box = wgmmaBox(alongK, tile, sizeof(T));
  cuuint64_t sizes[] = {cuuint64_t(alongK ? k : outers),
                        cuuint64_t(alongK ? outers : k), cuuint64_t(batches)};
  cuuint64_t strides[] = {ld * sizeof(T), batchStride * sizeof(T)};
  cuuint32_t boxes[] = {cuuint32_t(box.inner), cuuint32_t(box.outer), 1};
  cuuint32_t ones[] = {1, 1, 1};
  CUtensorMapDataType type = isSame<T, f16> ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
                             : isSame<T, bf16>
                                 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                                 : CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
  CUresult result = encode(
      &map, type, batches > 1 ? 3 : 2, const_cast<T *>(base), sizes, strides,
      boxes, ones, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
      CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    std::printf("cuTensorMapEncodeTiled: %d (outer %d k %d ld %lld)\n",
                int(result), outers, k, ld);
    std::exit(1);
  }
  return reinterpret_cast<TensorMap &>(map);
}

/// Uniform values of few bits, the same for every run; cheap on large shapes.
template <class T> T valueAt(u64 index) {
  u32 x = u32(index) * 2654435761u + u32(index >> 32) * 40503u + 12345u;
  x ^= x >> 15;
  x *= 2246822519u;
  x ^= x >> 13;
  return make<T>(double(int(x >> 8)) / double(1 << 23) - 1.0);
}

template <class Config, class T, class Out, Major MA, Major MB, int J, int S,
          bool Batched, bool Plain = false>
void runWgmma(const char *name, Shape shape, int k0, int k1) {
  auto kernel = wgmmaKernel<Config, T, Out, MA, MB, J, S, Batched, Plain>;
  constexpr int unit = 16 / int(sizeof(T));
  Problem<T, float, Out> p = {};
  p.shape = shape;
  int ks[2] = {k0, S == 2 ? k1 : 0};
  std::vector<Buffer<T> *> keep;
  u64 salt = 1;
  auto batchOf = [&](int outers) {
    return i64(outers + 2 * unit) * (std::max(k0, ks[1]) + 2 * unit) / unit *
           unit;
  };
  p.aBatch = batchOf(shape.m);
  p.bBatch = batchOf(shape.n);
  auto matrix = [&](Major order, int tile, int outers, int k, i64 &so, i64 &sk,
                    i64 batchStride, TensorMap &map) -> const T * {
    i64 ld = i64((order == Major::K ? k : outers) + unit - 1) / unit * unit;
    ld += bench ? 0 : unit;
    so = order == Major::K ? ld : 1;
    sk = order == Major::K ? 1 : ld;
    auto *buffer = new Buffer<T>(unit + batchStride * shape.batch + 64 * unit);
    keep.push_back(buffer);
    buffer->poison();
    for (int batch = 0; batch < shape.batch; ++batch)
      for (int o = 0; o < outers; ++o)
        for (int kk = 0; kk < k; ++kk)
          buffer->host[unit + batch * batchStride + o * so + kk * sk] =
              valueAt<T>(salt++);
    buffer->up();
    map = makeMap(buffer->data + unit, order, tile, outers, k, ld,
                  Batched ? std::max(shape.batch, 2) : 1, batchStride);
    return buffer->data + unit;
  };
  Maps maps;
  for (int s = 0; s < S; ++s) {
    p.k[s] = ks[s];
    p.a[s] = matrix(MA, Config::tileM, shape.m, ks[s], p.aOuter[s], p.aK[s],
                    p.aBatch, maps.a[s]);
    for (int j = 0; j < J; ++j)
      p.b[s][j] = matrix(MB, Config::tileN / Config::cluster, shape.n, ks[s],
                         p.bOuter[s], p.bK[s], p.bBatch, maps.b[s][j]);
  }
  Buffer<float> bias(shape.n), scale(shape.m);
  for (auto &v : bias.host)
    v = make<float>(uniform());
  for (auto &v : scale.host)
    v = make<float>(uniform());
  bias.up();
  scale.up();
  p.bias = bias.data;
  p.scale = scale.data;
  p.ldy = (shape.n + 15) / 8 * 8;
  p.yBatch = p.ldy * (shape.m + 1);
  Buffer<Out> residual(p.yBatch * shape.batch), y(p.yBatch * shape.batch);
  for (size_t i = 0; i < residual.host.size(); ++i)
    residual.host[i] = valueAt<Out>(i);
  y.poison();
  residual.up();
  y.up();
  p.residual = residual.data;
  p.y = y.data;

  int tiles = wgmmaTilesM(shape.m, Config::tileM, Config::cluster) *
              tilesOf(shape.n, Config::tileN) * shape.batch;
  int blocks = std::min(tiles * Config::cluster, 132);
  int shared =
      wgmmaSharedBytes(Config::tileM, Config::tileN, Config::stages, J);
  CHECK(cudaFuncSetAttribute(
      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {unsigned(Config::cluster), 1, 1};
  cudaLaunchConfig_t launch = {};
  launch.gridDim = dim3(blocks);
  launch.blockDim = dim3(Config::threads);
  launch.dynamicSmemBytes = shared;
  launch.attrs = &attribute;
  launch.numAttrs = Config::cluster > 1;
  CHECK(cudaLaunchKernelEx(&launch, kernel, maps, p));
  CHECK(cudaDeviceSynchronize());
  ++runs;
  if (bench) {
    std::vector<float> times;
    cudaEvent_t t0, t1;
    cudaEventCreate(&t0), cudaEventCreate(&t1);
    for (int i = 0; i < 20; ++i) {
      cudaEventRecord(t0);
      CHECK(cudaLaunchKernelEx(&launch, kernel, maps, p));
      cudaEventRecord(t1);
      CHECK(cudaEventSynchronize(t1));
      float ms;
      cudaEventElapsedTime(&ms, t0, t1);
      times.push_back(ms);
    }
    std::sort(times.begin(), times.end());
    double flops = 2.0 * shape.m * shape.n * k0 * J * shape.batch;
    std::printf("%-36s %5dx%5dx%5d  %8.4f ms %7.1f TFLOP/s\n", name, shape.m,
                shape.n, k0, times[10], flops / times[10] * 1e-9);
    std::fflush(stdout);
  } else {
    i64 total = i64(shape.m) * shape.n * shape.batch;
    Buffer<double> value(total), magnitude(total);
    reference<<<unsigned((total + 127) / 128), 128>>>(p, J, S, value.data,
                                                      magnitude.data);
    CHECK(cudaDeviceSynchronize());
    value.down();
    magnitude.down();
    y.down();
    double eps = isSame<T, float> ? 1.0 / 1024 : 1.0 / (1 << 20);
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
            2 * eps * magnitude.host[id]))
        first = wrong++ ? first : i;
    }
    if (wrong || touched) {
      ++failures;
      i64 i = std::max<i64>(first, 0);
      i64 m = i % p.yBatch / p.ldy, n = i % p.ldy;
      i64 id = (i / p.yBatch * shape.m + m) * shape.n + n;
      if (failures < 60)
        std::printf("FAIL %s m %d n %d batch %d k %d,%d: %lld wrong, %lld "
                    "outside touched; first at (%lld, %lld): %g, want %g\n",
                    name, shape.m, shape.n, shape.batch, ks[0], ks[1], wrong,
                    touched, m, n, first < 0 ? 0 : toHost(y.host[i]),
                    first < 0 ? 0 : value.host[id]);
    }
  }
  for (auto *buffer : keep)
    delete buffer;
}

template <class Config, class T, class Out, Major MA, Major MB, int J = 1,
          int S = 1>
void sweep(const char *name) {
  static const int sizes[][3] = {
      {1, 1, 1},         {7, 13, 100},    {13, 100, 7},      {100, 127, 13},
      {127, 7, 127},     {128, 256, 64},  {256, 128, 128},   {127, 1000, 100},
      {1000, 13, 1000},  {1000, 100, 1},  {1000, 1000, 127}, {1000, 127, 1000},
      {4096, 100, 127},  {127, 4096, 13}, {100, 7, 4096},    {1, 4096, 4096},
      {4096, 4096, 100}, {300, 200, 0},   {3000, 2000, 200}};
  int before = failures;
  int index = 0;
  for (auto &s : sizes) {
    int k1 = index % 3 == 0 ? 0 : 17 * index;
    runWgmma<Config, T, Out, MA, MB, J, S, false>(name, {s[0], s[1], 1}, s[2],
                                                  k1);
    if (i64(s[0]) * s[1] * s[2] < 20000000)
      runWgmma<Config, T, Out, MA, MB, J, S, true>(name, {s[0], s[1], 3}, s[2],
                                                   k1);
    ++index;
  }
  std::printf("%-28s %s\n", name, failures == before ? "ok" : "FAILED");
  std::fflush(stdout);
}

int check(int argc, char **argv) {
  constexpr Major K = Major::K, O = Major::Outer;
  typedef WgmmaConfig<128, 256, 64, 4> W256;
  typedef WgmmaConfig<128, 256, 64, 4, 2> W256c;
  typedef WgmmaConfig<256, 128, 64, 4> W256m;
  typedef WgmmaConfig<256, 128, 64, 4, 2> W256mc;
  typedef WgmmaConfig<128, 128, 64, 6, 2> W128c;
  typedef WgmmaConfig<128, 128, 64, 4, 2> W128cx2;
  typedef WgmmaConfig<128, 256, 32, 4, 2> T256c;
  typedef WgmmaConfig<128, 128, 64, 6> W128;
  typedef WgmmaConfig<128, 128, 64, 4> W128x2;
  typedef WgmmaConfig<128, 64, 64, 6> W64;
  typedef WgmmaConfig<128, 128, 32, 6> T128;
  typedef WgmmaConfig<128, 256, 32, 4> T256;
  CHECK(cudaFree(nullptr));
  cudaDriverEntryPointQueryResult found;
  void *entry = nullptr;
  CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry,
                                         12000, cudaEnableDefault, &found));
  encode = reinterpret_cast<Encode>(entry);
  bench = argc > 1 && !std::strcmp(argv[1], "--bench");
  if (bench) {
#define BENCH(C, T, O_, MA, MB, J, size, k, plain)                             \
  runWgmma<C, T, O_, MA, MB, J, 1, false, plain>(#C " " #T " " #MA #MB " J" #J \
                                                    " plain " #plain,          \
                                                 Shape{size, size, 1}, k, 0)
    BENCH(W256, f16, f16, K, O, 1, 4096, 4096, true);
    BENCH(W256c, f16, f16, K, O, 1, 4096, 1024, true);
    BENCH(W256c, f16, f16, K, O, 1, 4096, 4096, true);
    BENCH(W256c, f16, f16, K, O, 1, 4096, 4096, false);
    BENCH(W256c, f16, f16, K, K, 1, 4096, 4096, true);
    BENCH(W256mc, f16, f16, K, O, 1, 4096, 4096, true);
    BENCH(W128c, f16, f16, K, O, 1, 4096, 4096, true);
    BENCH(W128cx2, f16, f16, K, O, 2, 4096, 4096, true);
    BENCH(T256c, float, float, K, K, 1, 4096, 4096, true);
    BENCH(W256c, f16, f16, K, O, 1, 8192, 8192, true);
    return 0;
  }
  sweep<W256, f16, f16, K, O>("256 f16 KO");
  sweep<W256, bf16, float, K, K>("256 bf16 KK");
  sweep<W256c, f16, f16, K, O, 1, 2>("256 f16 KO S2 cluster");
  sweep<W256c, bf16, float, O, K>("256 bf16 OK cluster");
  sweep<W256mc, f16, f16, K, K>("256m f16 KK cluster");
  sweep<W128cx2, f16, f16, K, O, 2, 2>("128 f16 KO J2 S2 cluster");
  sweep<T256c, float, float, K, K>("256 tf32 KK cluster");
  sweep<W256m, f16, f16, O, O>("256m f16 OO");
  sweep<W128, f16, float, O, K>("128 f16 OK");
  sweep<W128x2, f16, f16, K, O, 2, 2>("128 f16 KO J2 S2");
  sweep<W64, bf16, float, K, O, 2, 2>("64 bf16 KO J2 S2");
  sweep<W64, f16, f16, K, K, 1, 2>("64 f16 KK S2");
  sweep<T128, float, float, K, K>("128 tf32 KK");
  sweep<T256, float, f16, K, K, 1, 2>("256 tf32 KK S2");
  std::printf("%d runs, %d failures\n", runs, failures);
  return failures != 0;
}

} // namespace
} // namespace fusec

int main(int argc, char **argv) { return fusec::check(argc, argv); }
