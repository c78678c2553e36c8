// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values of a model's named dimensions, and sizes computed from them.

#ifndef FUSEC_RUNTIME_SRC_DIMS_H
#define FUSEC_RUNTIME_SRC_DIMS_H

#include "runtime/format/Manifest.h"
#include "runtime/src/Failure.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fusec::rt {

// One value per dimension of the manifest; unknownDim where not known.
using DimValues = std::vector<int64_t>;
inline constexpr int64_t unknownDim = -1;

// Looks up the caller's dimensions. Throws Failure on an unknown name, a
// negative size, or a name that is given twice with different sizes.
DimValues lookUpDims(const format::Manifest &manifest, const fusec_dim *dims,
                     size_t count);

// The value of an expression. Throws Failure, naming `what`, where a dimension
// in it is not known or the arithmetic overflows.
int64_t computeValue(const format::Manifest &manifest, const format::Expr &expr,
                     const DimValues &dims, const std::string &what);
// The same for a size, which must not be negative.
int64_t computeSize(const format::Manifest &manifest, const format::Expr &expr,
                    const DimValues &dims, const std::string &what);

// Sizes of an input or output; "input 'x'" is `what`.
std::vector<int64_t> computeSizes(const format::Manifest &manifest,
                                  const format::TensorSpec &tensor,
                                  const DimValues &dims,
                                  const std::string &what);

// The product of sizes and the element's bytes; throws Failure on overflow.
uint64_t computeBytes(const std::vector<int64_t> &sizes, format::DType dtype,
                      const std::string &what);

// Offsets of the slots and bytes of the whole arena.
struct ArenaLayout {
  std::vector<uint64_t> offsets;
  std::vector<uint64_t> sizes;
  uint64_t total = 0;
};
ArenaLayout layOutArena(const format::Manifest &manifest,
                        const format::Plan &plan, const DimValues &dims);
inline constexpr uint64_t arenaAlignment = 256;

// Throws Failure with the constraint's message and both values where they
// differ.
void checkConstraints(const format::Manifest &manifest, const DimValues &dims);

// "[2, 3]"
std::string sizesText(const std::vector<int64_t> &sizes);

} // namespace fusec::rt

#endif
