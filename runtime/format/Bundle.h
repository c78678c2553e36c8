// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bundle file: a header, a table of hashed sections and the sections, in
// one mappable piece. The reader trusts nothing, the writer streams.

#ifndef FUSEC_RUNTIME_FORMAT_BUNDLE_H
#define FUSEC_RUNTIME_FORMAT_BUNDLE_H

#include "runtime/format/Manifest.h"
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
  Weights = 4,
  Samples = 5
};
const char *sectionKindName(SectionKind kind);

inline constexpr uint64_t sectionAlignment = 4096;
// Weights are hashed as the SHA-256 of the SHA-256s of chunks of this size:
// small enough that a few MiB keep all threads busy.
inline constexpr uint64_t weightsChunk = uint64_t(4) << 20;
// Weights beyond this many bytes in all are hashed on request only.
inline constexpr uint64_t weightsHashedByDefault = uint64_t(256) << 20;

struct ByteSpan {
  const uint8_t *data = nullptr;
  size_t size = 0;
};

struct Section {
  SectionKind kind;
  ByteSpan bytes;
  Digest digest;
};

enum class HashWeights : uint8_t { Auto, Always, Never };

// A view of a bundle in memory, which must outlive it.
class Bundle {
public:
  // Checks magic, version, table, ranges, overlaps, padding and hashes, parses
  // the manifest and checks its references to sections.
  static bool open(ByteSpan file, HashWeights hash, Bundle &bundle,
                   std::string &error);
  // The hashes of weights alone: what open() leaves out if told Never.
  bool checkWeights(HashWeights hash, std::string &error) const;

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

// Collects the sections of a bundle and writes them in order of addition, the
// manifest first. Spans must stay valid until the bundle is written.
class BundleWriter {
public:
  // Bytes at an offset of a section; what lies between pieces is zero.
  struct Piece {
    uint64_t offset;
    ByteSpan bytes;
  };
  using Sink = std::function<bool(ByteSpan)>;

  // Return the section's index, for Launch::section and Weight::section.
  unsigned addSection(SectionKind kind, ByteSpan bytes);
  // Pieces in ascending order that do not overlap, within `size` bytes.
  unsigned addSection(SectionKind kind, std::vector<Piece> pieces,
                      uint64_t size);

  // Checks the manifest and its references, then hands the file to `sink`
  // piece by piece. False with `error` set where the bundle would not load or
  // the sink returned false.
  bool write(const Manifest &manifest, const Sink &sink,
             std::string &error) const;
  // Writes to a file beside `path` and renames it, so that a reader never sees
  // half a bundle.
  bool writeFile(const Manifest &manifest, const std::string &path,
                 std::string &error) const;

private:
  struct Entry {
    SectionKind kind;
    std::vector<Piece> pieces;
    uint64_t size;
  };
  std::vector<Entry> entries;
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
  MappedFile(MappedFile &&other) noexcept : span(other.span) {
    other.span = {};
  }
  MappedFile &operator=(MappedFile &&other) noexcept;
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;
  ~MappedFile();

  bool open(const std::string &path, std::string &error);
  ByteSpan bytes() const { return span; }

private:
  ByteSpan span;
};

} // namespace fusec::format

#endif
