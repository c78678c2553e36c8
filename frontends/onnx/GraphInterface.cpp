// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What surrounds the nodes of a graph: initializers, outputs, and the module
// that they end up in.

#include "frontends/onnx/GraphImporter.h"
#include "ir/Constants.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"
#include <fmt/core.h>

using namespace mlir;

namespace fusec::onnx {

using ::onnx::TensorProto;
using ::onnx::TensorShapeProto;
using ::onnx::ValueInfoProto;

GraphImporter::GraphImporter(const ::onnx::ModelProto &model,
                             const ImportOptions &options, MLIRContext &context,
                             Constants &constants, SizeAgreement &agreement,
                             Problems &problems)
    : model(model), options(options), context(context), constants(constants),
      agreement(agreement), problems(problems),
      module(ModuleOp::create(UnknownLoc::get(&context))), op([&] {
        OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
        auto none = builder.getArrayAttr({});
        return ModelOp::create(builder, builder.getUnknownLoc(),
                               builder.getStringAttr(options.modelName), none,
                               none, none);
      }()),
      body(&op.getBody().emplaceBlock()), known(*body) {}

/// Only * and ? are wildcards: names have brackets of their own.
static std::string escapeGlob(const std::string &text) {
  std::string escaped;
  for (char c : text) {
    if (StringRef("[]{}\\").contains(c))
      escaped += '\\';
    escaped += c;
  }
  return escaped;
}

/// `globs` are what the patterns refer to.
std::vector<llvm::GlobPattern>
GraphImporter::readPatterns(StringRef option,
                            const std::vector<std::string> &texts,
                            std::vector<std::string> &globs) {
  llvm::transform(texts, std::back_inserter(globs), escapeGlob);
  std::vector<llvm::GlobPattern> patterns;
  for (auto [text, glob] : llvm::zip_equal(texts, globs)) {
    auto pattern = llvm::GlobPattern::create(glob);
    if (!pattern) {
      (void)problems.add(ProblemKind::Option,
                         fmt::format("{} {}: {}", option, text,
                                     llvm::toString(pattern.takeError())));
      continue;
    }
    if (llvm::none_of(model.graph().initializer(),
                      [&](const TensorProto &tensor) {
                        return pattern->match(tensor.name());
                      }))
      (void)problems.add(
          ProblemKind::Option,
          fmt::format("{} {}: the model has no initializer of such a name",
                      option, text));
    patterns.push_back(std::move(*pattern));
  }
  return patterns;
}

static bool matchesAny(const std::vector<llvm::GlobPattern> &patterns,
                       StringRef name) {
  return llvm::any_of(patterns, [&](const llvm::GlobPattern &pattern) {
    return pattern.match(name);
  });
}

void GraphImporter::addInitializers(Scope &scope) {
  std::vector<std::string> globs, updatableGlobs;
  auto replaceable = readPatterns("--replaceable", options.replaceable, globs);
  auto updatable =
      readPatterns("--updatable", options.updatable, updatableGlobs);
  for (const TensorProto &tensor : model.graph().initializer()) {
    std::string error;
    Entry entry;
    entry.constant = constants.read(tensor, error);
    bool isUpdatable = matchesAny(updatable, tensor.name());
    entry.isReplaceable = matchesAny(replaceable, tensor.name());
    if (isUpdatable && entry.isReplaceable)
      (void)problems.add(ProblemKind::Option,
                         quoted(tensor.name()) +
                             " is both --replaceable and --updatable; expected "
                             "one of the two");
    if (isUpdatable && tensor.dims().empty())
      (void)problems.add(ProblemKind::Option,
                         "--updatable: " + quoted(tensor.name()) +
                             " is a number; expected rows");
    // Nothing may depend on the values of either.
    entry.isReplaceable |= isUpdatable;
    if (isUpdatable && options.updatableNames)
      options.updatableNames->push_back(tensor.name());
    if (tensor.name().empty())
      error = "expected every initializer to have a name";
    if (!error.empty())
      (void)problems.add(
          entry.constant || getTypeOfDtype(tensor.data_type(), &context)
              ? ProblemKind::Malformed
              : ProblemKind::Unsupported,
          fmt::format("initializer {}: {}", quoted(tensor.name()), error));
    initializers.insert(tensor.name());
    if (!scope.entries.try_emplace(tensor.name(), entry).second)
      (void)problems.add(
          ProblemKind::Malformed,
          fmt::format("initializer {} is given twice", quoted(tensor.name())));
  }
  if (model.graph().sparse_initializer_size())
    (void)problems.add(ProblemKind::Unsupported,
                       "sparse initializers are not supported",
                       "store them dense");
}

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

static std::string toString(const TensorShapeProto &shape) {
  std::vector<std::string> sizes;
  for (const auto &dim : shape.dim())
    sizes.push_back(dim.has_dim_value()       ? std::to_string(dim.dim_value())
                    : dim.dim_param().empty() ? "?"
                                              : quoted(dim.dim_param()));
  return fmt::format("[{}]", llvm::join(sizes, ", "));
}

/// Names may differ from what is computed: declarations make up their own.
static bool contradicts(const TensorShapeProto &declared, const Sizes &sizes) {
  if (declared.dim_size() != static_cast<int>(sizes.size()))
    return true;
  return llvm::any_of(llvm::zip_equal(declared.dim(), sizes), [](auto pair) {
    auto &[dim, size] = pair;
    return dim.has_dim_value() && size.isConstant() &&
           dim.dim_value() != size.getValue();
  });
}

void GraphImporter::addOutputs(Scope &scope) {
  SmallVector<Value> values;
  SmallVector<Attribute> names;
  llvm::StringSet<> seen;
  for (const ValueInfoProto &output : model.graph().output()) {
    const std::string &name = output.name();
    std::string what = fmt::format("output {}: ", quoted(name));
    auto it = scope.entries.find(name);
    if (it == scope.entries.end() || name.empty()) {
      (void)problems.add(ProblemKind::Malformed,
                         what + "expected a value, got none",
                         "no node, input or initializer defines it");
      continue;
    }
    if (!seen.insert(name).second)
      (void)problems.add(ProblemKind::Malformed, what + "is given twice");
    Value value = materialize(it->second, name);
    if (!value)
      continue;
    int32_t dtype = output.type().tensor_type().elem_type();
    Type declared = getTypeOfDtype(dtype, &context);
    if (dtype != 0 && declared != getElementType(value))
      (void)problems.add(
          ProblemKind::Malformed,
          fmt::format("{}expected elements of type {} as declared, got {}",
                      what, getDtypeName(dtype),
                      toString(getElementType(value))));
    // Sizes that options fix are not those of the declaration.
    const auto &type = output.type().tensor_type();
    Sizes sizes = getSizes(value);
    if (type.has_shape() && options.dims.empty() &&
        contradicts(type.shape(), sizes))
      (void)problems.add(ProblemKind::Malformed,
                         fmt::format("{}expected sizes {} as declared, got {}",
                                     what, toString(type.shape()),
                                     fusec::toString(sizes)),
                         "correct the declared shape, or declare none");
    values.push_back(value);
    names.push_back(StringAttr::get(&context, name));
  }
  if (model.graph().output_size() == 0)
    (void)problems.add(ProblemKind::Malformed,
                       "expected at least one output, got none");
  OpBuilder builder = OpBuilder::atBlockEnd(body);
  OutputOp::create(builder, builder.getUnknownLoc(), values);
  op.setOutputNamesAttr(builder.getArrayAttr(names));
  op.setConstraintsAttr(builder.getArrayAttr(agreement.getConstraints()));
  op.setInputNamesAttr(
      builder.getStrArrayAttr(llvm::to_vector_of<StringRef>(inputNames)));
}

FailureOr<OwningOpRef<ModuleOp>> GraphImporter::run() {
  Scope scope;
  if (failed(readOpsets(model.opset_import(), scope, "")))
    return failure();
  declareFunctions();
  if (failed(checkSize()))
    return failure();
  addInitializers(scope);
  addInputs(scope);
  checkOptions();
  for (const ::onnx::NodeProto &node : model.graph().node())
    importNode(scope, node);
  addOutputs(scope);
  if (problems.any())
    return failure();
  if (failed(eraseDeadOps()))
    return failure();
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (message.empty()) {
      llvm::raw_string_ostream os(message);
      os << diagnostic.getLocation() << ": " << diagnostic;
    }
    return success();
  });
  if (failed(verify(*module)))
    return problems.add(ProblemKind::Internal,
                        "the imported program is not valid: " + message);
  return std::move(module);
}

} // namespace fusec::onnx
