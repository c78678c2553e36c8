// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/schedule/TuningFile.h"
#include "compiler/schedule/Targets.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/SHA256.h"

#include <fmt/core.h>
#include <tuple>

using namespace fusec;
namespace json = llvm::json;

static constexpr llvm::StringLiteral formatName = "fusec-tuning";
static constexpr int64_t formatVersion = 1;
/// What print() writes nests five deep; the parser of JSON recurses.
static constexpr unsigned maxDepth = 16;

static auto getOrder(const TuningEntry &entry) {
  return std::tie(entry.key.family, entry.key.region, entry.key.operands,
                  entry.key.precision, entry.sizes);
}
bool TuningEntry::isSame(const TuningEntry &other) const {
  return getOrder(*this) == getOrder(other);
}
bool TuningEntry::operator<(const TuningEntry &other) const {
  return getOrder(*this) < getOrder(other);
}

void fusec::dropEntry(TuningDevice &device, const TuningEntry &entry) {
  llvm::erase_if(device.entries,
                 [&](const TuningEntry &e) { return e.isSame(entry); });
}

void fusec::setEntry(TuningDevice &device, TuningEntry entry) {
  dropEntry(device, entry);
  device.entries.push_back(std::move(entry));
}

const TuningDevice *TuningFile::find(llvm::StringRef target) const {
  for (const TuningDevice &device : devices)
    if (device.target == target && device.keyVersion == tuningKeyVersion)
      return &device;
  return nullptr;
}

std::string fusec::getScheduleText(mlir::Attribute schedule) {
  std::string text;
  llvm::raw_string_ostream(text) << schedule;
  llvm::StringRef inner = text;
  inner.consume_front("#fusec.");
  return inner.str();
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static json::Value toJson(const MeasuredSchedule &measured) {
  return json::Object{{"nanoseconds", measured.nanoseconds},
                      {"schedule", measured.schedule}};
}

static json::Value toJson(const TuningEntry &entry) {
  json::Object sizes;
  for (const auto &[name, size] : entry.sizes)
    sizes[name] = size;
  return json::Object{
      {"family", entry.key.family},       {"kernel", entry.kernel},
      {"model", toJson(entry.model)},     {"operands", entry.key.operands},
      {"precision", entry.key.precision}, {"region", entry.key.region},
      {"sizes", std::move(sizes)},        {"tuned", toJson(entry.tuned)}};
}

std::string TuningFile::print() const {
  std::vector<const TuningDevice *> order;
  for (const TuningDevice &device : devices)
    order.push_back(&device);
  llvm::sort(order, [](const TuningDevice *a, const TuningDevice *b) {
    return a->target < b->target;
  });
  json::Array all;
  for (const TuningDevice *device : order) {
    std::vector<TuningEntry> sorted = device->entries;
    llvm::sort(sorted);
    json::Array entries;
    for (const TuningEntry &entry : sorted)
      entries.push_back(toJson(entry));
    all.push_back(json::Object{{"entries", std::move(entries)},
                               {"keys", device->keyVersion},
                               {"multiprocessors", device->multiprocessors},
                               {"name", json::fixUTF8(device->name)},
                               {"target", device->target}});
  }
  json::Value file = json::Object{{"devices", std::move(all)},
                                  {"format", formatName},
                                  {"version", formatVersion}};
  return llvm::formatv("{0:2}\n", file).str();
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static bool isTooDeep(llvm::StringRef text) {
  unsigned depth = 0;
  bool inString = false;
  for (size_t i = 0; i != text.size(); ++i) {
    char c = text[i];
    if (inString) {
      if (c == '\\')
        i = std::min(i + 1, text.size() - 1);
      inString = c != '"';
    } else if (c == '"') {
      inString = true;
    } else if (c == '[' || c == '{') {
      if (++depth > maxDepth)
        return true;
    } else if ((c == ']' || c == '}') && depth) {
      --depth;
    }
  }
  return false;
}

// As the mappers of JSON find them.
namespace fusec {
static bool fromJSON(const json::Value &value, MeasuredSchedule &measured,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  if (!map || !map.map("schedule", measured.schedule) ||
      !map.map("nanoseconds", measured.nanoseconds))
    return false;
  if (measured.nanoseconds > 0)
    return true;
  path.field("nanoseconds").report("expected a number above zero");
  return false;
}

static bool fromJSON(const json::Value &value, TuningEntry &entry,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("family", entry.key.family) &&
         map.map("kernel", entry.kernel) && map.map("model", entry.model) &&
         map.map("operands", entry.key.operands) &&
         map.map("precision", entry.key.precision) &&
         map.map("region", entry.key.region) && map.map("sizes", entry.sizes) &&
         map.map("tuned", entry.tuned);
}

static bool fromJSON(const json::Value &value, TuningDevice &device,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  if (!map || !map.map("keys", device.keyVersion) ||
      !map.map("multiprocessors", device.multiprocessors) ||
      !map.map("name", device.name) || !map.map("target", device.target))
    return false;
  // Entries of other versions may have other members.
  if (device.keyVersion != tuningKeyVersion)
    return true;
  if (!map.map("entries", device.entries))
    return false;
  std::vector<TuningEntry> sorted = device.entries;
  llvm::sort(sorted);
  for (size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i].isSame(sorted[i - 1])) {
      path.field("entries").report("expected one entry a problem");
      return false;
    }
  return true;
}

} // namespace fusec

llvm::Expected<TuningFile> TuningFile::parse(llvm::StringRef text) {
  auto fail = [](const llvm::Twine &message) {
    return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
  };
  if (isTooDeep(text))
    return fail(
        fmt::format("expected JSON that nests at most {} deep", maxDepth));
  llvm::Expected<json::Value> value = json::parse(text);
  if (!value)
    return value.takeError();
  json::Path::Root root("tuning file");
  TuningFile file;
  std::string format;
  int64_t version = 0;
  json::ObjectMapper map(*value, root);
  if (!map || !map.map("format", format) || !map.map("version", version))
    return root.getError();
  if (format != formatName || version != formatVersion)
    return fail(fmt::format(
        "expected format '{}' of version {}, got '{}' of version {}",
        formatName, formatVersion, format, version));
  if (!map.map("devices", file.devices))
    return root.getError();
  for (auto [i, device] : llvm::enumerate(file.devices))
    for (const TuningDevice &other : llvm::ArrayRef(file.devices).take_front(i))
      if (device.target == other.target)
        return fail(fmt::format(
            "expected one device a target, got '{}' and '{}' for {}",
            other.name, device.name, device.target));
  file.digest =
      llvm::toHex(llvm::SHA256::hash(llvm::arrayRefFromStringRef(text)),
                  /*LowerCase=*/true);
  return file;
}
