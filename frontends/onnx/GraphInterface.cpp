// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What surrounds the nodes of a graph: initializers, inputs, outputs, and the
// module that they end up in.

#include "frontends/onnx/GraphImporter.h"
#include "ir/Constants.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"
#include <fmt/core.h>

using namespace mlir;

namespace fusec::onnx {

using ::onnx::TensorProto;
using ::onnx::TensorShapeProto;
using ::onnx::TypeProto;
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
          entry.constant || onnx::getElementType(tensor.data_type(), &context)
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
// Inputs
//===----------------------------------------------------------------------===//

static StringRef getTypeKind(const TypeProto &type) {
  switch (type.value_case()) {
  case TypeProto::kTensorType:
    return "tensor";
  case TypeProto::kSequenceType:
    return "sequence";
  case TypeProto::kMapType:
    return "map";
  case TypeProto::kOptionalType:
    return "optional";
  case TypeProto::kSparseTensorType:
    return "sparse tensor";
  default:
    return "no";
  }
}

static std::string getDtypeName(int32_t dtype) {
  if (TensorProto::DataType_IsValid(dtype))
    return TensorProto::DataType_Name(
        static_cast<TensorProto::DataType>(dtype));
  return std::to_string(dtype);
}

std::optional<Sizes> GraphImporter::readInputSizes(const ValueInfoProto &input,
                                                   Type elementType) {
  std::string what = fmt::format("input {}: ", quoted(input.name()));
  auto fail = [&](ProblemKind kind, const Twine &message,
                  const Twine &note = "") {
    (void)problems.add(kind, what + message, note);
    return std::nullopt;
  };
  if (!input.type().tensor_type().has_shape())
    return fail(
        ProblemKind::Unsupported, "expected a shape, got none",
        "export the model with the rank of its inputs, or give --const");
  const TensorShapeProto &shape = input.type().tensor_type().shape();
  Sizes sizes;
  SmallVector<int64_t> constants;
  for (auto [i, dim] : llvm::enumerate(shape.dim())) {
    if (dim.has_dim_value()) {
      constants.push_back(dim.dim_value());
      sizes.push_back(Expr::constant(&context, dim.dim_value()));
      continue;
    }
    std::string name = dim.dim_param();
    if (name.empty()) {
      name = fmt::format("{}_dim{}", input.name(), i);
      while (symbols.contains(name))
        name += "_";
    }
    symbols.insert(name);
    if (auto it = options.dims.find(name); it != options.dims.end()) {
      constants.push_back(it->second);
      sizes.push_back(Expr::constant(&context, it->second));
    } else {
      sizes.push_back(agreement.apply(Expr::symbol(&context, name)));
      if (auto size = sizes.back().getConstant())
        constants.push_back(*size);
    }
  }
  if (sizes.size() > maxRank)
    return fail(ProblemKind::Unsupported,
                fmt::format("expected a rank of at most {}, got {}", maxRank,
                            sizes.size()));
  std::string error;
  if (!areValidSizes(constants, getElementBytes(elementType), error))
    return fail(ProblemKind::Malformed, error);
  return sizes;
}

void GraphImporter::addConstantInput(Scope &scope, const ValueInfoProto &input,
                                     Type type, ArrayRef<Expr> sizes,
                                     const ConstantInput &constant) {
  std::string what = fmt::format("input {}: ", quoted(input.name()));
  auto fail = [&](const Twine &message) {
    (void)problems.add(ProblemKind::Malformed, what + message,
                       "check the file given by --const");
  };
  Type given = onnx::getElementType(constant.dtype, &context);
  if (given != type)
    return fail(fmt::format(
        "expected constant elements of type {}, got {}", toString(type),
        given ? toString(given) : getDtypeName(constant.dtype)));
  if (constant.sizes.size() != sizes.size())
    return fail(fmt::format("expected a constant of rank {}, got rank {}",
                            sizes.size(), constant.sizes.size()));
  std::string error;
  if (!areValidSizes(constant.sizes, getElementBytes(type), error))
    return fail(error);
  for (auto [size, number] : llvm::zip_equal(sizes, constant.sizes))
    if (!agreement.agree(size, Expr::constant(&context, number),
                         what + "size of the constant given"))
      return fail(fmt::format("expected a constant of sizes {}, got size {}",
                              fusec::toString(sizes), number));
  auto tensorType = RankedTensorType::get(constant.sizes, type);
  if (constant.bytes.size() !=
      static_cast<size_t>(tensorType.getNumElements() * getElementBytes(type)))
    return fail(fmt::format("expected {} bytes, got {}",
                            tensorType.getNumElements() * getElementBytes(type),
                            constant.bytes.size()));
  auto copy = std::make_shared<std::vector<char>>(constant.bytes);
  scope.entries[input.name()].constant =
      makeConstant(tensorType, *copy, input.name(), copy);
}

void GraphImporter::addInput(Scope &scope, const ValueInfoProto &input) {
  const std::string &name = input.name();
  // Before IR version 4 every initializer was listed as an input, too.
  if (initializers.contains(name))
    return;
  auto [it, inserted] = scope.entries.try_emplace(name, Entry());
  if (name.empty() || !inserted) {
    (void)problems.add(
        ProblemKind::Malformed,
        name.empty() ? "expected every input to have a name"
                     : fmt::format("input {} is given twice", quoted(name)));
    return;
  }
  if (!input.type().has_tensor_type()) {
    (void)problems.add(ProblemKind::Unsupported,
                       fmt::format("input {}: expected a tensor, got {} type",
                                   quoted(name), getTypeKind(input.type())));
    return;
  }
  int32_t dtype = input.type().tensor_type().elem_type();
  Type type = onnx::getElementType(dtype, &context);
  if (!type) {
    (void)problems.add(
        ProblemKind::Unsupported,
        fmt::format("input {}: elements of type {} are not supported",
                    quoted(name), getDtypeName(dtype)));
    return;
  }
  auto sizes = readInputSizes(input, type);
  if (!sizes)
    return;
  for (const ConstantInput &constant : options.constants)
    if (constant.name == name) {
      usedConstants.insert(name);
      return addConstantInput(scope, input, type, *sizes, constant);
    }
  inputNames.push_back(name);
  it->second.value =
      body->addArgument(getTensorType(*sizes, type),
                        NameLoc::get(StringAttr::get(&context, name)));
}

void GraphImporter::addInputs(Scope &scope) {
  // Names from the model come before names made up.
  for (const ValueInfoProto &input : model.graph().input())
    for (const auto &dim : input.type().tensor_type().shape().dim())
      if (!dim.dim_param().empty())
        symbols.insert(dim.dim_param());
  for (const ValueInfoProto &input : model.graph().input())
    addInput(scope, input);
}

void GraphImporter::checkOptions() {
  for (const auto &[name, size] : options.dims) {
    if (size < 0)
      (void)problems.add(
          ProblemKind::Option,
          fmt::format("--dim {}: expected a size that is not negative, got {}",
                      name, size));
    if (symbols.contains(name))
      continue;
    std::vector<std::string> names;
    for (const auto &symbol : symbols)
      names.push_back(symbol.getKey().str());
    llvm::sort(names);
    (void)problems.add(
        ProblemKind::Option,
        fmt::format("--dim {}: the model has no dimension of this name", name),
        names.empty() ? "all sizes of its inputs are numbers"
                      : "its dimensions are " + llvm::join(names, ", "));
  }
  for (const ConstantInput &constant : options.constants)
    if (!usedConstants.contains(constant.name))
      (void)problems.add(
          ProblemKind::Option,
          fmt::format("--const {}: the model has no input of this name",
                      constant.name));
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
    Type declared = onnx::getElementType(dtype, &context);
    if (dtype != 0 && declared != fusec::getElementType(value))
      (void)problems.add(
          ProblemKind::Malformed,
          fmt::format("{}expected elements of type {} as declared, got {}",
                      what, getDtypeName(dtype),
                      toString(fusec::getElementType(value))));
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
