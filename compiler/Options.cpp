// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Options.h"

using namespace fusec;
using llvm::StringRef;

StringRef fusec::stringify(Numerics numerics) {
  return numerics == Numerics::Onnx ? "onnx" : "default";
}

StringRef fusec::stringify(Precision precision) {
  switch (precision) {
  case Precision::Ieee:
    return "ieee";
  case Precision::Tf32:
    return "tf32";
  case Precision::Fp16:
    return "fp16";
  case Precision::Bf16:
    return "bf16";
  }
  return "";
}

StringRef fusec::stringify(Products products) {
  switch (products) {
  case Products::Fma:
    return "fma";
  case Products::Ieee:
    return "ieee";
  case Products::Tf32:
    return "tf32";
  }
  return "";
}

StringRef fusec::stringify(TableType type) {
  switch (type) {
  case TableType::Model:
    return "model";
  case TableType::Int8:
    return "int8";
  case TableType::Int4:
    return "int4";
  }
  return "";
}

template <typename Enum>
static std::optional<Enum> find(StringRef text,
                                std::initializer_list<Enum> all) {
  for (Enum value : all)
    if (stringify(value) == text)
      return value;
  return std::nullopt;
}

std::optional<Numerics> fusec::symbolizeNumerics(StringRef text) {
  return find(text, {Numerics::Default, Numerics::Onnx});
}

std::optional<Precision> fusec::symbolizePrecision(StringRef text) {
  return find(text, {Precision::Ieee, Precision::Tf32, Precision::Fp16,
                     Precision::Bf16});
}

std::optional<TableType> fusec::symbolizeTableType(StringRef text) {
  return find(text, {TableType::Model, TableType::Int8, TableType::Int4});
}
