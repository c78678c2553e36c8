// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/reference/Dims.h"

using namespace mlir;

namespace fusec::reference {

std::optional<int64_t> Dims::lookup(StringRef name) const {
  auto it = values.find(name.str());
  return it == values.end() ? std::nullopt : std::optional<int64_t>(it->second);
}

std::optional<int64_t> Dims::evaluate(Expr expr) const {
  return expr.evaluate([&](Expr leaf) -> std::optional<int64_t> {
    return leaf.getKind() == ExprKind::Symbol ? lookup(leaf.getName())
                                              : std::nullopt;
  });
}

/// Binds the one unknown name of a size that is a multiple of it plus what is
/// known.
bool Dims::solve(const Seen &seen) {
  std::optional<Expr> unknown;
  bool single = true;
  seen.size.walkLeaves([&](Expr leaf) {
    if (leaf.getKind() != ExprKind::Symbol)
      single = false;
    else if (!lookup(leaf.getName())) {
      single &= !unknown || *unknown == leaf;
      unknown = leaf;
    }
  });
  if (!unknown || !single)
    return false;
  auto at = [&](int64_t value) {
    return seen.size.evaluate([&](Expr leaf) -> std::optional<int64_t> {
      return leaf == *unknown ? value : lookup(leaf.getName());
    });
  };
  auto zero = at(0), one = at(1);
  int64_t factor, rest, product;
  if (!zero || !one || llvm::SubOverflow(*one, *zero, factor) || factor == 0 ||
      llvm::SubOverflow(seen.actual, *zero, rest) ||
      (factor == -1 && rest == INT64_MIN) || rest % factor != 0 ||
      rest / factor < 0)
    return false;
  // Whether the guess holds, which it need not where the size is not linear.
  product = rest / factor;
  if (at(product) != seen.actual)
    return false;
  values[unknown->getName().str()] = product;
  sources[unknown->getName().str()] = seen.where;
  return true;
}

LogicalResult Dims::bind(RankedTensorType type, ArrayRef<int64_t> actual,
                         StringRef what, EmitMessage emit) {
  SmallVector<Expr> sizes = fusec::getSizes(type);
  if (sizes.size() != actual.size()) {
    emit(what + ": expected rank " + Twine(sizes.size()) + " for sizes " +
         toString(sizes) + ", got rank " + Twine(actual.size()));
    return failure();
  }
  for (auto [i, size] : llvm::enumerate(sizes)) {
    std::string where = (what + ", size " + Twine(i)).str();
    if (size.getKind() == ExprKind::Symbol) {
      auto known = values.emplace(size.getName().str(), actual[i]);
      if (known.second)
        sources[size.getName().str()] = where;
      else if (known.first->second != actual[i]) {
        auto source = sources.find(size.getName().str());
        emit(where + ": expected " + size.getName() + " = " +
             Twine(known.first->second) +
             (source == sources.end() ? "" : ", as in " + source->second) +
             ", got " + Twine(actual[i]));
        return failure();
      }
    } else if (size.isConstant() && size.getValue() != actual[i]) {
      emit(where + ": expected " + Twine(size.getValue()) + ", got " +
           Twine(actual[i]));
      return failure();
    } else if (!size.isConstant()) {
      pending.push_back({size, actual[i], where});
    }
  }
  for (bool progress = true; progress;) {
    progress = false;
    for (const Seen &seen : pending)
      progress |= solve(seen);
  }
  return success();
}

LogicalResult Dims::check(ArrayAttr constraints, EmitMessage emit) const {
  for (const Seen &seen : pending) {
    auto value = evaluate(seen.size);
    if (value == seen.actual)
      continue;
    std::string expected = seen.size.str();
    if (value)
      expected += " = " + std::to_string(*value);
    emit(seen.where + ": expected " + expected + ", got " + Twine(seen.actual));
    return failure();
  }
  if (!constraints)
    return success();
  for (auto constraint : constraints.getAsRange<ConstraintAttr>()) {
    auto lhs = evaluate(constraint.getLhs()),
         rhs = evaluate(constraint.getRhs());
    if (lhs && rhs && *lhs == *rhs)
      continue;
    auto text = [](std::optional<int64_t> value) {
      return value ? std::to_string(*value) : std::string("unknown");
    };
    emit("expected " + constraint.getLhs().str() + " = " +
         constraint.getRhs().str() + " (" + constraint.getReason() + "), got " +
         text(lhs) + " and " + text(rhs));
    return failure();
  }
  return success();
}

FailureOr<SmallVector<int64_t>> Dims::getSizes(RankedTensorType type,
                                               EmitMessage emit) const {
  SmallVector<int64_t> sizes;
  for (Expr size : fusec::getSizes(type)) {
    auto value = evaluate(size);
    if (!value) {
      emit("cannot compute the size " + size.str() +
           "; a dimension is not bound, or the value does not fit in 64 bits");
      return failure();
    }
    if (*value < 0) {
      emit("expected sizes that are not negative, got " + size.str() + " = " +
           Twine(*value));
      return failure();
    }
    sizes.push_back(*value);
  }
  return sizes;
}

} // namespace fusec::reference
