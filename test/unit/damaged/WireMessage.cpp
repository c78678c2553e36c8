// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/unit/damaged/WireMessage.h"

#include <algorithm>
#include <iterator>

namespace fusec::test {

//===----------------------------------------------------------------------===//
// Reading and writing
//===----------------------------------------------------------------------===//

static bool readVarint(std::string_view &bytes, uint64_t &value) {
  value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    unsigned char byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= uint64_t(byte & 0x7f) << shift;
    if (byte < 0x80)
      return true;
  }
  return false;
}

static void writeVarint(uint64_t value, std::string &bytes) {
  for (; value >= 0x80; value >>= 7)
    bytes.push_back(char(value | 0x80));
  bytes.push_back(char(value));
}

std::optional<WireMessage> parseWire(std::string_view bytes, unsigned depth) {
  WireMessage message;
  if (depth == 0)
    return std::nullopt;
  while (!bytes.empty()) {
    WireField &field = message.emplace_back();
    uint64_t tag;
    if (!readVarint(bytes, tag) || tag < 8 || tag >> 3 > 1000)
      return std::nullopt;
    field.number = uint32_t(tag >> 3);
    field.type = unsigned(tag & 7);
    size_t width = field.type == 1 ? 8 : field.type == 5 ? 4 : 0;
    if (field.type == 0) {
      if (!readVarint(bytes, field.value))
        return std::nullopt;
    } else if (width) {
      if (bytes.size() < width)
        return std::nullopt;
      for (size_t i = width; i-- > 0;)
        field.value = field.value << 8 | static_cast<unsigned char>(bytes[i]);
      bytes.remove_prefix(width);
    } else if (field.type == 2) {
      uint64_t length;
      if (!readVarint(bytes, length) || length > bytes.size())
        return std::nullopt;
      std::string_view content = bytes.substr(0, length);
      bytes.remove_prefix(length);
      field.bytes = content;
      if (auto nested = parseWire(content, depth - 1); nested && length > 0) {
        field.isMessage = true;
        field.fields = std::move(*nested);
      }
    } else {
      return std::nullopt;
    }
  }
  return message;
}

std::string writeWire(const WireMessage &message) {
  std::string bytes;
  for (const WireField &field : message) {
    writeVarint(uint64_t(field.number) << 3 | field.type, bytes);
    if (field.type == 0) {
      writeVarint(field.value, bytes);
    } else if (field.type == 2) {
      std::string content =
          field.isMessage ? writeWire(field.fields) : field.bytes;
      writeVarint(content.size(), bytes);
      bytes += content;
    } else {
      for (int i = 0; i < (field.type == 1 ? 8 : 4); ++i)
        bytes.push_back(char(field.value >> (8 * i)));
    }
  }
  return bytes;
}

namespace {
/// Of `oneIn` numbers and fields one is written in an unusual way.
struct LooseWriter {
  std::mt19937 &random;
  unsigned oneIn;

  bool pick() { return random() % oneIn == 0; }

  /// Mostly within the bytes that a reader accepts.
  void writeNumber(uint64_t value, unsigned mostBytes, std::string &bytes) {
    size_t start = bytes.size();
    writeVarint(value, bytes);
    if (!pick())
      return;
    size_t length = 1 + random() % (mostBytes + random() % 3);
    while (bytes.size() - start < length) {
      bytes.back() = char(bytes.back() | 0x80);
      bytes.push_back(0);
    }
  }

  void writeTag(uint64_t number, unsigned type, std::string &bytes) {
    uint64_t tag = number << 3 | type;
    if (pick())
      tag |= uint64_t(1) << (29 + random() % 35);
    writeNumber(tag, 5, bytes);
  }

  /// A field of a number that no message of a model has.
  void writeUnknown(std::string &bytes) {
    constexpr uint64_t number = 777;
    unsigned type = random() % 8;
    writeTag(number, type, bytes);
    if (type == 0)
      writeNumber(random(), 10, bytes);
    else if (type == 1 || type == 5)
      bytes.append(type == 1 ? 8 : 4, char(random()));
    else if (type == 2)
      bytes.append("\x02\x12\x00", 3);
    else if (type == 3 && random() % 4)
      writeTag(number, 4, bytes);
  }

  std::string write(const WireMessage &message) {
    std::string bytes;
    for (const WireField &field : message) {
      if (pick() && pick())
        writeUnknown(bytes);
      if (field.type != 0 && field.type != 2) {
        bytes += writeWire({field});
        continue;
      }
      writeTag(field.number, field.type, bytes);
      if (field.type == 0) {
        writeNumber(field.value, 10, bytes);
        continue;
      }
      std::string content = field.isMessage ? write(field.fields) : field.bytes;
      writeNumber(content.size(), 5, bytes);
      bytes += content;
    }
    return bytes;
  }
};
} // namespace

std::string writeLoosely(const WireMessage &message, std::mt19937 &random) {
  // So that some messages have one such place, and others many.
  return LooseWriter{random, 4u << random() % 8}.write(message);
}

//===----------------------------------------------------------------------===//
// Damage
//===----------------------------------------------------------------------===//

namespace {
struct Place {
  WireMessage *parent;
  size_t index;
  WireField &field() const { return (*parent)[index]; }
};
} // namespace

static void collect(WireMessage &message, std::vector<Place> &places) {
  for (size_t i = 0; i < message.size(); ++i) {
    places.push_back({&message, i});
    collect(message[i].fields, places);
  }
}

static const uint64_t numbers[] = {0,
                                   1,
                                   2,
                                   7,
                                   16,
                                   127,
                                   uint64_t(1) << 31,
                                   (uint64_t(1) << 32) - 1,
                                   uint64_t(1) << 40,
                                   (uint64_t(1) << 63) - 1,
                                   uint64_t(1) << 63,
                                   ~uint64_t(0),
                                   ~uint64_t(0) - 1};

void damage(WireMessage &message, WireMessage &donor, std::mt19937 &random) {
  std::vector<Place> places, donors;
  collect(message, places);
  if (places.empty())
    return;
  Place place = places[random() % places.size()];
  WireField &field = place.field();
  WireMessage &parent = *place.parent;
  switch (random() % 6) {
  case 0:
    parent.erase(parent.begin() + long(place.index));
    return;
  case 1:
    parent.insert(parent.begin() + long(random() % parent.size()),
                  WireField(field));
    return;
  case 2:
    std::swap(field, parent[random() % parent.size()]);
    return;
  case 3:
    collect(donor, donors);
    donors.erase(std::remove_if(donors.begin(), donors.end(),
                                [&](const Place &other) {
                                  return other.field().number != field.number ||
                                         other.field().type != field.type;
                                }),
                 donors.end());
    if (!donors.empty())
      field = WireField(donors[random() % donors.size()].field());
    return;
  case 4:
    field.number = 1 + random() % 16;
    return;
  default:
    if (field.type != 2)
      field.value = numbers[random() % std::size(numbers)];
    else if (!field.isMessage && !field.bytes.empty())
      field.bytes[random() % field.bytes.size()] ^= char(1u << random() % 8);
    else if (!field.fields.empty())
      field.fields.resize(random() % field.fields.size());
  }
}

} // namespace fusec::test
