// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fusec-gpu-kernels: each kernel family at sizes that no tile divides, with
// sizes known when compiling and without, against the reference in fp64; of
// matmuls every schedule that the compiler may take.
//
// The error of an element is measured in units in the last place of its type,
// relative to what it would be if nothing cancelled (the same program on the
// inputs' absolute values): |got - exact| / (eps * (|exact| + |magnitude|)).

#include "test/gpu/Harness.h"
#include "tools/fusec/Compare.h"
#include "tools/fusec/Failure.h"
#include "tools/fusec/RandomInputs.h"
#include "tools/fusec/ReferenceRun.h"
#include "llvm/ADT/StringExtras.h"

#include <array>
#include <cmath>
#include <cstring>

using namespace fusec;

namespace {
/// `$(m n T)` stands for the tensor type with these sizes and this element
/// type; T is each of `types` in turn. Inputs are %x, %y and %z.
struct KernelCase {
  const char *name;
  std::vector<const char *> types;
  std::vector<std::vector<const char *>> inputs; // sizes, then the element type
  const char *header, *body;
  /// Whether it has a matmul root, whose schedules are all run.
  bool isMatmul = false;
};

/// Sizes m, n and k.
using Point = std::array<int64_t, 3>;
} // namespace

static const std::vector<const char *> floats = {"f32", "f16", "bf16", "f64"};

/// A product, and what reduces its rows: widths that fill a tile, and not.
#define SOFTMAX_OF_PRODUCT(N)                                                  \
  {                                                                            \
    "rows-softmax" #N, {"f32", "f16", "bf16", "f64"},                          \
        {{"m", "k", "T"}, {"k", #N, "T"}, {#N, "T"}},                          \
        "inputs [\"x\", \"w\", \"b\"] outputs [\"r\"]",                        \
        "  %a = fusec.matmul %x, %y : $(m k T), $(k " #N " T) to $(m " #N      \
        " T)\n"                                                                \
        "  %b = fusec.broadcast %z [1] : $(" #N " T) to $(m " #N " T)\n"       \
        "  %c = fusec.add %a, %b : $(m " #N " T)\n"                            \
        "  %d = fusec.sigmoid %c : $(m " #N " T)\n"                            \
        "  %e = fusec.reduce max %d axes [1] : $(m " #N " T) to $(m T)\n"      \
        "  %f = fusec.broadcast %e [0] : $(m T) to $(m " #N " T)\n"            \
        "  %g = fusec.sub %d, %f : $(m " #N " T)\n"                            \
        "  %h = fusec.exp %g : $(m " #N " T)\n"                                \
        "  %i = fusec.reduce sum %h axes [1] : $(m " #N " T) to $(m T)\n"      \
        "  %j = fusec.broadcast %i [0] : $(m T) to $(m " #N " T)\n"            \
        "  %k = fusec.div %h, %j : $(m " #N " T)\n"                            \
        "  fusec.output %k : $(m " #N " T)",                                   \
        true                                                                   \
  }
/// A transposed right operand, a residual that is stored as well, the root of
/// the mean square.
#define NORM_OF_PRODUCT(N)                                                     \
  {                                                                            \
    "rows-norm" #N, {"f32", "f16", "bf16"},                                    \
        {{"m", "k", "T"}, {#N, "k", "T"}, {"m", #N, "T"}},                     \
        "inputs [\"x\", \"w\", \"z\"] outputs [\"r\", \"s\"]",                 \
        "  %a = fusec.matmul %x, %y transposed : $(m k T), $(" #N              \
        " k T) to $(m " #N " T)\n"                                             \
        "  %b = fusec.add %a, %z : $(m " #N " T)\n"                            \
        "  %c = fusec.mul %b, %b : $(m " #N " T)\n"                            \
        "  %d = fusec.reduce sum %c axes [1] : $(m " #N " T) to $(m T)\n"      \
        "  %e = fusec.sqrt %d : $(m T)\n"                                      \
        "  %f = fusec.broadcast %e [0] : $(m T) to $(m " #N " T)\n"            \
        "  %g = fusec.div %b, %f : $(m " #N " T)\n"                            \
        "  fusec.output %b, %g : $(m " #N " T), $(m " #N " T)",                \
        true                                                                   \
  }

static const KernelCase cases[] = {
    {"pointwise",
     floats,
     {{"m", "n", "T"}, {"m", "n", "T"}, {"n", "T"}},
     R"(inputs ["x", "y", "b"] outputs ["r", "t"])",
     R"(
  %a = fusec.mul %x, %y : $(m n T)
  %b = fusec.broadcast %z [1] : $(n T) to $(m n T)
  %c = fusec.add %a, %b : $(m n T)
  %d = fusec.sigmoid %c : $(m n T)
  %e = fusec.transpose %d [1, 0] : $(m n T) to $(n m T)
  fusec.output %d, %e : $(m n T), $(n m T))"},
    {"integers",
     {"i32", "i64", "i8", "ui8"},
     {{"m", "n", "T"}, {"m", "n", "T"}},
     R"(inputs ["x", "y"] outputs ["r"])",
     R"(
  %a = fusec.mul %x, %y : $(m n T)
  %b = fusec.max %a, %y : $(m n T)
  fusec.output %b : $(m n T))"},
    {"concat",
     {"f32", "f16", "i64"},
     {{"m", "n", "T"}, {"m", "k", "T"}},
     R"(inputs ["x", "y"] outputs ["r"])",
     R"(
  %a = fusec.concat %x, %y axis 1 : $(m n T), $(m k T) to $(m n+k T)
  %b = fusec.add %a, %a : $(m n+k T)
  fusec.output %b : $(m n+k T))"},
    {"gather",
     {"f32", "f16", "i8"},
     {{"n", "24", "T"}, {"m", "i64"}},
     R"(inputs ["table", "ids"] outputs ["r"])",
     R"(
  %a = fusec.broadcast %y [0] : $(m i64) to $(m 24 i64)
  %b = fusec.gather %x [-1, 1] (%a) flag : ($(n 24 T), $(m 24 i64)) -> $(m 24 T)
  fusec.output %b : $(m 24 T))"},
    {"softmax", floats, {{"m", "n", "T"}}, R"(inputs ["x"] outputs ["r"])", R"(
  %a = fusec.reduce max %x axes [1] : $(m n T) to $(m T)
  %b = fusec.broadcast %a [0] : $(m T) to $(m n T)
  %c = fusec.sub %x, %b : $(m n T)
  %d = fusec.exp %c : $(m n T)
  %e = fusec.reduce sum %d axes [1] : $(m n T) to $(m T)
  %f = fusec.broadcast %e [0] : $(m T) to $(m n T)
  %g = fusec.div %d, %f : $(m n T)
  fusec.output %g : $(m n T))"},
    {"columns",
     {"f32", "f64", "i32"},
     {{"m", "n", "T"}},
     R"(inputs ["x"] outputs ["sum", "least"])",
     R"(
  %a = fusec.reduce sum %x axes [0] : $(m n T) to $(n T)
  %b = fusec.reduce min %x axes [0, 1] : $(m n T) to $(T)
  fusec.output %a, %b : $(n T), $(T))"},
    {"argmax",
     {"f32", "i64"},
     {{"m", "n", "T"}},
     R"(inputs ["x"] outputs ["r"])",
     R"(
  %a = fusec.arg_reduce max %x axis 1 : $(m n T) to $(m i64)
  fusec.output %a : $(m i64))"},
    {"gemm",
     {"f32", "f16", "bf16", "f64", "i32", "i64"},
     {{"m", "k", "T"}, {"k", "n", "T"}, {"n", "T"}},
     R"(inputs ["x", "w", "b"] outputs ["r"])",
     R"(
  %a = fusec.matmul %x, %y : $(m k T), $(k n T) to $(m n T)
  %b = fusec.broadcast %z [1] : $(n T) to $(m n T)
  %c = fusec.add %a, %b : $(m n T)
  %d = fusec.relu %c : $(m n T)
  fusec.output %d : $(m n T))",
     true},
    {"transposed",
     {"f32", "f16", "bf16"},
     {{"k", "m", "T"}, {"n", "k", "T"}},
     R"(inputs ["x", "w"] outputs ["r"])",
     R"(
  %a = fusec.matmul %x transposed, %y transposed : $(k m T), $(n k T) to $(m n T)
  fusec.output %a : $(m n T))",
     true},
    {"batched",
     {"f32", "f16", "i32"},
     {{"3", "m", "k", "T"}, {"3", "k", "n", "T"}},
     R"(inputs ["x", "w"] outputs ["r"])",
     R"(
  %a = fusec.matmul %x, %y : $(3 m k T), $(3 k n T) to $(3 m n T)
  fusec.output %a : $(3 m n T))",
     true},
    {"gating",
     {"f32", "f16", "bf16"},
     {{"m", "k", "T"}, {"k", "n", "T"}, {"k", "n", "T"}},
     R"(inputs ["x", "v", "w"] outputs ["r"])",
     R"(
  %a = fusec.matmul %x, %y : $(m k T), $(k n T) to $(m n T)
  %b = fusec.matmul %x, %z : $(m k T), $(k n T) to $(m n T)
  %c = fusec.sigmoid %a : $(m n T)
  %d = fusec.mul %c, %b : $(m n T)
  fusec.output %d : $(m n T))",
     true},
    {"residual",
     {"f32", "f16"},
     {{"m", "k", "T"}, {"n", "k", "T"}, {"m", "n", "T"}},
     R"(inputs ["x", "w", "z"] outputs ["r", "s"])",
     R"(
  %a = fusec.matmul %x, %y transposed : $(m k T), $(n k T) to $(m n T)
  %b = fusec.add %a, %z : $(m n T)
  %c = fusec.relu %b : $(m n T)
  fusec.output %b, %c : $(m n T), $(m n T))",
     true},
    SOFTMAX_OF_PRODUCT(7),
    SOFTMAX_OF_PRODUCT(64),
    SOFTMAX_OF_PRODUCT(100),
    SOFTMAX_OF_PRODUCT(256),
    NORM_OF_PRODUCT(13),
    NORM_OF_PRODUCT(96),
    NORM_OF_PRODUCT(128),
    NORM_OF_PRODUCT(256),
    {"rows-sums",
     {"f32", "f16", "i32"},
     {{"3", "m", "k", "T"}, {"3", "k", "48", "T"}},
     R"(inputs ["x", "w"] outputs ["r", "s", "t"])",
     R"(
  %a = fusec.matmul %x, %y : $(3 m k T), $(3 k 48 T) to $(3 m 48 T)
  %b = fusec.reduce sum %a axes [2] : $(3 m 48 T) to $(3 m T)
  %c = fusec.reduce min %a axes [2] : $(3 m 48 T) to $(3 m T)
  %d = fusec.broadcast %b [0, 1] : $(3 m T) to $(3 m 48 T)
  %e = fusec.sub %d, %a : $(3 m 48 T)
  fusec.output %b, %c, %e : $(3 m T), $(3 m T), $(3 m 48 T))",
     true},
    {"rows-gated",
     {"f32", "f16"},
     {{"m", "k", "T"}, {"k", "128", "T"}, {"k", "128", "T"}},
     R"(inputs ["x", "v", "w"] outputs ["r", "s"])",
     R"(
  %a = fusec.matmul %x, %y : $(m k T), $(k 128 T) to $(m 128 T)
  %b = fusec.matmul %x, %z : $(m k T), $(k 128 T) to $(m 128 T)
  %c = fusec.sigmoid %a : $(m 128 T)
  %d = fusec.mul %c, %b : $(m 128 T)
  %e = fusec.reduce max %d axes [1] : $(m 128 T) to $(m T)
  %f = fusec.broadcast %e [0] : $(m T) to $(m 128 T)
  %g = fusec.sub %f, %d : $(m 128 T)
  fusec.output %e, %g : $(m T), $(m 128 T))",
     true},
    {"rows-argmax",
     {"i32", "i64"},
     {{"m", "k", "T"}, {"k", "64", "T"}},
     R"(inputs ["x", "w"] outputs ["r"])",
     R"(
  %a = fusec.matmul %x, %y : $(m k T), $(k 64 T) to $(m 64 T)
  %b = fusec.arg_reduce max %a axis 1 : $(m 64 T) to $(m i64)
  fusec.output %b : $(m i64))",
     true},
    {"segments",
     {"f32", "bf16"},
     {{"m", "k", "T"}, {"n", "k", "T"}, {"m", "k", "T"}},
     R"(inputs ["x", "w", "z"] outputs ["r"])",
     R"(
  %a = fusec.matmul %x, %y transposed : $(m k T), $(n k T) to $(m n T)
  %b = fusec.matmul %z, %y transposed : $(m k T), $(n k T) to $(m n T)
  %c = fusec.add %a, %b : $(m n T)
  fusec.output %c : $(m n T))",
     true},
    {"chain",
     {"f32", "f16", "bf16", "f64", "i32"},
     {{"m", "19", "T"}, {"19", "12", "T"}, {"12", "12", "T"}},
     R"(inputs ["x", "v", "w"] outputs ["r", "s"])",
     R"(
  %a = fusec.matmul %x, %y : $(m 19 T), $(19 12 T) to $(m 12 T)
  %b = fusec.relu %a : $(m 12 T)
  %c = fusec.matmul %b, %z : $(m 12 T), $(12 12 T) to $(m 12 T)
  %d = fusec.matmul %b, %z transposed : $(m 12 T), $(12 12 T) to $(m 12 T)
  %e = fusec.matmul %c, %z : $(m 12 T), $(12 12 T) to $(m 12 T)
  %f = fusec.add %d, %e : $(m 12 T)
  %g = fusec.add %f, %b : $(m 12 T)
  fusec.output %g, %c : $(m 12 T), $(m 12 T))",
     true},
};

static const Point points[] = {
    {1, 1, 1},       {7, 13, 127},  {13, 127, 7},   {127, 1000, 13},
    {1000, 7, 1000}, {1000, 13, 1}, {1, 1000, 127}, {127, 127, 127},
    {1000, 1000, 7}, {0, 7, 13},    {7, 13, 0},     {100, 1023, 13},
    {13, 4097, 100}, {4097, 7, 100}};
/// Those that are compiled into the kernel, too.
constexpr size_t numStatic = 4;

/// Sizes whose matrices have tensor maps.
static const Point mappedPoints[] = {
    {1, 64, 64}, {13, 1000, 1024}, {1000, 136, 520}, {4097, 64, 128}};

/// A bound of every family, in units in the last place. Sums of 1000 terms
/// decide it: in fp64 the reference adds them one after another, and errs by
/// about the square root of their number itself.
constexpr double bound = 48;

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

static int64_t getSize(llvm::StringRef text, const Point &point) {
  int64_t number;
  if (!text.getAsInteger(10, number))
    return number;
  auto [first, second] = text.split('+');
  int64_t size = point[first == "m" ? 0 : first == "n" ? 1 : 2];
  return second.empty() ? size : size + getSize(second, point);
}

/// The type of `$(words)`; sizes keep their names where there is no point.
static std::string getType(llvm::ArrayRef<llvm::StringRef> words,
                           llvm::StringRef element, const Point *point) {
  std::string shape, sizes;
  bool named = false;
  for (llvm::StringRef word : words.drop_back()) {
    int64_t number;
    bool isName = !point && word.getAsInteger(10, number);
    named |= isName;
    std::string size =
        isName ? word.str()
               : std::to_string(getSize(word, point ? *point : Point()));
    shape += (isName ? "?" : size) + "x";
    sizes += (sizes.empty() ? "" : ", ") + size;
  }
  llvm::StringRef type = words.back() == "T" ? element : words.back();
  return "tensor<" + shape + type.str() +
         (named ? ", #fusec.sizes<[" + sizes + "]>>" : std::string(">"));
}

static std::string expandTypes(llvm::StringRef text, llvm::StringRef element,
                               const Point *point) {
  std::string result;
  while (!text.empty()) {
    auto [before, rest] = text.split("$(");
    result += before;
    if (rest.empty())
      break;
    auto [inside, after] = rest.split(')');
    llvm::SmallVector<llvm::StringRef> words;
    inside.split(words, ' ');
    result += getType(words, element, point);
    text = after;
  }
  return result;
}

static std::string getProgram(const KernelCase &test, llvm::StringRef element,
                              const Point *point) {
  std::string text =
      "fusec.model @main " + std::string(test.header) + " {\n^bb0(";
  for (auto [i, words] : llvm::enumerate(test.inputs)) {
    llvm::SmallVector<llvm::StringRef> parts(words.begin(), words.end());
    text += (i ? ", %" : "%") + std::string(1, "xyz"[i]) + ": " +
            getType(parts, element, point);
  }
  return text + "):" + expandTypes(test.body, element, point) + "\n}\n";
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static double getEpsilon(format::DType dtype) {
  switch (dtype) {
  case format::DType::F64:
    return 0x1p-53;
  case format::DType::F32:
    return 0x1p-24;
  case format::DType::F16:
    return 0x1p-11;
  case format::DType::BF16:
    return 0x1p-8;
  default:
    return 0;
  }
}

/// Clears signs, which lie in the last byte of each float.
static data::Tensor getMagnitude(const data::Tensor &tensor) {
  data::Tensor result = allocateTensor(tensor.dtype, tensor.sizes);
  if (tensor.bytes.size())
    std::memcpy(result.bytes.data(), tensor.bytes.data(), tensor.bytes.size());
  if (getEpsilon(tensor.dtype) == 0)
    return result;
  uint64_t width = format::dtypeSize(tensor.dtype);
  for (uint64_t i = 0; i != tensor.elements(); ++i)
    result.bytes.data()[i * width + width - 1] &= std::byte(0x7F);
  return result;
}

namespace {
/// What a case is given, and what follows: results, and sums of magnitudes.
struct Expectation {
  std::vector<data::Tensor> inputs, results, scales;
};
} // namespace

static Expectation getExpectation(ModelOp model, const KernelCase &test,
                                  const Point &point) {
  std::vector<data::Tensor> inputs, magnitudes;
  for (auto [words, type] :
       llvm::zip_equal(test.inputs, getInterface(model).inputs)) {
    std::vector<int64_t> sizes;
    for (const char *word : llvm::ArrayRef(words).drop_back())
      sizes.push_back(getSize(word, point));
    // Some indices are out of range where tables have fewer rows.
    inputs.push_back(
        makeRandomTensor(type.dtype, sizes, inputs.size() + 1, 150));
    magnitudes.push_back(getMagnitude(inputs.back()));
  }
  reference::EvaluateOptions exact;
  exact.exact = true;
  Expectation expectation;
  expectation.results = runReference(model, inputs, exact);
  expectation.scales = runReference(model, magnitudes, exact);
  expectation.inputs = std::move(inputs);
  return expectation;
}

/// `rounded` is the unit of fp32 results, of which tf32 loses more.
static std::pair<double, double> compare(const std::vector<data::Tensor> &got,
                                         const Expectation &expectation,
                                         double rounded = 0x1p-24) {
  const std::vector<data::Tensor> &expected = expectation.results,
                                  &scale = expectation.scales;
  double worst = 0;
  bool isExact = true;
  for (size_t i = 0; i != got.size(); ++i) {
    double epsilon =
        got[i].dtype == format::DType::F32 ? rounded : getEpsilon(got[i].dtype);
    isExact &= epsilon == 0;
    if (got[i].sizes != expected[i].sizes)
      fail(ExitCode::VerificationFailed,
           "expected other sizes than " +
               data::tensorType(got[i].dtype, got[i].sizes));
    for (uint64_t e = 0; e != got[i].elements(); ++e) {
      double a = getElement(got[i], e), b = getElement(expected[i], e);
      if (a == b || (std::isnan(a) && std::isnan(b)))
        continue;
      double unit = epsilon * (std::abs(b) + std::abs(getElement(scale[i], e)));
      double error = epsilon == 0 ? std::abs(a - b) : std::abs(a - b) / unit;
      worst = std::isnan(error) ? INFINITY : std::max(worst, error);
    }
  }
  return {worst, isExact ? 0 : bound};
}

static std::pair<double, double> runPoint(Harness::Compiled &compiled,
                                          const KernelCase &test,
                                          const Point &point) {
  Expectation expectation =
      getExpectation(compiled.original->getModel(), test, point);
  return compare(compiled.run->run(expectation.inputs), expectation);
}

static std::string toText(const Point &point) {
  return std::to_string(point[0]) + "x" + std::to_string(point[1]) + "x" +
         std::to_string(point[2]);
}

static void testCase(Harness &harness, const KernelCase &test,
                     llvm::StringRef element) {
  std::string name = std::string(test.name) + "." + element.str();
  auto compile = [&](const std::string &label, const Point *point) {
    return harness.compile(label, [&](CompileOptions options) {
      return Compilation::parse(getProgram(test, element, point),
                                std::move(options));
    });
  };
  if (!harness.isWanted(name))
    return;
  if (auto compiled = compile(name + ".named", nullptr);
      compiled && compiled->run)
    for (const Point &point : points)
      for (unsigned shift : {0, 1}) {
        compiled->run->setShift(shift);
        harness.check(name + ".named." + toText(point) +
                          (shift ? ".unaligned" : ""),
                      [&] { return runPoint(*compiled, test, point); });
      }
  for (const Point &point : llvm::ArrayRef(points).take_front(numStatic)) {
    std::string label = name + "." + toText(point);
    if (auto compiled = compile(label, &point); compiled && compiled->run)
      harness.check(label, [&] { return runPoint(*compiled, test, point); });
  }
}

/// Each schedule that the step's first variant may take. The one that is taken
/// must not spill; the others give way to the next.
static void testSchedules(Harness &harness, const KernelCase &test,
                          llvm::StringRef element, llvm::StringRef precision,
                          const Point &point) {
  bool isTf32 = precision == "tf32";
  std::string name = std::string(test.name) + "." +
                     (isTf32 ? precision : element).str() + ".schedules." +
                     toText(point);
  if (!harness.isWanted(name))
    return;
  std::optional<Expectation> expectation;
  size_t count = 1;
  for (size_t index = 0; index < count; ++index) {
    std::string label = name + "." + std::to_string(index);
    auto compiled = harness.compileWith(
        label,
        [&](CompileOptions options) {
          options.precision = precision.str();
          options.refuseSpills = index == 0;
          return Compilation::parse(getProgram(test, element, &point),
                                    std::move(options));
        },
        [&](VariantAttr variant) {
          count = 1 + variant.getAlternatives().size();
          for (size_t skipped = 0; skipped < index; ++skipped)
            variant = variant.getNext();
          return variant;
        });
    if (!compiled || !compiled->run)
      continue;
    harness.check(label, [&] {
      if (!expectation)
        expectation =
            getExpectation(compiled->original->getModel(), test, point);
      return compare(compiled->run->run(expectation->inputs), *expectation,
                     isTf32 ? 0x1p-11 : 0x1p-24);
    });
  }
}

int main(int argc, char **argv) {
  Harness harness(argc, argv);
  if (!harness.getArguments().empty()) {
    llvm::errs() << "usage: fusec-gpu-kernels [--filter=REGEX] "
                    "[--compile-only=TARGET]\n";
    return 2;
  }
  for (const KernelCase &test : cases)
    for (const char *element : test.types)
      testCase(harness, test, element);
  for (const KernelCase &test : cases)
    for (llvm::StringRef element : test.types)
      for (const Point &point : mappedPoints)
        if (test.isMatmul &&
            (element == "f32" || element == "f16" || element == "bf16")) {
          testSchedules(harness, test, element, "ieee", point);
          if (element == "f32")
            testSchedules(harness, test, element, "tf32", point);
        }
  return harness.finish();
}
