// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checked computation of sizes.

#include "runtime/src/Dims.h"

#include "runtime/format/AlignUp.h"

#include <algorithm>

namespace fusec::rt {

namespace {
// The first dimension of the expression that has no value.
const std::string *findUnknown(const format::Expr &expr,
                               const DimValues &dims) {
  if (expr.op == format::Expr::Op::Dim &&
      dims[size_t(expr.value)] == unknownDim)
    return &expr.dimName;
  for (const format::Expr &operand : expr.operands)
    if (const std::string *name = findUnknown(operand, dims))
      return name;
  return nullptr;
}

// " with batch = 7, n = 3"
std::string valuesText(const format::Manifest &manifest,
                       const DimValues &dims) {
  std::string text;
  for (size_t i = 0; i != dims.size(); ++i)
    if (dims[i] != unknownDim)
      text += (text.empty() ? " with " : ", ") + manifest.dims[i] + " = " +
              std::to_string(dims[i]);
  return text;
}
} // namespace

DimValues lookUpDims(const format::Manifest &manifest, const fusec_dim *dims,
                     size_t count) {
  if (count != 0 && !dims)
    fail(FUSEC_INVALID_ARGUMENT, "expected dimensions, found a null pointer");
  DimValues values(manifest.dims.size(), unknownDim);
  for (size_t i = 0; i != count; ++i) {
    if (!dims[i].name)
      fail(FUSEC_INVALID_ARGUMENT,
           "dimension " + std::to_string(i) +
               ": expected a name, found a null pointer");
    std::string name = dims[i].name;
    auto found =
        std::lower_bound(manifest.dims.begin(), manifest.dims.end(), name);
    if (found == manifest.dims.end() || *found != name) {
      std::string known;
      for (const std::string &dim : manifest.dims)
        known += (known.empty() ? "" : ", ") + dim;
      fail(FUSEC_INVALID_ARGUMENT, "unknown dimension '" + name +
                                       "'; the model has " +
                                       (known.empty() ? "none" : known));
    }
    if (dims[i].size < 0)
      fail(FUSEC_INVALID_ARGUMENT, "dimension '" + name +
                                       "': expected at least 0, found " +
                                       std::to_string(dims[i].size));
    int64_t &value = values[size_t(found - manifest.dims.begin())];
    if (value != unknownDim && value != dims[i].size)
      fail(FUSEC_INVALID_ARGUMENT,
           "dimension '" + name + "' is given twice: " + std::to_string(value) +
               " and " + std::to_string(dims[i].size));
    value = dims[i].size;
  }
  return values;
}

int64_t computeValue(const format::Manifest &manifest, const format::Expr &expr,
                     const DimValues &dims, const std::string &what) {
  if (const std::string *name = findUnknown(expr, dims))
    fail(FUSEC_INVALID_ARGUMENT,
         what + " depends on dimension '" + *name +
             "', which is not known: give it, or bind an input that has it");
  std::optional<int64_t> value = format::evaluate(expr, dims.data());
  if (!value)
    fail(FUSEC_INVALID_ARGUMENT, what + ": " + format::toString(expr) +
                                     " overflows 64 bits or divides by zero" +
                                     valuesText(manifest, dims));
  return *value;
}

int64_t computeSize(const format::Manifest &manifest, const format::Expr &expr,
                    const DimValues &dims, const std::string &what) {
  int64_t value = computeValue(manifest, expr, dims, what);
  if (value < 0)
    fail(FUSEC_INVALID_ARGUMENT, what + ": expected " + format::toString(expr) +
                                     " to be at least 0, found " +
                                     std::to_string(value) +
                                     valuesText(manifest, dims));
  return value;
}

std::vector<int64_t> computeSizes(const format::Manifest &manifest,
                                  const format::TensorSpec &tensor,
                                  const DimValues &dims,
                                  const std::string &what) {
  std::vector<int64_t> sizes;
  for (size_t d = 0; d != tensor.sizes.size(); ++d)
    sizes.push_back(computeSize(manifest, tensor.sizes[d], dims,
                                what + ": size " + std::to_string(d)));
  return sizes;
}

uint64_t computeBytes(const std::vector<int64_t> &sizes, format::DType dtype,
                      const std::string &what) {
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end())
    return 0;
  int64_t bytes = format::dtypeSize(dtype);
  for (int64_t size : sizes)
    if (__builtin_mul_overflow(bytes, size, &bytes))
      fail(FUSEC_INVALID_ARGUMENT,
           what + ": sizes " + sizesText(sizes) + " exceed 2^63 bytes");
  return uint64_t(bytes);
}

ArenaLayout layOutArena(const format::Manifest &manifest,
                        const format::Plan &plan, const DimValues &dims) {
  ArenaLayout layout;
  for (size_t i = 0; i != plan.slots.size(); ++i) {
    std::string what = "arena slot " + std::to_string(i);
    uint64_t size = uint64_t(computeSize(manifest, plan.slots[i], dims, what));
    layout.offsets.push_back(layout.total);
    layout.sizes.push_back(size);
    layout.total += format::alignUp(size, arenaAlignment);
    if (layout.total > uint64_t(INT64_MAX))
      fail(FUSEC_INVALID_ARGUMENT, what + ": the arena exceeds 2^63 bytes");
  }
  return layout;
}

void checkConstraints(const format::Manifest &manifest, const DimValues &dims) {
  for (const format::Constraint &constraint : manifest.constraints) {
    int64_t lhs =
        computeValue(manifest, constraint.lhs, dims, constraint.message);
    int64_t rhs =
        computeValue(manifest, constraint.rhs, dims, constraint.message);
    if (lhs != rhs)
      fail(FUSEC_INVALID_ARGUMENT,
           constraint.message + ": " + format::toString(constraint.lhs) +
               " is " + std::to_string(lhs) + ", " +
               format::toString(constraint.rhs) + " is " + std::to_string(rhs));
  }
}

std::string sizesText(const std::vector<int64_t> &sizes) {
  std::string text = "[";
  for (size_t i = 0; i != sizes.size(); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(sizes[i]);
  return text + "]";
}

} // namespace fusec::rt
