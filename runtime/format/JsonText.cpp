// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Building a JSON value from the parser's events. The library's own way to look
// into its parsing, a callback, searches each array again whenever one of its
// objects ends.

#include "runtime/format/JsonText.h"

#include "runtime/format/Where.h"

#include <nlohmann/json.hpp>
#include <vector>

namespace fusec::format {

namespace {
class Builder final : public nlohmann::json_sax<nlohmann::json> {
  using Json = nlohmann::json;

public:
  Builder(size_t maxDepth, const char *what) : maxDepth(maxDepth), what(what) {}

  Json take() { return std::move(root); }

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(int64_t value) override { return put(value); }
  bool number_unsigned(uint64_t value) override { return put(value); }
  bool number_float(double value, const std::string &) override {
    return put(value);
  }
  bool string(std::string &value) override { return put(std::move(value)); }
  bool binary(Json::binary_t &) override { return false; } // of no text
  bool start_object(size_t) override { return open(Json::object()); }
  bool start_array(size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string &name) override {
    auto [place, isNew] =
        around.back()->get_ref<Json::object_t &>().try_emplace(name);
    if (!isNew)
      fail("'" + shorten(name) + "' occurs twice");
    member = &place->second;
    return true;
  }

  bool parse_error(size_t, const std::string &,
                   const nlohmann::detail::exception &failure) override {
    fail("not valid JSON: " + shorten(failure.what(), 200));
  }

private:
  [[noreturn]] void fail(const std::string &message) {
    throw ReadError{std::string(what) + ": " + message};
  }

  // Puts a value where the text has it.
  bool put(Json value) {
    if (around.size() > maxDepth)
      fail("expected at most " + std::to_string(maxDepth) + " nested values");
    if (around.empty()) {
      root = std::move(value);
      last = &root;
    } else if (around.back()->is_array()) {
      around.back()->push_back(std::move(value));
      last = &around.back()->back();
    } else {
      *member = std::move(value);
      last = member;
    }
    return true;
  }
  bool open(Json value) {
    put(std::move(value));
    around.push_back(last);
    return true;
  }
  bool close() {
    around.pop_back();
    return true;
  }

  size_t maxDepth;
  const char *what;
  Json root;
  std::vector<Json *> around; // arrays and objects that have not ended
  Json *member = nullptr;     // that was named last
  Json *last = nullptr;       // value that was put
};
} // namespace

nlohmann::json parseJson(std::string_view text, size_t maxDepth,
                         const char *what) {
  Builder builder(maxDepth, what);
  nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

} // namespace fusec::format
