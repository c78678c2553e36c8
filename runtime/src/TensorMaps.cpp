// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Encoding tensor maps.

#include "runtime/src/TensorMaps.h"

namespace fusec::rt {

namespace {
constexpr int interleaveNone = 0;
constexpr int outOfBoundsZero = 0;

int swizzleNumber(unsigned bytes) {
  return bytes == 128 ? 3 : bytes == 64 ? 2 : bytes == 32 ? 1 : 0;
}
int promotionNumber(unsigned bytes) {
  return bytes == 256 ? 3 : bytes == 128 ? 2 : bytes == 64 ? 1 : 0;
}
} // namespace

bool MapShape::empty() const {
  for (unsigned i = 0; i != rank; ++i)
    if (sizes[i] == 0)
      return true;
  return false;
}

MapShape shapeMap(const format::Manifest &manifest,
                  const format::TensorMapParam &map, const DimValues &dims,
                  const std::string &what) {
  MapShape shape;
  shape.rank = unsigned(map.sizes.size());
  shape.dtype = int(map.dtype);
  shape.swizzle = swizzleNumber(map.swizzle);
  shape.promotion = promotionNumber(map.promotion);
  for (size_t i = 0; i != map.sizes.size(); ++i) {
    shape.sizes[i] = uint64_t(computeSize(manifest, map.sizes[i], dims, what));
    shape.box[i] = map.box[i];
  }
  for (size_t i = 0; i != map.strides.size(); ++i)
    shape.strides[i] =
        uint64_t(computeSize(manifest, map.strides[i], dims, what));
  return shape;
}

void encodeMap(const cuda::Driver &driver, const MapShape &shape,
               cuda::DevicePointer address, cuda::TensorMap &map) {
  const unsigned elementStrides[5] = {1, 1, 1, 1, 1};
  cuda::Result result = driver.tensorMapEncode(
      &map, shape.dtype, shape.rank, reinterpret_cast<void *>(address),
      shape.sizes.data(), shape.strides.data(), shape.box.data(),
      elementStrides, interleaveNone, shape.swizzle, shape.promotion,
      outOfBoundsZero);
  driver.check(result, "cuTensorMapEncodeTiled");
}

} // namespace fusec::rt
