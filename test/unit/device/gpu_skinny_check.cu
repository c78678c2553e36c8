// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the template of roots with few rows on a GPU over odd sizes, layouts and
// clusters. `--small` runs only small shapes, for the sanitizers.
// Build: nvcc -std=c++17 --expt-relaxed-constexpr
//             -gencode arch=compute_90a,code=sm_90a
//             -I compiler/device test/unit/device/gpu_skinny_check.cu

#include "gemm_skinny.h"
#include "gpu_narrow_case.cuh"

namespace fusec {
namespace {

struct Maps {
  TensorMap a[2], b[2][2];
};

template <class Config, class T, class Out, Major MB, int J, int S,
          bool Batched>
__global__ void __launch_bounds__(Config::threads, 1)
    skinnyKernel(const __grid_constant__ Maps maps, Problem<T, float, Out> p) {
  typedef typename Conditional<Batched, Stride, Unbatched>::Type Batch;
  typedef Mapped<Matrix<T, Major::K, 16, Batch>> A;
  typedef Mapped<Matrix<T, MB, 16, Batch>> B;
  typedef Segment<A, B, J> Seg;
  TestEpilogue<float, Out, J, int(sizeof(Out))> e{
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
  if constexpr (S == 2)
    gemmSkinny<Config>(p.shape, e, segment(0), segment(1));
  else
    gemmSkinny<Config>(p.shape, e, segment(0));
}

template <class Config, class T, class Out, Major MB, int J, int S,
          bool Batched>
void runSkinny(const char *name, Shape shape, int k0, int k1, bool aligned) {
  auto kernel = skinnyKernel<Config, T, Out, MB, J, S, Batched>;
  NarrowProblem<T, Out> problem(shape, aligned);
  auto &p = problem.p;
  int ks[2] = {k0, S == 2 ? k1 : 0};
  Maps maps = {};
  auto batchOf = [&](int outers) {
    return i64(outers + 16) * (std::max(k0, ks[1]) + 32) / 16 * 16;
  };
  p.aBatch = batchOf(shape.m);
  p.bBatch = batchOf(shape.n);
  int batches = Batched ? std::max(shape.batch, 2) : 1;
  for (int s = 0; s < S; ++s) {
    i64 ld;
    p.k[s] = ks[s];
    p.a[s] = problem.matrix(Major::K, shape.m, ks[s], p.aOuter[s], p.aK[s], ld,
                            p.aBatch);
    WgmmaBox box = wgmmaBox(true, Config::tokens, sizeof(T));
    maps.a[s] = mapOf(p.a[s], ks[s], shape.m, ld, box.inner, box.outer, true,
                      batches, p.aBatch);
    for (int j = 0; j < J; ++j) {
      p.b[s][j] = problem.matrix(MB, shape.n, ks[s], p.bOuter[s], p.bK[s], ld,
                                 p.bBatch);
      box = wgmmaBox(MB == Major::K, Config::tileN, sizeof(T));
      maps.b[s][j] = MB == Major::K
                         ? mapOf(p.b[s][j], ks[s], shape.n, ld, box.inner,
                                 box.outer, true, batches, p.bBatch)
                         : mapOf(p.b[s][j], shape.n, ks[s], ld, box.inner,
                                 box.outer, true, batches, p.bBatch);
    }
  }
  int shared = skinnySharedBytes(Config::tokens, Config::blocks, Config::stages,
                                 Config::cluster, J);
  int grid = skinnyGrid(shape.m, shape.n, shape.batch, Config::tokens,
                        Config::blocks, Config::cluster);
  launchClusters(kernel, grid, Config::threads, shared, Config::cluster, maps,
                 p);
  problem.compare(name, J, S);
}

static bool smallOnly = false;

template <class Config, class T, class Out, Major MB, int J = 1, int S = 1>
void sweep(const char *name) {
  static const int sizes[][2] = {{64, 64},    {13, 100},    {100, 7},
                                 {127, 1000}, {1000, 127},  {256, 512},
                                 {520, 0},    {4096, 4096}, {3001, 2049}};
  int before = failures, index = 0;
  for (int m : {1, 7, 13, 16, 33, 64, 100})
    for (auto &s : sizes) {
      ++index;
      if (s[0] * s[1] > 200000 && (smallOnly || m % 16 != 0))
        continue;
      int k1 = index % 3 == 0 ? 0 : 16 + index;
      runSkinny<Config, T, Out, MB, J, S, false>(name, {m, s[0], 1}, s[1], k1,
                                                 index % 2 == 0);
      if (s[0] * s[1] < 100000 && index % 4 == 0)
        runSkinny<Config, T, Out, MB, J, S, true>(name, {m, s[0], 3}, s[1], k1,
                                                  index % 2 == 0);
    }
  std::printf("%-36s %s\n", name, failures == before ? "ok" : "FAILED");
  std::fflush(stdout);
}

int check(int argc, char **argv) {
  constexpr Major K = Major::K, O = Major::Outer;
  findEncode();
  smallOnly = argc > 1 && !std::strcmp(argv[1], "--small");
  sweep<SkinnyConfig<16, 1, 64, 8, 2>, f16, f16, O>("16 f16 O n64 c2");
  sweep<SkinnyConfig<8, 2, 64, 4, 4>, f16, float, K>("8 f16 K n128 c4");
  sweep<SkinnyConfig<64, 4, 64, 3, 8>, bf16, bf16, O>("64 bf16 O n256 c8");
  sweep<SkinnyConfig<64, 1, 64, 2, 1>, f16, f16, O>("64 f16 O n64 c1");
  sweep<SkinnyConfig<40, 1, 64, 4, 8>, f16, f16, K, 2, 2>("40 f16 K J2 S2 c8");
  sweep<SkinnyConfig<24, 2, 64, 3, 4>, f16, float, O, 2, 2>(
      "24 f16 O J2 S2 c4");
  sweep<SkinnyConfig<32, 2, 32, 4, 4>, float, float, K>("32 tf32 K n128 c4");
  sweep<SkinnyConfig<56, 1, 32, 4, 2>, float, f16, K, 2, 2>(
      "56 tf32 K J2 S2 c2");
  sweep<SkinnyConfig<48, 2, 64, 4, 8>, bf16, float, K>("48 bf16 K n128 c8");
  std::printf("%d runs, %d failures\n", runs, failures);
  return failures != 0;
}

} // namespace
} // namespace fusec

int main(int argc, char **argv) { return fusec::check(argc, argv); }
