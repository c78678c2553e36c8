// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversion to and from DLPack, against a declaration of its struct made from
// the specification.

#include "test/unit/runtime/LibraryTest.h"

// The layout of DLPack 1.0's DLManagedTensorVersioned.
struct DLManagedTensorVersioned {
  uint32_t major, minor;
  void *context;
  void (*deleter)(DLManagedTensorVersioned *);
  uint64_t flags;
  void *data;
  int32_t deviceType, deviceId, ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byteOffset;
};

using namespace fusec;
using namespace fusec::test;

namespace {
class DlPackTest : public LibraryTest {};

void count(void *context) { ++*static_cast<int *>(context); }
} // namespace

TEST_F(DlPackTest, ThereAndBack) {
  float data[24];
  for (fusec_dtype dtype = FUSEC_BOOL; dtype <= FUSEC_F64; ++dtype) {
    Tensor tensor(data, dtype, {2, 3, 4});
    tensor.setByteOffset(8);
    fusec_tensor view = tensor.view();
    int released = 0;
    DLManagedTensorVersioned *managed = nullptr;
    char message[256];
    ASSERT_EQ(
        fusec_tensor_to_dlpack(&view, count, &released, &managed, message, 256),
        FUSEC_OK)
        << message;
    EXPECT_EQ(managed->major, 1u);
    EXPECT_EQ(managed->bits, 8 * fusec_dtype_size(dtype));
    EXPECT_EQ(managed->lanes, 1);
    EXPECT_EQ(managed->shape[2], 4);
    EXPECT_EQ(managed->strides[0], 12);
    fusec_tensor back;
    ASSERT_EQ(fusec_tensor_from_dlpack(managed, &back, message, 256), FUSEC_OK)
        << message;
    EXPECT_EQ(back.dtype, dtype);
    EXPECT_EQ(back.rank, 3);
    EXPECT_EQ(back.data, data);
    EXPECT_EQ(back.byte_offset, 8u);
    EXPECT_EQ(back.device_type, FUSEC_DEVICE_CUDA);
    EXPECT_EQ(released, 0);
    managed->deleter(managed);
    EXPECT_EQ(released, 1);
  }
}

TEST_F(DlPackTest, BindsAfterConversion) {
  Tensors tensors;
  int64_t sizes[] = {10, 4};
  DLManagedTensorVersioned managed = {1,         1, nullptr, nullptr, 0,
                                      tensors.x, 2, 0,       2,       2,
                                      32,        1, sizes,   nullptr, 0};
  fusec_tensor view;
  ASSERT_EQ(fusec_tensor_from_dlpack(&managed, &view, nullptr, 0), FUSEC_OK);
  Session session(load());
  session.bind("x", view);
}

TEST_F(DlPackTest, Refusals) {
  char message[256];
  fusec_tensor view;
  DLManagedTensorVersioned managed = {};
  managed.major = 2;
  EXPECT_EQ(fusec_tensor_from_dlpack(&managed, &view, message, 256),
            FUSEC_INVALID_ARGUMENT);
  EXPECT_STREQ(message,
               "expected a tensor of DLPack version 1, found version 2");
  managed.major = 1;
  managed.code = 5;
  managed.bits = 64;
  managed.lanes = 1;
  EXPECT_EQ(fusec_tensor_from_dlpack(&managed, &view, message, 256),
            FUSEC_INVALID_ARGUMENT);
  EXPECT_STREQ(
      message,
      "DLPack type code 5 with 64 bits and 1 lanes is none of fusec's element "
      "types");
  EXPECT_EQ(fusec_tensor_from_dlpack(nullptr, &view, message, 256),
            FUSEC_INVALID_ARGUMENT);
  DLManagedTensorVersioned *made = nullptr;
  Tensor negative(nullptr, FUSEC_F32, {2, -3, 0});
  fusec_tensor negativeView = negative.view();
  EXPECT_EQ(fusec_tensor_to_dlpack(&negativeView, nullptr, nullptr, &made,
                                   message, 256),
            FUSEC_INVALID_ARGUMENT);
  EXPECT_STREQ(message, "size 1: expected at least 0, found -3");
  fusec_tensor wrong = Tensor(nullptr, 77, {1}).view();
  EXPECT_EQ(
      fusec_tensor_to_dlpack(&wrong, nullptr, nullptr, &made, message, 256),
      FUSEC_INVALID_ARGUMENT);
}
