// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The inputs of a graph, and what options say of them: sizes and constants.

#include "frontends/onnx/GraphImporter.h"
#include "ir/Constants.h"
#include "llvm/ADT/StringExtras.h"
#include <fmt/core.h>

using namespace mlir;

namespace fusec::onnx {

using ::onnx::TensorShapeProto;
using ::onnx::TypeProto;
using ::onnx::ValueInfoProto;

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
  Type given = getTypeOfDtype(constant.dtype, &context);
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
  Type type = getTypeOfDtype(dtype, &context);
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

} // namespace fusec::onnx
