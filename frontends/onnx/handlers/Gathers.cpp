// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gather, GatherElements and GatherND. An index that is known and in range is
// a slice.

#include "frontends/onnx/handlers/Handlers.h"
#include <fmt/core.h>

using namespace mlir;

namespace fusec::onnx {

static LogicalResult checkIndices(Node &node) {
  Type type = node.getInputType(1);
  if (type.isSignlessInteger(64) || type.isSignlessInteger(32))
    return success();
  return node.malformed("expected indices of type int32 or int64, got " +
                        toString(type));
}

/// The slice that a single known index selects, if it is surely inside.
static std::optional<Expr> getSliceOffset(Node &node, Expr size) {
  auto known = node.getKnown(node.getInput(1));
  if (!known || known->size() != 1 || !(*known)[0].isConstant())
    return std::nullopt;
  Expr offset = (*known)[0];
  if (offset.getValue() < 0)
    offset = offset + size;
  ExprRanges ranges({});
  auto first = ranges.lowerBound(offset),
       rest = ranges.lowerBound(size - offset);
  if (!first || *first < 0 || !rest || *rest < 1)
    return std::nullopt;
  return offset;
}

static LogicalResult importGather(Node &node) {
  if (failed(checkIndices(node)) || failed(node.checkRank(0, 1)))
    return failure();
  Value source = node.getInput(0), index = node.getInput(1);
  Sizes sizes = getSizes(source), indexSizes = getSizes(index);
  int64_t rank = sizes.size(), indexRank = indexSizes.size();
  auto axis = node.getAxis(node.getInt("axis", 0), rank);
  if (failed(axis))
    return failure();
  Sizes result(sizes.begin(), sizes.begin() + *axis);
  result.append(indexSizes);
  result.append(sizes.begin() + *axis + 1, sizes.end());
  if (auto offset = getSliceOffset(node, sizes[*axis])) {
    Value part = node.b.sliceAxis(source, *axis, *offset, node.b.getExpr(1));
    return node.setOutput(0, node.b.reshape(part, result));
  }
  SmallVector<int64_t> positions, indexDimensions;
  for (int64_t i = 0; i < rank; ++i)
    positions.push_back(i < *axis ? i : i == *axis ? -1 : i - 1 + indexRank);
  for (int64_t i = 0; i < indexRank; ++i)
    indexDimensions.push_back(*axis + i);
  Value indices = node.b.broadcast(index, result, indexDimensions);
  Type type = getTensorType(result, node.getInputType(0));
  return node.setOutput(0, GatherOp::create(node.b, type, source, positions,
                                            indices, node.getGatherPolicy()));
}

static LogicalResult importGatherElements(Node &node) {
  if (failed(checkIndices(node)) || failed(node.checkRank(0, 1)))
    return failure();
  Value source = node.getInput(0), index = node.getInput(1);
  Sizes sizes = getSizes(source), result = getSizes(index);
  if (sizes.size() != result.size())
    return node.malformed(
        fmt::format("expected indices of the data's rank {}, got rank {}",
                    sizes.size(), result.size()));
  auto axis = node.getAxis(node.getInt("axis", 0), sizes.size());
  if (failed(axis))
    return failure();
  SmallVector<int64_t> positions;
  ExprRanges ranges({});
  for (int64_t i = 0, rank = sizes.size(); i < rank; ++i) {
    positions.push_back(i == *axis ? -1 : i);
    if (i == *axis || sizes[i] == result[i])
      continue;
    // Besides the axis the indices may cover a part of the data.
    auto surplus = ranges.lowerBound(sizes[i] - result[i]);
    if (!surplus || *surplus < 0) {
      auto common = node.agree(sizes[i], result[i], "indices beside the axis");
      if (failed(common))
        return failure();
    }
    sizes[i] = result[i];
  }
  source = node.b.retarget(source, sizes);
  Type type = getTensorType(result, node.getInputType(0));
  return node.setOutput(0, GatherOp::create(node.b, type, source, positions,
                                            index, node.getGatherPolicy()));
}

static LogicalResult importGatherND(Node &node) {
  if (failed(checkIndices(node)) || failed(node.checkRank(0, 1)) ||
      failed(node.checkRank(1, 1)))
    return failure();
  Value source = node.getInput(0), index = node.getInput(1);
  Sizes sizes = getSizes(source), indexSizes = getSizes(index);
  int64_t rank = sizes.size(), indexRank = indexSizes.size();
  int64_t batch = node.getInt("batch_dims", 0);
  if (batch < 0 || batch >= std::min(rank, indexRank))
    return node.malformed(
        fmt::format("expected attribute 'batch_dims' from 0 to {}, got {}",
                    std::min(rank, indexRank) - 1, batch));
  auto depth = indexSizes.back().getConstant();
  if (!depth)
    return node.unsupported(
        "expected the last size of the indices to be a number, got " +
        indexSizes.back().str());
  if (*depth < 1 || *depth > rank - batch)
    return node.malformed(fmt::format(
        "expected the last size of the indices to be from 1 to {}, got {}",
        rank - batch, *depth));
  for (int64_t i = 0; i < batch; ++i) {
    auto common = node.agree(sizes[i], indexSizes[i], "batch dimensions");
    if (failed(common))
      return failure();
    sizes[i] = indexSizes[i] = *common;
  }
  source = node.b.retarget(source, sizes);
  index = node.b.retarget(index, indexSizes);
  Sizes result(indexSizes.begin(), indexSizes.end() - 1);
  SmallVector<int64_t> positions,
      indexDimensions = llvm::to_vector(llvm::seq<int64_t>(0, indexRank - 1));
  for (int64_t i = 0; i < rank; ++i) {
    bool indexed = i >= batch && i < batch + *depth;
    positions.push_back(i < batch ? i
                        : indexed ? batch - 1 - i
                                  : static_cast<int64_t>(result.size()));
    if (i >= batch + *depth)
      result.push_back(sizes[i]);
  }
  SmallVector<Value> indices;
  for (int64_t k = 0; k < *depth; ++k) {
    Value column = node.b.sliceAxis(index, indexRank - 1, node.b.getExpr(k),
                                    node.b.getExpr(1));
    column = node.b.squeeze(column, indexRank - 1);
    indices.push_back(node.b.broadcast(column, result, indexDimensions));
  }
  Type type = getTensorType(result, node.getInputType(0));
  return node.setOutput(0, GatherOp::create(node.b, type, source, positions,
                                            indices, node.getGatherPolicy()));
}

llvm::ArrayRef<Handler> getGatherHandlers() {
  static constexpr Handler handlers[] = {
      {"Gather", 13, 2, 2, 1, Types::Any, importGather},
      {"GatherElements", 13, 2, 2, 1, Types::Any, importGatherElements},
      {"GatherND", 13, 2, 2, 1, Types::Any, importGatherND,
       "indices whose last size is not a number"},
  };
  return handlers;
}

} // namespace fusec::onnx
