// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Typed access to parsed JSON that knows the path of each value, so that a
// message can say where it is. Private to the parser of the manifest.

#ifndef FUSEC_RUNTIME_FORMAT_JSONREADER_H
#define FUSEC_RUNTIME_FORMAT_JSONREADER_H

#include "runtime/format/JsonText.h"
#include "runtime/format/Where.h"

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>

namespace fusec::format {

class JsonReader {
public:
  using Json = nlohmann::json;

  // The whole text; its members' paths begin with their own names.
  explicit JsonReader(const Json &value)
      : value(value), where("manifest"), root(true) {}

  [[noreturn]] void fail(const std::string &what) const { where.fail(what); }

  // An object whose members are all among `allowed`.
  void expectObject(std::initializer_list<const char *> allowed) const {
    expect(value.is_object(), "an object");
    for (const auto &item : value.items()) {
      bool known = false;
      for (const char *name : allowed)
        known |= item.key() == name;
      if (!known)
        fail("unknown member '" + shorten(item.key()) + "'");
    }
  }

  bool has(const char *name) const { return value.contains(name); }

  JsonReader operator[](const char *name) const {
    expect(value.is_object(), "an object");
    auto found = value.find(name);
    if (found == value.end())
      fail("member '" + std::string(name) + "' is missing");
    return JsonReader(*found, root ? Where(name) : where.member(name));
  }

  template <typename Function> void forEach(Function function) const {
    expect(value.is_array(), "an array");
    for (size_t i = 0; i != value.size(); ++i)
      function(JsonReader(value[i], where.at(i)));
  }

  size_t arraySize() const {
    expect(value.is_array(), "an array");
    return value.size();
  }
  JsonReader element(size_t index) const {
    return JsonReader(value[index], where.at(index));
  }

  bool isString() const { return value.is_string(); }
  bool isInteger() const { return value.is_number_integer(); }

  const std::string &string() const {
    expect(value.is_string(), "a string");
    return value.get_ref<const std::string &>();
  }
  bool boolean() const {
    expect(value.is_boolean(), "true or false");
    return value.get<bool>();
  }
  int64_t int64() const {
    expect(value.is_number_integer(), "an integer");
    if (value.is_number_unsigned() &&
        value.get<uint64_t>() > uint64_t(INT64_MAX))
      fail("expected an integer of at most 2^63 - 1, found " + found());
    return value.get<int64_t>();
  }
  uint64_t uint64() const {
    expect(value.is_number_unsigned(), "an integer of at least 0");
    return value.get<uint64_t>();
  }
  unsigned uint32() const {
    uint64_t number = uint64();
    if (number > UINT32_MAX)
      fail("expected an integer of at most 4294967295, found " + found());
    return unsigned(number);
  }
  // The text of a value whose structure is free.
  std::string text(bool wantArray) const {
    expect(wantArray ? value.is_array() : value.is_object(),
           wantArray ? "an array" : "an object");
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  const Json &json() const { return value; }

  std::string found() const {
    return shorten(value.dump(-1, ' ', false, Json::error_handler_t::replace));
  }

private:
  JsonReader(const Json &value, Where where) : value(value), where(where) {}

  void expect(bool holds, const char *what) const {
    if (!holds)
      fail("expected " + std::string(what) + ", found " + found());
  }

  const Json &value;
  Where where;
  bool root = false;
};

} // namespace fusec::format

#endif
