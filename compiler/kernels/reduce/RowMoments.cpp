// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Means, and squares of what is apart from them: where a step finds both.

#include "compiler/kernels/reduce/Reduce.h"
#include <cmath>

using namespace mlir;
using namespace fusec;

/// The operands of a node that is such an op.
template <class Op>
static ArrayRef<unsigned> getOperandsOf(const ScalarProgram &program,
                                        unsigned node) {
  const ScalarNode &own = program[node];
  return own.kind == ScalarNode::Kind::Compute && isa<Op>(own.op)
             ? ArrayRef<unsigned>(own.operands)
             : ArrayRef<unsigned>();
}

static std::optional<double> getNumber(const ScalarProgram &program,
                                       unsigned node) {
  auto value = dyn_cast_or_null<FloatAttr>(program[node].constant);
  if (program[node].kind != ScalarNode::Kind::Splat || !value)
    return std::nullopt;
  return value.getValueAsDouble();
}

/// Whether the node is the sum divided by the count, or that by its inverse.
static bool isMean(const ScalarProgram &program, unsigned node, Value sum,
                   double count) {
  auto isScaled = [&](ArrayRef<unsigned> operands, double expected) {
    if (operands.empty() ||
        program[operands[0]].kind != ScalarNode::Kind::Root ||
        program[operands[0]].value != sum)
      return false;
    constexpr double rounding = 1e-6;
    std::optional<double> number = getNumber(program, operands[1]);
    return number && std::abs(*number / expected - 1) < rounding;
  };
  return isScaled(getOperandsOf<DivOp>(program, node), count) ||
         isScaled(getOperandsOf<MulOp>(program, node), 1 / count);
}

/// What a node rounds to a narrower type and back, and that type; null where it
/// does not.
static std::pair<unsigned, Type> skipRounding(const ScalarProgram &program,
                                              unsigned node) {
  ArrayRef<unsigned> wide = getOperandsOf<CastOp>(program, node);
  if (wide.empty())
    return {node, Type()};
  ArrayRef<unsigned> narrow = getOperandsOf<CastOp>(program, wide[0]);
  if (narrow.empty())
    return {node, Type()};
  return {narrow[0], program[wide[0]].type};
}

std::optional<Moments> fusec::findMoments(const RowIteration &iteration) {
  if (iteration.reductions.size() != 2)
    return std::nullopt;
  auto sum = dyn_cast<ReduceOp>(iteration.reductions[0].op),
       squares = dyn_cast<ReduceOp>(iteration.reductions[1].op);
  if (!sum || !squares || sum.getKind() != ReduceKind::Sum ||
      squares.getKind() != ReduceKind::Sum || sum.getParts() ||
      !isa<Float32Type>(getElementType(sum)))
    return std::nullopt;
  std::optional<int64_t> count = sum.getReducedCount().getConstant();
  const ScalarProgram &program = iteration.program;
  ArrayRef<unsigned> factors =
      getOperandsOf<MulOp>(program, iteration.reductions[1].operand);
  if (!count || factors.empty() || factors[0] != factors[1])
    return std::nullopt;
  ArrayRef<unsigned> apart = getOperandsOf<SubOp>(program, factors[0]);
  if (apart.empty() ||
      skipExactCast(program, apart[0]) !=
          skipExactCast(program, iteration.reductions[0].operand))
    return std::nullopt;
  auto [mean, rounded] = skipRounding(program, apart[1]);
  if (!isMean(program, mean, sum.getResult(), double(*count)))
    return std::nullopt;
  return Moments{iteration.reductions[0].operand, sum, squares, rounded};
}
