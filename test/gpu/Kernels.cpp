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
#include "test/gpu/KernelCases.h"
#include "tools/fusec/Compare.h"
#include "tools/fusec/Failure.h"
#include "tools/fusec/RandomInputs.h"
#include "tools/fusec/ReferenceRun.h"
#include "llvm/ADT/StringExtras.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

using namespace fusec;

namespace {
/// Sizes m, n and k.
using Point = std::array<int64_t, 3>;
} // namespace

static const Point points[] = {
    {1, 1, 1},       {7, 13, 127},   {13, 127, 7},   {127, 1000, 13},
    {1000, 7, 1000}, {1000, 13, 1},  {1, 1000, 127}, {127, 127, 127},
    {1000, 1000, 7}, {0, 7, 13},     {7, 13, 0},     {100, 1023, 13},
    {13, 4097, 100}, {4097, 7, 100}, {7, 64, 0}};
/// Those that are compiled into the kernel, too.
constexpr size_t numStatic = 4;

/// Sizes whose matrices have tensor maps.
static const Point mappedPoints[] = {
    {1, 64, 64}, {13, 1000, 1024}, {1000, 136, 520}, {4097, 64, 128}};

/// Larger ones are left out (--largest): of a launch with many reports a
/// sanitizer drops some.
static int64_t largestSize = std::numeric_limits<int64_t>::max();

static bool isSmall(const Point &point) {
  return llvm::all_of(point, [](int64_t size) { return size <= largestSize; });
}

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
    text += (i ? ", %" : "%") + std::string(1, "xyzw"[i]) + ": " +
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
                                         double loss,
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
  return {worst, isExact ? 0 : bound * loss};
}

static std::pair<double, double> runPoint(Harness::Compiled &compiled,
                                          const KernelCase &test,
                                          const Point &point) {
  Expectation expectation =
      getExpectation(compiled.original->getModel(), test, point);
  return compare(compiled.run->run(expectation.inputs), expectation, test.loss);
}

static void expectSame(const std::vector<data::Tensor> &first,
                       const std::vector<data::Tensor> &second) {
  for (auto [a, b] : llvm::zip_equal(first, second))
    if (a.bytes.size() != b.bytes.size() ||
        std::memcmp(a.bytes.data(), b.bytes.data(), a.bytes.size()) != 0)
      fail(ExitCode::VerificationFailed,
           "two runs give different bits: expected each schedule to add in one "
           "order");
}

static std::string toText(const Point &point) {
  return std::to_string(point[0]) + "x" + std::to_string(point[1]) + "x" +
         std::to_string(point[2]);
}

/// Whether the sizes are the points', not all fixed.
static bool hasPoints(const KernelCase &test) {
  int64_t number;
  return llvm::any_of(test.inputs, [&](llvm::ArrayRef<const char *> words) {
    return llvm::any_of(words.drop_back(), [&](llvm::StringRef size) {
      return size.getAsInteger(10, number);
    });
  });
}

static void testCase(Harness &harness, const KernelCase &test,
                     llvm::StringRef element) {
  std::string name = std::string(test.name) + "." + element.str();
  auto compile = [&](const std::string &label, const Point *point) {
    return harness.compile(label, [&](CompileOptions options) {
      options.joinAlways = true;
      return Compilation::parse(getProgram(test, element, point),
                                std::move(options));
    });
  };
  if (!harness.isWanted(name))
    return;
  llvm::ArrayRef<Point> all = points, compiledIn = all.take_front(numStatic);
  if (!hasPoints(test)) {
    all = all.take_front();
    compiledIn = {};
  }
  if (auto compiled = compile(name + ".named", nullptr);
      compiled && compiled->run)
    for (const Point &point : llvm::make_filter_range(all, isSmall))
      for (unsigned shift : {0, 1}) {
        compiled->run->setShift(shift);
        harness.check(name + ".named." + toText(point) +
                          (shift ? ".unaligned" : ""),
                      [&] { return runPoint(*compiled, test, point); });
      }
  for (const Point &point : llvm::make_filter_range(compiledIn, isSmall)) {
    std::string label = name + "." + toText(point);
    if (auto compiled = compile(label, &point); compiled && compiled->run)
      harness.check(label, [&] { return runPoint(*compiled, test, point); });
  }
}

/// A schedule of blocks that divide K, as wide as the first wgmma tile that the
/// variant may take: the model has it of a K only that is too long for a test.
/// Two stages are less than small sizes have, so that all are used again.
static std::optional<VariantAttr> splitK(VariantAttr variant) {
  for (VariantAttr next = variant; next; next = next.getNext()) {
    auto wgmma = llvm::dyn_cast<WgmmaScheduleAttr>(next.getSchedule());
    if (!wgmma || wgmma.getLead() || wgmma.getSwapped() || wgmma.getTf32x3())
      continue;
    auto split =
        WgmmaScheduleAttr::get(wgmma.getContext(), 128, wgmma.getTileN(),
                               wgmma.getTileK(), /*stages=*/2, /*clusterM=*/1,
                               /*clusterN=*/1, wgmma.getBlocks(),
                               /*pingPong=*/false, /*tf32x3=*/false)
            .withClusterK(2);
    return VariantAttr::get(variant.getContext(), variant.getGuards(), split);
  }
  return std::nullopt;
}

/// A schedule of clusters of two blocks, each of which has many rows one after
/// another: the model has them of rows only that are too long for a test.
static std::optional<VariantAttr> divideRows(VariantAttr variant) {
  auto rows = llvm::dyn_cast<ReduceScheduleAttr>(variant.getSchedule());
  if (!rows || rows.isOfColumns())
    return std::nullopt;
  auto clusters = ReduceScheduleAttr::get(
                      rows.getContext(), ReduceScope::Cluster, /*threads=*/128,
                      rows.getIndexBits(), rows.getVector(), /*groups=*/2)
                      .withBlocks(264)
                      .withKept(1);
  return VariantAttr::get(variant.getContext(), variant.getGuards(), clusters);
}

/// Each schedule that the step's first variant may take. The one that is taken
/// must not spill; the others give way to the next.
static void testSchedules(Harness &harness, const KernelCase &test,
                          llvm::StringRef element, Precision precision,
                          const Point &point) {
  bool isTf32 = precision == Precision::Tf32;
  std::string name = std::string(test.name) + "." +
                     (isTf32 ? stringify(precision) : element).str() +
                     ".schedules." + toText(point);
  if (!harness.isWanted(name) || !isSmall(point))
    return;
  std::optional<Expectation> expectation;
  // Which the device's own kernels have; PTX that runs anywhere does not.
  bool isThere = !test.schedule || harness.isPortable();
  size_t count = 1;
  bool isForced = false; // one more, which the model does not take
  for (size_t index = 0; index < count + isForced; ++index) {
    std::string label = name + "." + std::to_string(index);
    auto compiled = harness.compileWith(
        label,
        [&](CompileOptions options) {
          options.precision = precision;
          options.refuseSpills = index == 0;
          options.joinAlways = true;
          return Compilation::parse(getProgram(test, element, &point),
                                    std::move(options));
        },
        [&](VariantAttr variant) {
          count = 1 + variant.getAlternatives().size();
          std::optional<VariantAttr> forced =
              test.schedule ? divideRows(variant) : splitK(variant);
          isForced = forced.has_value();
          if (index == count)
            variant = *forced;
          else
            for (size_t skipped = 0; skipped < index; ++skipped)
              variant = variant.getNext();
          std::string text;
          llvm::raw_string_ostream(text) << variant.getSchedule();
          isThere |= test.schedule && text.find(test.schedule) != text.npos;
          return variant;
        });
    if (!compiled || !compiled->run)
      continue;
    harness.check(label, [&] {
      if (!expectation)
        expectation =
            getExpectation(compiled->original->getModel(), test, point);
      std::vector<data::Tensor> got = compiled->run->run(expectation->inputs);
      // What the first run left behind, the second begins with.
      expectSame(got, compiled->run->run(expectation->inputs));
      return compare(got, *expectation, test.loss, isTf32 ? 0x1p-11 : 0x1p-24);
    });
  }
  if (!isThere)
    harness.check(name, [&]() -> std::pair<double, double> {
      throw Failure{ExitCode::VerificationFailed,
                    std::string("expected a schedule with '") + test.schedule +
                        "' among the " + std::to_string(count)};
    });
}

int main(int argc, char **argv) {
  Harness harness(argc, argv);
  for (llvm::StringRef argument : harness.getArguments())
    if (!argument.consume_front("--largest=") ||
        argument.getAsInteger(10, largestSize))
      return Harness::printUsage("fusec-gpu-kernels [--largest=SIZE]");
  for (const KernelCase &test : getKernelCases())
    for (const char *element : test.types)
      testCase(harness, test, element);
  for (const KernelCase &test : getKernelCases())
    for (llvm::StringRef element : test.types)
      for (const Point &point :
           llvm::ArrayRef(mappedPoints).take_back(test.mappedPoints))
        if (element == "f32" || element == "f16" || element == "bf16") {
          testSchedules(harness, test, element, Precision::Ieee, point);
          if (element == "f32")
            testSchedules(harness, test, element, Precision::Tf32, point);
        }
  return harness.finish();
}
