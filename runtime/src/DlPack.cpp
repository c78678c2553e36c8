// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversion to and from DLPack's versioned tensor. The structs below are the
// stable binary interface of DLPack 1.x, declared under the name that dlpack.h
// gives the outermost so that the public header can refer to it.

#include "runtime/src/CallerStruct.h"
#include "runtime/src/Guard.h"
#include "runtime/src/Tensor.h"

#include <memory>

extern "C" {
struct FusecDlVersion {
  uint32_t major, minor;
};
struct FusecDlTensor {
  void *data;
  int32_t deviceType, deviceId;
  int32_t rank;
  uint8_t typeCode, typeBits;
  uint16_t typeLanes;
  int64_t *sizes;
  int64_t *strides;
  uint64_t byteOffset;
};
struct DLManagedTensorVersioned {
  FusecDlVersion version;
  void *context;
  void (*deleter)(DLManagedTensorVersioned *self);
  uint64_t flags;
  FusecDlTensor tensor;
};
}

namespace fusec::rt {

namespace {
constexpr uint32_t dlMajor = 1;
enum TypeCode : uint8_t { Int = 0, UInt = 1, Float = 2, BFloat = 4, Bool = 6 };

struct TypeRow {
  fusec_dtype dtype;
  TypeCode code;
  uint8_t bits;
};
constexpr TypeRow typeRows[] = {
    {FUSEC_BOOL, Bool, 8},  {FUSEC_I8, Int, 8},       {FUSEC_I16, Int, 16},
    {FUSEC_I32, Int, 32},   {FUSEC_I64, Int, 64},     {FUSEC_U8, UInt, 8},
    {FUSEC_U16, UInt, 16},  {FUSEC_U32, UInt, 32},    {FUSEC_U64, UInt, 64},
    {FUSEC_F16, Float, 16}, {FUSEC_BF16, BFloat, 16}, {FUSEC_F32, Float, 32},
    {FUSEC_F64, Float, 64}};

// What a tensor that we hand out owns.
struct Owned {
  DLManagedTensorVersioned managed{};
  std::vector<int64_t> sizes, strides;
  void (*release)(void *) = nullptr;
  void *context = nullptr;
};

void destroy(DLManagedTensorVersioned *managed) {
  std::unique_ptr<Owned> owned(static_cast<Owned *>(managed->context));
  if (owned->release)
    owned->release(owned->context);
}

// Callers do not say the version of the struct that they want.
static_assert(sizeof(fusec_tensor) == firstBytes<fusec_tensor>);

fusec_tensor fromDlPack(const DLManagedTensorVersioned *managed) {
  if (!managed)
    fail(FUSEC_INVALID_ARGUMENT,
         "expected a DLPack tensor, found a null pointer");
  if (managed->version.major != dlMajor)
    fail(FUSEC_INVALID_ARGUMENT,
         "expected a tensor of DLPack version 1, found version " +
             std::to_string(managed->version.major));
  const FusecDlTensor &from = managed->tensor;
  fusec_tensor tensor = {};
  tensor.struct_size = sizeof(tensor);
  tensor.dtype = -1;
  for (const TypeRow &row : typeRows)
    if (row.code == from.typeCode && row.bits == from.typeBits &&
        from.typeLanes == 1)
      tensor.dtype = row.dtype;
  if (tensor.dtype < 0)
    fail(FUSEC_INVALID_ARGUMENT,
         "DLPack type code " + std::to_string(from.typeCode) + " with " +
             std::to_string(from.typeBits) + " bits and " +
             std::to_string(from.typeLanes) +
             " lanes is none of fusec's element types");
  tensor.device_type = from.deviceType;
  tensor.device_id = from.deviceId;
  tensor.rank = from.rank;
  tensor.sizes = from.sizes;
  tensor.strides = from.strides;
  tensor.data = from.data;
  tensor.byte_offset = from.byteOffset;
  return tensor;
}

DLManagedTensorVersioned *toDlPack(const fusec_tensor &tensor,
                                   void (*release)(void *), void *context) {
  const TypeRow *type = nullptr;
  for (const TypeRow &row : typeRows)
    if (row.dtype == tensor.dtype)
      type = &row;
  if (!type)
    fail(FUSEC_INVALID_ARGUMENT,
         "expected an element type, found " + std::to_string(tensor.dtype));
  if (tensor.rank < 0 || (tensor.rank != 0 && !tensor.sizes))
    fail(FUSEC_INVALID_ARGUMENT, "expected a rank of at least 0 and its sizes");
  auto owned = std::make_unique<Owned>();
  owned->sizes.assign(tensor.sizes, tensor.sizes + tensor.rank);
  owned->strides.resize(owned->sizes.size());
  int64_t stride = 1;
  for (size_t d = owned->sizes.size(); d-- != 0;) {
    owned->strides[d] = tensor.strides ? tensor.strides[d] : stride;
    if (owned->sizes[d] < 0)
      fail(FUSEC_INVALID_ARGUMENT, "size " + std::to_string(d) +
                                       ": expected at least 0, found " +
                                       std::to_string(owned->sizes[d]));
    if (__builtin_mul_overflow(stride, owned->sizes[d], &stride))
      fail(FUSEC_INVALID_ARGUMENT, "sizes exceed 2^63 elements");
  }
  owned->release = release;
  owned->context = context;
  DLManagedTensorVersioned &managed = owned->managed;
  managed.version = {dlMajor, 0};
  managed.context = owned.get();
  managed.deleter = destroy;
  managed.tensor = {tensor.data,
                    tensor.device_type,
                    tensor.device_id,
                    tensor.rank,
                    type->code,
                    type->bits,
                    1,
                    owned->sizes.data(),
                    owned->strides.data(),
                    tensor.byte_offset};
  return &owned.release()->managed;
}
} // namespace

} // namespace fusec::rt

using namespace fusec::rt;

fusec_status fusec_tensor_from_dlpack(const DLManagedTensorVersioned *managed,
                                      fusec_tensor *tensor, char *message,
                                      size_t capacity) {
  return guard(message, capacity, [&] {
    requireResult(tensor, "tensor");
    *tensor = fromDlPack(managed);
  });
}

fusec_status fusec_tensor_to_dlpack(const fusec_tensor *tensor,
                                    void (*release)(void *), void *context,
                                    DLManagedTensorVersioned **managed,
                                    char *message, size_t capacity) {
  return guard(message, capacity, [&] {
    requireResult(managed, "managed");
    *managed = toDlPack(readTensorStruct(tensor, "tensor"), release, context);
  });
}
