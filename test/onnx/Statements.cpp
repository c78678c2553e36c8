// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/onnx/Statements.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace llvm;

namespace fusec {

/// Loops are unrolled up to about as often, and vectors are no wider.
constexpr unsigned mostShaping = 16;

static bool isOfWord(char c) { return isAlnum(c) || c == '_'; }

static bool isKeyword(StringRef word) {
  static const StringSet<> words = {
      "const",  "constexpr", "static", "extern", "struct",   "template",
      "auto",   "void",      "bool",   "char",   "short",    "int",
      "long",   "unsigned",  "float",  "double", "if",       "else",
      "for",    "while",     "do",     "return", "break",    "continue",
      "switch", "case",      "true",   "false",  "operator", "sizeof"};
  return words.contains(word);
}

namespace {
/// Reads one statement, to the end of which it takes `text`.
class Reader {
public:
  explicit Reader(StringRef &text) : text(text) {}
  std::string read();

private:
  void takeWord();
  void takeNumber();
  void takeBracket();

  StringRef &text;
  std::string form;
  StringMap<size_t> numbers; // of the names
  unsigned templates = 0, brackets = 0, bounds = 0;
};
} // namespace

/// Types and what belongs to a namespace keep their names; those of values and
/// of the kernel are numbered as they appear.
void Reader::takeWord() {
  StringRef word = text.take_while(isOfWord);
  text = text.drop_front(word.size());
  if (word.starts_with("FUSEC_KERNEL") && text.starts_with("("))
    bounds = 1;
  StringRef base = word.rtrim("0123456789");
  bool isKept = isKeyword(word) || StringRef(form).ends_with("::") ||
                text.starts_with("::");
  if (isKept)
    form += word;
  else if (isUpper(word.front()))
    form += base.ends_with("_") ? base.drop_back() : word;
  else
    form += "$" + std::to_string(
                      numbers.try_emplace(word, numbers.size()).first->second);
}

void Reader::takeNumber() {
  StringRef word =
      text.take_while([](char c) { return isOfWord(c) || c == '.'; });
  text = text.drop_front(word.size());
  unsigned long long value = 0;
  bool isShaping = templates || brackets || bounds;
  if (!isShaping && word.contains('.'))
    form += "F";
  else if (isShaping || word.getAsInteger(10, value) || value <= mostShaping)
    form += word;
  else
    form += "N";
}

/// Formatted text has spaces around comparisons, and none at template
/// arguments.
void Reader::takeBracket() {
  char c = text.front();
  bool isTight = !form.empty() && !isSpace(form.back());
  if (c == '<')
    templates += isTight && isOfWord(form.back());
  else if (c == '>')
    templates -= templates && isTight && form.back() != '-';
  else if (c == '[')
    ++brackets;
  else if (c == ']')
    brackets -= brackets != 0;
  else if (bounds && c == '(')
    ++bounds;
  else if (bounds && c == ')')
    bounds = bounds == 2 ? 0 : bounds - 1;
  form += c;
  text = text.drop_front();
}

std::string Reader::read() {
  while (!text.empty()) {
    char c = text.front();
    if (text.starts_with("//")) {
      text = text.drop_until([](char c) { return c == '\n'; });
    } else if (isSpace(c)) {
      text = text.ltrim();
      if (!form.empty())
        form += ' ';
    } else if (isDigit(c)) {
      takeNumber();
    } else if (isOfWord(c)) {
      takeWord();
    } else {
      takeBracket();
      if (c == ';' || c == '{' || c == '}')
        break;
    }
  }
  return std::move(form);
}

std::vector<std::string> getStatements(StringRef text) {
  std::vector<std::string> statements;
  while (!text.empty())
    statements.push_back(Reader(text).read());
  return statements;
}

bool StatementSet::add(StringRef text, StringRef kind) {
  bool isNew = false;
  for (const std::string &statement : getStatements(text))
    isNew |= known.insert((kind + "\n" + statement).str()).second;
  return isNew;
}

} // namespace fusec
