// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights folded to half of them: each pair of features counts once, wherever
// the weights lay.

#include "compiler/kernels/pairs/device/pairs_config.h"
#include "compiler/transforms/tensor/PairWeights.h"
#include "ir/reference/Elements.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace mlir;
using namespace fusec;

namespace {
class PairWeightsTest : public testing::Test {
protected:
  /// [features^2, columns], or its transpose.
  ElementsAttr makeWeights(Type element, ArrayRef<double> values,
                           int64_t columns, bool alongK) {
    int64_t depth = values.size() / columns;
    std::vector<double> placed(values.size());
    for (int64_t k = 0; k < depth; ++k)
      for (int64_t c = 0; c < columns; ++c)
        placed[alongK ? c * depth + k : k * columns + c] =
            values[k * columns + c];
    auto tensor = reference::Tensor::allocate(
        element, alongK ? ArrayRef<int64_t>{columns, depth}
                        : ArrayRef<int64_t>{depth, columns});
    std::vector<float> rounded(placed.begin(), placed.end());
    reference::store<float>(tensor, 0, rounded);
    return tensor.toConstant("w");
  }
  std::vector<float> load(const PairWeights &weights) {
    std::string error;
    auto tensor = reference::Tensor::fromConstant(weights.packed, error);
    return reference::loadAll<float>(*tensor);
  }

  MLIRContext context;
  Builder builder{&context};
};
} // namespace

TEST(PairOrder, EachPairOnce) {
  for (int features : {1, 15, 16, 17, 48, 100}) {
    // By (larger, smaller): how often, and whether in both orders.
    std::map<std::pair<int, int>, int> seen;
    for (int k = 0; k < pairDepth(features); ++k) {
      PairPlace at = pairOf(k);
      if (at.i >= features || at.j >= features)
        continue;
      bool isDiagonal = at.i / pairBlock == at.j / pairBlock;
      // Of squares under the diagonal, which stand for two.
      seen[std::minmax(at.i, at.j)] += isDiagonal ? 1 : 2;
    }
    EXPECT_EQ(int(seen.size()), features * (features + 1) / 2);
    for (auto &[pair, count] : seen)
      EXPECT_EQ(count, pair.first == pair.second ? 1 : 2)
          << pair.first << ", " << pair.second << " of " << features;
  }
}

TEST(PairOrder, EachPlaceOnce) {
  for (int columns : {1, 8, 33}) {
    std::map<long long, int> places;
    for (int k = 0; k < pairDepth(40); ++k)
      for (int c = 0; c < columns; ++c)
        ++places[pairOffset(k, c, columns)];
    EXPECT_EQ(places.size(), size_t(pairDepth(40)) * columns);
    EXPECT_GE(places.begin()->first, 0);
    EXPECT_LT(places.rbegin()->first,
              (long long)pairDepth(40) * pairColumns(columns));
  }
}

TEST(PairOrder, PartsAreAllOfIt) {
  for (int features : {16, 100, 432})
    for (int parts : {1, 2, 7, 66, 132}) {
      EXPECT_EQ(firstPairSquare(0, parts, features), 0);
      EXPECT_EQ(firstPairSquare(parts, parts, features), pairSquares(features));
      for (int p = 0; p < parts; ++p)
        EXPECT_LE(firstPairSquare(p, parts, features),
                  firstPairSquare(p + 1, parts, features));
    }
}

TEST_F(PairWeightsTest, SumsOfBothOrders) {
  constexpr int64_t features = 37, columns = 11;
  std::mt19937 random(1);
  std::uniform_int_distribution<int> draw(-64, 64);
  std::vector<double> values(features * features * columns);
  for (double &value : values)
    value = draw(random) / 8.0;
  for (Type element : {Type(builder.getF16Type()), Type(builder.getBF16Type()),
                       Type(builder.getF32Type())})
    for (bool alongK : {false, true}) {
      std::string reason;
      auto folded =
          foldPairWeights(makeWeights(element, values, columns, alongK),
                          {features, {}}, alongK, false, "w", reason);
      ASSERT_TRUE(succeeded(folded)) << reason;
      EXPECT_EQ(folded->scales.empty(), !element.isF32());
      std::vector<float> packed = load(*folded);
      for (int k = 0; k < pairDepth(features); ++k)
        for (int c = 0; c < columns; ++c) {
          PairPlace at = pairOf(k);
          double expected = 0;
          if (at.i < features && at.j < features) {
            auto get = [&](int i, int j) {
              return values[(i * features + j) * columns + c];
            };
            expected = get(at.i, at.j);
            if (at.i / pairBlock != at.j / pairBlock)
              expected += get(at.j, at.i);
          }
          double scale = folded->scales.empty() ? 1 : folded->scales[c];
          // 8 bits hold eighths up to 16.
          EXPECT_EQ(packed[pairOffset(k, c, columns)] * scale, expected)
              << k << ", " << c;
        }
    }
}

/// Columns whose weights differ by more than 16 bits hold.
TEST_F(PairWeightsTest, ScalesAreOfColumns) {
  constexpr int64_t features = 16, columns = 3;
  std::vector<double> values(features * features * columns);
  const double sizes[] = {0x1p-60, 0, 0x1p60};
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = sizes[i % columns] * double(1 + i % 5);
  std::string reason;
  auto folded =
      foldPairWeights(makeWeights(builder.getF32Type(), values, columns, false),
                      {features, {}}, false, false, "w", reason);
  ASSERT_TRUE(succeeded(folded)) << reason;
  std::vector<float> packed = load(*folded);
  for (int k = 0; k < pairDepth(features); ++k)
    for (int c = 0; c < columns; ++c) {
      PairPlace at = pairOf(k);
      EXPECT_EQ(double(packed[pairOffset(k, c, columns)]) * folded->scales[c],
                values[(at.i * features + at.j) * columns + c]);
    }
}

TEST_F(PairWeightsTest, WhatSixteenBitsCannotHold) {
  constexpr int64_t features = 32;
  std::vector<double> values(features * features, 40000.0);
  std::string reason;
  EXPECT_TRUE(
      failed(foldPairWeights(makeWeights(builder.getF16Type(), values, 1, true),
                             {features, {}}, true, false, "w", reason)));
  EXPECT_EQ(reason, "a sum of two of its weights is larger than f16 holds, or "
                    "no number");
  values.assign(features * features, std::nan(""));
  EXPECT_TRUE(
      failed(foldPairWeights(makeWeights(builder.getF32Type(), values, 1, true),
                             {features, {}}, true, false, "w", reason)));
}

/// Exact sums stay in fp32, column beside column; pairs that the model leaves
/// out have no weight.
TEST_F(PairWeightsTest, ExactTriangles) {
  constexpr int64_t features = 37, columns = 11;
  std::vector<int64_t> places, order(features * features, -1);
  for (int64_t i = 0; i < features; ++i)
    for (int64_t j = 0; j < i; ++j)
      places.push_back(i % 2 ? i * features + j : j * features + i);
  std::mt19937 random(2);
  std::shuffle(places.begin(), places.end(), random);
  std::uniform_real_distribution<double> draw(-1, 1);
  std::vector<double> values(places.size() * columns);
  for (double &value : values)
    value = float(draw(random));
  for (auto [k, place] : llvm::enumerate(places))
    order[place] = k;
  for (bool alongK : {false, true}) {
    std::string reason;
    auto folded = foldPairWeights(
        makeWeights(builder.getF32Type(), values, columns, alongK),
        {features, places}, alongK, /*exact=*/true, "w", reason);
    ASSERT_TRUE(succeeded(folded)) << reason;
    EXPECT_TRUE(folded->scales.empty());
    std::vector<float> packed = load(*folded);
    for (int k = 0; k < pairDepth(features); ++k)
      for (int c = 0; c < columns; ++c) {
        PairPlace at = pairOf(k);
        double expected = 0;
        auto add = [&](int i, int j) {
          if (i < features && j < features && order[i * features + j] >= 0)
            expected += values[order[i * features + j] * columns + c];
        };
        add(at.i, at.j);
        if (at.i / pairBlock != at.j / pairBlock)
          add(at.j, at.i);
        EXPECT_EQ(packed[pairPlainOffset(k, c, columns)], float(expected))
            << k << ", " << c;
      }
  }
}
