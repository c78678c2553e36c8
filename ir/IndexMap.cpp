// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/IndexMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace fusec {

IndexMap IndexMap::identity(MLIRContext *context, unsigned rank) {
  IndexMap map;
  for (unsigned i = 0; i < rank; ++i)
    map.results.push_back(Expr::dim(context, i));
  return map;
}

IndexMap IndexMap::compose(ArrayRef<Expr> inner) const {
  IndexMap map;
  for (Expr result : results)
    map.results.push_back(result.replaceDims(inner));
  for (const IndexCondition &c : conditions)
    map.conditions.push_back({c.value.replaceDims(inner),
                              c.lower.replaceDims(inner),
                              c.upper.replaceDims(inner)});
  return map;
}

IndexMap IndexMap::simplify(const ExprRanges &ranges) const {
  IndexMap map;
  for (Expr result : results)
    map.results.push_back(ranges.simplify(result));
  for (const IndexCondition &c : conditions)
    map.conditions.push_back({ranges.simplify(c.value),
                              ranges.simplify(c.lower),
                              ranges.simplify(c.upper)});
  return map;
}

Expr IndexMap::getOffset(ArrayRef<Expr> strides) const {
  Expr offset;
  for (auto [result, stride] : llvm::zip_equal(results, strides)) {
    Expr term = result * stride;
    offset = offset ? offset + term : term;
  }
  return offset;
}

void IndexMap::print(raw_ostream &os) const {
  os << '(';
  llvm::interleaveComma(results, os);
  os << ')';
  for (const IndexCondition &c : conditions)
    os << " if " << c.lower << " <= " << c.value << " < " << c.upper;
}

SmallVector<Expr> getDenseStrides(ArrayRef<Expr> sizes, MLIRContext *context) {
  SmallVector<Expr> strides(sizes.size());
  Expr stride = Expr::constant(context, 1);
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride = stride * sizes[i];
  }
  return strides;
}

bool usesDim(Expr expr, unsigned dim) {
  bool used = false;
  expr.walkLeaves([&](Expr leaf) {
    used |= leaf.getKind() == ExprKind::Dim && leaf.getIndex() == dim;
  });
  return used;
}

bool usesIndirect(Expr expr) {
  bool used = false;
  expr.walkLeaves(
      [&](Expr leaf) { used |= leaf.getKind() == ExprKind::Indirect; });
  return used;
}

Expr linearize(ArrayRef<Expr> indices, ArrayRef<Expr> sizes,
               MLIRContext *context) {
  Expr linear = Expr::constant(context, 0);
  for (auto [index, size] : llvm::zip_equal(indices, sizes))
    linear = linear * size + index;
  return linear;
}

SmallVector<Expr> delinearize(Expr linear, ArrayRef<Expr> sizes) {
  SmallVector<Expr> indices(sizes.size());
  for (size_t i = sizes.size(); i-- > 0;) {
    indices[i] = i == 0 ? linear : linear.mod(sizes[i]);
    if (i != 0)
      linear = linear.floorDiv(sizes[i]);
  }
  return indices;
}

std::optional<Expr> getDimCoefficient(Expr expr, unsigned dim) {
  MLIRContext *context = expr.getContext();
  Expr zero = Expr::constant(context, 0), one = Expr::constant(context, 1);
  Expr sum = zero;
  for (Expr term : getTerms(expr)) {
    if (!usesDim(term, dim))
      continue;
    // Linear where the term at dim = 0 vanishes and doubles with the dim.
    auto at = [&](Expr value) {
      return term.replace([&](Expr leaf) {
        return leaf.getKind() == ExprKind::Dim && leaf.getIndex() == dim ? value
                                                                         : leaf;
      });
    };
    bool divided = false;
    auto [coefficient, rest] = splitCoefficient(term);
    SmallVector<Expr> factors = rest.getKind() == ExprKind::Mul
                                    ? llvm::to_vector(rest.getOperands())
                                    : SmallVector<Expr>{rest};
    unsigned occurrences = 0;
    for (Expr factor : factors) {
      if (!usesDim(factor, dim))
        continue;
      divided |= !factor.getOperands().empty();
      ++occurrences;
    }
    if (divided || occurrences != 1)
      return std::nullopt;
    sum = sum + at(one);
  }
  return sum;
}

} // namespace fusec
