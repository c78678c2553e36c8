// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The elements of constants as dense row-major bytes. MLIR keeps them in
// several forms (packed bits, splats, resources); everything else sees one:
// little-endian elements of `getElementBytes` bytes, a bool being one byte that
// is 0 or 1.

#ifndef FUSEC_IR_CONSTANTS_H
#define FUSEC_IR_CONSTANTS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Support/LLVM.h"
#include <memory>

namespace fusec {

/// A view of a constant's bytes with what keeps them alive: storage of its own,
/// or nothing where the bytes belong to the attribute and so to the context. A
/// model's weights are used where they lie in its file, at any address.
struct ConstantData {
  llvm::ArrayRef<char> bytes;
  std::shared_ptr<const void> owner;
};

/// What an expanded constant may take, against splats of absurd sizes.
constexpr int64_t maxConstantBytes = int64_t(1) << 36;

/// All elements, splats expanded. Fails where the attribute is of an unknown
/// kind, is a resource that is missing or has not the size of its type, or
/// would take more than `maxBytes`; `error` then says which.
mlir::FailureOr<ConstantData>
getConstantData(mlir::ElementsAttr value, std::string &error,
                int64_t maxBytes = maxConstantBytes);

/// The one element that fills the constant, where the attribute says so.
std::optional<ConstantData> getSplatData(mlir::ElementsAttr value);

/// A constant of a static type with these bytes, exactly as many as the type
/// takes. Few or equal elements become part of the IR, where people read them;
/// others become a resource called `name`, or `name_1` and so on where that is
/// taken. With an owner the bytes are used where they lie, else they are
/// copied.
mlir::ElementsAttr makeConstant(mlir::RankedTensorType type,
                                llvm::ArrayRef<char> bytes,
                                llvm::StringRef name = "constant",
                                std::shared_ptr<const void> owner = nullptr);

} // namespace fusec

#endif // FUSEC_IR_CONSTANTS_H
