// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading a bundle: every byte of the file is either checked here or covered
// by a hash.

#include "runtime/format/BundleLayout.h"
#include "runtime/format/CodeCheck.h"
#include "runtime/format/KernelParams.h"
#include "runtime/format/SectionCheck.h"
#include "runtime/format/WeightsCheck.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <tuple>

namespace fusec::format {

namespace {
std::string text(uint64_t number) { return std::to_string(number); }

[[noreturn]] void fail(const std::string &what) {
  throw ReadError{"bundle: " + what};
}

bool isZero(const uint8_t *bytes, uint64_t size) {
  return size == 0 ||
         (bytes[0] == 0 && std::memcmp(bytes, bytes + 1, size - 1) == 0);
}

void checkHeader(ByteSpan file) {
  if (file.size < headerSize)
    fail("expected a header of " + text(headerSize) + " bytes, found " +
         text(file.size));
  if (std::memcmp(file.data, magic, 8) != 0)
    fail("expected the magic 'FUSECBDL' at offset 0: this is not a fusec "
         "bundle");
  uint32_t major = loadLittle<uint32_t>(file.data + 8);
  uint32_t minor = loadLittle<uint32_t>(file.data + 12);
  if (major != formatMajor || minor > formatMinor || minor + 1 < formatMinor)
    fail("expected format " + text(formatMajor) + "." + text(formatMinor) +
         " or the minor version before it, found " + text(major) + "." +
         text(minor) + "; compile the model again with this version of fusec");
  uint64_t size = loadLittle<uint64_t>(file.data + 16);
  if (size != file.size)
    fail("expected " + text(size) + " bytes as the header says, found " +
         text(file.size) + ": the file is truncated or damaged");
  uint32_t count = loadLittle<uint32_t>(file.data + 24);
  if (count < 1 || count > maxSections)
    fail("expected 1 to " + text(maxSections) + " sections, found " +
         text(count));
  if (count > (file.size - headerSize) / entrySize)
    fail("expected a table of " + text(count) +
         " sections, found the end of the file");
  Digest digest =
      headerDigest(file.data, file.data + headerSize, count * entrySize);
  if (std::memcmp(digest.data(), file.data + digestOffset, digest.size()) != 0)
    fail("header and section table do not match their hash: the file is "
         "damaged");
  if (loadLittle<uint32_t>(file.data + 28) != 0)
    fail("expected 0 at offset 28");
}

Section readEntry(ByteSpan file, size_t index) {
  const uint8_t *entry = file.data + headerSize + index * entrySize;
  std::string name = "section " + text(index);
  uint32_t kind = loadLittle<uint32_t>(entry);
  if (kind < 1 || kind > unsigned(SectionKind::Weights))
    fail(name + ": expected a kind of 1 to 4, found " + text(kind));
  if ((index == 0) != (SectionKind(kind) == SectionKind::Manifest))
    fail(name + ": expected the manifest as section 0 and nowhere else");
  if (uint32_t flags = loadLittle<uint32_t>(entry + 4))
    fail(name + ": expected flags 0, found " + text(flags));
  uint64_t offset = loadLittle<uint64_t>(entry + 8);
  uint64_t size = loadLittle<uint64_t>(entry + 16);
  if (offset % sectionAlignment != 0)
    fail(name + ": expected an offset that is a multiple of " +
         text(sectionAlignment) + ", found " + text(offset));
  if (offset > file.size || size > file.size - offset)
    fail(name + ": expected a range within the file's " + text(file.size) +
         " bytes, found " + text(size) + " bytes at offset " + text(offset));
  Section section{SectionKind(kind), {file.data + offset, size_t(size)}, {}};
  std::memcpy(section.digest.data(), entry + 24, section.digest.size());
  return section;
}

// Sections may lie in any order, but one behind the other, between zeros.
void checkOrder(ByteSpan file, const std::vector<Section> &sections) {
  std::vector<size_t> order(sections.size());
  std::iota(order.begin(), order.end(), size_t(0));
  // An empty one may begin where another does.
  auto place = [&](size_t index) {
    const ByteSpan &bytes = sections[index].bytes;
    return std::tuple(bytes.data, bytes.size != 0, index);
  };
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return place(a) < place(b); });
  uint64_t end = headerSize + sections.size() * entrySize;
  for (size_t index : order) {
    uint64_t offset = uint64_t(sections[index].bytes.data - file.data);
    std::string name = "section " + text(index);
    if (offset < end)
      fail(name + ": offset " + text(offset) + " lies before the end " +
           text(end) + " of what precedes it");
    if (!isZero(file.data + end, offset - end))
      fail(name + ": expected zeros between offset " + text(end) + " and " +
           text(offset));
    end = offset + sections[index].bytes.size;
  }
  if (end != file.size)
    fail("expected the last section to end at " + text(file.size) + ", found " +
         text(end));
}

std::vector<Section> readTable(ByteSpan file) {
  size_t count = loadLittle<uint32_t>(file.data + 24);
  std::vector<Section> sections;
  for (size_t i = 0; i != count; ++i)
    sections.push_back(readEntry(file, i));
  checkOrder(file, sections);
  return sections;
}

} // namespace

const char *sectionKindName(SectionKind kind) {
  constexpr const char *names[] = {"", "manifest", "cubin", "ptx", "weights"};
  return names[unsigned(kind)];
}

std::string sectionText(const std::vector<Section> &sections, size_t index) {
  return "bundle: section " + text(index) + " (" +
         sectionKindName(sections[index].kind) + ")";
}

void checkDigest(const std::vector<Section> &sections, size_t index,
                 const Digest &found) {
  if (found != sections[index].digest)
    throw ReadError{sectionText(sections, index) + ": expected the hash " +
                    toHex(sections[index].digest) + ", found " + toHex(found) +
                    ": the file is damaged"};
}

bool Bundle::open(ByteSpan file, HashWeights hash, Bundle &bundle,
                  std::string &error) {
  Bundle opened;
  try {
    checkHeader(file);
    opened.theSections = readTable(file);
    for (size_t i = 0; i != opened.theSections.size(); ++i)
      if (opened.theSections[i].kind != SectionKind::Weights) {
        ByteSpan bytes = opened.theSections[i].bytes;
        checkDigest(opened.theSections, i,
                    Sha256::hash(bytes.data, bytes.size));
        checkCode(opened.theSections[i], sectionText(opened.theSections, i));
      }
  } catch (const ReadError &failure) {
    error = failure.message;
    return false;
  }
  ByteSpan manifest = opened.theSections.front().bytes;
  std::string_view json(reinterpret_cast<const char *>(manifest.data),
                        manifest.size);
  std::vector<SectionShape> shapes;
  for (const Section &section : opened.theSections)
    shapes.push_back({section.kind, section.bytes.size});
  if (!parseManifest(json, opened.theManifest, error) ||
      !checkReferences(opened.theManifest, shapes, error)) {
    error = "bundle: " + error;
    return false;
  }
  try {
    checkKernelParams(opened.theManifest, opened.theSections);
  } catch (const ReadError &failure) {
    error = "bundle: " + failure.message;
    return false;
  }
  if (opened.theManifest.minor != loadLittle<uint32_t>(file.data + 12)) {
    error = "bundle: header and manifest name different format versions";
    return false;
  }
  WeightsCheck weights(opened, hash);
  weights.hashRest(SIZE_MAX);
  if (!weights.finish(error))
    return false;
  bundle = std::move(opened);
  return true;
}

uint64_t Bundle::weightsSize() const {
  uint64_t bytes = 0;
  for (const Section &section : theSections)
    bytes += section.kind == SectionKind::Weights ? section.bytes.size : 0;
  return bytes;
}

ByteSpan Bundle::weightBytes(const Weight &weight) const {
  return {theSections[weight.section].bytes.data + weight.offset,
          size_t(weight.size)};
}

} // namespace fusec::format
