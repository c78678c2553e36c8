// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/fusec/Arguments.h"
#include "compiler/bundle/ConvertExpr.h"
#include "tools/fusec/Failure.h"
#include <fmt/core.h>

using namespace mlir;

namespace fusec {

static TensorType getTensorType(StringRef name, Type type) {
  Type element = cast<RankedTensorType>(type).getElementType();
  TensorType result{name.str(), *convertElementType(element), {}, {}};
  for (Expr size : getSizes(type)) {
    result.sizes.push_back(size.getConstant().value_or(-1));
    result.sizeTexts.push_back(size.str());
  }
  return result;
}

Interface getInterface(ModelOp model) {
  Interface interface;
  Block &body = model.getBody().front();
  for (auto [name, argument] : llvm::zip_equal(
           model.getInputNames().getAsRange<StringAttr>(), body.getArguments()))
    interface.inputs.push_back(
        getTensorType(name.getValue(), argument.getType()));
  for (auto [name, value] :
       llvm::zip_equal(model.getOutputNames().getAsRange<StringAttr>(),
                       body.getTerminator()->getOperands()))
    interface.outputs.push_back(
        getTensorType(name.getValue(), value.getType()));
  return interface;
}

static std::vector<TensorType>
getTensorTypes(const std::vector<format::TensorSpec> &specs) {
  std::vector<TensorType> types;
  for (const format::TensorSpec &spec : specs) {
    TensorType &type =
        types.emplace_back(TensorType{spec.name, spec.dtype, {}, {}});
    for (const format::Expr &size : spec.sizes) {
      type.sizes.push_back(size.isConstant() ? size.value : -1);
      type.sizeTexts.push_back(format::toString(size));
    }
  }
  return types;
}

Interface getInterface(const format::Manifest &manifest) {
  return {getTensorTypes(manifest.inputs), getTensorTypes(manifest.outputs)};
}

std::string toString(const TensorType &type) {
  // Names would run into an x without spaces.
  const char *by = llvm::is_contained(type.sizes, -1) ? " x " : "x";
  std::string text;
  for (const std::string &size : type.sizeTexts)
    text += size + by;
  return text.append(format::dtypeName(type.dtype));
}

static bool matches(const TensorType &type, const data::Tensor &tensor) {
  bool same =
      type.dtype == tensor.dtype && type.sizes.size() == tensor.sizes.size();
  for (size_t d = 0; same && d != type.sizes.size(); ++d)
    same = type.sizes[d] < 0 || type.sizes[d] == tensor.sizes[d];
  return same;
}

std::string listNames(const std::vector<TensorType> &types) {
  std::string text;
  for (const TensorType &type : types)
    text += fmt::format("{}{}' ({})", text.empty() ? "'" : ", '", type.name,
                        toString(type));
  return text.empty() ? "none" : text;
}

static bool has(const std::vector<TensorType> &types, StringRef name) {
  return llvm::any_of(
      types, [&](const TensorType &type) { return type.name == name; });
}

std::vector<data::Tensor> matchInputs(const Interface &interface,
                                      NamedTensors given) {
  for (const auto &[name, tensor] : given)
    if (!has(interface.inputs, name))
      fail(ExitCode::Usage, fmt::format("--input: there is no input '{}'\n"
                                        "note: the model's inputs are {}",
                                        name, listNames(interface.inputs)));
  std::vector<data::Tensor> inputs;
  for (const TensorType &type : interface.inputs) {
    auto it = given.find(type.name);
    if (it == given.end())
      fail(ExitCode::Input,
           fmt::format("expected a value for input '{}' ({}), got none\n"
                       "note: give it with --input {}=FILE.npy",
                       type.name, toString(type), type.name));
    if (!matches(type, it->second))
      fail(ExitCode::Input,
           fmt::format(
               "input '{}': expected {}, got {}{}", type.name, toString(type),
               data::tensorType(it->second.dtype, it->second.sizes),
               type.dtype == format::DType::BF16 &&
                       it->second.dtype != type.dtype
                   ? "\nnote: NumPy has no bf16 of its own: save "
                     "x.astype(ml_dtypes.bfloat16), whose type a .npy file "
                     "calls 'V2'"
                   : ""));
    inputs.push_back(std::move(it->second));
  }
  return inputs;
}

Sample splitSample(const Interface &interface,
                   std::vector<data::NamedTensor> arrays) {
  Sample sample;
  std::vector<data::NamedTensor> rest;
  for (data::NamedTensor &array : arrays) {
    StringRef number(array.name);
    size_t index;
    if (has(interface.inputs, array.name))
      sample.inputs[array.name] = std::move(array.tensor);
    else if (has(interface.outputs, array.name))
      sample.outputs[array.name] = std::move(array.tensor);
    else if (number.consume_front("arr_") && !number.getAsInteger(10, index) &&
             index < interface.inputs.size())
      sample.inputs[interface.inputs[index].name] = std::move(array.tensor);
    else
      rest.push_back(std::move(array));
  }
  if (rest.size() == 1 && interface.outputs.size() == 1 &&
      sample.outputs.empty())
    sample.outputs[interface.outputs[0].name] = std::move(rest[0].tensor);
  else if (!rest.empty())
    fail(ExitCode::Input,
         fmt::format("array '{}' is no input or output of the model\n"
                     "note: inputs are {}; outputs are {}",
                     rest[0].name, listNames(interface.inputs),
                     listNames(interface.outputs)));
  return sample;
}

/// TensorProto.DataType of each type, in the order of format::DType.
static constexpr int32_t onnxTypes[format::numDTypes] = {
    9, 3, 5, 6, 7, 2, 4, 12, 13, 10, 16, 1, 11};

onnx::ConstantInput getConstantInput(const std::string &name,
                                     const data::Tensor &tensor) {
  const char *bytes = reinterpret_cast<const char *>(tensor.bytes.data());
  return {name, onnxTypes[static_cast<unsigned>(tensor.dtype)], tensor.sizes,
          std::vector<char>(bytes, bytes + tensor.bytes.size())};
}

Type getElementType(format::DType dtype, MLIRContext *context) {
  return onnx::getTypeOfDtype(onnxTypes[static_cast<unsigned>(dtype)], context);
}

data::Tensor allocateTensor(format::DType dtype, std::vector<int64_t> sizes) {
  std::optional<uint64_t> bytes = data::tensorBytes(dtype, sizes);
  std::optional<data::Buffer> buffer =
      bytes ? data::Buffer::allocate(*bytes) : std::nullopt;
  if (!buffer)
    fail(ExitCode::Input, "there is no memory for a tensor of type " +
                              data::tensorType(dtype, sizes));
  return {dtype, std::move(sizes), std::move(*buffer)};
}

} // namespace fusec
