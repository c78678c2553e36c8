// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bundle file: a header, a table of hashed sections and the sections, in
// one mappable piece. The reader trusts nothing, the writer streams.

#ifndef FUSEC_RUNTIME_FORMAT_BUNDLE_H
#define FUSEC_RUNTIME_FORMAT_BUNDLE_H

#include "runtime/format/Manifest.h"
#include "runtime/format/Pieces.h"
#include "runtime/format/Sha256.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace fusec::format {

enum class SectionKind : uint32_t {
  Manifest = 1,
  Cubin = 2,
  Ptx = 3,
  Weights = 4
};
const char *sectionKindName(SectionKind kind);

inline constexpr uint64_t sectionAlignment = 4096;
// Weights beyond this many bytes in all are hashed on request only.
inline constexpr uint64_t weightsHashedByDefault = uint64_t(256) << 20;

struct Section {
  SectionKind kind;
  ByteSpan bytes;
  Digest digest;
};

enum class HashWeights : uint8_t { Auto, Always, Never };

// A view of a bundle in memory, which must outlive it.
class Bundle {
public:
  // Checks magic, version, table, ranges, overlaps, padding, hashes and where
  // code ends, parses the manifest and checks its references to sections and
  // what it passes to the kernels of cubins.
  static bool open(ByteSpan file, HashWeights hash, Bundle &bundle,
                   std::string &error);

  const Manifest &manifest() const { return theManifest; }
  const std::vector<Section> &sections() const { return theSections; }
  // The bytes of a weight of one of the manifest's plans.
  ByteSpan weightBytes(const Weight &weight) const;
  // Bytes of all weights sections.
  uint64_t weightsSize() const;

private:
  Manifest theManifest;
  std::vector<Section> theSections;
};

// Writes a bundle a section at a time, so that what is known early is written
// early; the manifest and the header come last.
class BundleWriter {
public:
  // Puts bytes at an offset of the file, whose other bytes are zero. False ends
  // the writing.
  using Sink = std::function<bool(uint64_t offset, ByteSpan bytes)>;
  // The table has room for this many sections beside the manifest.
  BundleWriter(size_t mostSections, Sink sink);

  // Hash and write a section and return its index, for Launch::section.
  unsigned addCode(SectionKind kind, ByteSpan bytes);
  // For Weight::section; pieces in ascending order that do not overlap, within
  // `size` bytes.
  unsigned addWeights(const std::vector<Piece> &pieces, uint64_t size);

  // Checks the manifest and its references, then writes it and the header. To
  // be called once. False with `error` set where the bundle would not load or
  // the sink returned false.
  bool finish(const Manifest &manifest, std::string &error);

private:
  struct Entry {
    SectionKind kind;
    uint64_t offset, size;
    Digest digest;
  };
  bool hasRoom();
  // Behind what has been written; its hash is to come.
  Entry place(SectionKind kind, uint64_t size);
  Entry writeWhole(SectionKind kind, ByteSpan bytes);
  void put(uint64_t offset, ByteSpan bytes);
  void fail(const std::string &what);

  size_t mostSections;
  Sink sink;
  std::vector<Entry> entries;
  uint64_t end;
  std::string failure; // the first, or empty
};

// Checks the references of a checked manifest to sections of the given kinds
// and sizes (the manifest itself is section 0).
struct SectionShape {
  SectionKind kind;
  uint64_t size;
};
bool checkReferences(const Manifest &manifest,
                     const std::vector<SectionShape> &sections,
                     std::string &error);

// A file in memory, read-only. Small ones are read. Larger ones are mapped:
// whoever shortens one of those while it is in use raises SIGBUS.
class MappedFile {
public:
  static constexpr uint64_t mostRead = uint64_t(16) << 20;

  MappedFile() = default;
  MappedFile(MappedFile &&other) noexcept { *this = std::move(other); }
  MappedFile &operator=(MappedFile &&other) noexcept;
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;
  ~MappedFile();

  bool open(const std::string &path, std::string &error);
  ByteSpan bytes() const { return span; }
  // Gives back the memory of these bytes of it, where they are mapped: so many
  // threads do what one would do at the end. They may be read again.
  void release(ByteSpan bytes) const;

private:
  ByteSpan span;
  bool isMapped = false;
};

} // namespace fusec::format

#endif
