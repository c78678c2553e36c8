// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the wgmma template on a GPU over odd sizes, layouts, tiles, schedules
// and both ways to store; gpu_wgmma_bench.cu times it.
// Build: nvcc -std=c++17 --expt-relaxed-constexpr
//             -gencode arch=compute_90a,code=sm_90a
//             -I compiler/device test/unit/device/gpu_wgmma_check.cu

#include "gpu_wgmma_case.cuh"

namespace fusec {
namespace {

struct Maps {
  TensorMap a[2], b[2][4], y, z, residual;
};

/// Bias, scale and residual stored through registers or shared memory; or with
/// a second result, positions and scalars; or with a residual by tensor map.
enum class Stores { Mapped, Staged, Two, Loaded };

template <Stores How, class Out, int J, class Batch> struct CheckEpilogue {
  typedef float Accumulator;
  static constexpr int accumulators = J;
  typedef FullOperand<Out, Stride, Contiguous, 16, Batch> Residual;
  typedef Pack<RowOperand<float>, ColumnOperand<float>,
               typename Conditional<How == Stores::Loaded, Mapped<Residual>,
                                    Residual>::Type>
      Operands;
  typedef FullResult<Out, Stride, Contiguous, 16, Batch> Plain;
  typedef Pack<
      typename Conditional<How == Stores::Staged, Plain, Mapped<Plain>>::Type>
      Results;
  Operands operands;
  Results results;
  FUSEC_DEVICE static void apply(const float (&acc)[J], float bias, float scale,
                                 Compute<Out> residual, Compute<Out> &y) {
    float sum = acc[0] + bias;
    for (int j = 1; j < J; ++j)
      sum = sum + acc[j] * (scale / (J > 2 ? J - 1 : 1));
    y = sum + residual;
  }
};
template <class Out, int J, class Batch>
struct CheckEpilogue<Stores::Two, Out, J, Batch> {
  typedef float Accumulator;
  static constexpr int accumulators = J;
  typedef Pack<RowOperand<float, Contiguous, 16>, ColumnOperand<float>,
               FullOperand<Out, Stride, Contiguous, 16, Batch>,
               ValueOperand<float>, IndexOperand<Axis::Row>,
               IndexOperand<Axis::Column>, ScalarOperand<float>>
      Operands;
  typedef Pack<Mapped<FullResult<Out, Stride, Contiguous, 16, Batch>>,
               Mapped<FullResult<float, Stride, Contiguous, 16, Batch>>>
      Results;
  Operands operands;
  Results results;
  FUSEC_DEVICE static void apply(const float (&acc)[J], float bias, float scale,
                                 Compute<Out> residual, float zero, i64 row,
                                 i64 column, float first, Compute<Out> &y,
                                 float &z) {
    float sum = acc[0] + bias;
    for (int j = 1; j < J; ++j)
      sum = sum + acc[j] * (scale / (J > 2 ? J - 1 : 1));
    y = sum + residual + zero;
    z = float(row) - float(column) + first;
  }
};

template <class Config, class T, class Out, Major MA, Major MB, int J, int S,
          Stores How, bool Batched>
__global__ void __launch_bounds__(Config::threads, 1)
    wgmmaKernel(const __grid_constant__ Maps maps, Problem<T, float, Out> p) {
  typedef typename Conditional<Batched, Stride, Unbatched>::Type Batch;
  typedef Mapped<Matrix<T, MA, 16, Batch>> A;
  typedef Mapped<Matrix<T, MB, 16, Batch>> B;
  typedef Segment<A, B, J> Seg;
  typedef CheckEpilogue<How, Out, J, Batch> Epilogue;
  auto epilogue = [&] {
    FullOperand<Out, Stride, Contiguous, 16, Batch> residual{
        p.residual, {p.ldy}, {}, {}};
    FullResult<Out, Stride, Contiguous, 16, Batch> y{p.y, {p.ldy}, {}, {}};
    FullResult<float, Stride, Contiguous, 16, Batch> z{
        p.second, {p.ldy}, {}, {}};
    if constexpr (Batched)
      y.batch = z.batch = residual.batch = {p.yBatch};
    if constexpr (How == Stores::Two)
      return Epilogue{{{p.bias}, {p.scale}, residual, {0.0f}, {}, {}, {p.bias}},
                      {{y, &maps.y}, {z, &maps.z}}};
    else if constexpr (How == Stores::Loaded)
      return Epilogue{{{p.bias}, {p.scale}, {residual, &maps.residual}},
                      {{y, &maps.y}}};
    else if constexpr (How == Stores::Mapped)
      return Epilogue{{{p.bias}, {p.scale}, residual}, {{y, &maps.y}}};
    else
      return Epilogue{{{p.bias}, {p.scale}, residual}, {y}};
  }();
  auto segment = [&](int s) {
    Seg seg;
    seg.a.map = &maps.a[s];
    for (int j = 0; j < J; ++j)
      seg.b[j].map = &maps.b[s][j];
    seg.k = p.k[s];
    return seg;
  };
  if constexpr (S == 2)
    gemmWgmma<Config>(p.shape, epilogue, segment(0), segment(1));
  else
    gemmWgmma<Config>(p.shape, epilogue, segment(0));
}

/// Elements of a result that differ from what is wanted, and those at or past
/// column `written` that are no longer poison.
struct Faults {
  u32 wrong, touched;
};
template <class Out>
__global__ void compareKernel(const Out *y, Shape shape, int written, i64 ldy,
                              i64 yBatch, const double *value,
                              const double *magnitude, double eps,
                              Faults *faults) {
  i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= yBatch * shape.batch)
    return;
  i64 batch = i / yBatch, m = i % yBatch / ldy, n = i % ldy;
  if (m < shape.m && n >= shape.n && n < written)
    return;
  if (m >= shape.m || n >= shape.n) {
    for (int byte = 0; byte < int(sizeof(Out)); ++byte)
      if (reinterpret_cast<const u8 *>(y + i)[byte] != 0xff) {
        atomicAdd(&faults->touched, 1);
        return;
      }
    return;
  }
  i64 id = (batch * shape.m + m) * shape.n + n;
  double want = value ? value[id] : double(m - n) + magnitude[0];
  double bound = value ? eps * magnitude[id] : 0;
  if (!(::fabs(cast<double>(y[i]) - want) <= bound))
    atomicAdd(&faults->wrong, 1);
}

template <class Config, class T, class Out, Major MA, Major MB, int J, int S,
          Stores How, bool Batched>
void runWgmma(const char *name, Shape shape, int k0, int k1) {
  auto kernel = wgmmaKernel<Config, T, Out, MA, MB, J, S, How, Batched>;
  constexpr int unit = 16 / int(sizeof(T));
  Problem<T, float, Out> p = {};
  p.shape = shape;
  int ks[2] = {k0, S == 2 ? k1 : 0};
  std::vector<T *> keep;
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
    ld += unit;
    so = order == Major::K ? ld : 1;
    sk = order == Major::K ? 1 : ld;
    size_t count = unit + batchStride * shape.batch + 64 * unit;
    T *data;
    CHECK(cudaMalloc(&data, count * sizeof(T)));
    CHECK(cudaMemset(data, 0xff, count * sizeof(T)));
    keep.push_back(data);
    i64 valid = i64(outers) * k * shape.batch;
    if (valid > 0)
      fillMatrixKernel<<<unsigned((valid + 255) / 256), 256>>>(
          data + unit, outers, k, shape.batch, so, sk, batchStride,
          salt += valid);
    map = makeInputMap(data + unit, order, tile, outers, k, ld,
                       Batched ? std::max(shape.batch, 2) : 1, batchStride);
    return data + unit;
  };
  Maps maps;
  // The reference knows two accumulators: further ones repeat the second.
  for (int s = 0; s < S; ++s) {
    p.k[s] = ks[s];
    p.a[s] = matrix(MA, Config::tileM / Config::clusterN, shape.m, ks[s],
                    p.aOuter[s], p.aK[s], p.aBatch, maps.a[s]);
    for (int j = 0; j < std::min(J, 2); ++j)
      p.b[s][j] = matrix(MB, Config::tileN / Config::clusterM, shape.n, ks[s],
                         p.bOuter[s], p.bK[s], p.bBatch, maps.b[s][j]);
    for (int j = 2; j < J; ++j)
      maps.b[s][j] = maps.b[s][1];
  }
  Buffer<float> bias(shape.n), scale(shape.m);
  for (auto &v : bias.host)
    v = float(std::round(uniform() * 64) / 64);
  for (auto &v : scale.host)
    v = float(std::round(uniform() * 64) / 64);
  bias.up();
  scale.up();
  p.bias = bias.data;
  p.scale = scale.data;
  p.ldy = (shape.n + 15) / 8 * 8;
  p.yBatch = p.ldy * (shape.m + 1);
  Buffer<Out> residual(p.yBatch * shape.batch), y(p.yBatch * shape.batch);
  Buffer<float> z(p.yBatch * shape.batch);
  fillKernel<<<256, 256>>>(residual.data, p.yBatch * shape.batch, salt, false);
  y.poison();
  y.up();
  z.poison();
  z.up();
  p.residual = residual.data;
  p.y = y.data;
  p.second = z.data;
  constexpr int bytes = int(sizeof(Out)) + (How == Stores::Two ? 4 : 0);
  int batches = Batched ? std::max(shape.batch, 2) : 1;
  maps.y = makeResultMap(y.data, Config::tileN, bytes, shape.m, shape.n, p.ldy,
                         batches, p.yBatch);
  maps.residual = makeResultMap(residual.data, Config::tileN, bytes, shape.m,
                                shape.n, p.ldy, batches, p.yBatch);
  if (How == Stores::Two)
    maps.z = makeResultMap(z.data, Config::tileN, bytes, shape.m, shape.n,
                           p.ldy, batches, p.yBatch);

  launchWgmma<Config>(kernel, shape, J, How == Stores::Loaded, maps, p);
  CHECK(cudaDeviceSynchronize());
  ++runs;

  i64 total = i64(shape.m) * shape.n * shape.batch;
  Buffer<double> value(total), magnitude(total);
  reference<<<unsigned((total + 127) / 128), 128>>>(p, std::min(J, 2), S,
                                                    value.data, magnitude.data);
  double eps = isSame<T, float> ? 1.0 / 1024 : 1.0 / (1 << 20);
  eps += isSame<Out, f16> ? 1.0 / 2048 : isSame<Out, bf16> ? 1.0 / 256 : 0;
  Buffer<Faults> faults(2);
  CHECK(cudaMemset(faults.data, 0, sizeof(Faults) * 2));
  i64 elements = p.yBatch * shape.batch;
  // Stores by tensor map write whole units of 16 bytes.
  auto writtenBy = [&](int bytes) {
    int unit = How == Stores::Staged ? 1 : 16 / bytes;
    return tilesOf(shape.n, unit) * unit;
  };
  compareKernel<<<unsigned((elements + 255) / 256), 256>>>(
      y.data, shape, writtenBy(sizeof(Out)), p.ldy, p.yBatch, value.data,
      magnitude.data, 2 * eps, faults.data);
  if (How == Stores::Two) {
    double first = bias.host[0];
    CHECK(cudaMemcpy(magnitude.data, &first, 8, cudaMemcpyHostToDevice));
    compareKernel<<<unsigned((elements + 255) / 256), 256>>>(
        z.data, shape, writtenBy(4), p.ldy, p.yBatch, nullptr, magnitude.data,
        0, faults.data + 1);
  }
  faults.down();
  Faults f = faults.host[0], g = faults.host[1];
  if (f.wrong || f.touched || g.wrong || g.touched) {
    ++failures;
    if (failures < 60)
      std::printf("FAIL %s m %d n %d batch %d k %d,%d: %u wrong, %u outside "
                  "touched; second result %u, %u\n",
                  name, shape.m, shape.n, shape.batch, ks[0], ks[1], f.wrong,
                  f.touched, g.wrong, g.touched);
  }
  for (T *data : keep)
    cudaFree(data);
}

template <class Config, class T, class Out, Major MA, Major MB, int J = 1,
          int S = 1, Stores How = Stores::Mapped>
void sweep(const char *name) {
  static const int sizes[][3] = {
      {1, 1, 1},         {7, 13, 100},    {13, 100, 7},     {100, 127, 13},
      {127, 7, 127},     {128, 256, 64},  {256, 128, 128},  {127, 1000, 100},
      {1000, 13, 1000},  {1000, 100, 1},  {1023, 1000, 7},  {1000, 127, 1023},
      {4097, 100, 127},  {127, 4097, 13}, {100, 7, 4097},   {1, 4096, 4096},
      {4097, 4097, 100}, {300, 200, 0},   {3000, 2000, 200}};
  int before = failures;
  int index = 0;
  for (auto &s : sizes) {
    int k1 = index % 3 == 0 ? 0 : 17 * index;
    runWgmma<Config, T, Out, MA, MB, J, S, How, false>(name, {s[0], s[1], 1},
                                                       s[2], k1);
    if (i64(s[0]) * s[1] * s[2] < 20000000)
      runWgmma<Config, T, Out, MA, MB, J, S, How, true>(name, {s[0], s[1], 3},
                                                        s[2], k1);
    ++index;
  }
  std::printf("%-36s %s\n", name, failures == before ? "ok" : "FAILED");
  std::fflush(stdout);
}

int check() {
  constexpr Major K = Major::K, O = Major::Outer;
  constexpr WgmmaSchedule Co = WgmmaSchedule::Cooperative,
                          PP = WgmmaSchedule::PingPong;
  findEncode();
#define SWEEP(T, Out, MA, MB, J, S, How, ...)                                  \
  sweep<WgmmaConfig<__VA_ARGS__>, T, Out, MA, MB, J, S, Stores::How>(          \
      #T " " #Out " " #MA #MB " J" #J " S" #S " " #How " <" #__VA_ARGS__ ">")
  SWEEP(f16, f16, K, O, 1, 1, Mapped, 128, 256, 64, 4, 2);
  SWEEP(f16, f16, K, O, 1, 2, Mapped, 128, 128, 64, 6, 2, PP);
  SWEEP(bf16, float, K, K, 1, 1, Mapped, 128, 256, 64, 4, 1, Co, 2);
  SWEEP(f16, f16, K, O, 1, 1, Loaded, 128, 128, 64, 5, 2, PP);
  SWEEP(bf16, float, K, K, 1, 1, Loaded, 128, 256, 64, 3, 2);
  SWEEP(float, float, K, K, 1, 2, Loaded, 128, 208, 32, 3, 2);
  SWEEP(f16, f16, K, O, 2, 1, Loaded, 128, 96, 64, 3, 1, PP);
  SWEEP(f16, f16, K, O, 1, 2, Staged, 128, 256, 64, 4, 2);
  SWEEP(bf16, float, O, K, 1, 1, Staged, 128, 256, 64, 4, 2);
  SWEEP(f16, f16, K, O, 1, 1, Two, 128, 192, 64, 4, 2);
  SWEEP(f16, f16, O, O, 1, 1, Mapped, 256, 128, 64, 4);
  SWEEP(f16, f16, K, K, 1, 1, Mapped, 256, 128, 64, 4, 1, Co, 2);
  SWEEP(f16, f16, O, O, 1, 1, Mapped, 256, 192, 64, 3, 2);
  SWEEP(bf16, bf16, K, O, 1, 2, Mapped, 192, 160, 64, 3, 2);
  SWEEP(bf16, bf16, O, K, 1, 1, Mapped, 192, 192, 64, 3, 1, Co, 2);
  SWEEP(f16, f16, K, O, 1, 2, Mapped, 128, 192, 64, 4, 2, PP);
  SWEEP(f16, f16, K, O, 1, 1, Mapped, 128, 208, 64, 4, 1, PP);
  SWEEP(bf16, bf16, K, K, 1, 1, Mapped, 128, 160, 64, 4, 1, PP, 2);
  SWEEP(f16, float, O, O, 1, 1, Mapped, 128, 96, 64, 5, 2, PP);
  SWEEP(f16, f16, K, O, 1, 1, Mapped, 128, 224, 64, 4, 2);
  SWEEP(f16, f16, K, O, 1, 2, Mapped, 64, 256, 64, 4, 2, PP);
  SWEEP(f16, f16, K, O, 1, 1, Staged, 64, 96, 64, 8, 1, PP);
  SWEEP(f16, f16, O, O, 1, 1, Two, 64, 208, 64, 4, 2, PP);
  SWEEP(f16, f16, K, O, 2, 2, Mapped, 128, 128, 64, 4, 2);
  SWEEP(f16, f16, K, O, 2, 1, Staged, 128, 128, 64, 4, 2);
  SWEEP(bf16, bf16, K, K, 2, 2, Mapped, 128, 96, 64, 4, 2, PP);
  SWEEP(f16, f16, K, O, 3, 1, Mapped, 128, 64, 64, 4, 1, Co, 2);
  SWEEP(f16, f16, K, O, 3, 1, Mapped, 128, 64, 64, 4, 1, PP);
  SWEEP(bf16, float, K, O, 2, 2, Staged, 128, 64, 64, 6);
  SWEEP(float, float, K, K, 1, 1, Mapped, 128, 256, 32, 4, 2);
  SWEEP(float, float, K, K, 1, 2, Mapped, 128, 192, 32, 4, 2, PP);
  SWEEP(float, f16, K, K, 1, 2, Mapped, 128, 128, 32, 6, 1, PP);
  SWEEP(float, float, K, K, 1, 1, Staged, 128, 128, 32, 6);
  std::printf("%d runs, %d failures\n", runs, failures);
  return failures != 0;
}

} // namespace
} // namespace fusec

int main() { return fusec::check(); }
