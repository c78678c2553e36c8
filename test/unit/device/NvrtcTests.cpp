// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every template compiled by the real NVRTC for targets of each kind, with one
// epilogue text for all of them: no spill, no local memory, no warning.

#include "compiler/codegen/nvrtc/Nvrtc.h"

#include "gtest/gtest.h"

#include <filesystem>
#include <fstream>
#include <sstream>

using namespace fusec;

namespace {

/// The text of every device header and of the tests' own, by the name it is
/// included by.
struct DeviceHeaders {
  std::vector<std::string> texts;
  std::vector<KernelHeader> headers;
  DeviceHeaders() {
    std::vector<std::filesystem::path> files;
    for (const char *folder : {FUSEC_DEVICE_FOLDERS})
      for (const auto &entry : std::filesystem::directory_iterator(folder))
        if (entry.path().extension() == ".h" &&
            entry.path().filename() != "prelude_host.h")
          files.push_back(entry.path());
    files.push_back(FUSEC_DEVICE_TEST_DIR "/Tilings.h");
    texts.reserve(files.size());
    for (const auto &file : files) {
      std::stringstream text;
      text << std::ifstream(file).rdbuf();
      texts.push_back(text.str());
      headers.push_back({file.filename().string(), texts.back()});
    }
  }
};

const char *const epilogues = R"(
#include "gemm_mma.h"
#include "gemm_simt.h"
#include "gemv.h"
#include "Tilings.h"
struct Rows {
  FUSEC_DEVICE fusec::i64 offset(fusec::i64 m) const { return m / 7 * 100 + m % 7; }
};
/// One text for every template and accumulator type.
template <class Acc, int J, class Out> struct Gate {
  typedef Acc Accumulator;
  static constexpr int accumulators = J;
  typedef fusec::Pack<fusec::RowOperand<Acc, fusec::Contiguous, 16>, fusec::ColumnOperand<Acc>,
                      fusec::FullOperand<Out, fusec::Stride, fusec::Contiguous, 16>> Operands;
  typedef fusec::Pack<fusec::FullResult<Out, fusec::Stride, fusec::Contiguous, 16>,
                      fusec::FullResult<fusec::boolean, Rows, fusec::Stride>> Results;
  Operands operands;
  Results results;
  FUSEC_DEVICE static void apply(const Acc (&acc)[J], Acc bias, Acc scale,
                                 fusec::Compute<Out> residual, fusec::Compute<Out> &y, bool &z) {
    Acc value = acc[0];
    if constexpr (fusec::isFloating<Acc>)
      value = fusec::gelu(value + bias);
    for (int j = 1; j < J; ++j)
      value = value * acc[j];
    y = value * scale + residual;
    z = value > scale;
  }
};
/// A softmax of each row, and its largest element's place.
template <class Acc, int J, class Out> struct Softmax {
  typedef Acc Accumulator;
  static constexpr int accumulators = J;
  typedef fusec::Pack<fusec::RowOperand<Acc, fusec::Contiguous, 16>, fusec::ColumnOperand<Acc>,
                      fusec::FullOperand<Out, fusec::Stride, fusec::Contiguous, 16>> Operands;
  typedef fusec::Pack<fusec::FullResult<Out, fusec::Stride, fusec::Contiguous, 16>,
                      fusec::ColumnResult<fusec::boolean>> Results;
  Operands operands;
  Results results;
  struct Row {
    fusec::Indexed<Acc> largest;
    Acc sum;
  };
  FUSEC_DEVICE static Acc logit(const Acc (&acc)[J], Acc bias, Acc scale,
                                fusec::Compute<Out> residual) {
    Acc value = acc[0] * scale + bias;
    for (int j = 1; j < J; ++j)
      value = value * acc[j];
    return value + Acc(residual);
  }
  struct Largest {
    typedef Acc Accumulator;
    typedef fusec::ArgMax<Acc> Combiner;
    FUSEC_DEVICE static fusec::Indexed<Acc> &of(Row &row) { return row.largest; }
    FUSEC_DEVICE static void apply(const Acc (&acc)[J], const Row &, Acc bias, Acc scale,
                                   fusec::Compute<Out> residual, Acc &value) {
      value = logit(acc, bias, scale, residual);
    }
  };
  struct Total {
    typedef Acc Accumulator;
    typedef fusec::Sum<Acc> Combiner;
    FUSEC_DEVICE static Acc &of(Row &row) { return row.sum; }
    FUSEC_DEVICE static void apply(const Acc (&acc)[J], const Row &row, Acc bias, Acc scale,
                                   fusec::Compute<Out> residual, Acc &value) {
      value = logit(acc, bias, scale, residual) - row.largest.value;
      if constexpr (fusec::isFloating<Acc>)
        value = fusec::exp(value);
    }
  };
  typedef fusec::Phases<Largest, Total> Phases;
  FUSEC_DEVICE static void apply(const Acc (&acc)[J], const Row &row, Acc bias, Acc scale,
                                 fusec::Compute<Out> residual, fusec::Compute<Out> &y, bool &z) {
    Total::apply(acc, row, bias, scale, residual, y);
    y = y / row.sum;
    z = row.largest.index > 3;
  }
};
#define ROWS(name, call, Config, T, Acc, Out, MajorA, MajorB, Align, J)                        \
  extern "C" FUSEC_KERNEL(Config::threads)                                                     \
  name(const T *a, const T *b, const T *c, const Acc *bias, const Acc *scale, const Out *r,    \
       Out *y, fusec::boolean *z, int m, int n, int k, int batch, int lda, int ldb) {          \
    typedef fusec::Segment<fusec::Matrix<T, fusec::Major::MajorA, Align>,                      \
                           fusec::Matrix<T, fusec::Major::MajorB, Align>, J> Main;             \
    Softmax<Acc, J, Out> epilogue{{{bias}, {scale}, {r, {n}}}, {{y, {n}}, {z, {1}}}};          \
    Main main{{a, lda, {}, 3}, {}, k};                                                         \
    for (int j = 0; j < J; ++j)                                                                \
      main.b[j] = {j ? c : b, ldb, {}, 3};                                                     \
    call({m, n, batch}, epilogue, main);                                                       \
  }
#define ENTRY(name, call, Config, T, Acc, Out, MajorA, MajorB, Align, J)                       \
  extern "C" FUSEC_KERNEL(Config::threads)                                                     \
  name(const T *a, const T *b, const T *c, const Acc *bias, const Acc *scale, const Out *r,    \
       Out *y, fusec::boolean *z, int m, int n, int k, int batch, int lda, int ldb) {          \
    typedef fusec::Segment<fusec::Matrix<T, fusec::Major::MajorA, Align>,                      \
                           fusec::Matrix<T, fusec::Major::MajorB, Align>, J> Main;             \
    Gate<Acc, J, Out> epilogue{{{bias}, {scale}, {r, {n}}}, {{y, {n}}, {z, {}, {n}}}};         \
    Main main{{a, lda, {}, 3}, {}, k};                                                         \
    for (int j = 0; j < J; ++j)                                                                \
      main.b[j] = {j ? c : b, ldb, {}, 3};                                                     \
    call({m, n, batch}, epilogue, main);                                                       \
  }
)";

const char *const mmaKernels = R"(
namespace f = fusec;
typedef fusec::MmaConfig<tiles::Mma<128, 256, 64, 2, 4, 3>> M256;
typedef fusec::MmaConfig<tiles::Mma<128, 128, 64, 2, 4, 3>> M128;
typedef fusec::MmaConfig<tiles::Mma<64, 64, 64, 2, 2, 3>> M64;
typedef fusec::MmaConfig<tiles::Mma<16, 128, 64, 1, 4, 4>> M16;
typedef fusec::MmaConfig<tiles::Mma<128, 128, 32, 2, 4, 3>> T128;
typedef fusec::MmaConfig<tiles::Mma<64, 64, 32, 2, 2, 3>> T64;
ENTRY(m256, fusec::gemmMma<M256>, M256, f::f16, float, f::f16, K, Outer, 16, 1)
ENTRY(m128, fusec::gemmMma<M128>, M128, f::bf16, float, f::bf16, K, K, 16, 2)
ENTRY(m128o, fusec::gemmMma<M128>, M128, f::f16, float, float, Outer, Outer, 8, 1)
ENTRY(m64, fusec::gemmMma<M64>, M64, f::f16, float, f::f16, K, Outer, 4, 2)
ENTRY(m64u, fusec::gemmMma<M64>, M64, f::bf16, float, float, Outer, K, 2, 1)
ENTRY(m64s, fusec::gemmMma<M64>, M64, f::f16, float, float, Strided, Strided, 2, 1)
ENTRY(m16, fusec::gemmMma<M16>, M16, f::f16, float, f::f16, K, Outer, 16, 1)
ENTRY(m16g, fusec::gemmMma<M16>, M16, f::bf16, float, float, K, K, 4, 2)
typedef fusec::MmaConfig<tiles::Mma<32, 64, 64, 1, 4, 4>> M32;
ENTRY(m32, fusec::gemmMma<M32>, M32, f::f16, float, f::f16, K, Outer, 16, 2)
ENTRY(t128, fusec::gemmMma<T128>, T128, float, float, float, K, Outer, 16, 1)
ENTRY(t64, fusec::gemmMma<T64>, T64, float, float, float, Outer, K, 4, 2)
)";

const char *const tf32x3Kernels = R"(
namespace f = fusec;
typedef f::Tf32x3Config<tiles::Mma<128, 128, 32, 4, 4, 3>> X128w16;
typedef f::Tf32x3Config<tiles::Mma<128, 128, 32, 2, 4, 3>> X128;
typedef f::Tf32x3Config<tiles::Mma<128, 64, 32, 4, 2, 3>> X128n64;
typedef f::Tf32x3Config<tiles::Mma<64, 64, 32, 2, 2, 3>> X64;
typedef f::Tf32x3Config<tiles::Mma<32, 32, 32, 2, 2, 4>> X32;
ENTRY(x128w16, f::gemmMma<X128w16>, X128w16, float, float, f::f16, Outer, Outer, 16, 1)
ENTRY(x128, f::gemmMma<X128>, X128, float, float, float, K, K, 16, 1)
ENTRY(x128n64, f::gemmMma<X128n64>, X128n64, float, float, float, Outer, Outer, 16, 2)
ENTRY(x64, f::gemmMma<X64>, X64, float, float, float, Strided, K, 4, 1)
ENTRY(x32, f::gemmMma<X32>, X32, float, float, float, K, Outer, 4, 3)
)";

const char *const otherKernels = R"(
namespace f = fusec;
typedef fusec::SimtConfig<tiles::Simt<128, 128, 16, 8, 8>> S128;
typedef fusec::SimtConfig<tiles::Simt<128, 64, 16, 8, 4>> S128n64;
typedef fusec::SimtConfig<tiles::Simt<64, 64, 16, 4, 4>> S64;
typedef fusec::SimtConfig<tiles::Simt<32, 32, 16, 2, 2>> S32;
typedef fusec::GemvConfig<tiles::Gemv<8, 256>> V8;
typedef fusec::GemvConfig<tiles::Gemv<1, 256>> V1;
ENTRY(s128, fusec::gemmSimt<S128>, S128, float, float, float, K, Outer, 16, 1)
ENTRY(s128n64, fusec::gemmSimt<S128n64>, S128n64, float, float, f::f16, Outer, K, 4, 2)
ENTRY(s64, fusec::gemmSimt<S64>, S64, double, double, double, K, K, 16, 1)
ENTRY(s32, fusec::gemmSimt<S32>, S32, f::i64, f::i64, f::i64, Strided, Outer, 8, 1)
ENTRY(s32i, fusec::gemmSimt<S32>, S32, int, int, int, K, Outer, 4, 2)
ENTRY(s64h, fusec::gemmSimt<S64>, S64, f::f16, float, f::f16, K, Outer, 2, 1)
#define NARROW_N fusec::gemv<V8, fusec::Narrow::N>
#define NARROW_M fusec::gemv<V1, fusec::Narrow::M>
typedef fusec::GemvConfig<tiles::Gemv<1, 1024>> V1024;
#define NARROW_1024 fusec::gemv<V1024, fusec::Narrow::M>
ENTRY(vt, NARROW_1024, V1024, f::f16, float, f::f16, K, Outer, 16, 2)
ENTRY(vn, NARROW_N, V8, f::f16, float, f::f16, K, Outer, 16, 1)
ENTRY(vm, NARROW_M, V1, float, float, float, K, Outer, 4, 2)
)";

const char *const memoryKernels = R"(
#include "gather.h"
#include "reduce.h"
#include "vector.h"
extern "C" FUSEC_KERNEL(256) pointwise(const float *x, fusec::bf16 *y, fusec::i64 n) {
  fusec::forEachVector<8>(n, [&](fusec::i64 base, auto width) {
    constexpr int V = decltype(width)::value;
    auto a = fusec::loadStream<V>(x + base);
    fusec::Vec<fusec::bf16, V> out;
    FUSEC_UNROLL
    for (int v = 0; v < V; ++v)
      out[v] = fusec::cast<fusec::bf16>(fusec::tanh(a[v]) + fusec::fast::sigmoid(a[v]));
    fusec::storeStream<V>(y + base, out);
  });
}
extern "C" FUSEC_KERNEL(256) rmsNorm(const float *x, float *y, fusec::i64 rows, int n) {
  typedef fusec::BlockScope<256> Scope;
  fusec::forEachRow<Scope>(rows, [&](fusec::i64 r) {
    float sum = fusec::reduceRowVectors<Scope, fusec::Sum<float>, 4>(
        n, [&](int i, auto width, auto add) {
          constexpr int V = decltype(width)::value;
          auto a = fusec::load<V>(x + r * n + i);
          FUSEC_UNROLL
          for (int k = 0; k < V; ++k)
            add(a[k] * a[k]);
        });
    fusec::forEachVectorIn<Scope, 4>(n, [&](int i, auto width) {
      constexpr int V = decltype(width)::value;
      auto out = fusec::load<V>(x + r * n + i);
      FUSEC_UNROLL
      for (int k = 0; k < V; ++k)
        out[k] = out[k] * fusec::rsqrt(sum / n);
      fusec::store<V>(y + r * n + i, out);
    });
  });
}
extern "C" FUSEC_KERNEL(256) arg(const double *x, fusec::i64 *y, fusec::i64 rows, fusec::i64 n) {
  typedef fusec::WarpScope Scope;
  fusec::forEachRow<Scope>(rows, [&](fusec::i64 r) {
    auto a = fusec::reduceRow<Scope, fusec::ArgMax<double>>(
        n, [&](fusec::i64 i) { return fusec::Indexed<double>{x[r * n + i], i}; });
    if (Scope::rank() == 0)
      y[r] = a.index;
  });
}
extern "C" FUSEC_KERNEL(256) lookup(const fusec::f16 *table, const fusec::i64 *ids, fusec::f16 *y,
                                    fusec::i64 count, fusec::i64 size, fusec::u64 *faults) {
  fusec::forEach(count * 4, [&](fusec::i64 i) {
    fusec::i64 row;
    bool inside = fusec::gatherRowShared<fusec::GatherPolicy::Flag>(ids[i / 4], size, row, faults,
                                                                    i % 4 == 0);
    fusec::Vec<fusec::f16, 8> v = {};
    if (inside)
      v = fusec::load<8>(table + (row * 4 + i % 4) * 8);
    fusec::store<8>(y + i * 8, v);
  });
}
template <class T> FUSEC_DEVICE void integers(T *p) {
  p[0] = fusec::intDiv(p[1], p[2]);
  p[3] = fusec::intMod(p[1], p[2]);
  p[4] = fusec::intPow(p[1], p[2]);
  p[5] = fusec::absolute(p[5]) + fusec::sign(p[6]);
  p[7] = fusec::cast<T>(1.5f * p[7]);
}
extern "C" FUSEC_KERNEL(32) scalars(fusec::i8 *a, fusec::u16 *b, int *c, fusec::u64 *d,
                                    fusec::f16 *e, double *f) {
  integers(a);
  integers(b);
  integers(c);
  integers(d);
  e[0] = fusec::cast<fusec::f16>(f[0]);
  e[1] = fusec::cast<fusec::f16>(d[0]);
  f[1] = fusec::softplus(f[2]) + fusec::maxNan(f[3], f[4]) + fusec::floorMod(f[5], f[6]);
}
)";

// Those that read matrices through tensor maps, for sm_90a alone.
const char *const mappedKernels = R"(
#include "gemm_wgmma.h"
#include "gemm_skinny.h"
#include "gemm_resident.h"
namespace f = fusec;
#define MAPPED(name, call, Threads, T, Out, MajorB, J)                                         \
  MAPPED_AS(Gate, name, call, Threads, T, Out, MajorB, J, {z, {}, {n}})
#define MAPPED_ROWS(name, call, Threads, T, Out, MajorB, J)                                    \
  MAPPED_AS(Softmax, name, call, Threads, T, Out, MajorB, J, {z, {1}})
#define MAPPED_AS(Kind, name, call, Threads, T, Out, MajorB, J, ...)                           \
  extern "C" FUSEC_KERNEL(Threads)                                                             \
  name(const FUSEC_GRID_CONSTANT f::TensorMap a, const FUSEC_GRID_CONSTANT f::TensorMap b,     \
       const FUSEC_GRID_CONSTANT f::TensorMap c, const float *bias, const float *scale,        \
       const Out *r, Out *y, f::boolean *z, int m, int n, int k) {                             \
    typedef f::Segment<f::Mapped<f::Matrix<T, f::Major::K, 16>>,                               \
                       f::Mapped<f::Matrix<T, f::Major::MajorB, 16>>, J> Main;                 \
    Kind<float, J, Out> epilogue{{{bias}, {scale}, {r, {n}}}, {{y, {n}}, __VA_ARGS__}};           \
    Main main{{{nullptr, k}, &a}, {}, k};                                                      \
    for (int j = 0; j < J; ++j)                                                                \
      main.b[j] = {{nullptr, k}, j ? &c : &b};                                                 \
    call({m, n, 1}, epilogue, main);                                                           \
  }
typedef f::WgmmaConfig<tiles::Wgmma<128, 128, 64, 4>> C128;
typedef f::WgmmaConfig<tiles::Wgmma<64, 128, 64, 4, 1, true>> P64;
typedef f::WgmmaConfig<tiles::Wgmma<128, 64, 32, 4, 1, true>> PT64;
typedef f::WgmmaConfig<tiles::Wgmma<128, 128, 64, 4, 2>> C128c2;
typedef f::SkinnyConfig<tiles::Skinny<16, 1, 64, 4, 2>> S16;
typedef f::SkinnyConfig<tiles::Skinny<64, 1, 32, 4, 8>> ST64;
template <class Config, class... Rest>
FUSEC_DEVICE void resident(const f::Shape &shape, const Rest &...rest) {
  f::gemmResident<Config>(nullptr, shape, rest...);
}
typedef f::ResidentConfig<tiles::Resident<60, 64, 3, 3>> R64;
typedef f::ResidentConfig<tiles::Resident<64, 64, 3, 4>> RT64;
MAPPED(c128, f::gemmWgmma<C128>, C128::threads, f::f16, f::f16, K, 1)
MAPPED(p64, f::gemmWgmma<P64>, P64::threads, f::bf16, f::bf16, Outer, 1)
MAPPED(pt64, f::gemmWgmma<PT64>, PT64::threads, float, float, K, 1)
MAPPED(c128c2, f::gemmWgmma<C128c2>, C128c2::threads, f::f16, float, K, 1)
MAPPED(s16, f::gemmSkinny<S16>, S16::threads, f::f16, f::f16, Outer, 2)
MAPPED(st64, f::gemmSkinny<ST64>, ST64::threads, float, float, K, 1)
MAPPED(r64, resident<R64>, R64::threads, f::bf16, f::bf16, Outer, 2)
MAPPED(rt64, resident<RT64>, RT64::threads, float, float, K, 1)
typedef f::WgmmaTf32x3Config<tiles::Wgmma<128, 128, 32, 4, 2>> X128;
typedef f::WgmmaTf32x3Config<tiles::Wgmma<128, 64, 32, 4>> X64;
typedef f::SkinnyTf32x3Config<tiles::Skinny<8, 1, 32, 8, 4>> SX8;
typedef f::SkinnyTf32x3Config<tiles::Skinny<64, 1, 32, 3, 2>> SX64;
MAPPED(x128, f::gemmWgmma<X128>, X128::threads, float, float, K, 1)
MAPPED(x64, f::gemmWgmma<X64>, X64::threads, float, float, K, 2)
MAPPED(sx8, f::gemmSkinny<SX8>, SX8::threads, float, f::f16, K, 2)
MAPPED(sx64, f::gemmSkinny<SX64>, SX64::threads, float, float, K, 1)
MAPPED_ROWS(rowsx128, f::gemmWgmma<X128>, X128::threads, float, float, K, 1)
typedef f::WgmmaConfig<tiles::Wgmma<128, 256, 64, 4>> C256;
typedef f::WgmmaConfig<tiles::Wgmma<128, 64, 64, 4>> C64;
typedef f::WgmmaConfig<tiles::Wgmma<64, 256, 64, 4, 2, true>> P256;
typedef f::WgmmaConfig<tiles::Wgmma<64, 64, 32, 4, 1, true>> P64n64;
typedef f::WgmmaSplitKConfig<tiles::Wgmma<128, 256, 64, 4>> K256;
typedef f::WgmmaSplitKConfig<tiles::Wgmma<128, 128, 64, 4>> K128;
typedef f::WgmmaSplitKConfig<tiles::Wgmma<128, 128, 32, 4>> KT128;
MAPPED(k128, f::gemmWgmma<K128>, K128::threads, f::bf16, f::bf16, Outer, 1)
MAPPED(kt128, f::gemmWgmma<KT128>, KT128::threads, float, float, K, 1)
MAPPED_ROWS(rowsk256, f::gemmWgmma<K256>, K256::threads, f::f16, f::f16, Outer, 1)
typedef f::SkinnyConfig<tiles::Skinny<8, 1, 64, 4, 8>> S8;
typedef f::SkinnyConfig<tiles::Skinny<64, 4, 64, 2, 8>> S64n256;
typedef f::SkinnyConfig<tiles::Skinny<24, 2, 32, 3, 1>> S24;
MAPPED_ROWS(rows256, f::gemmWgmma<C256>, C256::threads, f::f16, f::f16, Outer, 1)
MAPPED_ROWS(rows128, f::gemmWgmma<C128>, C128::threads, f::bf16, float, K, 1)
MAPPED_ROWS(rows64, f::gemmWgmma<C64>, C64::threads, f::f16, f::f16, K, 2)
MAPPED_ROWS(turns256, f::gemmWgmma<P256>, P256::threads, f::f16, float, K, 1)
MAPPED_ROWS(turns128, f::gemmWgmma<P64>, P64::threads, f::f16, f::f16, Outer, 2)
MAPPED_ROWS(turns64, f::gemmWgmma<P64n64>, P64n64::threads, float, float, K, 1)
MAPPED_ROWS(few64, f::gemmSkinny<S8>, S8::threads, f::f16, f::f16, Outer, 2)
MAPPED_ROWS(few256, f::gemmSkinny<S64n256>, S64n256::threads, f::f16, f::f16, K, 1)
MAPPED_ROWS(few128, f::gemmSkinny<S24>, S24::threads, float, float, K, 1)
)";

// Epilogues that reduce rows: the tiles that are there for them, and others.
const char *const rowKernels = R"(
namespace f = fusec;
typedef f::MmaConfig<tiles::Mma<128, 256, 64, 2, 4, 3>> M256;
typedef f::MmaConfig<tiles::Mma<128, 64, 64, 4, 2, 3>> M128n64;
typedef f::MmaConfig<tiles::Mma<16, 256, 64, 1, 8, 2>> M16n256;
typedef f::MmaConfig<tiles::Mma<16, 128, 64, 1, 8, 2>> M16n128;
typedef f::MmaConfig<tiles::Mma<16, 64, 64, 1, 4, 4>> M16n64;
typedef f::MmaConfig<tiles::Mma<32, 32, 64, 2, 2, 4>> M32;
typedef f::MmaConfig<tiles::Mma<16, 256, 32, 1, 8, 2>> T16n256;
typedef f::MmaConfig<tiles::Mma<16, 64, 32, 1, 4, 4>> T16n64;
typedef f::Tf32x3Config<tiles::Mma<128, 128, 32, 4, 4, 3>> X128w16;
typedef f::Tf32x3Config<tiles::Mma<16, 256, 32, 1, 16, 2>> X16n256;
typedef f::Tf32x3Config<tiles::Mma<16, 128, 32, 1, 8, 3>> X16n128;
typedef f::Tf32x3Config<tiles::Mma<16, 64, 32, 1, 4, 4>> X16n64;
typedef f::SimtConfig<tiles::Simt<32, 256, 16, 4, 8>> S32n256;
typedef f::SimtConfig<tiles::Simt<32, 128, 16, 4, 4>> S32n128;
typedef f::SimtConfig<tiles::Simt<32, 64, 16, 4, 4>> S32n64;
typedef f::SimtConfig<tiles::Simt<32, 32, 16, 2, 2>> S32;
typedef f::GemvConfig<tiles::Gemv<8, 256>> V8;
#define NARROW_N f::gemv<V8, f::Narrow::N>
ROWS(m256, f::gemmMma<M256>, M256, f::f16, float, f::f16, K, Outer, 16, 1)
ROWS(m128n64, f::gemmMma<M128n64>, M128n64, f::bf16, float, float, K, K, 16, 1)
typedef f::MmaConfig<tiles::Mma<64, 256, 64, 2, 4, 2>> M64n256;
typedef f::MmaConfig<tiles::Mma<64, 128, 64, 2, 4, 3>> M64n128;
typedef f::MmaConfig<tiles::Mma<64, 256, 32, 2, 4, 2>> T64n256;
typedef f::MmaConfig<tiles::Mma<64, 128, 32, 2, 4, 3>> T64n128;
typedef f::Tf32x3Config<tiles::Mma<64, 128, 32, 2, 4, 3>> X64n128;
ROWS(m64n256, f::gemmMma<M64n256>, M64n256, f::f16, float, f::f16, K, K, 16, 1)
ROWS(m64n128, f::gemmMma<M64n128>, M64n128, f::f16, float, f::f16, K, Outer, 16, 2)
ROWS(t64n256, f::gemmMma<T64n256>, T64n256, float, float, float, Outer, K, 16, 1)
ROWS(t64n128, f::gemmMma<T64n128>, T64n128, float, float, float, K, Outer, 16, 1)
ROWS(x64n128, f::gemmMma<X64n128>, X64n128, float, float, float, K, K, 16, 1)
ROWS(m16n256, f::gemmMma<M16n256>, M16n256, f::f16, float, f::f16, K, Outer, 2, 1)
ROWS(m16n256g, f::gemmMma<M16n256>, M16n256, f::f16, float, float, K, K, 16, 2)
ROWS(m16n128, f::gemmMma<M16n128>, M16n128, f::bf16, float, f::bf16, Outer, K, 2, 2)
ROWS(m16n64, f::gemmMma<M16n64>, M16n64, f::f16, float, f::f16, Strided, Strided, 2, 1)
ROWS(m32, f::gemmMma<M32>, M32, f::f16, float, f::f16, K, K, 2, 1)
ROWS(t16n256, f::gemmMma<T16n256>, T16n256, float, float, float, K, Outer, 4, 1)
ROWS(t16n64, f::gemmMma<T16n64>, T16n64, float, float, float, K, K, 4, 2)
ROWS(x128w16, f::gemmMma<X128w16>, X128w16, float, float, float, K, Outer, 16, 1)
ROWS(x16n256, f::gemmMma<X16n256>, X16n256, float, float, float, K, Outer, 4, 1)
ROWS(x16n128, f::gemmMma<X16n128>, X16n128, float, float, f::f16, K, K, 4, 2)
ROWS(x16n64, f::gemmMma<X16n64>, X16n64, float, float, float, K, K, 4, 1)
ROWS(s32n256, f::gemmSimt<S32n256>, S32n256, double, double, double, K, Outer, 8, 1)
ROWS(s32n128, f::gemmSimt<S32n128>, S32n128, float, float, float, K, K, 4, 2)
ROWS(s32n64, f::gemmSimt<S32n64>, S32n64, f::i64, f::i64, f::i64, Strided, Outer, 8, 1)
ROWS(s32, f::gemmSimt<S32>, S32, float, float, f::f16, K, Outer, 4, 1)
ROWS(vn, NARROW_N, V8, f::f16, float, f::f16, K, Outer, 16, 1)
)";

class DeviceTargets : public testing::TestWithParam<const char *> {};

TEST_P(DeviceTargets, EveryTemplateCompilesCleanly) {
  llvm::Expected<std::string> file = findNvrtc();
  if (!file) {
    GTEST_SKIP() << "no NVRTC: " << llvm::toString(file.takeError());
  }
  llvm::Expected<std::unique_ptr<Nvrtc>> nvrtc = Nvrtc::load(*file);
  ASSERT_TRUE(bool(nvrtc)) << llvm::toString(nvrtc.takeError());
  std::string target = GetParam();
  if (llvm::Error error = checkTarget(target, (*nvrtc)->getIdentity()))
    GTEST_SKIP() << llvm::toString(std::move(error));

  DeviceHeaders device;
  std::vector<std::pair<std::string, std::string>> programs = {
      {"mma", std::string(epilogues) + mmaKernels},
      {"tf32x3", std::string(epilogues) + tf32x3Kernels},
      {"other", std::string(epilogues) + otherKernels},
      {"rows", std::string(epilogues) + rowKernels},
      {"memory", memoryKernels}};
  if (target == "sm_90a")
    programs.push_back({"mapped", std::string(epilogues) + mappedKernels});
  for (auto &[name, source] : programs) {
    llvm::Expected<CompiledKernel> compiled =
        (*nvrtc)->compile({name, source, device.headers, target, {}});
    ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
    EXPECT_EQ(compiled->isPtx, target == "ptx");
    EXPECT_EQ(compiled->log.find("warning"), std::string::npos)
        << compiled->log;
    for (const KernelUsage &kernel : compiled->kernels) {
      EXPECT_EQ(kernel.spillBytes, 0u) << target << ' ' << kernel.symbol;
      EXPECT_EQ(kernel.stackBytes, 0u) << target << ' ' << kernel.symbol;
    }
  }
}

// What sm_86, sm_89, sm_120 and PTX compile is what sm_80 does.
INSTANTIATE_TEST_SUITE_P(Targets, DeviceTargets,
                         testing::Values("sm_80", "sm_90a"));

} // namespace
