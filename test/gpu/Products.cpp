// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fusec-gpu-products: fp32 products by 3xTF32. Their error, max |y - y64| /
// (|A||B|), may be at most twice that of plain FMA in the same run; infinities,
// NaN and overflow give what FMA gives.

#include "compiler/kernels/gemm/GemmUnits.h"
#include "compiler/kernels/gemm/device/gemm_config.h"
#include "test/gpu/Harness.h"
#include "tools/fusec/Compare.h"

#include <cfloat>
#include <cmath>
#include <random>

using namespace fusec;

namespace {
struct Matrix {
  int64_t rows, columns;
  std::vector<float> values;
  float *operator[](int64_t row) { return &values[row * columns]; }
  const float *operator[](int64_t row) const { return &values[row * columns]; }
};

struct Product {
  Matrix a, b;
  // In fp64: the result, and what it would be if nothing cancelled.
  std::vector<double> exact, magnitude;
};

struct Tile {
  const char *name;
  GemmScheduleAttr (*get)(mlir::MLIRContext *);
  /// Those read by tensor map want B along K, and rows of whole units.
  bool isMapped = true;

  bool takes(int64_t k) const { return !isMapped || k % 4 == 0; }
};
} // namespace

// Tiles as the units have them, of fp32 by three products of tf32.
constexpr int64_t tileK = 32;
template <int M, int N, int WarpsM, int WarpsN, int Stages>
static GemmScheduleAttr getMma(mlir::MLIRContext *context) {
  return MmaScheduleAttr::get(context, M, N, tileK, WarpsM, WarpsN, Stages,
                              /*tf32x3=*/true);
}
template <int M, int N, int Stages, int ClusterM>
static GemmScheduleAttr getWgmma(mlir::MLIRContext *context) {
  return WgmmaScheduleAttr::get(context, M, N, tileK, Stages, ClusterM,
                                /*clusterN=*/1, /*blocks=*/4,
                                /*pingPong=*/false, /*tf32x3=*/true);
}
template <int M, int N, int Stages, int ClusterK>
static GemmScheduleAttr getSkinny(mlir::MLIRContext *context) {
  return SkinnyScheduleAttr::get(context, M, N, tileK, Stages, ClusterK,
                                 /*resident=*/2, /*tf32x3=*/true);
}

static const Tile tiles[] = {{"128x128w16", getMma<128, 128, 4, 4, 3>, false},
                             {"128x128w8", getMma<128, 128, 2, 4, 3>, false},
                             {"128x64", getMma<128, 64, 4, 2, 3>, false},
                             {"64x64", getMma<64, 64, 2, 2, 3>, false},
                             {"32x32", getMma<32, 32, 2, 2, 4>, false},
                             {"wgmma128x128", getWgmma<128, 128, 4, 1>},
                             {"wgmma128x128c2", getWgmma<128, 128, 4, 2>},
                             {"wgmma128x64", getWgmma<128, 64, 6, 1>},
                             {"skinny8", getSkinny<8, 64, 10, 1>},
                             {"skinny64c4", getSkinny<64, 64, 3, 4>}};

/// What a product may lose of an operand, apart from a part of it: tensor cores
/// need not keep subnormals.
constexpr double tiniest = 0x1p-126;

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

static Matrix makeMatrix(int64_t rows, int64_t columns,
                         const std::function<float()> &next) {
  Matrix matrix{rows, columns, std::vector<float>(rows * columns)};
  for (float &value : matrix.values)
    value = next();
  return matrix;
}

static Product makeProblem(Matrix a, Matrix b) {
  int64_t m = a.rows, n = b.columns, k = a.columns;
  Product problem{std::move(a), std::move(b), std::vector<double>(m * n),
                  std::vector<double>(m * n)};
  for (int64_t i = 0; i != m; ++i)
    for (int64_t l = 0; l != k; ++l)
      for (int64_t j = 0; j != n; ++j) {
        double product = double(problem.a[i][l]) * problem.b[l][j];
        problem.exact[i * n + j] += product;
        problem.magnitude[i * n + j] += std::abs(product);
      }
  return problem;
}

/// Uniform in (-1, 1), uniform in (0, 1), or over 40 binary orders.
static Product makeRandomProblem(llvm::StringRef kind, int64_t k) {
  std::mt19937 random(static_cast<unsigned>(k));
  std::uniform_real_distribution<float> uniform(kind == "positive" ? 0 : -1, 1);
  std::normal_distribution<float> normal;
  auto next = [&] {
    return kind == "exponents"
               ? std::ldexp(normal(random), int(random() % 41) - 20)
               : uniform(random);
  };
  int64_t size = k < 4096 ? 128 : 64;
  Matrix a = makeMatrix(size, k, next);
  return makeProblem(std::move(a), makeMatrix(k, size, next));
}

/// Rows of A and columns of B have one special value each, at one of two
/// places, or consist of it: each meets each, and ordinary numbers.
static Product makeSpecialProblem() {
  static const float specials[] = {
      INFINITY,   -INFINITY,    NAN,          0,
      -0.0f,      FLT_MAX,      -FLT_MAX,     0x1.ffep127f,
      0x1p127f,   -0x1.8p100f,  0x1p64f,      1,
      -1.5f,      0x1.fffp-60f, 0x1.23p-110f, FLT_MIN,
      -0x1p-126f, 0x1.8p-130f,  0x1p-149f};
  constexpr int64_t styles = 3, k = 72, places[] = {5, 37};
  int64_t size = styles * std::size(specials);
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  auto next = [&] { return normal(random); };
  Matrix a = makeMatrix(size, k, next), b = makeMatrix(k, size, next);
  for (int64_t i = 0; i != size; ++i)
    for (int64_t l = 0; l != k; ++l) {
      int64_t style = i % styles;
      if (style == 2 || l == places[style])
        a[i][l] = b[l][i] = specials[i / styles];
    }
  return makeProblem(std::move(a), std::move(b));
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

static std::unique_ptr<Harness::Compiled>
compile(Harness &harness, const std::string &label, int64_t m, int64_t n,
        int64_t k, bool isMapped,
        const std::function<mlir::Attribute(mlir::MLIRContext *)> &schedule) {
  auto type = [](int64_t rows, int64_t columns) {
    return "tensor<" + std::to_string(rows) + "x" + std::to_string(columns) +
           "xf32>";
  };
  std::string a = type(m, k), b = isMapped ? type(n, k) : type(k, n),
              y = type(m, n);
  std::string program = "fusec.model @main inputs [\"a\", \"b\"] outputs "
                        "[\"y\"] {\n^bb0(%a: " +
                        a + ", %b: " + b + "):\n  %y = fusec.matmul %a, %b" +
                        (isMapped ? " transposed : " : " : ") + a + ", " + b +
                        " to " + y + "\n  fusec.output %y : " + y + "\n}\n";
  return harness.compileWith(
      label,
      [&](CompileOptions options) {
        return Compilation::parse(program, std::move(options));
      },
      [&](VariantAttr variant) {
        // Variants for what has no tensor map stay as they are.
        auto chosen = llvm::cast<GemmScheduleAttr>(variant.getSchedule());
        if (isMapped && !getGemmUnit(chosen).usesTensorMaps())
          return variant;
        return VariantAttr::get(variant.getContext(), variant.getGuards(),
                                schedule(variant.getContext()));
      });
}

static std::unique_ptr<Harness::Compiled>
compileTile(Harness &harness, const std::string &label, int64_t m, int64_t n,
            int64_t k, const Tile &tile) {
  return compile(harness, label, m, n, k, tile.isMapped, tile.get);
}

static std::unique_ptr<Harness::Compiled> compileFma(Harness &harness,
                                                     const std::string &label,
                                                     int64_t m, int64_t n,
                                                     int64_t k) {
  return compile(harness, label, m, n, k, false,
                 [&](mlir::MLIRContext *context) {
                   return SimtScheduleAttr::get(context, 64, 64, 16, 4, 4);
                 });
}

static data::Tensor toTensor(const Matrix &matrix) {
  data::Tensor tensor =
      allocateTensor(format::DType::F32, {matrix.rows, matrix.columns});
  std::memcpy(tensor.bytes.data(), matrix.values.data(), tensor.bytes.size());
  return tensor;
}

static Matrix transpose(const Matrix &matrix) {
  Matrix result{matrix.columns, matrix.rows,
                std::vector<float>(matrix.values.size())};
  for (int64_t i = 0; i != matrix.rows; ++i)
    for (int64_t j = 0; j != matrix.columns; ++j)
      result[j][i] = matrix[i][j];
  return result;
}

static data::Tensor run(Harness::Compiled &compiled, const Product &problem,
                        bool isMapped = false) {
  std::vector<data::Tensor> inputs;
  inputs.push_back(toTensor(problem.a));
  inputs.push_back(toTensor(isMapped ? transpose(problem.b) : problem.b));
  return std::move(compiled.run->run(inputs)[0]);
}

static double getError(const data::Tensor &got, const Product &problem) {
  double worst = 0;
  for (size_t i = 0; i != problem.exact.size(); ++i) {
    double error =
        std::abs(getElement(got, i) - problem.exact[i]) / problem.magnitude[i];
    worst = std::isnan(error) ? INFINITY : std::max(worst, error);
  }
  return worst;
}

static std::vector<Tile> getWanted(const Harness &harness,
                                   const std::string &name, int64_t k) {
  std::vector<Tile> wanted;
  for (const Tile &tile : tiles)
    if (tile.takes(k) && harness.isWanted(name + "." + tile.name))
      wanted.push_back(tile);
  return wanted;
}

/// Where K is shorter than what is left to FMA, only the documented bound.
static void testError(Harness &harness, llvm::StringRef kind, int64_t k) {
  std::string name = "error." + kind.str() + ".k" + std::to_string(k);
  std::vector<Tile> wanted = getWanted(harness, name, k);
  if (wanted.empty())
    return;
  std::optional<Product> problem;
  if (harness.hasDevice())
    problem = makeRandomProblem(kind, k);
  int64_t size = k < 4096 ? 128 : 64;
  auto fma = compileFma(harness, name + ".fma", size, size, k);
  std::optional<double> ofFma;
  for (const Tile &tile : wanted) {
    std::string label = name + "." + tile.name;
    auto compiled = compileTile(harness, label, size, size, k, tile);
    if (!fma || !fma->run || !compiled || !compiled->run)
      continue;
    harness.check(label, [&] {
      if (!ofFma)
        ofFma = getError(run(*fma, *problem), *problem);
      double error =
          getError(run(*compiled, *problem, tile.isMapped), *problem);
      return k < tf32x3MinK ? std::pair(error * 0x1p24, 12 + double(k) / 16)
                            : std::pair(error / *ofFma, 2.0);
    });
  }
}

/// In units of the documented bound: infinite where one of the two is not
/// finite and the other is, and no order of adding explains it.
static double getSpecialError(const data::Tensor &got, const data::Tensor &fma,
                              const Product &problem) {
  int64_t n = problem.b.columns, k = problem.a.columns;
  double worst = 0;
  for (size_t i = 0; i != problem.exact.size(); ++i) {
    double a = getElement(got, i), b = getElement(fma, i);
    if (a == b || (std::isnan(a) && std::isnan(b)))
      continue;
    double operands = 0;
    for (int64_t l = 0; l != k; ++l)
      operands += std::abs(double(problem.a[i / n][l])) +
                  std::abs(double(problem.b[l][i % n]));
    double allowed = (12 + double(k) / 16) * 0x1p-24 * problem.magnitude[i] +
                     tiniest * (operands + double(k));
    double error = std::abs(a - problem.exact[i]) / allowed;
    worst = std::isfinite(a) && std::isfinite(error) ? std::max(worst, error)
                                                     : INFINITY;
  }
  return worst;
}

static void testSpecials(Harness &harness) {
  Product problem = makeSpecialProblem();
  int64_t m = problem.a.rows, k = problem.a.columns;
  std::vector<Tile> wanted = getWanted(harness, "specials", k);
  if (wanted.empty())
    return;
  auto fma = compileFma(harness, "specials.fma", m, m, k);
  for (const Tile &tile : wanted) {
    std::string label = std::string("specials.") + tile.name;
    auto compiled = compileTile(harness, label, m, m, k, tile);
    if (!fma || !fma->run || !compiled || !compiled->run)
      continue;
    harness.check(label, [&] {
      return std::pair(getSpecialError(run(*compiled, problem, tile.isMapped),
                                       run(*fma, problem), problem),
                       1.0);
    });
  }
}

int main(int argc, char **argv) {
  Harness harness(argc, argv);
  if (!harness.getArguments().empty())
    return Harness::printUsage("fusec-gpu-products");
  for (llvm::StringRef kind : {"uniform", "positive", "exponents"})
    for (int64_t k : {13, 64, 1024, 16384, 93528})
      testError(harness, kind, k);
  testSpecials(harness);
  return harness.finish();
}
