// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constants as bytes, in every form that MLIR keeps them in.

#include "ir/Constants.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>

using namespace fusec;
using namespace mlir;

namespace {

class ConstantsTest : public ::testing::Test {
protected:
  RankedTensorType type(StringRef text) {
    return cast<RankedTensorType>(parseType(text, &context));
  }
  std::vector<char> read(ElementsAttr value) {
    std::string error;
    auto data = getConstantData(value, error);
    EXPECT_TRUE(succeeded(data)) << error;
    return succeeded(data)
               ? std::vector<char>(data->bytes.begin(), data->bytes.end())
               : std::vector<char>();
  }
  MLIRContext context;
};

TEST_F(ConstantsTest, RoundTrip) {
  for (const char *element :
       {"i1", "i8", "ui16", "f16", "bf16", "f32", "i64", "f64"})
    for (int64_t count : {0, 1, 2, 9, 64, 65, 1000}) {
      auto tensor =
          RankedTensorType::get({count}, parseType(element, &context));
      size_t width = (tensor.getElementType().getIntOrFloatBitWidth() + 7) / 8;
      std::vector<char> bytes(count * width);
      for (size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = tensor.getElementType().isInteger(1)
                       ? (i * 7 % 3) == 1
                       : static_cast<char>(i * 37 + i / 256);
      ElementsAttr value = makeConstant(tensor, bytes);
      EXPECT_EQ(read(value), bytes) << element << " " << count;
      EXPECT_EQ(isa<DenseResourceElementsAttr>(value), count > 64)
          << element << " " << count;
    }
}

TEST_F(ConstantsTest, EqualElementsBecomeSplats) {
  std::vector<char> bytes(4000, 0);
  for (const char *element :
       {"tensor<1000xf32>", "tensor<4000xi1>", "tensor<2000xbf16>"}) {
    ElementsAttr value = makeConstant(type(element), bytes);
    ASSERT_TRUE(isa<DenseElementsAttr>(value));
    EXPECT_TRUE(cast<DenseElementsAttr>(value).isSplat());
    EXPECT_TRUE(getSplatData(value));
    EXPECT_EQ(read(value), bytes);
  }
  std::vector<char> ones(4000, 1);
  EXPECT_EQ(read(makeConstant(type("tensor<4000xi1>"), ones)), ones);
}

TEST_F(ConstantsTest, UsesTheOwnersBytes) {
  auto storage = std::make_shared<std::vector<float>>();
  for (int i = 0; i < 100; ++i)
    storage->push_back(i);
  ArrayRef<char> bytes(reinterpret_cast<const char *>(storage->data()), 400);
  ElementsAttr value =
      makeConstant(type("tensor<100xf32>"), bytes, "w", storage);
  std::string error;
  EXPECT_EQ(getConstantData(value, error)->bytes.data(), bytes.data());
  EXPECT_EQ(cast<DenseResourceElementsAttr>(value).getRawHandle().getKey(),
            "w");
  ElementsAttr other =
      makeConstant(type("tensor<100xf32>"), bytes, "w", storage);
  EXPECT_EQ(cast<DenseResourceElementsAttr>(other).getRawHandle().getKey(),
            "w_1");
  EXPECT_NE(value, other);
}

TEST_F(ConstantsTest, RefusesWhatIsNotThere) {
  std::string error;
  auto splat = cast<ElementsAttr>(
      parseAttribute("dense<1.0> : tensor<1099511627776xf32>", &context));
  EXPECT_TRUE(failed(getConstantData(splat, error)));
  EXPECT_NE(error.find("expected a constant of at most"), std::string::npos)
      << error;
  error.clear();
  auto resource = cast<ElementsAttr>(
      parseAttribute("dense_resource<nothing> : tensor<4xf32>", &context));
  EXPECT_TRUE(failed(getConstantData(resource, error)));
  EXPECT_NE(error.find("expected 16 bytes in resource 'nothing'"),
            std::string::npos)
      << error;
  error.clear();
  auto sparse = cast<ElementsAttr>(
      parseAttribute("sparse<[[0]], [1.0]> : tensor<4xf32>", &context));
  EXPECT_TRUE(failed(getConstantData(sparse, error)));
  EXPECT_NE(error, "");
}

} // namespace
