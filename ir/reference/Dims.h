// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The values of a model's named dimensions, found from actual sizes.

#ifndef FUSEC_IR_REFERENCE_DIMS_H
#define FUSEC_IR_REFERENCE_DIMS_H

#include "ir/FusecOps.h"
#include "ir/ShapeRules.h"
#include <map>
#include <string>

namespace fusec::reference {

class Dims {
public:
  Dims() = default;
  Dims(std::map<std::string, int64_t> values) : values(std::move(values)) {}

  const std::map<std::string, int64_t> &getValues() const { return values; }
  std::optional<int64_t> lookup(llvm::StringRef name) const;

  /// Makes the actual sizes of a value of this type known; `what` names it in
  /// messages ("input 'x'"). Fails where they contradict the type or what was
  /// bound before. Sizes that several unknown names determine wait for `check`.
  mlir::LogicalResult bind(mlir::RankedTensorType type,
                           llvm::ArrayRef<int64_t> sizes, llvm::StringRef what,
                           EmitMessage emit);

  /// After the last `bind`: whether all sizes agree with their expressions, and
  /// both sides of each constraint with each other.
  mlir::LogicalResult check(mlir::ArrayAttr constraints,
                            EmitMessage emit) const;

  /// Nothing where a name is unbound, on overflow and on division by zero.
  std::optional<int64_t> evaluate(Expr expr) const;
  /// The sizes of a type; none may be negative.
  mlir::FailureOr<llvm::SmallVector<int64_t>>
  getSizes(mlir::RankedTensorType type, EmitMessage emit) const;

private:
  struct Seen {
    Expr size;
    int64_t actual;
    std::string where;
  };
  bool solve(const Seen &seen);

  std::map<std::string, int64_t> values;
  /// Who bound a name, for messages.
  std::map<std::string, std::string> sources;
  std::vector<Seen> pending;
};

} // namespace fusec::reference

#endif // FUSEC_IR_REFERENCE_DIMS_H
