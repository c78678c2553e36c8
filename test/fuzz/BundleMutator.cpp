// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/fuzz/BundleMutator.h"
#include "runtime/format/BundleLayout.h"
#include "test/fuzz/BundleParts.h"
#include "test/fuzz/JsonMutator.h"

using namespace fusec;
using namespace fusec::fuzz;

void fusec::fuzz::setNumber(uint8_t *bytes, size_t size, Random &random) {
  static const uint64_t numbers[] = {0,
                                     1,
                                     2,
                                     3,
                                     8,
                                     64,
                                     255,
                                     256,
                                     4095,
                                     4096,
                                     4097,
                                     65535,
                                     65536,
                                     0x7fffffff,
                                     0x80000000,
                                     0xffffffff,
                                     uint64_t(1) << 32,
                                     INT64_MAX,
                                     uint64_t(1) << 63,
                                     UINT64_MAX,
                                     UINT64_MAX - 4095};
  size_t width = size_t(1) << random() % 4;
  if (size < width)
    return;
  size_t at = random() % (size / width) * width;
  uint64_t number = pick(numbers, random);
  if (random() % 3 == 0) {
    number = 0;
    for (size_t i = width; i-- > 0;)
      number = number << 8 | bytes[at + i];
    number += random() % 2 ? 1 : uint64_t(-1);
  }
  for (size_t i = 0; i != width; ++i)
    bytes[at + i] = uint8_t(number >> (8 * i));
}

static void mutateContent(BundlePart &part, const std::string &donor,
                          Random &random) {
  std::string &content = part.content;
  if (part.kind == uint32_t(format::SectionKind::Manifest)) {
    content = mutateJson(content, donor, content.size() + 4096, random);
    return;
  }
  if (content.empty() || random() % 4 == 0)
    content = mutateBytes(content, content.size() + 64);
  else if (random() % 8 == 0)
    content.resize(random() % (content.size() + 1));
  else
    setNumber(reinterpret_cast<uint8_t *>(content.data()), content.size(),
              random);
}

static void mutateParts(std::vector<BundlePart> &parts,
                        const std::vector<BundlePart> &donors, Random &random) {
  size_t index = random() % 3 ? 0 : random() % parts.size();
  const BundlePart &donor = donors[index % donors.size()];
  switch (random() % 16) {
  case 0:
    parts.push_back(pick(donors, random));
    return;
  case 1:
    if (parts.size() > 1)
      parts.erase(parts.begin() + long(random() % parts.size()));
    return;
  case 2:
    std::swap(pick(parts, random), pick(parts, random));
    return;
  case 3:
    parts[index].kind = uint32_t(random() % 7);
    return;
  case 4:
    parts[index].flags = uint32_t(random());
    return;
  case 5:
    parts[index].content = donor.content;
    return;
  default:
    mutateContent(parts[index], donor.content, random);
  }
}

std::string fusec::fuzz::mutateBundle(std::string_view bytes,
                                      std::string_view donor, size_t maxSize,
                                      Random &random) {
  auto parts = takeApart(bytes);
  if (!parts || random() % 32 == 0)
    return mutateBytes(bytes, maxSize);
  auto donors = takeApart(donor);
  if (!donors)
    donors = parts;
  mutateParts(*parts, *donors, random);
  if (parts->size() > 64)
    parts->resize(64);
  std::vector<uint8_t> file = putTogether(*parts);
  // The table may say something else than what is there.
  if (random() % 8 == 0)
    setNumber(file.data() + 8,
              format::headerSize - 8 + parts->size() * format::entrySize,
              random);
  return {file.begin(), file.end()};
}
