// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the template of tall, narrow roots on a GPU over odd sizes, layouts and
// results. `--small` runs only small shapes, for the sanitizers.
// Build: nvcc -std=c++17 --expt-relaxed-constexpr
//             -gencode arch=compute_90a,code=sm_90a
//             -I compiler/device test/unit/device/gpu_resident_check.cu

#include "gemm_resident.h"
#include "gpu_narrow_case.cuh"

namespace fusec {
namespace {

struct Maps {
  TensorMap a[2], b[2][2], y;
};

template <class Out, int J, class Result> struct ResidentTest {
  typedef float Accumulator;
  static constexpr int accumulators = J;
  typedef Pack<RowOperand<float>, ColumnOperand<float>, FullOperand<Out>>
      Operands;
  typedef Pack<Result, FullResult<float>> Results;
  Operands operands;
  Results results;
  FUSEC_DEVICE static void apply(const float (&acc)[J], float bias, float scale,
                                 float residual, float &y, float &z) {
    float sum = acc[0] + bias;
    for (int j = 1; j < J; ++j)
      sum = sum + acc[j] * scale;
    y = sum + residual;
    z = y;
  }
};

template <class Config, class T, class Out, Major MA, Major MB, int J, int S,
          bool Map>
__global__ void __launch_bounds__(Config::threads, 1)
    residentKernel(const __grid_constant__ Maps maps, Problem<T, float, Out> p,
                   float *z) {
  typedef Mapped<Matrix<T, MA, 16>> A;
  typedef Mapped<Matrix<T, MB, 16>> B;
  typedef Segment<A, B, J> Seg;
  auto segment = [&](int s) {
    Seg seg;
    seg.a.map = &maps.a[s];
    for (int j = 0; j < J; ++j)
      seg.b[j].map = &maps.b[s][j];
    seg.k = p.k[s];
    return seg;
  };
  auto call = [&](const auto &e) {
    if constexpr (S == 2)
      gemmResident<Config>(p.shape, e, segment(0), segment(1));
    else
      gemmResident<Config>(p.shape, e, segment(0));
  };
  if constexpr (Map) {
    typedef Mapped<FullResult<Out>> Result;
    Result y;
    y.map = &maps.y;
    call(ResidentTest<Out, J, Result>{
        {{p.bias}, {p.scale}, {p.residual, {p.ldy}}}, {y, {z, {p.shape.n}}}});
  } else {
    call(ResidentTest<Out, J, FullResult<Out>>{
        {{p.bias}, {p.scale}, {p.residual, {p.ldy}}},
        {{p.y, {p.ldy}}, {z, {p.shape.n}}}});
  }
}

template <class Config, class T, class Out, Major MA, Major MB, int J, int S,
          bool Map>
void runResident(const char *name, Shape shape, int k0, int k1) {
  auto kernel = residentKernel<Config, T, Out, MA, MB, J, S, Map>;
  NarrowProblem<T, Out> problem(shape, Map);
  auto &p = problem.p;
  int ks[2] = {k0, S == 2 ? k1 : 0};
  Maps maps = {};
  int blocksK = 0;
  for (int s = 0; s < S; ++s) {
    i64 ld;
    p.k[s] = ks[s];
    blocksK += residentBlocksK(ks[s], sizeof(T));
    auto map = [&](Major order, const T *at, int tile, int outers) {
      WgmmaBox box = wgmmaBox(order == Major::K, tile, sizeof(T));
      return order == Major::K
                 ? mapOf(at, ks[s], outers, ld, box.inner, box.outer)
                 : mapOf(at, outers, ks[s], ld, box.inner, box.outer);
    };
    p.a[s] = problem.matrix(MA, shape.m, ks[s], p.aOuter[s], p.aK[s], ld, 0);
    maps.a[s] = map(MA, p.a[s], residentRows, shape.m);
    for (int j = 0; j < J; ++j) {
      p.b[s][j] =
          problem.matrix(MB, shape.n, ks[s], p.bOuter[s], p.bK[s], ld, 0);
      maps.b[s][j] = map(MB, p.b[s][j], Config::tileN, shape.n);
    }
  }
  if (Map)
    maps.y = mapOf(p.y, shape.n, shape.m, p.ldy,
                   wgmmaRowBytes / int(sizeof(Out)), residentResultRows, false);
  Buffer<float> z(i64(shape.m) * shape.n);
  z.poison();
  z.up();
  int staged = Map ? residentStagedBytes(Config::tileN, sizeof(Out)) : 0;
  int shared = residentSharedBytes(Config::tileN, J, Config::stages,
                                   Config::consumers, staged, blocksK);
  int blocks = residentGrid(shape.m, 132);
  launchClusters(kernel, blocks, Config::threads, shared, 1, maps, p, z.data);
  problem.compare(name, J, S);
  z.down();
  i64 wrong = 0;
  for (i64 m = 0; m < shape.m; ++m)
    for (i64 n = 0; n < shape.n; ++n) {
      double want;
      Out out = problem.y.host[m * p.ldy + n];
      if constexpr (isSame<Out, bf16>) {
        u32 bits = u32(out.bits) << 16;
        float f;
        std::memcpy(&f, &bits, 4);
        want = f;
      } else {
        want = toHost(out);
      }
      wrong += !(std::fabs(z.host[m * shape.n + n] - want) <=
                 0.01 * std::fabs(want) + 1e-6);
    }
  if (wrong) {
    ++failures;
    std::printf("FAIL %s m %d n %d k %d: %lld of the second result\n", name,
                shape.m, shape.n, k0, wrong);
  }
}

static bool smallOnly = false;

template <class Config, class T, class Out, Major MA, Major MB, int J = 1,
          int S = 1, bool Map = true>
void sweep(const char *name, int mostK = 256) {
  int before = failures, index = 0;
  for (int m : {1, 7, 16, 33, 64, 65, 200, 1000, 4096, 30000, 64 * 132 * 7 + 5})
    for (int k : {mostK, 64, 100, 13, 1, 0}) {
      ++index;
      if ((m > 1000 && k != mostK && k != 100) ||
          (smallOnly && (m > 200 || m == 16 || k == 64 || k == 1)))
        continue;
      runResident<Config, T, Out, MA, MB, J, S, Map>(
          name, {m, Config::columns, 1}, k,
          S == 2 ? (index % 4 == 0 ? 0 : 16) : 0);
    }
  std::printf("%-36s %s\n", name, failures == before ? "ok" : "FAILED");
  std::fflush(stdout);
}

int check(int argc, char **argv) {
  constexpr Major K = Major::K, O = Major::Outer;
  findEncode();
  smallOnly = argc > 1 && !std::strcmp(argv[1], "--small");
  sweep<ResidentConfig<64, 64, 3, 5>, f16, f16, K, O, 2>("64 f16 KO J2", 128);
  sweep<ResidentConfig<64, 64, 3, 2>, f16, f16, K, O, 2, 1, false>(
      "64 f16 KO J2 direct", 128);
  sweep<ResidentConfig<61, 64, 3, 2>, f16, float, K, O, 2, 1, false>(
      "61 f16 KO J2 direct", 128);
  sweep<ResidentConfig<8, 64, 3, 4, 3>, f16, f16, K, O, 2>("8 f16 KO J2", 128);
  sweep<ResidentConfig<124, 128, 2, 3, 1>, bf16, float, K, K, 2>(
      "124 bf16 KK J2", 128);
  sweep<ResidentConfig<248, 256, 2, 2, 2>, f16, f16, K, O>("248 f16 KO", 128);
  sweep<ResidentConfig<40, 48, 3, 4>, f16, f16, K, K, 2, 2>("40 f16 KK J2 S2",
                                                            160);
  sweep<ResidentConfig<16, 16, 3, 4>, bf16, bf16, O, K>("16 bf16 OK");
  sweep<ResidentConfig<1, 16, 3, 4>, bf16, bf16, O, K, 1, 1, false>(
      "1 bf16 OK direct");
  sweep<ResidentConfig<64, 64, 3, 5>, f16, float, K, O, 1, 2>("64 f16 KO S2");
  sweep<ResidentConfig<60, 64, 3, 4>, float, float, K, K>("60 tf32 KK", 128);
  sweep<ResidentConfig<29, 32, 2, 4>, float, f16, K, K, 2, 1, false>(
      "29 tf32 KK J2 direct", 128);
  std::printf("%d runs, %d failures\n", runs, failures);
  return failures != 0;
}

} // namespace
} // namespace fusec

int main(int argc, char **argv) { return fusec::check(argc, argv); }
