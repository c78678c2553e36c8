// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/bundle/WeightPool.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace fusec;

/// Bytes that are hashed; weights that agree in them are compared whole.
static constexpr size_t hashedBytes = 1 << 16;

static ArrayRef<uint8_t> getBytes(ArrayRef<char> bytes) {
  return {reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()};
}

SmallVector<BufferOp> fusec::getStoredWeights(PlanOp plan) {
  llvm::StringSet<> read;
  for (StepOp step : plan.getOps<StepOp>())
    for (auto input : step.getInputs().getAsRange<FlatSymbolRefAttr>())
      read.insert(input.getValue());
  SmallVector<BufferOp> weights;
  for (BufferOp buffer : plan.getOps<BufferOp>())
    if (buffer.getKind() == BufferKind::Weight &&
        read.contains(buffer.getSymName()))
      weights.push_back(buffer);
  return weights;
}

WeightPool::Key WeightPool::getKey(BufferOp buffer) {
  return {*buffer.getValue(), buffer.getReplaceableAttr()};
}

LogicalResult WeightPool::addAll(ModuleOp module) {
  for (PlanOp plan : module.getOps<PlanOp>())
    for (BufferOp buffer : getStoredWeights(plan)) {
      Key key = getKey(buffer);
      if (places.contains(key))
        continue;
      std::string error;
      FailureOr<Place> place =
          add(*buffer.getValue(), /*shares=*/!key.second, error);
      if (failed(place))
        return buffer.emitOpError("expected a weight whose bytes are known: ")
               << error;
      places[key] = *place;
    }
  return success();
}

FailureOr<WeightPool::Place> WeightPool::add(ElementsAttr value, bool shares,
                                             std::string &error) {
  FailureOr<ConstantData> data = getConstantData(value, error);
  if (failed(data))
    return failure();
  ArrayRef<char> bytes = data->bytes;
  if (shares) {
    std::pair<uint64_t, uint64_t> content(
        bytes.size(),
        llvm::xxh3_64bits(getBytes(bytes.take_front(hashedBytes))));
    auto [begin, end] = byContent.equal_range(content);
    for (auto it = begin; it != end; ++it)
      if (entries[it->second].data.bytes == bytes)
        return Place{entries[it->second].offset, bytes.size()};
    byContent.emplace(content, entries.size());
  }
  Place place{llvm::alignTo(size, alignment), bytes.size()};
  entries.push_back({std::move(*data), place.offset});
  size = place.offset + place.size;
  return place;
}

WeightPool::Place WeightPool::getPlace(BufferOp buffer) const {
  return places.at(getKey(buffer));
}

std::vector<format::Piece> WeightPool::getPieces() const {
  std::vector<format::Piece> pieces;
  for (const Entry &entry : entries) {
    ArrayRef<uint8_t> bytes = getBytes(entry.data.bytes);
    if (!bytes.empty())
      pieces.push_back({entry.offset, {bytes.data(), bytes.size()}});
  }
  return pieces;
}
