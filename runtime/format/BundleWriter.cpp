// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/format/AlignUp.h"
#include "runtime/format/BundleLayout.h"

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

BundleWriter::Entry BundleWriter::writeSection(SectionKind kind,
                                               const std::vector<Piece> &pieces,
                                               uint64_t size) {
  Entry entry{kind, alignUp(end, sectionAlignment), size, {}};
  entry.digest =
      hashSection(kind, pieces, size, [&](uint64_t offset, ByteSpan bytes) {
        put(entry.offset + offset, bytes);
      });
  end = entry.offset + size;
  return entry;
}

unsigned BundleWriter::addSection(SectionKind kind, ByteSpan bytes) {
  return addSection(kind, {Piece{0, bytes}}, bytes.size);
}

unsigned BundleWriter::addSection(SectionKind kind,
                                  const std::vector<Piece> &pieces,
                                  uint64_t size) {
  std::string name = "section " + std::to_string(entries.size() + 1);
  if (entries.size() == mostSections)
    fail(name + ": expected at most " + std::to_string(mostSections) +
         " sections beside the manifest");
  if (!areOrdered(pieces, size))
    fail(name + ": pieces overlap or exceed the section");
  if (failure.empty())
    entries.push_back(writeSection(kind, pieces, size));
  else
    entries.push_back({kind, 0, size, {}});
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
  entries.insert(entries.begin(), writeSection(SectionKind::Manifest,
                                               {Piece{0, text}}, text.size));

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
