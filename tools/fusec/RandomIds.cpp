// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/fusec/RandomIds.h"
#include "tools/fusec/Failure.h"
#include "tools/fusec/RandomInputs.h"

#include <algorithm>
#include <cstring>
#include <fmt/core.h>
#include <limits>

using namespace fusec;
using format::DType;
using format::IndexRange;

/// Of integers that index nothing.
static constexpr int64_t usualLimit = 1000;
static constexpr double mostExponent = 20;

namespace {
/// Ranks from 1 to n, of which r has a probability proportional to r^-s, by
/// rejection-inversion (Hoermann, Derflinger 1996): a little more than one
/// draw each, whatever n is.
class Zipf {
public:
  Zipf(double n, double s)
      : n(n), s(s), first(area(1.5) - 1), last(area(n + 0.5)),
        sure(2 - invert(area(2.5) - height(2))) {}

  double draw(Random &random) const {
    while (true) {
      double u = last + random.uniform() * (first - last);
      double x = invert(u);
      double k = std::clamp(std::floor(x + 0.5), 1.0, n);
      if (k - x <= sure || u >= area(k + 0.5) - height(k))
        return k;
    }
  }

private:
  double height(double x) const { return std::exp(-s * std::log(x)); }
  /// Below the height, up to x; the logarithm where s is 1.
  double area(double x) const {
    double t = (1 - s) * std::log(x);
    return (std::abs(t) < 1e-8 ? 1 + t / 2 : std::expm1(t) / t) * std::log(x);
  }
  double invert(double y) const {
    double t = std::max(y * (1 - s), -1.0);
    return std::exp((std::abs(t) < 1e-8 ? 1 - t / 2 : std::log1p(t) / t) * y);
  }

  double n, s, first, last, sure;
};

/// Values from `begin` on, of which those in front are the most frequent.
class Ids {
public:
  /// `exponent` 0: uniform.
  Ids(IndexRange range, int64_t most, double exponent)
      : begin(range.begin),
        count(std::max<int64_t>(std::min(range.end - 1, most) - begin + 1, 1)),
        zipf(count, exponent), isUniform(exponent == 0) {}
  int64_t draw(Random &random) const {
    return begin + (isUniform ? int64_t(random.next() % uint64_t(count))
                              : int64_t(zipf.draw(random)) - 1);
  }

private:
  int64_t begin, count;
  Zipf zipf;
  bool isUniform;
};
} // namespace

static bool isInteger(DType dtype) {
  return dtype >= DType::I8 && dtype <= DType::U64;
}

/// The largest value that fits an int64_t, too.
static int64_t getMost(DType dtype) {
  unsigned bits = 8 * format::dtypeSize(dtype);
  bool isSigned = dtype <= DType::I64;
  return bits == 64 ? std::numeric_limits<int64_t>::max()
                    : (int64_t(1) << (isSigned ? bits - 1 : bits)) - 1;
}

/// The column of each element of a tensor with these ranges, as the index of
/// one of them.
static std::vector<size_t> expand(const std::vector<IndexRange> &ranges) {
  std::vector<size_t> columns;
  for (size_t i = 0; i != ranges.size(); ++i)
    columns.insert(columns.end(), std::max<int64_t>(ranges[i].columns, 1), i);
  return columns;
}

static std::optional<double> parseDistribution(const std::string &text) {
  double exponent = 0;
  llvm::StringRef rest = text;
  if (text == "uniform")
    return 0;
  if (!rest.consume_front("zipf:") || rest.getAsDouble(exponent) ||
      !(exponent > 0 && exponent <= mostExponent))
    return std::nullopt;
  return exponent;
}

void RandomIds::addTo(CLI::App &app, bool mayBeList) {
  app.add_option("--ids", text,
                 std::string("how random ids are drawn from the rows of the "
                             "tables that they index: uniform, or zipf:S, "
                             "where row r - 1 has a probability proportional "
                             "to r^-S (1.05 is usual)") +
                     (mayBeList ? "; each of several is measured" : ""))
      ->type_name(mayBeList ? "uniform|zipf:S[,...]" : "uniform|zipf:S")
      ->check([mayBeList](const std::string &given) {
        llvm::SmallVector<llvm::StringRef> parts = {given};
        if (mayBeList)
          parts = llvm::to_vector(llvm::split(given, ','));
        for (llvm::StringRef part : parts)
          if (!parseDistribution(part.str()))
            return "expected uniform or zipf:S, S above 0 and at most 20, "
                   "got '" +
                   part.str() + "'";
        return std::string();
      });
  app.add_option("--index-limit", limit,
                 "random integers are below it, whatever they index; default: "
                 "the rows of their tables, 1000 where they index none")
      ->check(CLI::Range(int64_t(1), INT64_MAX))
      ->type_name("N");
}

std::vector<RandomIds> RandomIds::split() const {
  std::vector<RandomIds> all;
  for (llvm::StringRef part : llvm::split(text, ','))
    all.emplace_back(*this).text = part.str();
  return all;
}

data::Tensor RandomIds::draw(DType dtype, std::vector<int64_t> sizes,
                             uint64_t seed,
                             const std::vector<IndexRange> &given) const {
  if (!isInteger(dtype))
    return makeRandomTensor(dtype, std::move(sizes), seed, usualLimit);
  std::vector<IndexRange> ranges = given;
  if (limit || ranges.empty())
    ranges = {{0, limit.value_or(usualLimit), 0}};
  std::vector<Ids> ids;
  for (IndexRange &range : ranges) {
    if (range.begin == range.end)
      range.end = range.begin + usualLimit;
    ids.emplace_back(range, getMost(dtype), *parseDistribution(text));
  }
  std::vector<size_t> columns = expand(ranges);
  data::Tensor tensor = allocateTensor(dtype, std::move(sizes));
  unsigned width = format::dtypeSize(dtype);
  Random random(seed);
  for (uint64_t i = 0; i != tensor.elements(); ++i) {
    // The low bytes, as they lie in memory.
    int64_t value = ids[columns[i % columns.size()]].draw(random);
    std::memcpy(tensor.bytes.data() + i * width, &value, width);
  }
  return tensor;
}

/// As it was drawn.
static int64_t readId(const data::Tensor &tensor, uint64_t index) {
  unsigned width = format::dtypeSize(tensor.dtype);
  uint64_t value = 0;
  std::memcpy(&value, tensor.bytes.data() + index * width, width);
  bool isSigned = tensor.dtype <= DType::I64;
  return isSigned ? llvm::SignExtend64(value, 8 * width) : int64_t(value);
}

TouchedRows
fusec::countTouched(const std::vector<data::Tensor> &inputs,
                    const std::vector<std::vector<IndexRange>> &allRanges) {
  TouchedRows rows;
  for (const auto &[input, ranges] : llvm::zip_equal(inputs, allRanges)) {
    if (ranges.empty())
      continue;
    std::vector<size_t> columns = expand(ranges);
    std::vector<std::vector<int64_t>> found(ranges.size());
    for (uint64_t i = 0; i != input.elements(); ++i) {
      size_t which = columns[i % columns.size()];
      int64_t id = readId(input, i);
      if (id >= ranges[which].begin && id < ranges[which].end)
        found[which].push_back(id);
    }
    for (size_t i = 0; i != ranges.size(); ++i) {
      llvm::sort(found[i]);
      rows.touched +=
          std::unique(found[i].begin(), found[i].end()) - found[i].begin();
      rows.all += uint64_t(ranges[i].end - ranges[i].begin);
    }
  }
  return rows;
}

std::string fusec::describeIds(const std::string &distribution,
                               const TouchedRows &rows) {
  return fmt::format("ids: {}, {:.3g}% of {} rows of tables touched",
                     distribution.empty() ? "given" : distribution,
                     100.0 * rows.touched / rows.all, rows.all);
}

llvm::json::Value fusec::idsJson(const std::string &distribution,
                                 const TouchedRows &rows) {
  if (rows.all == 0)
    return nullptr;
  return llvm::json::Object{
      {"distribution", distribution.empty() ? llvm::json::Value(nullptr)
                                            : llvm::json::Value(distribution)},
      {"touched_rows", rows.touched},
      {"rows", rows.all}};
}
