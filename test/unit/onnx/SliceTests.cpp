// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slices of a named size give what ONNX says at every size: bounds beyond both
// ends, from the end, computed from the size, and steps in both directions.

#include "ir/reference/Evaluate.h"
#include "test/unit/onnx/TestModel.h"

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::onnx::test;

/// The elements that ONNX's rule selects from 0..size-1.
static std::vector<int64_t> select(int64_t start, int64_t end, int64_t step,
                                   int64_t size) {
  auto bound = [&](int64_t value, int64_t low, int64_t high) {
    value += value < 0 ? size : 0;
    return std::max(low, std::min(high, value));
  };
  std::vector<int64_t> result;
  if (size == 0)
    return result;
  if (step > 0)
    for (int64_t i = bound(start, 0, size), last = bound(end, 0, size);
         i < last; i += step)
      result.push_back(i);
  else
    for (int64_t i = bound(start, 0, size - 1), last = bound(end, -1, size - 1);
         i > last; i += step)
      result.push_back(i);
  return result;
}

/// What the model selects, whose start is `start`, plus the size if asked.
static void expectSlice(int64_t start, bool startPlusSize, int64_t end,
                        int64_t step) {
  TestModel model;
  model.input("x", "int64[n]").output("y");
  model.ints("offset", start)
      .ints("end", end)
      .ints("axis", 0)
      .ints("step", step);
  if (startPlusSize) {
    model.node("Shape", {"x"}, {"size"});
    model.node("Add", {"size", "offset"}, {"start"});
  } else {
    model.node("Identity", {"offset"}, {"start"});
  }
  model.node("Slice", {"x", "start", "end", "axis", "step"}, {"y"});
  Imported imported = model.import();
  std::string what = "start " + std::to_string(start) +
                     (startPlusSize ? " + size" : "") + ", end " +
                     std::to_string(end) + ", step " + std::to_string(step);
  ASSERT_TRUE(imported) << what << ": " << imported.messages();
  for (int64_t size : {0, 1, 2, 3, 4, 6, 9}) {
    std::vector<int64_t> data(size);
    for (int64_t i = 0; i < size; ++i)
      data[i] = i;
    auto bytes =
        llvm::ArrayRef(reinterpret_cast<const char *>(data.data()), size * 8);
    auto type = mlir::IntegerType::get(imported.module->getContext(), 64);
    auto result = fusec::reference::evaluate(
        imported.getModel(), fusec::reference::Tensor::view(type, size, bytes));
    ASSERT_TRUE(succeeded(result)) << what << " of " << size;
    auto elements = result->outputs[0].getElements<int64_t>();
    EXPECT_EQ(std::vector<int64_t>(elements.begin(), elements.end()),
              select(startPlusSize ? start + size : start, end, step, size))
        << what << " of " << size;
  }
}

TEST(Slices, EveryBoundAtEverySize) {
  const int64_t bounds[] = {0, 1,   3,    -1,        -2,        -5,
                            7, 100, -100, INT32_MAX, INT64_MAX, INT32_MIN};
  for (int64_t step : {1, 2, 7, -1, -3})
    for (int64_t start : bounds)
      for (int64_t end : bounds)
        expectSlice(start, false, end, step);
}

TEST(Slices, BoundsOfComputedSizes) {
  for (int64_t step : {1, 2, -1})
    for (int64_t offset : {-5, -1, 0, 2})
      for (int64_t end : {0, 3, -1, 100})
        expectSlice(offset, true, end, step);
}
