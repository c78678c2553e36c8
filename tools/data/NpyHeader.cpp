// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/data/NpyHeader.h"
#include <fmt/core.h>

namespace fusec::data {

// NumPy itself stops at 64.
static constexpr size_t maxRank = 64;

namespace {
struct Code {
  std::string_view code;
  DType dtype;
};
} // namespace

static constexpr Code codes[] = {
    {"b1", DType::Bool}, {"i1", DType::I8},   {"i2", DType::I16},
    {"i4", DType::I32},  {"i8", DType::I64},  {"u1", DType::U8},
    {"u2", DType::U16},  {"u4", DType::U32},  {"u8", DType::U64},
    {"f2", DType::F16},  {"V2", DType::BF16}, {"f4", DType::F32},
    {"f8", DType::F64}};

namespace {
/// A cursor over the dictionary; the first failure sticks, with its position.
class Parser {
public:
  explicit Parser(std::string_view text) : text(text) {}

  std::string error;

  bool fail(const std::string &expected) {
    if (error.empty()) {
      std::string found = at < text.size()
                              ? fmt::format("'{}'", text.substr(at, 12))
                              : "the end";
      for (char &c : found)
        if (static_cast<unsigned char>(c) < 0x20 ||
            static_cast<unsigned char>(c) > 0x7e)
          c = '?';
      error = fmt::format("header: expected {} at character {}, found {}",
                          expected, at, found);
    }
    return false;
  }
  void skipSpace() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\n' ||
                                text[at] == '\t' || text[at] == '\r'))
      ++at;
  }
  bool accept(std::string_view token) {
    skipSpace();
    if (text.substr(at, token.size()) != token)
      return false;
    at += token.size();
    return true;
  }
  bool expect(std::string_view token) {
    return accept(token) || fail(fmt::format("'{}'", token));
  }
  bool string(std::string_view &value) {
    skipSpace();
    if (at >= text.size() || (text[at] != '\'' && text[at] != '"'))
      return fail("a quoted string");
    size_t end = text.find(text[at], at + 1);
    if (end == std::string_view::npos)
      return fail("a closed string");
    value = text.substr(at + 1, end - at - 1);
    at = end + 1;
    return true;
  }
  bool integer(int64_t &value) {
    skipSpace();
    size_t begin = at;
    value = 0;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
      if (__builtin_mul_overflow(value, int64_t(10), &value) ||
          __builtin_add_overflow(value, int64_t(text[at] - '0'), &value))
        return at = begin, fail("a size below 2^63");
    if (at == begin)
      return fail("a size");
    if (at < text.size() && text[at] == 'L') // Python 2 wrote 3L.
      ++at;
    return true;
  }
  bool end() {
    skipSpace();
    return at == text.size() || fail("the end");
  }

private:
  std::string_view text;
  size_t at = 0;
};
} // namespace

static bool parseDescr(Parser &parser, NpyHeader &header) {
  std::string_view descr;
  if (!parser.string(descr))
    return false;
  std::string_view code = descr;
  char order = '=';
  if (!code.empty() &&
      std::string_view("<>|=").find(code[0]) != std::string_view::npos) {
    order = code[0];
    code.remove_prefix(1);
  }
  if (code == "?")
    code = "b1";
  for (const Code &entry : codes) {
    if (entry.code != code)
      continue;
    header.dtype = entry.dtype;
    header.swapped = order == '>';
    return true;
  }
  parser.error = fmt::format(
      "header: expected an element type of b1, i1 to i8, u1 to u8, f2, f4, f8 "
      "or V2 (bf16), found '{}'; convert the array with astype",
      descr.substr(0, 32));
  return false;
}

static bool parseShape(Parser &parser, NpyHeader &header) {
  if (!parser.expect("("))
    return false;
  while (!parser.accept(")")) {
    int64_t size = 0;
    if (!parser.integer(size))
      return false;
    if (header.sizes.size() == maxRank)
      return parser.fail("at most 64 sizes");
    header.sizes.push_back(size);
    if (!parser.accept(","))
      return parser.expect(")");
  }
  return true;
}

Result<NpyHeader> parseNpyHeader(std::string_view text) {
  using R = Result<NpyHeader>;
  NpyHeader header;
  Parser parser(text);
  bool descr = false, order = false, shape = false;
  bool ok = parser.expect("{");
  while (ok && !parser.accept("}")) {
    std::string_view key;
    if (!parser.string(key) || !parser.expect(":")) {
      ok = false;
    } else if (key == "descr" && !descr) {
      descr = true;
      ok = parseDescr(parser, header);
    } else if (key == "shape" && !shape) {
      shape = true;
      ok = parseShape(parser, header);
    } else if (key == "fortran_order" && !order) {
      order = true;
      header.fortranOrder = parser.accept("True");
      ok = header.fortranOrder || parser.accept("False") ||
           parser.fail("True or False");
    } else {
      ok = parser.fail("one each of the keys descr, fortran_order and shape");
    }
    if (ok && !parser.accept(",")) {
      ok = parser.expect("}");
      break;
    }
  }
  if (!ok || !parser.end())
    return R::failure(parser.error);
  if (!descr || !order || !shape)
    return R::failure("header: expected the keys descr, fortran_order and "
                      "shape, found fewer");
  return header;
}

std::string formatNpyHeader(DType dtype, const std::vector<int64_t> &sizes) {
  std::string_view code;
  for (const Code &entry : codes)
    if (entry.dtype == dtype)
      code = entry.code;
  bool plain = format::dtypeSize(dtype) == 1 || dtype == DType::BF16;
  std::string text =
      fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': (",
                  plain ? '|' : '<', code);
  for (size_t i = 0; i < sizes.size(); ++i)
    text += fmt::format("{}{}", i ? ", " : "", sizes[i]);
  text += sizes.size() == 1 ? ",), }" : "), }";
  // Data begin at a multiple of 64; the dictionary ends in a newline.
  constexpr size_t prefix = 10;
  size_t total = (prefix + text.size() + 1 + 63) / 64 * 64;
  text.append(total - prefix - text.size() - 1, ' ').push_back('\n');
  size_t length = text.size();
  std::string header("\x93NUMPY\x01\x00", 8);
  header.push_back(char(length & 0xff));
  header.push_back(char(length >> 8));
  return header + text;
}

} // namespace fusec::data
