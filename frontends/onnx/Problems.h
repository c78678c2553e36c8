// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the parts of the importer put what they find wrong. A node with a
// thousand faults must not hide the others, nor fill the memory.

#ifndef FUSEC_FRONTENDS_ONNX_PROBLEMS_H
#define FUSEC_FRONTENDS_ONNX_PROBLEMS_H

#include "frontends/onnx/Importer.h"

namespace fusec::onnx {

class Problems {
public:
  explicit Problems(ProblemList &list) : list(list), start(list.size()) {}

  /// Always failure, so that callers can return it. Texts become printable, and
  /// are cut to a length that people read.
  mlir::LogicalResult add(ProblemKind kind, const llvm::Twine &message,
                          const llvm::Twine &note = "",
                          llvm::StringRef node = "",
                          llvm::StringRef opType = "");

  bool any() const { return list.size() > start || dropped; }
  size_t size() const { return list.size() - start + dropped; }
  /// Drops what was found since construction, before a second pass.
  void clear() {
    list.resize(start);
    dropped = 0;
  }

private:
  ProblemList &list;
  size_t start, dropped = 0;
};

/// Printable and of bounded length: text from a model inside a message.
std::string quoted(llvm::StringRef name);

} // namespace fusec::onnx

#endif // FUSEC_FRONTENDS_ONNX_PROBLEMS_H
