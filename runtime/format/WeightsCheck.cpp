// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/format/WeightsCheck.h"

#include "runtime/format/InParallel.h"
#include "runtime/format/SectionCheck.h"

namespace fusec::format {

namespace {
bool isHashed(const Bundle &bundle, HashWeights mode) {
  return mode == HashWeights::Always ||
         (mode == HashWeights::Auto &&
          bundle.weightsSize() <= weightsHashedByDefault);
}
} // namespace

WeightsCheck::WeightsCheck(const Bundle &bundle, HashWeights mode)
    : bundle(bundle) {
  if (!isHashed(bundle, mode))
    return;
  ChunkHash kind = chunkHashOf(bundle.manifest().minor);
  const std::vector<Section> &sections = bundle.sections();
  for (size_t i = 0; i != sections.size(); ++i) {
    if (sections[i].kind != SectionKind::Weights)
      continue;
    ByteSpan bytes = sections[i].bytes;
    ChunkDigests digests(kind, bytes.size);
    for (size_t chunk = 0; chunk != digests.count(); ++chunk) {
      uint64_t begin = digests.begin(chunk);
      chunks.push_back(
          {{bytes.data + begin, size_t(digests.end(chunk) - begin)},
           all.size(),
           chunk});
    }
    all.push_back({i, {{0, bytes}}, std::move(digests)});
  }
  std::sort(chunks.begin(), chunks.end(), [](const Chunk &a, const Chunk &b) {
    return a.bytes.data < b.bytes.data;
  });
  taken = std::vector<std::atomic<bool>>(chunks.size());
}

void WeightsCheck::take(size_t chunk) {
  if (taken[chunk].exchange(true))
    return;
  Checked &checked = all[chunks[chunk].checked];
  checked.digests.hash(chunks[chunk].index, checked.pieces);
}

void WeightsCheck::hash(ByteSpan bytes) {
  auto first = std::partition_point(
      chunks.begin(), chunks.end(), [&](const Chunk &before) {
        return before.bytes.data + before.bytes.size <= bytes.data;
      });
  for (size_t i = size_t(first - chunks.begin());
       i != chunks.size() && chunks[i].bytes.data < bytes.data + bytes.size;
       ++i)
    take(i);
}

void WeightsCheck::hashRest(size_t mostThreads) {
  std::atomic<size_t> next{0};
  inParallel(std::min(mostThreads, chunks.size()), [&] {
    for (size_t i = next++; i < chunks.size(); i = next++)
      take(chunks.size() - 1 - i);
  });
}

bool WeightsCheck::finish(std::string &error) const {
  try {
    for (const Checked &checked : all)
      checkDigest(bundle.sections(), checked.section, checked.digests.finish());
  } catch (const ReadError &failure) {
    error = failure.message;
    return false;
  }
  return true;
}

} // namespace fusec::format
