// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ONNX's element types and their classes, by which handlers say what they take.

#ifndef FUSEC_FRONTENDS_ONNX_ELEMENTTYPES_H
#define FUSEC_FRONTENDS_ONNX_ELEMENTTYPES_H

#include "mlir/IR/Types.h"
#include <string>

namespace fusec::onnx {

/// A set of element types.
enum class Types : unsigned {
  Bool = 1,
  Int = 2,  // int8 to int64
  UInt = 4, // uint8 to uint64
  Float = 8,
  Signed = Int | Float,
  Integer = Int | UInt,
  Number = Int | UInt | Float,
  Any = Bool | Number
};

bool contains(Types set, mlir::Type elementType);
/// "float", "signed or unsigned integer, or float", ...
std::string toString(Types set);
/// ONNX's spelling of one type.
std::string toString(mlir::Type elementType);
/// The enumerator of one of the format's data types, also of one that is not
/// supported: "STRING"; its number where there is none.
std::string getDtypeName(int32_t dtype);

} // namespace fusec::onnx

#endif // FUSEC_FRONTENDS_ONNX_ELEMENTTYPES_H
