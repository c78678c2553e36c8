// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/format/AlignUp.h"
#include "runtime/format/BundleLayout.h"
#include "runtime/format/ChunkHash.h"

#include <algorithm>
#include <cstring>

namespace fusec::format {

static bool areOrdered(const std::vector<Piece> &pieces, uint64_t size) {
  uint64_t position = 0;
  for (const Piece &piece : pieces) {
    if (piece.offset < position || piece.offset > size ||
        piece.bytes.size > size - piece.offset)
      return false;
    position = piece.offset + piece.bytes.size;
  }
  return true;
}

BundleWriter::BundleWriter(size_t mostSections, Sink sink)
    : mostSections(mostSections), sink(std::move(sink)),
      end(headerSize + (mostSections + 1) * entrySize) {}

void BundleWriter::fail(const std::string &what) {
  if (failure.empty())
    failure = "bundle: " + what;
}

void BundleWriter::put(uint64_t offset, ByteSpan bytes) {
  if (failure.empty() && !sink(offset, bytes))
    fail("writing stopped early");
}

bool BundleWriter::hasRoom() {
  if (entries.size() == mostSections)
    fail("section " + std::to_string(entries.size() + 1) +
         ": expected at most " + std::to_string(mostSections) +
         " sections beside the manifest");
  return failure.empty();
}

BundleWriter::Entry BundleWriter::place(SectionKind kind, uint64_t size) {
  Entry entry{kind, alignUp(end, sectionAlignment), size, {}};
  end = entry.offset + size;
  return entry;
}

BundleWriter::Entry BundleWriter::writeWhole(SectionKind kind, ByteSpan bytes) {
  Entry entry = place(kind, bytes.size);
  entry.digest = Sha256::hash(bytes.data, bytes.size);
  put(entry.offset, bytes);
  return entry;
}

unsigned BundleWriter::addCode(SectionKind kind, ByteSpan bytes) {
  if (hasRoom())
    entries.push_back(writeWhole(kind, bytes));
  return unsigned(entries.size());
}

unsigned BundleWriter::addWeights(const std::vector<Piece> &pieces,
                                  uint64_t size) {
  if (!areOrdered(pieces, size))
    fail("section " + std::to_string(entries.size() + 1) +
         ": pieces overlap or exceed the section");
  if (hasRoom()) {
    Entry entry = place(SectionKind::Weights, size);
    entry.digest =
        hashChunks(pieces, size, [&](uint64_t offset, ByteSpan bytes) {
          put(entry.offset + offset, bytes);
        });
    entries.push_back(entry);
  }
  return unsigned(entries.size());
}

bool BundleWriter::finish(const Manifest &manifest, std::string &error) {
  if (entries.size() >= maxSections)
    fail("expected at most " + std::to_string(maxSections) +
         " sections, found " + std::to_string(entries.size() + 1));
  Manifest checked = manifest;
  std::vector<SectionShape> shapes = {{SectionKind::Manifest, 0}};
  for (const Entry &entry : entries)
    shapes.push_back({entry.kind, entry.size});
  if (!checkManifest(checked, error) ||
      !checkReferences(checked, shapes, error))
    fail(error);

  // The manifest ends the file; it is never empty.
  std::string json = writeManifest(manifest);
  ByteSpan text = {reinterpret_cast<const uint8_t *>(json.data()), json.size()};
  entries.insert(entries.begin(), writeWhole(SectionKind::Manifest, text));

  std::vector<uint8_t> head(headerSize + entries.size() * entrySize);
  for (size_t i = 0; i != entries.size(); ++i) {
    uint8_t *entry = head.data() + headerSize + i * entrySize;
    storeLittle<uint32_t>(entry, uint32_t(entries[i].kind));
    storeLittle<uint64_t>(entry + 8, entries[i].offset);
    storeLittle<uint64_t>(entry + 16, entries[i].size);
    std::copy(entries[i].digest.begin(), entries[i].digest.end(), entry + 24);
  }
  std::memcpy(head.data(), magic, 8);
  storeLittle<uint32_t>(head.data() + 8, manifest.major);
  storeLittle<uint32_t>(head.data() + 12, manifest.minor);
  storeLittle<uint64_t>(head.data() + 16, end);
  storeLittle<uint32_t>(head.data() + 24, uint32_t(entries.size()));
  Digest digest = headerDigest(head.data(), head.data() + headerSize,
                               head.size() - headerSize);
  std::copy(digest.begin(), digest.end(), head.data() + digestOffset);
  put(0, {head.data(), head.size()});
  error = failure;
  return failure.empty();
}

} // namespace fusec::format
