// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs every matmul template on a GPU over odd sizes, layouts and alignments.
// `gpu_matmul_check` tests, `gpu_matmul_check --bench` times large shapes.
// Build: nvcc -std=c++17 -gencode arch=compute_90a,code=sm_90a
//             -I compiler/device test/unit/device/gpu_matmul_check.cu

#include "gpu_matmul_case.cuh"

namespace fusec {
namespace {

template <Family F, class Config, class T, class Acc, class Out, Major MA,
          Major MB, int Align, int J = 2, int S = 2>
void sweep(const char *name) {
  static const int sizes[] = {1, 7, 13, 100, 127, 1000};
  int before = failures;
  for (int i = 0; i < 6; ++i)
    for (int d = 0; d < 3; ++d) {
      int m = sizes[i], n = sizes[(i + d * 2) % 6], k = sizes[(i * 5 + d) % 6];
      if constexpr (F == Family::GemvN)
        n = std::min(n, Config::small);
      if constexpr (F == Family::GemvM)
        m = std::min(m, Config::small);
      runCase<F, Config, T, Acc, Out, MA, MB, Align, J, S>(
          name, {m, n, d == 1 ? 3 : 1}, k, d * 16 + i, d == 2);
    }
  int m = 300, n = 200;
  if constexpr (F == Family::GemvM)
    m = Config::small;
  if constexpr (F == Family::GemvN)
    n = Config::small;
  runCase<F, Config, T, Acc, Out, MA, MB, Align, J, S>(name, {m, n, 2}, 0, 0,
                                                       false);
  runCase<F, Config, T, Acc, Out, MA, MB, Align, J, S>(name, {m, n, 1}, 640, 0,
                                                       false);
  std::printf("%-28s %s\n", name, failures == before ? "ok" : "FAILED");
}

int check(int argc, char **argv) {
  constexpr Major K = Major::K, O = Major::Outer, X = Major::Strided;
  constexpr Family mma = Family::Mma, simt = Family::Simt;
  typedef MmaConfig<128, 256, 64, 2, 4, 3> M256;
  typedef MmaConfig<128, 128, 64, 2, 4, 3> M128;
  typedef MmaConfig<128, 128, 64, 2, 2, 3> M128w4;
  typedef MmaConfig<128, 128, 32, 2, 4, 4> M128k32;
  typedef MmaConfig<64, 64, 64, 2, 2, 3> M64;
  typedef MmaConfig<32, 64, 64, 1, 4, 4> M32;
  typedef MmaConfig<16, 128, 64, 1, 4, 4> M16;
  typedef MmaConfig<128, 256, 32, 2, 4, 4> T256;
  typedef MmaConfig<128, 128, 32, 2, 4, 3> T128;
  typedef MmaConfig<64, 64, 32, 2, 2, 3> T64;
  typedef SimtConfig<128, 128, 16, 8, 8> S128;
  typedef SimtConfig<128, 128, 8, 8, 8> S128k8;
  typedef SimtConfig<128, 64, 16, 8, 4> S128n64;
  typedef SimtConfig<64, 64, 16, 8, 8> S64w;
  typedef SimtConfig<64, 64, 16, 4, 4> S64;
  typedef SimtConfig<32, 32, 16, 2, 2> S32;
  bench = argc > 1 && !std::strcmp(argv[1], "--bench");
  if (bench) {
    Shape s{4096, 4096, 1};
#define BENCH(F, C, T, O_, MA, MB, J, shape, k)                                \
  runCase<F, C, T, float, O_, MA, MB, 16, J, 1>(                               \
      #F " " #C " " #T " " #MA #MB " J" #J, shape, k, 0, false)
    BENCH(mma, M256, f16, f16, K, O, 1, s, 4096);
    BENCH(mma, M256, f16, f16, K, K, 1, s, 4096);
    BENCH(mma, M128, f16, f16, K, O, 1, s, 4096);
    BENCH(mma, M128w4, f16, f16, K, O, 1, s, 4096);
    BENCH(mma, M128k32, f16, f16, K, O, 1, s, 4096);
    BENCH(mma, M128, f16, f16, K, O, 2, s, 4096);
    BENCH(mma, T256, float, float, K, O, 1, s, 4096);
    BENCH(mma, T128, float, float, K, O, 1, s, 4096);
    BENCH(mma, T128, float, float, K, K, 1, s, 4096);
    BENCH(simt, S128, float, float, K, O, 1, s, 4096);
    BENCH(simt, S128, float, float, K, K, 1, s, 4096);
    BENCH(simt, S128k8, float, float, K, O, 1, s, 4096);
    BENCH(simt, S128k8, float, float, K, K, 1, s, 4096);
    BENCH(simt, S128n64, float, float, K, O, 1, s, 4096);
    BENCH(simt, S64, float, float, K, O, 1, s, 4096);
    BENCH(simt, S64w, float, float, K, O, 1, s, 4096);
    BENCH(simt, S128k8, float, float, K, O, 1, (Shape{128, 1024, 1}), 16384);
    BENCH(mma, M16, f16, f16, K, O, 1, (Shape{16, 4096, 1}), 4096);
    BENCH(mma, M16, f16, f16, K, K, 1, (Shape{16, 4096, 1}), 4096);
    typedef GemvConfig<1, 256> V1;
    typedef GemvConfig<1, 1024> V1t;
    typedef GemvConfig<8, 256> V8;
    constexpr Family gemvM = Family::GemvM;
    BENCH(gemvM, V1, f16, f16, K, K, 1, (Shape{1, 4096, 1}), 4096);
    BENCH(gemvM, V1, f16, f16, K, O, 1, (Shape{1, 4096, 1}), 4096);
    BENCH(gemvM, V1t, f16, f16, K, O, 1, (Shape{1, 4096, 1}), 4096);
    BENCH(gemvM, V8, f16, f16, K, K, 1, (Shape{8, 4096, 1}), 4096);
    BENCH(gemvM, V8, f16, f16, K, O, 1, (Shape{8, 4096, 1}), 4096);
    return 0;
  }
  sweep<mma, M256, f16, float, f16, K, O, 16, 1>("mma 256 f16 KO 16");
  sweep<mma, M256, f16, float, float, O, K, 16, 1, 1>("mma 256 f16 OK 16");
  sweep<mma, M128, f16, float, f16, K, O, 16>("mma 128 f16 KO 16");
  sweep<mma, M128k32, bf16, float, float, O, K, 8>("mma 128k32 bf16 OK 8");
  sweep<mma, M128w4, bf16, float, float, K, K, 4, 1>("mma 128w4 bf16 KK 4");
  sweep<mma, M64, f16, float, f16, O, O, 2>("mma 64 f16 OO 2");
  sweep<mma, M64, f16, float, float, X, X, 2>("mma 64 f16 XX 2");
  sweep<mma, M32, f16, float, f16, K, O, 4>("mma 32 f16 KO 4");
  sweep<mma, M16, bf16, float, float, K, O, 16>("mma 16 bf16 KO 16");
  sweep<mma, T256, float, float, float, K, O, 16, 1>("mma 256 tf32 KO 16");
  sweep<mma, T128, float, float, float, O, O, 16>("mma 128 tf32 OO 16");
  sweep<mma, T64, float, float, f16, K, K, 8>("mma 64 tf32 KK 8");
  sweep<mma, T64, float, float, float, O, K, 4>("mma 64 tf32 OK 4");
  sweep<mma, T64, float, float, float, X, O, 4>("mma 64 tf32 XO 4");
  sweep<simt, S128, float, float, float, K, O, 16>("simt 128 f32 KO 16");
  sweep<simt, S128k8, float, float, float, K, K, 16, 1>("simt 128k8 f32 KK 16");
  sweep<simt, S128n64, float, float, f16, O, K, 8>("simt 128x64 f32 OK 8");
  sweep<simt, S64, double, double, double, K, K, 16>("simt 64 f64 KK 16");
  sweep<simt, S64, f16, float, f16, O, O, 2>("simt 64 f16 OO 2");
  sweep<simt, S64, int, int, int, K, O, 4>("simt 64 i32 KO 4");
  sweep<simt, S32, i64, i64, i64, X, X, 8>("simt 32 i64 XX 8");
  sweep<Family::GemvN, GemvConfig<8, 256>, f16, float, f16, K, O, 16>(
      "gemv N8 f16 KO 16");
  sweep<Family::GemvN, GemvConfig<1, 128>, float, float, float, K, K, 4>(
      "gemv N1 f32 KK 4");
  sweep<Family::GemvN, GemvConfig<4, 256>, double, double, double, O, K, 8>(
      "gemv N4 f64 OK 8");
  sweep<Family::GemvM, GemvConfig<8, 256>, bf16, float, float, K, O, 16>(
      "gemv M8 bf16 KO 16");
  sweep<Family::GemvM, GemvConfig<1, 128>, f16, float, f16, K, K, 2>(
      "gemv M1 f16 KK 2");
  sweep<Family::GemvM, GemvConfig<4, 128>, int, int, int, O, X, 4>(
      "gemv M4 i32 OX 4");
  std::printf("%d runs, %d failures\n", runs, failures);
  return failures != 0;
}

} // namespace
} // namespace fusec

int main(int argc, char **argv) { return fusec::check(argc, argv); }
