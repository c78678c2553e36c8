// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/fuzz/ModelMutator.h"
#include "test/fuzz/GraphMutator.h"
#include "test/unit/damaged/RandomNodes.h"
#include "test/unit/damaged/WireMessage.h"

using namespace fusec;
using namespace fusec::fuzz;

/// Tags and varints that say the same in more bytes, or in more bits than
/// there are.
static std::string stretchVarint(std::string bytes, Random &random) {
  if (bytes.empty())
    return bytes;
  size_t at = random() % bytes.size();
  std::string tail;
  switch (random() % 3) {
  case 0:
    tail = std::string(1 + random() % 9, '\x80') + '\0';
    break;
  case 1:
    tail = std::string(8, '\xff') + char(random());
    break;
  default:
    tail = std::string(4, '\x80') + char(random() % 128);
  }
  bytes[at] = char(bytes[at] | 0x80);
  return bytes.insert(at + 1, tail);
}

static std::string damageFields(std::string_view bytes, std::string_view donor,
                                Random &random) {
  auto message = test::parseWire(bytes);
  auto source = test::parseWire(donor);
  if (!message)
    return "";
  if (!source)
    source = message;
  unsigned times = 1 + random() % 3;
  for (unsigned i = 0; i != times; ++i)
    test::damage(*message, *source, random);
  return test::writeWire(*message);
}

std::string fusec::fuzz::mutateModel(std::string_view bytes,
                                     std::string_view donor, size_t maxSize,
                                     Random &random) {
  switch (random() % 32) {
  case 0:
    return mutateBytes(bytes, maxSize);
  case 1:
    return stretchVarint(std::string(bytes), random);
  case 2:
    return test::makeRandomNodes(random);
  case 3:
  case 4:
  case 5:
  case 6:
  case 7:
    return damageFields(bytes, donor, random);
  default:
    return mutateGraph(bytes, donor, random);
  }
}
