// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/Iteration.h"

using namespace mlir;
using namespace fusec;

namespace {
/// A value to compute at each point, and where in the output it goes.
struct Piece {
  Value value;
  unsigned output;
  int64_t axis = -1; // of the concat that it is a piece of
  Expr start;
};
} // namespace

/// A concat of equally shaped values is several stores of one iteration.
static SmallVector<Piece> splitOutputs(ArrayRef<Value> outputs,
                                       ScalarProgram::Inside isInside) {
  SmallVector<Piece> pieces;
  for (auto [i, output] : llvm::enumerate(outputs)) {
    auto concat = output.getDefiningOp<ConcatOp>();
    bool splits = concat && isInside(concat) &&
                  llvm::all_of(concat.getValues(), [&](Value v) {
                    return v.getType() == concat.getValues()[0].getType();
                  });
    if (!splits) {
      pieces.push_back({output, static_cast<unsigned>(i), -1, Expr()});
      continue;
    }
    Expr start = Expr::constant(output.getContext(), 0);
    for (Value value : concat.getValues()) {
      pieces.push_back({value, static_cast<unsigned>(i),
                        static_cast<int64_t>(concat.getAxis()), start});
      start = start + getSizes(value)[concat.getAxis()];
    }
  }
  return pieces;
}

/// Replaces the dims of expressions in them by expressions in those of a new
/// space.
static void substitute(MutableArrayRef<Expr> exprs, ArrayRef<Expr> values,
                       const ExprRanges &ranges) {
  for (Expr &expr : exprs)
    expr = ranges.simplify(expr.replaceDims(values));
}

/// Splits dims that some expression divides, until no division by a constant
/// that divides its dim's size is left. `carried` are expressions in the dims
/// that decide nothing.
static void refine(ScalarProgram &program, SmallVectorImpl<Expr> &offsets,
                   MutableArrayRef<Expr> carried = {}) {
  MLIRContext *context = program.getContext();
  for (unsigned round = 0; round < 16; ++round) {
    std::optional<std::pair<unsigned, int64_t>> split;
    std::function<void(Expr)> look = [&](Expr expr) {
      if (expr.getKind() == ExprKind::FloorDiv && !split) {
        auto divisor = expr.getOperands()[1].getConstant();
        // The dim whose carry decides the quotient: the one of coefficient 1.
        for (Expr term : getTerms(expr.getOperands()[0])) {
          if (term.getKind() != ExprKind::Dim || !divisor)
            continue;
          auto size = program.getSizes()[term.getIndex()].getConstant();
          bool whole = size ? *size % *divisor == 0 && *size > *divisor
                            : program.getSizes()[term.getIndex()]
                                  .mod(Expr::constant(context, *divisor))
                                  .isConstant(0);
          if (whole)
            split = {term.getIndex(), *divisor};
        }
      }
      for (Expr operand : expr.getOperands())
        look(operand);
    };
    program.walkExprs(look);
    llvm::for_each(offsets, look);
    if (!split)
      return;
    auto [dim, divisor] = *split;
    SmallVector<Expr> sizes, values;
    for (auto [i, size] : llvm::enumerate(program.getSizes())) {
      Expr next = Expr::dim(context, sizes.size());
      if (i != dim) {
        values.push_back(next);
        sizes.push_back(size);
        continue;
      }
      values.push_back(next * divisor + Expr::dim(context, sizes.size() + 1));
      sizes.push_back(size.floorDiv(Expr::constant(context, divisor)));
      sizes.push_back(Expr::constant(context, divisor));
    }
    program.substitute(sizes, values);
    substitute(offsets, values, program.getRanges());
    substitute(carried, values, program.getRanges());
  }
}

/// Dims of one point carry nothing; without them the innermost one is real.
static void dropUnitDims(ScalarProgram &program,
                         SmallVectorImpl<Expr> &offsets) {
  MLIRContext *context = program.getContext();
  SmallVector<Expr> sizes, values;
  for (Expr size : program.getSizes()) {
    if (size.isConstant(1)) {
      values.push_back(Expr::constant(context, 0));
      continue;
    }
    values.push_back(Expr::dim(context, sizes.size()));
    sizes.push_back(size);
  }
  program.substitute(sizes, values);
  substitute(offsets, values, program.getRanges());
}

/// Joins neighbouring dims that every access walks through together.
static void coalesce(ScalarProgram &program, SmallVectorImpl<Expr> &offsets,
                     InputStrides inputStrides) {
  MLIRContext *context = program.getContext();
  for (unsigned i = 0; i + 1 < program.getSizes().size();) {
    Expr inner = program.getSizes()[i + 1];
    bool joins = true;
    auto check = [&](Expr expr) {
      auto outerStep = getDimCoefficient(expr, i),
           innerStep = getDimCoefficient(expr, i + 1);
      joins =
          joins && outerStep && innerStep && *outerStep == *innerStep * inner;
    };
    llvm::for_each(offsets, check);
    for (size_t n = 0; n < program.size() && joins; ++n) {
      const ScalarNode &node = program[n];
      if (node.kind == ScalarNode::Kind::Load) {
        check(program.getRanges().simplify(
            getOffset(node.indices, inputStrides(node.value), context)));
        continue;
      }
      auto unused = [&](Expr expr) {
        joins = joins && !usesDim(expr, i) && !usesDim(expr, i + 1);
      };
      if (node.kind != ScalarNode::Kind::Root)
        llvm::for_each(node.indices, unused);
      if (node.expr)
        unused(node.expr);
      for (const IndexCondition &c : node.conditions)
        unused(c.value);
    }
    if (!joins) {
      ++i;
      continue;
    }
    SmallVector<Expr> sizes, values;
    for (auto [k, size] : llvm::enumerate(program.getSizes())) {
      if (k == i + 1)
        continue;
      Expr next = Expr::dim(context, sizes.size());
      if (k != i) {
        values.push_back(next);
        sizes.push_back(size);
        continue;
      }
      values.push_back(next.floorDiv(inner));
      values.push_back(next.mod(inner));
      sizes.push_back(size * inner);
    }
    program.substitute(sizes, values);
    substitute(offsets, values, program.getRanges());
  }
}

FailureOr<PointSpace> fusec::getPointSpace(ArrayRef<Value> outputs,
                                           ScalarProgram::Inside isInside,
                                           OutputStrides outputStrides) {
  if (outputs.empty())
    return failure();
  MLIRContext *context = outputs[0].getContext();
  SmallVector<Piece> pieces = splitOutputs(outputs, isInside);
  SmallVector<Expr> sizes = getSizes(pieces[0].value);
  Expr count = getElementCount(sizes, context);
  if (!llvm::all_of(pieces, [&](const Piece &p) {
        return getElementCount(getSizes(p.value), context) == count;
      }))
    return failure();
  PointSpace space{sizes, {}};
  IndexMap identity = IndexMap::identity(context, sizes.size());
  for (const Piece &piece : pieces) {
    SmallVector<Expr> own = getSizes(piece.value), indices = identity.results;
    if (own != sizes)
      indices = delinearize(linearize(indices, sizes, context), own);
    SmallVector<Expr> at = indices;
    if (piece.axis >= 0)
      at[piece.axis] = at[piece.axis] + piece.start;
    space.stored.push_back({piece.value, piece.output, indices,
                            ExprRanges(sizes).simplify(getOffset(
                                at, outputStrides(piece.output), context))});
  }
  return space;
}

PointwiseIteration fusec::refinePoints(PointSpace &space,
                                       ScalarProgram::Inside isInside) {
  MLIRContext *context = space.stored[0].value.getContext();
  PointwiseIteration result{ScalarProgram(space.sizes, context), {}};
  SmallVector<Expr> offsets, indices;
  for (const StoredValue &stored : space.stored) {
    unsigned node =
        result.program.build(stored.value, stored.indices, isInside);
    result.stores.push_back({node, stored.output, Expr()});
    offsets.push_back(stored.offset);
    llvm::append_range(indices, stored.indices);
  }
  refine(result.program, offsets, indices);
  space.sizes = llvm::to_vector(result.program.getSizes());
  ArrayRef<Expr> left = indices;
  for (auto [stored, store, offset] :
       llvm::zip_equal(space.stored, result.stores, offsets)) {
    stored.offset = store.offset = offset;
    stored.indices = llvm::to_vector(left.take_front(stored.indices.size()));
    left = left.drop_front(stored.indices.size());
  }
  return result;
}

void fusec::joinDims(PointwiseIteration &iteration, InputStrides inputStrides) {
  SmallVector<Expr> offsets = llvm::map_to_vector(
      iteration.stores, [](const RegionStore &store) { return store.offset; });
  dropUnitDims(iteration.program, offsets);
  coalesce(iteration.program, offsets, inputStrides);
  for (auto [store, offset] : llvm::zip_equal(iteration.stores, offsets))
    store.offset = offset;
}

FailureOr<PointwiseIteration>
fusec::analyzePointwise(ArrayRef<Value> outputs, ScalarProgram::Inside isInside,
                        InputStrides inputStrides,
                        OutputStrides outputStrides) {
  FailureOr<PointSpace> space = getPointSpace(outputs, isInside, outputStrides);
  if (failed(space))
    return failure();
  PointwiseIteration result = refinePoints(*space, isInside);
  joinDims(result, inputStrides);
  return result;
}

FailureOr<PointwiseIteration> fusec::analyzePointwise(StepOp step) {
  Block &block = step.getBody().front();
  return analyzePointwise(
      llvm::to_vector(block.getTerminator()->getOperands()),
      [&](Operation *op) { return op->getBlock() == &block; },
      [&](Value v) { return step.getInputBuffer(v).getStrideExprs(); },
      [&](unsigned i) { return step.getOutputBuffer(i).getStrideExprs(); });
}
