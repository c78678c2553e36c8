// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/bundle/WeightPool.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace fusec;

static ArrayRef<uint8_t> getBytes(ArrayRef<char> bytes) {
  return {reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()};
}

FailureOr<WeightPool::Place>
WeightPool::add(ElementsAttr value, std::string &error, Attribute owner) {
  std::pair<Attribute, Attribute> attribute(value, owner);
  if (auto it = byAttribute.find(attribute); it != byAttribute.end())
    return it->second;
  FailureOr<ConstantData> data = getConstantData(value, error);
  if (failed(data))
    return failure();
  ArrayRef<char> bytes = data->bytes;
  std::pair<uint64_t, uint64_t> key(bytes.size(),
                                    llvm::xxh3_64bits(getBytes(bytes)));
  auto [begin, end] = byContent.equal_range(key);
  for (auto it = begin; it != end && !owner; ++it)
    if (entries[it->second].data.bytes == bytes)
      return byAttribute[attribute] =
                 Place{entries[it->second].offset, bytes.size()};
  Place place{llvm::alignTo(size, alignment), bytes.size()};
  if (!owner)
    byContent.emplace(key, entries.size());
  entries.push_back({std::move(*data), place.offset});
  size = place.offset + place.size;
  return byAttribute[attribute] = place;
}

std::vector<format::BundleWriter::Piece> WeightPool::getPieces() const {
  std::vector<format::BundleWriter::Piece> pieces;
  for (const Entry &entry : entries) {
    ArrayRef<uint8_t> bytes = getBytes(entry.data.bytes);
    if (!bytes.empty())
      pieces.push_back({entry.offset, {bytes.data(), bytes.size()}});
  }
  return pieces;
}
