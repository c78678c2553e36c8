// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/StreamCases.h"
#include "runtime/src/SmallFloat.h"
#include "test/gpu/LargePattern.h"
#include "test/support/ModelBuilder.h"
#include "tools/fusec/RandomInputs.h"

#include <algorithm>
#include <cmath>
#include <mutex>

using namespace fusec;

static void put(double value, float &element) { element = float(value); }
static void put(double value, uint16_t &element) {
  element = rt::toHalf(float(value));
}
static double get(float element) { return element; }
static double get(uint16_t element) {
  static const std::vector<float> values = [] {
    std::vector<float> all(1 << 16);
    for (size_t bits = 0; bits != all.size(); ++bits)
      all[bits] = rt::fromHalf(uint16_t(bits));
    return all;
  }();
  return values[element];
}

template <class Element>
static const Element *view(const std::vector<uint8_t> &bytes) {
  return reinterpret_cast<const Element *>(bytes.data());
}

/// Each row has a mean and a spread of its own, so that moments of another row
/// are found.
template <class Element>
static std::vector<uint8_t> makeRows(int64_t rows, int64_t length,
                                     unsigned copy) {
  std::vector<uint8_t> bytes(rows * length * sizeof(Element));
  auto *elements = reinterpret_cast<Element *>(bytes.data());
  forEachPart(rows, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row != end; ++row) {
      Random random(copy * rows + row + 1);
      double mean = random.uniform() * 4 - 2, spread = random.uniform() + 0.5;
      for (int64_t i = row * length; i != (row + 1) * length; ++i)
        put(mean + spread * (random.uniform() * 2 - 1), elements[i]);
    }
  });
  return bytes;
}

/// The largest of what addErrors(in, out, add) adds of each row; infinity where
/// one is no number.
template <class Element, class AddErrors>
static double
getLargestError(int64_t rows, int64_t length, const std::vector<uint8_t> &input,
                const std::vector<uint8_t> &output, AddErrors addErrors) {
  if (output.size() != input.size())
    return INFINITY;
  double worst = 0;
  std::mutex turn;
  forEachPart(rows, [&](int64_t begin, int64_t end) {
    double own = 0;
    for (int64_t row = begin; row != end; ++row)
      addErrors(view<Element>(input) + row * length,
                view<Element>(output) + row * length, [&](double error) {
                  own = std::isnan(error) ? INFINITY
                                          : std::max(own, std::abs(error));
                });
    std::lock_guard<std::mutex> lock(turn);
    worst = std::max(worst, own);
  });
  return worst;
}

/// The largest error of rows that are to have a mean of 0 and a variance of 1.
template <class Element>
static double getNormError(int64_t rows, int64_t length,
                           const std::vector<uint8_t> &input,
                           const std::vector<uint8_t> &output) {
  return getLargestError<Element>(
      rows, length, input, output,
      [=](const Element *in, const Element *out, auto add) {
        double mean = 0, squares = 0;
        for (int64_t i = 0; i != length; ++i)
          mean += get(in[i]) / double(length);
        for (int64_t i = 0; i != length; ++i)
          squares += (get(in[i]) - mean) * (get(in[i]) - mean);
        double factor = 1 / std::sqrt(squares / double(length) + 1e-5);
        for (int64_t i = 0; i != length; ++i)
          add(get(out[i]) - (get(in[i]) - mean) * factor);
      });
}

/// Rows of more than the blocks of a cluster keep in registers.
template <class Element>
static StreamCase makeNorm(int64_t rows, int64_t length, double bound) {
  constexpr bool isHalf = sizeof(Element) == 2;
  std::string type = isHalf ? "float16" : "float";
  fusec::onnx::test::ModelBuilder model(/*opset=*/21);
  model.input("x", type, {rows, 1, length});
  if (isHalf) {
    model.halves("scale", 1, rt::toHalf(1));
    model.halves("shift", 1, uint16_t(0));
  } else {
    model.floats("scale", 1, 1.0f);
    model.floats("shift", 1, 0.0f);
  }
  model.node("GroupNormalization", {"x", "scale", "shift"}, {"out"},
             "num_groups=1");
  model.output("out", type);
  return {"norm." + std::string(isHalf ? "f16." : "f32.") +
              std::to_string(rows) + "x" + std::to_string(length),
          model.proto.SerializeAsString(),
          {rows, 1, length},
          /*isOfTeams=*/true,
          [=](unsigned copy) { return makeRows<Element>(rows, length, copy); },
          [=](const std::vector<uint8_t> &input,
              const std::vector<uint8_t> &output) {
            return getNormError<Element>(rows, length, input, output);
          },
          bound};
}

/// The largest error of rows' softmax, in parts of the largest result.
static double getSoftmaxError(int64_t rows, int64_t length,
                              const std::vector<uint8_t> &input,
                              const std::vector<uint8_t> &output) {
  return getLargestError<float>(
      rows, length, input, output,
      [=](const float *in, const float *out, auto add) {
        double most = *std::max_element(in, in + length), sum = 0;
        for (int64_t i = 0; i != length; ++i)
          sum += std::exp(in[i] - most);
        for (int64_t i = 0; i != length; ++i)
          add(out[i] * sum - std::exp(in[i] - most));
      });
}

static StreamCase makeSoftmax(int64_t rows, int64_t length) {
  fusec::onnx::test::ModelBuilder model;
  model.input("x", "float", {rows, length});
  model.node("Softmax", {"x"}, {"out"}, "axis=-1");
  model.output("out", "float");
  return {"softmax.f32." + std::to_string(rows) + "x" + std::to_string(length),
          model.proto.SerializeAsString(),
          {rows, length},
          /*isOfTeams=*/true,
          [=](unsigned copy) { return makeRows<float>(rows, length, copy); },
          [=](const std::vector<uint8_t> &input,
              const std::vector<uint8_t> &output) {
            return getSoftmaxError(rows, length, input, output);
          },
          /*bound=*/1e-5};
}

/// How many sums are wrong. The items are small integers, of which floats hold
/// any sum.
static double countWrongSums(const std::vector<uint8_t> &input,
                             const std::vector<uint8_t> &output) {
  if (output.size() != input.size())
    return INFINITY;
  int64_t sum = 0, wrong = 0;
  for (size_t i = 0; i != input.size() / sizeof(float); ++i) {
    sum += int64_t(view<float>(input)[i]);
    wrong += view<float>(output)[i] != float(sum);
  }
  return double(wrong);
}

static StreamCase makeSums(int64_t count) {
  fusec::onnx::test::ModelBuilder model;
  model.input("x", "float", count).scalar("axis", 0);
  model.node("CumSum", {"x", "axis"}, {"out"});
  model.output("out", "float");
  return {"sums.f32." + std::to_string(count),
          model.proto.SerializeAsString(),
          {count},
          /*isOfTeams=*/false,
          [=](unsigned copy) {
            std::vector<uint8_t> bytes(count * sizeof(float));
            auto *elements = reinterpret_cast<float *>(bytes.data());
            Random random(copy + 1);
            for (int64_t i = 0; i != count; ++i)
              elements[i] = float(random.next() % 15) - 7;
            return bytes;
          },
          countWrongSums,
          /*bound=*/0};
}

std::vector<StreamCase> fusec::makeStreamCases() {
  // More rows than a device has room for at a time; as long ones of halves; and
  // fewer, beside which there is room for other sessions' teams.
  return {makeNorm<float>(16, 1 << 20, 1e-5),
          makeNorm<uint16_t>(16, 1 << 20, 1e-3), makeSoftmax(8, 1 << 19),
          makeSums(1 << 22)};
}
