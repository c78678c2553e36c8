// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/ShapeRules.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace fusec {

std::string toString(ArrayRef<Expr> sizes) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << '[';
  llvm::interleaveComma(sizes, os);
  os << ']';
  return text;
}

FailureOr<Sizes> inferMatmulSizes(ArrayRef<Expr> lhs, ArrayRef<Expr> rhs,
                                  bool transposeLhs, bool transposeRhs,
                                  EmitMessage emit) {
  if (lhs.size() < 2 || lhs.size() != rhs.size()) {
    emit("expected operands of one rank, 2 or more, got ranks " +
         Twine(lhs.size()) + " and " + Twine(rhs.size()));
    return failure();
  }
  size_t batchRank = lhs.size() - 2;
  for (size_t i = 0; i < batchRank; ++i)
    if (lhs[i] != rhs[i]) {
      emit("expected equal batch sizes, got " + toString(lhs) + " and " +
           toString(rhs));
      return failure();
    }
  Expr m = lhs[batchRank + transposeLhs], k = lhs[batchRank + !transposeLhs];
  Expr k2 = rhs[batchRank + transposeRhs], n = rhs[batchRank + !transposeRhs];
  if (k != k2) {
    emit("expected equal inner sizes, got " + k.str() + " and " + k2.str());
    return failure();
  }
  Sizes sizes(lhs.begin(), lhs.begin() + batchRank);
  sizes.push_back(m);
  sizes.push_back(n);
  return sizes;
}

FailureOr<Sizes> inferReduceSizes(ArrayRef<Expr> operand,
                                  ArrayRef<int64_t> axes, EmitMessage emit) {
  llvm::SmallVector<bool> reduced(operand.size());
  for (int64_t axis : axes) {
    if (axis < 0 || axis >= static_cast<int64_t>(operand.size()) ||
        reduced[axis]) {
      emit("expected distinct axes below rank " + Twine(operand.size()) +
           ", got axis " + Twine(axis));
      return failure();
    }
    reduced[axis] = true;
  }
  Sizes sizes;
  for (auto [i, size] : llvm::enumerate(operand))
    if (!reduced[i])
      sizes.push_back(size);
  return sizes;
}

FailureOr<Sizes> inferConcatSizes(ArrayRef<Sizes> operands, int64_t axis,
                                  EmitMessage emit) {
  if (operands.empty()) {
    emit("expected at least one operand");
    return failure();
  }
  Sizes sizes = operands[0];
  if (axis < 0 || axis >= static_cast<int64_t>(sizes.size())) {
    emit("expected an axis below rank " + Twine(sizes.size()) + ", got " +
         Twine(axis));
    return failure();
  }
  for (const Sizes &operand : operands.drop_front()) {
    bool agrees = operand.size() == sizes.size();
    for (size_t i = 0; agrees && i < sizes.size(); ++i)
      agrees = static_cast<int64_t>(i) == axis || operand[i] == sizes[i];
    if (!agrees) {
      emit("expected operands that agree besides axis " + Twine(axis) +
           ", got " + toString(operands[0]) + " and " + toString(operand));
      return failure();
    }
    sizes[axis] = sizes[axis] + operand[axis];
  }
  return sizes;
}

FailureOr<Sizes> inferTransposeSizes(ArrayRef<Expr> operand,
                                     ArrayRef<int64_t> permutation,
                                     EmitMessage emit) {
  llvm::SmallVector<bool> seen(operand.size());
  bool valid = permutation.size() == operand.size();
  for (int64_t p : permutation) {
    valid =
        valid && p >= 0 && p < static_cast<int64_t>(operand.size()) && !seen[p];
    if (!valid)
      break;
    seen[p] = true;
  }
  if (!valid) {
    emit("expected a permutation of the " + Twine(operand.size()) +
         " dimensions");
    return failure();
  }
  Sizes sizes;
  for (int64_t p : permutation)
    sizes.push_back(operand[p]);
  return sizes;
}

FailureOr<SmallVector<SmallVector<int64_t>>>
getReassociation(ArrayAttr attr, unsigned rank, EmitMessage emit) {
  SmallVector<SmallVector<int64_t>> groups;
  int64_t next = 0;
  for (Attribute group : attr) {
    auto indices = dyn_cast<ArrayAttr>(group);
    groups.emplace_back();
    for (Attribute index :
         indices ? indices.getValue() : ArrayRef<Attribute>()) {
      auto value = dyn_cast<IntegerAttr>(index);
      if (!value || value.getInt() != next) {
        emit("expected reassociation groups that list the dimensions in order");
        return failure();
      }
      groups.back().push_back(next++);
    }
  }
  if (next != rank) {
    emit("expected reassociation groups over " + Twine(rank) +
         " dimensions, got " + Twine(next));
    return failure();
  }
  return groups;
}

Sizes collapseSizes(ArrayRef<Expr> sizes, ArrayRef<SmallVector<int64_t>> groups,
                    MLIRContext *context) {
  Sizes result;
  for (ArrayRef<int64_t> group : groups) {
    Expr product = Expr::constant(context, 1);
    for (int64_t i : group)
      product = product * sizes[i];
    result.push_back(product);
  }
  return result;
}

} // namespace fusec
