// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/fuzz/JsonMutator.h"

#include <nlohmann/json.hpp>

using namespace fusec::fuzz;
using Json = nlohmann::json;

/// Printing JSON recurses.
static bool isTooDeep(const Json &value, unsigned left = 80) {
  if (!value.is_structured())
    return false;
  if (left == 0)
    return true;
  for (const Json &element : value)
    if (isTooDeep(element, left - 1))
      return true;
  return false;
}

static Json parse(std::string_view text) {
  // The parser itself does not recurse.
  Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return value.is_discarded() || isTooDeep(value) ? Json() : value;
}

static void collect(Json &value, std::vector<Json *> &values) {
  values.push_back(&value);
  if (value.is_structured())
    for (Json &element : value)
      collect(element, values);
}

static Json pickNumber(const Json &value, Random &random) {
  static const int64_t edges[] = {0,
                                  1,
                                  -1,
                                  2,
                                  3,
                                  4,
                                  16,
                                  31,
                                  32,
                                  100,
                                  255,
                                  256,
                                  1024,
                                  4095,
                                  4096,
                                  65535,
                                  65536,
                                  INT32_MAX,
                                  INT32_MIN,
                                  UINT32_MAX,
                                  INT64_MAX,
                                  INT64_MIN,
                                  INT64_MAX - 1,
                                  int64_t(1) << 32,
                                  int64_t(1) << 62};
  int64_t number = value.is_number_integer() ? value.get<int64_t>() : 0;
  switch (random() % 8) {
  case 0:
    return Json(uint64_t(number) + 1);
  case 1:
    return Json(int64_t(uint64_t(number) - 1));
  case 2:
    return Json(int64_t(uint64_t(number) * 2));
  case 3:
    return Json(UINT64_MAX);
  case 4:
    return Json(0.5);
  default:
    return Json(pick(edges, random));
  }
}

/// An expression over what stands there, as manifests write them.
static Json wrap(const Json &value, const Json &other, Random &random) {
  static const char *const ops[] = {"+",       "-",   "*",   "floordiv",
                                    "ceildiv", "mod", "min", "max"};
  if (random() % 3 == 0)
    return Json::array({value});
  return Json::array({pick(ops, random), value, other});
}

static void changeString(std::string &text, Random &random) {
  text = mutateBytes(text, text.size() + 16);
}

/// Of an array or an object that is not empty.
static void changeElements(Json &value, Random &random) {
  auto element = value.begin();
  std::advance(element, random() % value.size());
  if (value.is_object()) {
    Json moved = *element;
    std::string key = element.key();
    if (random() % 2)
      value.erase(key);
    changeString(key, random);
    if (random() % 2)
      value[key] = std::move(moved);
    return;
  }
  switch (random() % 3) {
  case 0:
    value.erase(element);
    return;
  case 1: {
    Json copy = *element;
    unsigned times = random() % 8 ? 1 : 1 + random() % 64;
    for (unsigned i = 0; i != times; ++i)
      value.push_back(copy);
    return;
  }
  default:
    std::swap(*element, value[random() % value.size()]);
  }
}

static void changeValue(Json &value, Json other, Random &random) {
  if (random() % 4 == 0)
    value = std::move(other);
  else if (random() % 12 == 0)
    value = wrap(value, other, random);
  else if (value.is_structured() && !value.empty())
    changeElements(value, random);
  else if (value.is_number())
    value = pickNumber(value, random);
  else if (value.is_boolean())
    value = !value.get<bool>();
  else if (value.is_string())
    changeString(value.get_ref<std::string &>(), random);
  else
    value = std::move(other);
}

/// One of a document's values, numbers and texts rather than what holds them.
static Json &pickValue(Json &document, Random &random) {
  std::vector<Json *> values;
  collect(document, values);
  return *pick(values, random);
}

std::string fusec::fuzz::mutateJson(std::string_view text,
                                    std::string_view donor, size_t maxSize,
                                    Random &random) {
  Json document = random() % 16 ? parse(text) : Json();
  if (document.is_null())
    return mutateBytes(text, maxSize);
  Json source = donor == text ? document : parse(donor);
  unsigned times = 1 + random() % 4;
  for (unsigned i = 0; i != times; ++i) {
    Json other = pickValue(source, random);
    Json &value = pickValue(document, random);
    changeValue(value, std::move(other), random);
  }
  if (isTooDeep(document))
    return mutateBytes(text, maxSize);
  // As compact as manifests are, or as readable as tuning files.
  return document.dump(random() % 2 ? -1 : 1, ' ', false,
                       Json::error_handler_t::replace);
}
