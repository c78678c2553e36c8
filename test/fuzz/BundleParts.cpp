// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/fuzz/BundleParts.h"
#include "runtime/format/AlignUp.h"
#include "runtime/format/BundleLayout.h"
#include "runtime/format/ChunkHash.h"

#include <cstring>

using namespace fusec;
using namespace fusec::format;

namespace {
/// A view of one entry of the table.
struct Entry {
  uint8_t *bytes;
  uint32_t kind() const { return loadLittle<uint32_t>(bytes); }
  uint64_t offset() const { return loadLittle<uint64_t>(bytes + 8); }
  uint64_t size() const { return loadLittle<uint64_t>(bytes + 16); }
};
} // namespace

/// Entries that lie in the file.
static std::vector<Entry> getEntries(uint8_t *file, size_t size) {
  std::vector<Entry> entries;
  if (size < headerSize)
    return entries;
  uint64_t count = loadLittle<uint32_t>(file + 24);
  for (uint64_t i = 0; i != count; ++i) {
    uint64_t at = headerSize + i * entrySize;
    if (at + entrySize > size)
      break;
    entries.push_back({file + at});
  }
  return entries;
}

static bool isWithin(const Entry &entry, size_t size) {
  return entry.offset() <= size && entry.size() <= size - entry.offset();
}

std::optional<std::vector<fuzz::BundlePart>>
fuzz::takeApart(std::string_view bytes) {
  std::vector<uint8_t> file(bytes.begin(), bytes.end());
  std::vector<BundlePart> parts;
  for (const Entry &entry : getEntries(file.data(), file.size())) {
    if (!isWithin(entry, file.size()) || parts.size() == 64)
      return std::nullopt;
    BundlePart &part = parts.emplace_back();
    part.kind = entry.kind();
    part.flags = loadLittle<uint32_t>(entry.bytes + 4);
    part.content = bytes.substr(entry.offset(), entry.size());
  }
  if (parts.empty())
    return std::nullopt;
  return parts;
}

std::vector<uint8_t> fuzz::putTogether(const std::vector<BundlePart> &parts) {
  std::vector<uint8_t> file(headerSize + parts.size() * entrySize);
  std::memcpy(file.data(), magic, 8);
  storeLittle<uint32_t>(&file[8], formatMajor);
  storeLittle<uint32_t>(&file[12], formatMinor);
  storeLittle<uint32_t>(&file[24], uint32_t(parts.size()));
  for (size_t i = 0; i != parts.size(); ++i) {
    size_t index = (i + 1) % parts.size();
    const BundlePart &part = parts[index];
    file.resize(alignUp(file.size(), sectionAlignment));
    uint8_t *entry = &file[headerSize + index * entrySize];
    storeLittle<uint32_t>(entry, part.kind);
    storeLittle<uint32_t>(entry + 4, part.flags);
    storeLittle<uint64_t>(entry + 8, file.size());
    storeLittle<uint64_t>(entry + 16, part.content.size());
    file.insert(file.end(), part.content.begin(), part.content.end());
  }
  rehash(file);
  return file;
}

void fuzz::rehash(std::vector<uint8_t> &file) {
  if (file.size() < headerSize)
    return;
  storeLittle<uint64_t>(&file[16], file.size());
  std::vector<Entry> entries = getEntries(file.data(), file.size());
  for (const Entry &entry : entries) {
    if (!isWithin(entry, file.size()))
      continue;
    ByteSpan content = {file.data() + entry.offset(), entry.size()};
    Digest digest = SectionKind(entry.kind()) == SectionKind::Weights
                        ? hashChunks({{0, content}}, content.size,
                                     [](uint64_t, ByteSpan) {})
                        : Sha256::hash(content.data, content.size);
    std::memcpy(entry.bytes + 24, digest.data(), digest.size());
  }
  Digest digest = headerDigest(file.data(), file.data() + headerSize,
                               entries.size() * entrySize);
  std::memcpy(&file[digestOffset], digest.data(), digest.size());
}
