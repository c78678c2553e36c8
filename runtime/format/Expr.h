// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Size expressions: integers over the named dimensions of a model, evaluated
// in checked 64-bit arithmetic once the dimensions are known.

#ifndef FUSEC_RUNTIME_FORMAT_EXPR_H
#define FUSEC_RUNTIME_FORMAT_EXPR_H

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fusec::format {

struct Expr {
  enum class Op : uint8_t {
    Constant,
    Dim,
    Add,
    Sub,
    Mul,
    FloorDiv,
    CeilDiv,
    Mod,
    Min,
    Max
  };

  Op op = Op::Constant;
  // The value of a Constant; for a Dim its index in Manifest::dims, which
  // resolveDims() fills in (-1 before that).
  int64_t value = 0;
  std::string dimName;
  // Add, Mul, Min and Max take one or more operands, the others exactly two.
  std::vector<Expr> operands;

  Expr() = default;
  // Implicit, so that a manifest can be written with plain integers.
  Expr(int64_t value) : value(value) {}

  static Expr constant(int64_t value) { return Expr(value); }
  static Expr dim(std::string name);
  static Expr make(Op op, std::vector<Expr> operands);
  static Expr add(Expr lhs, Expr rhs);
  static Expr mul(Expr lhs, Expr rhs);

  bool isConstant() const { return op == Op::Constant; }
};

// The spelling in the manifest ("+", "floordiv", "min", ...); null for leaves.
const char *exprOpName(Expr::Op op);
std::optional<Expr::Op> parseExprOp(const std::string &name);

// Infix text for messages: "ceildiv(batch, 128) * 4".
std::string toString(const Expr &expr);

// Looks up the name of every Dim in `dims`, which ascend. On failure names the
// unknown dimension in `unknown`.
bool resolveDims(Expr &expr, const std::vector<std::string> &dims,
                 std::string &unknown);

// Evaluates with dims[i] the value of the i-th dimension of the manifest.
// Nothing on 64-bit overflow, on a divisor that is not positive, and on a
// dimension that is not resolved. Allocates nothing.
std::optional<int64_t> evaluate(const Expr &expr, const int64_t *dims);

} // namespace fusec::format

#endif
