// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/codegen/nvrtc/NvrtcLog.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace fusec {

/// Calls `handle` for each line, without its end.
template <typename Handler>
static void eachLine(StringRef text, Handler handle) {
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    handle(line.rtrim('\r'));
    text = rest;
  }
}

/// The number in front of `unit`: 256 in ", 256 bytes smem" for " bytes smem".
static unsigned numberBefore(StringRef line, StringRef unit) {
  size_t at = line.find(unit);
  if (at == StringRef::npos)
    return 0;
  StringRef digits = line.take_front(at);
  size_t begin = digits.find_last_not_of("0123456789");
  unsigned value = 0;
  if (digits.drop_front(begin == StringRef::npos ? 0 : begin + 1)
          .getAsInteger(10, value))
    return 0;
  return value;
}

/// The text between the first two quotes.
static StringRef quoted(StringRef line) {
  return line.split('\'').second.split('\'').first;
}

static void sortBySymbol(std::vector<KernelUsage> &kernels) {
  llvm::sort(kernels, [](const KernelUsage &a, const KernelUsage &b) {
    return a.symbol < b.symbol;
  });
}

std::string stableLog(StringRef log) {
  std::string result;
  eachLine(log.rtrim(StringRef("\0\n", 2)), [&](StringRef line) {
    if (!line.contains("Compile time = "))
      result += (line + "\n").str();
  });
  return result;
}

std::vector<KernelUsage> parseUsage(StringRef log) {
  std::vector<KernelUsage> kernels;
  // Functions that were not inlined have a frame of their own; whichever
  // kernel calls them pays for it.
  KernelUsage called;
  bool inKernel = false;
  eachLine(log, [&](StringRef line) {
    if (line.contains("Compiling entry function")) {
      kernels.emplace_back();
      kernels.back().symbol = quoted(line).str();
      return;
    }
    if (size_t at = line.find("Function properties for ");
        at != StringRef::npos) {
      StringRef function = line.drop_front(at + 24).trim(" '");
      inKernel = !kernels.empty() && kernels.back().symbol == function;
      return;
    }
    if (line.contains("bytes stack frame")) {
      KernelUsage &usage = inKernel ? kernels.back() : called;
      usage.stackBytes += numberBefore(line, " bytes stack frame");
      usage.spillBytes += numberBefore(line, " bytes spill stores") +
                          numberBefore(line, " bytes spill loads");
      return;
    }
    if (line.contains(" registers") && line.contains("Used ") &&
        !kernels.empty()) {
      kernels.back().registers = numberBefore(line, " registers");
      kernels.back().sharedBytes = numberBefore(line, " bytes smem");
    }
  });
  for (KernelUsage &kernel : kernels) {
    kernel.stackBytes += called.stackBytes;
    kernel.spillBytes += called.spillBytes;
  }
  sortBySymbol(kernels);
  return kernels;
}

std::vector<KernelUsage> parsePtxEntries(StringRef ptx) {
  std::vector<KernelUsage> kernels;
  eachLine(ptx, [&](StringRef line) {
    size_t at = line.find(".entry ");
    if (at == StringRef::npos || line.trim().starts_with("//"))
      return;
    StringRef symbol = line.drop_front(at + 7).ltrim().take_until(
        [](char c) { return c == '(' || isSpace(c); });
    kernels.emplace_back();
    kernels.back().symbol = symbol.str();
  });
  sortBySymbol(kernels);
  return kernels;
}

bool reportsSerializedMma(StringRef log) {
  for (size_t at = log.find("(C75"); at != StringRef::npos;
       at = log.find("(C75", at + 1)) {
    StringRef rest = log.drop_front(at + 4);
    if (rest.size() >= 3 && isDigit(rest[0]) && isDigit(rest[1]) &&
        rest[2] == ')')
      return true;
  }
  return false;
}

/// Splits "file(12): error: ..." and "file(12): catastrophic error: ...".
static bool parseLocation(StringRef line, StringRef &file, unsigned &number) {
  size_t at = line.find("): ");
  if (at == StringRef::npos || !line.drop_front(at).contains("error"))
    return false;
  size_t open = line.take_front(at).rfind('(');
  if (open == StringRef::npos)
    return false;
  file = line.take_front(open);
  return !line.slice(open + 1, at).getAsInteger(10, number) && number > 0;
}

static void printContext(raw_ostream &os, StringRef text, unsigned number) {
  constexpr unsigned around = 2;
  SmallVector<StringRef, 0> lines;
  text.split(lines, '\n');
  unsigned first = number > around ? number - around : 1;
  for (unsigned i = first; i <= number + around && i <= lines.size(); ++i)
    os << (i == number ? "  > " : "    ") << format("%5u | ", i)
       << lines[i - 1].rtrim('\r') << "\n";
}

std::string explainErrors(StringRef log, const CompileRequest &request) {
  constexpr unsigned maxExplained = 5;
  std::string result;
  raw_string_ostream os(result);
  unsigned explained = 0;
  StringRef file;
  unsigned number = 0;
  // The compiler ends a message, with its own line and caret, by an empty
  // line: the context follows there.
  auto printPending = [&] {
    StringRef text;
    if (file == request.name + ".cu")
      text = request.source;
    for (const KernelHeader &header : request.headers)
      if (file == header.name)
        text = header.text;
    if (!text.empty() && explained++ < maxExplained)
      printContext(os, text, number);
    file = {};
  };
  eachLine(log, [&](StringRef line) {
    StringRef nextFile;
    unsigned nextNumber = 0;
    bool starts = parseLocation(line, nextFile, nextNumber);
    if (starts || line.empty())
      printPending();
    os << line << "\n";
    if (starts) {
      file = nextFile;
      number = nextNumber;
    }
  });
  printPending();
  return result;
}

} // namespace fusec
