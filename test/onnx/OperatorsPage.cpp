// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes docs/operators.md from the importer's handlers and the node suite's
// expected results, or checks that the page is what they say.
//
//   operators-page EXPECTED.txt PAGE.md            exit 1 where the page
//   differs operators-page EXPECTED.txt PAGE.md --update   writes it

#include "frontends/onnx/Importer.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace fusec;

static std::string read(const char *path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  return file ? (*file)->getBuffer().str() : std::string();
}

/// Results of the node suite, counted.
static std::pair<unsigned, unsigned> countResults(llvm::StringRef expected) {
  unsigned passed = 0, refused = 0;
  while (!expected.empty()) {
    auto [line, rest] = expected.split('\n');
    passed += line.split(' ').second.starts_with("pass");
    refused += line.contains("refused: ");
    expected = rest;
  }
  return {passed, refused};
}

static std::string makePage(llvm::StringRef expected) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto [passed, refused] = countResults(expected);
  os << "# Operators\n\n"
     << "What the importer reads of ONNX, opsets " << onnx::oldestOpset
     << " to " << onnx::newestOpset
     << ". The page is generated from the handlers; a test fails where it is "
        "out of date.\n\n"
     << "Of the ONNX node tests " << passed
     << " are in the suite and pass, the other " << refused
     << " are refused with the reason that `test/onnx/expected.txt` gives. "
        "Operands that determine shapes must be constants after folding. A "
        "model has at most "
     << onnx::maxNodes
     << " nodes, those of a function's body counted once a call, and calls "
        "nest "
     << onnx::maxCallDepth << " deep; it becomes at most "
     << onnx::maxOperations << " operations.\n\n"
     << "| operator | from opset | types of the first input | limits |\n"
     << "|---|---|---|---|\n";
  for (const onnx::OperatorDescription &op : onnx::describeOperators())
    os << "| " << op.name << " | " << op.sinceVersion << " | " << op.types
       << " | " << op.limits << " |\n";
  return text;
}

int main(int argc, char **argv) {
  if (argc < 3) {
    llvm::errs() << "usage: operators-page EXPECTED.txt PAGE.md [--update]\n";
    return 2;
  }
  std::string page = makePage(read(argv[1]));
  if (argc > 3 && llvm::StringRef(argv[3]) == "--update") {
    std::error_code error;
    llvm::raw_fd_ostream file(argv[2], error);
    if (error) {
      llvm::errs() << argv[2] << ": " << error.message() << "\n";
      return 1;
    }
    file << page;
    return 0;
  }
  if (page == read(argv[2]))
    return 0;
  llvm::errs() << argv[2]
               << " is out of date; run this program again with --update\n";
  return 1;
}
