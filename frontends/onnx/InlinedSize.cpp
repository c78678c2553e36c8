// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "frontends/onnx/InlinedSize.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"
#include <fmt/core.h>

namespace fusec::onnx {

using llvm::SaturatingAdd;
using llvm::StringRef;
using ::onnx::FunctionProto;
using ::onnx::NodeProto;

StringRef normalizeDomain(StringRef domain) {
  return domain == "ai.onnx" ? "" : domain;
}

std::string getFunctionKey(StringRef domain, StringRef name,
                           StringRef overload) {
  return fmt::format("{}\n{}\n{}", normalizeDomain(domain), name, overload);
}

const FunctionProto *findFunction(const Functions &functions,
                                  const NodeProto &node) {
  if (functions.empty())
    return nullptr;
  auto it = functions.find(
      getFunctionKey(node.domain(), node.op_type(), node.overload()));
  return it == functions.end() ? nullptr : it->second;
}

namespace {
/// Visits each function once, however often it is called.
class SizeOfCalls {
public:
  SizeOfCalls(const Functions &functions, unsigned maxDepth)
      : functions(functions), maxDepth(maxDepth) {}

  struct Body {
    InlinedSize size;
    unsigned depth = 0; // of the calls in it
  };

  std::optional<Body>
  visit(const google::protobuf::RepeatedPtrField<NodeProto> &nodes,
        unsigned depth) {
    Body body;
    for (const NodeProto &node : nodes) {
      InlinedSize size{1, uint64_t(node.input_size()) + node.output_size() +
                              node.attribute_size()};
      if (const FunctionProto *function = findFunction(functions, node)) {
        std::optional<Body> callee = visit(*function, depth + 1);
        if (!callee)
          return std::nullopt;
        size.nodes = SaturatingAdd(size.nodes, callee->size.nodes);
        size.parts = SaturatingAdd(size.parts, callee->size.parts);
        body.depth = std::max(body.depth, callee->depth + 1);
      }
      body.size.nodes = SaturatingAdd(body.size.nodes, size.nodes);
      body.size.parts = SaturatingAdd(body.size.parts, size.parts);
    }
    return body;
  }

private:
  std::optional<Body> visit(const FunctionProto &function, unsigned depth) {
    // A function that calls itself goes beyond every depth.
    if (depth > maxDepth)
      return std::nullopt;
    auto it = known.find(&function);
    if (it == known.end()) {
      std::optional<Body> body = visit(function.node(), depth);
      if (!body)
        return std::nullopt;
      uint64_t interface =
          uint64_t(function.input_size()) + function.output_size() +
          function.attribute_proto_size() + function.opset_import_size();
      body->size.parts = SaturatingAdd(body->size.parts, interface);
      it = known.try_emplace(&function, *body).first;
    }
    if (depth + it->second.depth > maxDepth)
      return std::nullopt;
    return it->second;
  }

  const Functions &functions;
  unsigned maxDepth;
  llvm::DenseMap<const FunctionProto *, Body> known;
};
} // namespace

std::optional<InlinedSize> getInlinedSize(const ::onnx::GraphProto &graph,
                                          const Functions &functions,
                                          unsigned maxDepth) {
  auto body = SizeOfCalls(functions, maxDepth).visit(graph.node(), 0);
  return body ? std::optional(body->size) : std::nullopt;
}

} // namespace fusec::onnx
