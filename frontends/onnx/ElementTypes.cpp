// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "frontends/onnx/ElementTypes.h"
#include "frontends/onnx/Importer.h"
#include "frontends/onnx/proto/onnx.pb.h"
#include "mlir/IR/BuiltinTypes.h"
#include <fmt/core.h>

using namespace mlir;

namespace fusec::onnx {

using TensorProto = ::onnx::TensorProto;

Type getTypeOfDtype(int32_t dtype, MLIRContext *context) {
  auto integer = [&](unsigned width) {
    return IntegerType::get(context, width);
  };
  auto unsignedInteger = [&](unsigned width) {
    return IntegerType::get(context, width, IntegerType::Unsigned);
  };
  switch (dtype) {
  case TensorProto::BOOL:
    return integer(1);
  case TensorProto::INT8:
    return integer(8);
  case TensorProto::INT16:
    return integer(16);
  case TensorProto::INT32:
    return integer(32);
  case TensorProto::INT64:
    return integer(64);
  case TensorProto::UINT8:
    return unsignedInteger(8);
  case TensorProto::UINT16:
    return unsignedInteger(16);
  case TensorProto::UINT32:
    return unsignedInteger(32);
  case TensorProto::UINT64:
    return unsignedInteger(64);
  case TensorProto::FLOAT16:
    return Float16Type::get(context);
  case TensorProto::BFLOAT16:
    return BFloat16Type::get(context);
  case TensorProto::FLOAT:
    return Float32Type::get(context);
  case TensorProto::DOUBLE:
    return Float64Type::get(context);
  default:
    return {};
  }
}

llvm::StringRef getTypeName(int32_t dtype) {
  switch (dtype) {
  case TensorProto::BOOL:
    return "bool";
  case TensorProto::INT8:
    return "int8";
  case TensorProto::INT16:
    return "int16";
  case TensorProto::INT32:
    return "int32";
  case TensorProto::INT64:
    return "int64";
  case TensorProto::UINT8:
    return "uint8";
  case TensorProto::UINT16:
    return "uint16";
  case TensorProto::UINT32:
    return "uint32";
  case TensorProto::UINT64:
    return "uint64";
  case TensorProto::FLOAT16:
    return "float16";
  case TensorProto::BFLOAT16:
    return "bfloat16";
  case TensorProto::FLOAT:
    return "float";
  case TensorProto::DOUBLE:
    return "double";
  default:
    return "";
  }
}

static Types classOf(Type type) {
  if (isa<FloatType>(type))
    return Types::Float;
  if (type.isInteger(1))
    return Types::Bool;
  return type.isUnsignedInteger() ? Types::UInt : Types::Int;
}

bool contains(Types set, Type elementType) {
  return static_cast<unsigned>(set) &
         static_cast<unsigned>(classOf(elementType));
}

std::string toString(Types set) {
  std::string text;
  auto add = [&](Types one, llvm::StringRef name) {
    if (!(static_cast<unsigned>(set) & static_cast<unsigned>(one)))
      return;
    if (!text.empty())
      text += ", ";
    text += name;
  };
  add(Types::Bool, "bool");
  add(Types::Int, "int8 to int64");
  add(Types::UInt, "uint8 to uint64");
  add(Types::Float, "float16, bfloat16, float, double");
  return text;
}

std::string toString(Type type) {
  if (type.isInteger(1))
    return "bool";
  if (type.isF32())
    return "float";
  if (type.isF64())
    return "double";
  if (isa<FloatType>(type))
    return type.isF16() ? "float16" : "bfloat16";
  return fmt::format("{}{}", type.isUnsignedInteger() ? "uint" : "int",
                     type.getIntOrFloatBitWidth());
}

std::string getDtypeName(int32_t dtype) {
  if (TensorProto::DataType_IsValid(dtype))
    return TensorProto::DataType_Name(
        static_cast<TensorProto::DataType>(dtype));
  return std::to_string(dtype);
}

} // namespace fusec::onnx
