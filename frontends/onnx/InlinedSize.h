// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a graph becomes when the calls in it are replaced by the bodies of the
// model's functions. Calls can double with each level of nesting, so that this
// is known before anything is built.

#ifndef FUSEC_FRONTENDS_ONNX_INLINEDSIZE_H
#define FUSEC_FRONTENDS_ONNX_INLINEDSIZE_H

#include "frontends/onnx/proto/onnx.pb.h"
#include "llvm/ADT/StringMap.h"
#include <optional>

namespace fusec::onnx {

using Functions = llvm::StringMap<const ::onnx::FunctionProto *>;

/// The function that the node calls, or null.
const ::onnx::FunctionProto *findFunction(const Functions &functions,
                                          const ::onnx::NodeProto &node);
std::string getFunctionKey(llvm::StringRef domain, llvm::StringRef name,
                           llvm::StringRef overload);
/// "" for each spelling of the default domain.
llvm::StringRef normalizeDomain(llvm::StringRef domain);

struct InlinedSize {
  uint64_t nodes = 0; // calls among them
  uint64_t parts = 0; // inputs, outputs and attributes of nodes and functions
};

/// Nothing where calls nest deeper than `maxDepth`; numbers saturate.
std::optional<InlinedSize> getInlinedSize(const ::onnx::GraphProto &graph,
                                          const Functions &functions,
                                          unsigned maxDepth);

} // namespace fusec::onnx

#endif // FUSEC_FRONTENDS_ONNX_INLINEDSIZE_H
