// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writing a bundle: sections are hashed in a first pass over their pieces and
// handed to the sink in a second, so that weights are never copied.

#include "runtime/format/BundleLayout.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace fusec::format {

namespace {
constexpr uint8_t zeros[sectionAlignment] = {};

uint64_t alignUp(uint64_t value) {
  return (value + sectionAlignment - 1) / sectionAlignment * sectionAlignment;
}

// Hands `count` zero bytes to `emit`.
template <typename Emit> bool emitZeros(uint64_t count, Emit emit) {
  for (; count != 0; count -= std::min<uint64_t>(count, sizeof(zeros)))
    if (!emit(
            ByteSpan{zeros, size_t(std::min<uint64_t>(count, sizeof(zeros)))}))
      return false;
  return true;
}

// Hands all bytes of a section to `emit`, in order.
template <typename Emit>
bool emitSection(const std::vector<BundleWriter::Piece> &pieces, uint64_t size,
                 Emit emit) {
  uint64_t position = 0;
  for (const BundleWriter::Piece &piece : pieces) {
    if (!emitZeros(piece.offset - position, emit) || !emit(piece.bytes))
      return false;
    position = piece.offset + piece.bytes.size;
  }
  return emitZeros(size - position, emit);
}

// The hash of a section: plain, or for weights the hash of chunk hashes.
class SectionHash {
public:
  explicit SectionHash(SectionKind kind)
      : chunked(kind == SectionKind::Weights) {}

  bool operator()(ByteSpan bytes) {
    while (bytes.size != 0) {
      size_t taken = bytes.size;
      if (chunked)
        taken = std::min<uint64_t>(taken, weightsChunk - held);
      sha.update(bytes.data, taken);
      held += taken;
      bytes = {bytes.data + taken, bytes.size - taken};
      if (chunked && held == weightsChunk)
        endChunk();
    }
    return true;
  }
  Digest finish() {
    if (!chunked)
      return sha.finish();
    if (held != 0)
      endChunk();
    return outer.finish();
  }

private:
  void endChunk() {
    Digest digest = sha.finish();
    outer.update(digest.data(), digest.size());
    sha = Sha256();
    held = 0;
  }

  bool chunked;
  Sha256 sha, outer;
  uint64_t held = 0;
};
} // namespace

unsigned BundleWriter::addSection(SectionKind kind, ByteSpan bytes) {
  return addSection(kind, {Piece{0, bytes}}, bytes.size);
}

unsigned BundleWriter::addSection(SectionKind kind, std::vector<Piece> pieces,
                                  uint64_t size) {
  entries.push_back({kind, std::move(pieces), size});
  return unsigned(entries.size());
}

bool BundleWriter::write(const Manifest &manifest, const Sink &sink,
                         std::string &error) const {
  auto fail = [&](const std::string &what) {
    error = "bundle: " + what;
    return false;
  };
  if (entries.size() + 1 > maxSections)
    return fail("expected at most " + std::to_string(maxSections) +
                " sections, found " + std::to_string(entries.size() + 1));
  for (size_t i = 0; i != entries.size(); ++i) {
    uint64_t position = 0;
    for (const Piece &piece : entries[i].pieces) {
      if (piece.offset < position || piece.offset > entries[i].size ||
          piece.bytes.size > entries[i].size - piece.offset)
        return fail("section " + std::to_string(i + 1) + ": piece at offset " +
                    std::to_string(piece.offset) +
                    " overlaps another or exceeds the section");
      position = piece.offset + piece.bytes.size;
    }
  }
  Manifest checked = manifest;
  std::vector<SectionShape> shapes = {{SectionKind::Manifest, 0}};
  for (const Entry &entry : entries)
    shapes.push_back({entry.kind, entry.size});
  if (!checkManifest(checked, error) ||
      !checkReferences(checked, shapes, error))
    return fail(error);

  std::string json = writeManifest(manifest);
  ByteSpan text = {reinterpret_cast<const uint8_t *>(json.data()), json.size()};
  std::vector<Entry> all = {
      {SectionKind::Manifest, {Piece{0, text}}, json.size()}};
  all.insert(all.end(), entries.begin(), entries.end());

  std::vector<uint8_t> head(headerSize + all.size() * entrySize);
  uint64_t end = head.size();
  for (size_t i = 0; i != all.size(); ++i) {
    uint8_t *entry = head.data() + headerSize + i * entrySize;
    SectionHash hash(all[i].kind);
    emitSection(all[i].pieces, all[i].size,
                [&](ByteSpan bytes) { return hash(bytes); });
    Digest digest = hash.finish();
    storeLittle<uint32_t>(entry, uint32_t(all[i].kind));
    storeLittle<uint64_t>(entry + 8, alignUp(end));
    storeLittle<uint64_t>(entry + 16, all[i].size);
    std::copy(digest.begin(), digest.end(), entry + 24);
    end = alignUp(end) + all[i].size;
  }
  std::memcpy(head.data(), magic, 8);
  storeLittle<uint32_t>(head.data() + 8, manifest.major);
  storeLittle<uint32_t>(head.data() + 12, manifest.minor);
  storeLittle<uint64_t>(head.data() + 16, end);
  storeLittle<uint32_t>(head.data() + 24, uint32_t(all.size()));
  Digest digest = headerDigest(head.data(), head.data() + headerSize,
                               head.size() - headerSize);
  std::copy(digest.begin(), digest.end(), head.data() + digestOffset);

  bool written = sink({head.data(), head.size()});
  uint64_t position = head.size();
  for (size_t i = 0; written && i != all.size(); ++i) {
    written = emitZeros(alignUp(position) - position, sink) &&
              emitSection(all[i].pieces, all[i].size, sink);
    position = alignUp(position) + all[i].size;
  }
  return written || fail("writing stopped early");
}

bool BundleWriter::writeFile(const Manifest &manifest, const std::string &path,
                             std::string &error) const {
  std::string partial = path + ".part" + std::to_string(getpid());
  std::FILE *file = std::fopen(partial.c_str(), "wb");
  if (!file) {
    error = partial + ": cannot be created: " + std::strerror(errno);
    return false;
  }
  auto sink = [&](ByteSpan bytes) {
    return bytes.size == 0 ||
           std::fwrite(bytes.data, 1, bytes.size, file) == bytes.size;
  };
  bool written = write(manifest, sink, error);
  bool failed = std::ferror(file) != 0;
  int reason = errno;
  bool closed = std::fclose(file) == 0;
  if (written && closed && std::rename(partial.c_str(), path.c_str()) == 0)
    return true;
  if (written || failed)
    error = path +
            ": cannot be written: " + std::strerror(written ? errno : reason);
  std::remove(partial.c_str());
  return false;
}

} // namespace fusec::format
