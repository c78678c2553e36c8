// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The variants of a step of the gemm family: which guards its matrices need for
// wide copies and for tensor maps, and for each set the fastest schedules.

#include "compiler/analysis/Alignment.h"
#include "compiler/analysis/MappedMatrix.h"
#include "compiler/analysis/StepBytes.h"
#include "compiler/kernels/NodeWork.h"
#include "compiler/kernels/gemm/GemmUnits.h"

#include <numeric>

using namespace mlir;
using namespace fusec;

namespace {
class GemmChooser {
public:
  GemmChooser(StepOp step, const Target &target, Products products,
              const MatmulIteration &iteration)
      : step(step), iteration(iteration),
        problem(step, target, products, iteration) {
    collectGuards();
    hasMaps =
        target.name == "sm_90a" &&
        problem.usesWgmma(getGemmSizes(step, target, iteration, typicalDim)) &&
        collectMapGuards();
  }

  SmallVector<VariantAttr> choose();
  /// Of the fastest where all guards hold and named dimensions are `dim`;
  /// nothing where there is no schedule without guards.
  std::optional<Estimate> estimateAt(int64_t dim) const;

private:
  void collectGuards();
  bool collectMapGuards();
  void addBuckets(ArrayRef<GuardAttr> under, bool mapped, bool aligned,
                  SmallVectorImpl<VariantAttr> &variants) const {
    // Where A is a weight, B's columns are the tokens.
    fusec::addBuckets(
        iteration.m.isConstant() ? iteration.n : iteration.m, under,
        [&](int64_t dim) {
          return getGemmCandidates(problem, dim, mapped, aligned);
        },
        variants);
  }

  StepOp step;
  const MatmulIteration &iteration;
  GemmProblem problem;
  bool hasMaps = false; // under mapGuards
  SmallVector<GuardAttr> guards, mapGuards;
  /// Whether the matrices' strides are, under the guards, multiples of 16
  /// bytes.
  bool matricesAligned = true;
};
} // namespace

/// GemmSizes::rowAlignment.
static unsigned getRowAlignment(const TileCosts &costs,
                                const MatmulIteration &iteration,
                                unsigned element, int64_t dim) {
  constexpr int64_t line = 128; // bytes
  int64_t best = 1;
  auto add = [&](const MatrixAccess &access) {
    int64_t bytes = getSampledValue(access.outerStride, dim) * element;
    bool isLong = access.isAlongK() && bytes >= costs.spreadRowBytes;
    best = std::max(best, isLong ? std::gcd(bytes, line) : line);
  };
  llvm::for_each(iteration.lhs, add);
  for (auto &segment : iteration.rhs)
    llvm::for_each(segment, add);
  return best;
}

static std::optional<GemmSizes::Made>
getMadeSizes(const OpCosts &costs, const MatmulIteration &iteration) {
  if (!iteration.made)
    return std::nullopt;
  const ScalarProgram &program = iteration.made->program;
  unsigned source = iteration.made->source;
  GemmSizes::Made made{iteration.isRhsMade,
                       double(getElementBytes(program[source].type))};
  made.isConversion = iteration.made->isConversion() &&
                      program[iteration.made->node].type.isF16();
  for (size_t n = 0; n < program.size(); ++n) {
    made.instructions += getInstructions(costs, program[n]);
    made.readsAlongK |= n != source &&
                        program[n].kind == ScalarNode::Kind::Load &&
                        program.varies(n, program.getSizes().size() - 1);
  }
  return made;
}

GemmSizes fusec::getGemmSizes(StepOp step, const Target &target,
                              const MatmulIteration &iteration, int64_t dim) {
  GemmSizes sizes;
  auto bounded = [&](Expr size) {
    return std::min(getSampledValue(size, dim), int64_t(1) << 31);
  };
  ContractionOp root = iteration.root;
  sizes.m = bounded(iteration.m);
  sizes.n = bounded(iteration.n);
  // A dimension of the batch may be part of M, too.
  Expr batch = getElementCount(iteration.batchSizes, step.getContext());
  sizes.batch = batch.isConstant()
                    ? bounded(batch)
                    : llvm::divideCeil(bounded(batch * iteration.m),
                                       std::max<int64_t>(sizes.m, 1));
  for (Expr k : iteration.k)
    sizes.k.push_back(bounded(k));
  sizes.accumulators = root.getNumAccumulators();
  sizes.element = getElementBytes(getElementType(root.getLhs()[0]));
  StepBytes bytes = getStepBytesAt(step, dim);
  sizes.bytes = bytes.read + bytes.written;
  sizes.written = bytes.written;
  sizes.reductions = iteration.reductions.size();
  constexpr int64_t page = 2 << 20;
  sizes.farRows = llvm::all_of(iteration.lhs, [&](const MatrixAccess &a) {
    return a.isAlongK() &&
           getSampledValue(a.outerStride, dim) >= page / int64_t(sizes.element);
  });
  sizes.rowAlignment =
      getRowAlignment(target.tile, iteration, sizes.element, dim);
  sizes.areRanges = root.getRanges().has_value();
  sizes.made = getMadeSizes(target.ops, iteration);
  return sizes;
}

/// Wide copies need aligned addresses, of those matrices whose strides allow
/// them; the emitter picks the width from what the guards promise.
void GemmChooser::collectGuards() {
  SmallVector<BufferOp> matrices;
  auto addWide = [&](BufferOp buffer, SmallVector<Expr> strides) {
    llvm::erase_if(strides, [](Expr stride) { return stride.isConstant(1); });
    int64_t bytes = getElementBytes(buffer.getElementType()),
            aligned = getOffsetAlignment(guardedAlignment, bytes, strides);
    if (aligned > bytes)
      matrices.push_back(buffer);
    return aligned == guardedAlignment;
  };
  for (const MatrixAccess &a : iteration.lhs)
    matricesAligned &= addWide(step.getInputBuffer(a.value),
                               {a.outerStride, a.kStride, a.batch});
  for (auto &segment : iteration.rhs)
    for (const MatrixAccess &b : segment)
      matricesAligned &= addWide(step.getInputBuffer(b.value),
                                 {b.outerStride, b.kStride, b.batch});
  for (const TileOperand &o : iteration.operands)
    addWide(step.getInputBuffer(o.value),
            {o.access.rowStride, o.access.columnStride, o.access.batch});
  if (iteration.made)
    for (const TileOperand &o : iteration.made->operands)
      addWide(step.getInputBuffer(o.value),
              {o.access.rowStride, o.access.columnStride, o.access.batch});
  for (const TileStore &o : iteration.stores)
    addWide(step.getOutputBuffer(o.output),
            {o.access.rowStride, o.access.columnStride, o.access.batch});
  guards = getAlignmentGuards(matrices);
}

/// The guards under which every matrix has a tensor map; false where one never
/// has.
bool GemmChooser::collectMapGuards() {
  SmallVector<BufferOp> buffers;
  auto addMatrix = [&](const MatrixAccess &access) {
    BufferOp buffer = step.getInputBuffer(access.value);
    buffers.push_back(buffer);
    auto mapped = analyzeMapped(access, iteration.batchSizes);
    bool isMade =
        iteration.made && &access == (iteration.isRhsMade ? &iteration.rhs[0][0]
                                                          : &iteration.lhs[0]);
    return succeeded(mapped) &&
           (mapped->alongK ||
            (getElementBytes(getElementType(access.value)) == 2 && !isMade)) &&
           succeeded(addMapGuards(*mapped, buffer, mapGuards));
  };
  for (auto [lhs, rhs] : llvm::zip_equal(iteration.lhs, iteration.rhs))
    if (!addMatrix(lhs) || !llvm::all_of(rhs, addMatrix))
      return false;
  if (failed(addDepthGuard(iteration.k, mapGuards)))
    return false;
  llvm::append_range(mapGuards, getAlignmentGuards(buffers));
  for (GuardAttr guard : guards)
    if (!llvm::is_contained(mapGuards, guard))
      mapGuards.push_back(guard);
  return true;
}

SmallVector<VariantAttr> GemmChooser::choose() {
  SmallVector<VariantAttr> variants;
  if (hasMaps)
    addBuckets(mapGuards, true, true, variants);
  if (hasMaps && mapGuards.empty())
    return variants;
  // Under equal guards the next variants would never run.
  if (!guards.empty() && !(hasMaps && mapGuards.size() == guards.size()))
    addBuckets(guards, false, matricesAligned, variants);
  if (guards.empty())
    addBuckets({}, false, matricesAligned, variants);
  else
    variants.push_back(
        makeVariant(step.getContext(), {},
                    getGemmCandidates(problem, typicalDim, false, false)));
  return variants;
}

std::optional<Estimate> GemmChooser::estimateAt(int64_t dim) const {
  if (iteration.made && !hasMaps)
    return std::nullopt;
  if (getGemmCandidates(problem, dim, /*mapped=*/false, /*aligned=*/false)
          .empty())
    return std::nullopt;
  auto candidates =
      getGemmCandidates(problem, dim, hasMaps, hasMaps || matricesAligned);
  if (candidates.empty())
    return std::nullopt;
  return getFastest(candidates).estimate;
}

Estimates fusec::estimateGemmStep(StepOp step, const Target &target,
                                  Products products, ArrayRef<int64_t> dims) {
  Estimates estimates(dims.size());
  auto iteration = analyzeMatmul(step);
  if (failed(iteration))
    return estimates;
  GemmChooser chooser(step, target, products, *iteration);
  for (auto [dim, estimate] : llvm::zip_equal(dims, estimates))
    estimate = chooser.estimateAt(dim);
  return estimates;
}

SmallVector<VariantAttr> fusec::chooseGemmVariants(StepOp step,
                                                   const Target &target,
                                                   Products products) {
  auto iteration = analyzeMatmul(step);
  if (failed(iteration))
    return {
        VariantAttr::get(step.getContext(), {},
                         getPlainSchedule(Family::Gemm, step.getContext()))};
  return GemmChooser(step, target, products, *iteration).choose();
}
