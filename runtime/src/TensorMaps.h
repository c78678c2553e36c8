// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Descriptors that the device's tensor memory accelerator reads.

#ifndef FUSEC_RUNTIME_SRC_TENSORMAPS_H
#define FUSEC_RUNTIME_SRC_TENSORMAPS_H

#include "runtime/format/Manifest.h"
#include "runtime/src/Dims.h"
#include "runtime/src/Driver.h"

#include <array>

namespace fusec::rt {

// A tensor map whose sizes are known; only its address may still change.
struct MapShape {
  unsigned rank = 0;
  int dtype = 0;
  int swizzle = 0, promotion = 0; // as the driver numbers them
  std::array<uint64_t, 5> sizes{};
  std::array<uint64_t, 4> strides{};
  std::array<unsigned, 5> box{};

  // A map with a zero size has nothing to read: it stays all zeros.
  bool empty() const;
};

MapShape shapeMap(const format::Manifest &manifest,
                  const format::TensorMapParam &map, const DimValues &dims,
                  const std::string &what);

// Writes the 128 bytes of a map, without allocating. Throws Failure where the
// driver refuses it.
void encodeMap(const cuda::Driver &driver, const MapShape &shape,
               cuda::DevicePointer address, cuda::TensorMap &map);

} // namespace fusec::rt

#endif
