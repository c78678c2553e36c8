// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/codegen/KernelText.h"
#include "compiler/Names.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

/// Names of dimensions are data: a comment ends with its line, and a backslash
/// would continue it.
static std::string getSafeText(Expr expr) {
  std::string text = expr.str();
  for (char &c : text)
    if (!llvm::isPrint(c) || c == '\\' || c == '?')
      c = '_';
  return text;
}

static std::string getText(GuardAttr guard) {
  std::string value = getSafeText(Expr(guard.getRhs()));
  if (guard.getKind() == GuardKind::Aligned)
    return fmt::format("{} is aligned to {}",
                       getTensorName(guard.getBuffer().getValue()), value);
  // In the order of GuardKind.
  constexpr StringLiteral signs[] = {"<=", "<", ">=", ">", "==", "!="};
  return fmt::format("{} {} {}", getSafeText(Expr(guard.getLhs())),
                     signs[unsigned(guard.getKind())], value);
}

std::string fusec::describeKernel(StepOp step, VariantAttr variant) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "// " << sanitizeName(step.getName());
  if (!step.getSources().empty()) {
    os << ": ";
    llvm::interleaveComma(
        step.getSources().getAsRange<StringAttr>(), os,
        [&](StringAttr s) { os << sanitizeName(s.getValue()); });
  }
  if (!variant.getGuards().empty()) {
    os << "\n// where ";
    llvm::interleave(
        variant.getGuards(), os, [&](GuardAttr guard) { os << getText(guard); },
        " and ");
  }
  LaunchAttr launch = variant.getLaunch();
  os << "\n// grid " << getSafeText(Expr(launch.getBlocks())) << ", block "
     << launch.getThreads() << ", shared memory " << launch.getShared()
     << " bytes";
  if (launch.getCluster() > 1)
    os << ", cluster " << launch.getCluster();
  if (launch.getCooperative())
    os << ", cooperative";
  if (launch.getEarly())
    os << ", starts early";
  os << "\n";
  return text;
}

static void breakLine(StringRef line, llvm::raw_ostream &os) {
  constexpr size_t most = 120;
  if (line.size() <= most) {
    os << line << "\n";
    return;
  }
  std::string indent(line.find_first_not_of(' '), ' ');
  bool isComment = line.ltrim().starts_with("//");
  if (size_t comment = line.find(" // "); !isComment && comment != line.npos) {
    breakLine(indent + line.substr(comment + 1).str(), os);
    line = line.take_front(comment);
  }
  std::string next = indent + (isComment ? "// " : "    ");
  for (size_t first = 0; line.size() > most - first; first = next.size()) {
    size_t room = most - first;
    // Behind a comma, if it leaves no short line.
    size_t at = line.take_front(room).rfind(", ");
    at = at == line.npos || at < room / 2 ? line.take_front(room + 1).rfind(' ')
                                          : at + 1;
    if (at == line.npos || line.take_front(at).trim(" /").empty())
      break;
    os << line.take_front(at) << "\n" << next;
    line = line.drop_front(at + 1);
  }
  os << line << "\n";
}

std::string fusec::breakLines(StringRef text) {
  std::string broken;
  llvm::raw_string_ostream os(broken);
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    breakLine(line, os);
    text = rest;
  }
  return broken;
}

std::string fusec::braced(std::initializer_list<StringRef> members) {
  return fmt::format("{{{}}}", llvm::join(members, ", "));
}
