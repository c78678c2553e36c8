// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Schedules of rows whose items are results of reductions: columns by vectors,
// of which a row's are found by threads beside each other. Groups of threads
// that share columns are those of a block, or with the scope Warp of a warp.

#include "compiler/analysis/StepBytes.h"
#include "compiler/kernels/reduce/Reduce.h"

using namespace mlir;
using namespace fusec;

int64_t fusec::getNestedLanes(int64_t columns, ReduceScheduleAttr schedule) {
  return llvm::PowerOf2Ceil(
      llvm::divideCeil(columns, schedule.getVector() * schedule.getKept()));
}

int64_t fusec::getNestedRowsAtOnce(int64_t columns,
                                   ReduceScheduleAttr schedule) {
  return schedule.getThreads() / schedule.getGroups() /
         getNestedLanes(columns, schedule);
}

int64_t fusec::getNestedKept(const NestedIteration &nested,
                             ReduceScheduleAttr schedule) {
  if (!schedule.getResident())
    return 0;
  return llvm::divideCeil(*nested.items.length.getConstant(),
                          schedule.getGroups());
}

/// The schedule with its items' columns in registers, of which a thread then
/// has 64, where they are short enough for that.
static ReduceScheduleAttr keepColumns(const NestedIteration &nested,
                                      ReduceScheduleAttr schedule) {
  constexpr int64_t mostBytes = 96, registers = 64 << 10, ofThread = 64;
  const ScalarProgram &program = nested.items.program;
  if (!nested.items.length.isConstant())
    return schedule;
  auto keeping =
      schedule.withResident(registers / ofThread / schedule.getThreads());
  int64_t bytes = 0;
  for (size_t n = 0; n < program.size(); ++n)
    if (program[n].kind == ScalarNode::Kind::Load && program.varies(n, 1))
      bytes += getElementBytes(program[n].type);
  bytes *= getNestedKept(nested, keeping) * schedule.getVector();
  return bytes <= mostBytes ? keeping : schedule;
}

/// How many items an access can take in all loops, and what must be aligned for
/// that.
static VectorAccesses analyzeAccesses(StepOp step,
                                      const NestedIteration &nested) {
  VectorAccesses accesses = analyzeVectorAccesses(step, nested.items.program,
                                                  {}, 2, /*hasTail=*/false);
  const ScalarProgram &program = nested.rows.program;
  SmallVector<RegionStore> full = getFullStores(nested.rows);
  bool hasOwn = !full.empty();
  for (size_t n = 0; n < program.size(); ++n)
    hasOwn |= program[n].kind == ScalarNode::Kind::Load && program.varies(n, 1);
  if (!hasOwn || accesses.width == 1)
    return accesses;
  VectorAccesses own =
      analyzeVectorAccesses(step, program, full, 1, /*hasTail=*/false);
  accesses.width = std::min(accesses.width, own.width);
  llvm::append_range(accesses.aligned, own.aligned);
  return accesses.width == 1 ? VectorAccesses() : accesses;
}

SmallVector<AccessesAttr>
fusec::getNestedAccesses(StepOp step, VariantAttr variant,
                         const NestedIteration &nested) {
  MLIRContext *context = step.getContext();
  auto schedule = cast<ReduceScheduleAttr>(variant.getSchedule());
  int64_t width = schedule.getVector();
  SmallVector<int64_t> passing;
  if (getPasses(nested.items).size() == 1)
    passing = getPassingReads(step, nested.items, schedule);
  auto getLoads = [&](const RowIteration &iteration, unsigned dim) {
    return getLoadWidths(step, variant, iteration.program, dim, width);
  };
  SmallVector<RegionStore> full = getFullStores(nested.rows);
  SmallVector<int64_t> stores = getStoreWidths(step, variant, full, 1, width);
  stores.append(getOnceStores(nested.rows).size(), 1);
  return {getAccesses(context, Walk::Dimension, width,
                      getLoads(nested.items, 2), {}, passing),
          getAccesses(context, Walk::Dimension, width, getLoads(nested.rows, 1),
                      stores)};
}

static RowSizes getSizesAt(StepOp step, const NestedIteration &nested,
                           const Target &target, int64_t dim) {
  const ScalarProgram &program = nested.items.program;
  ArrayRef<Expr> space = program.getSizes();
  StepBytes bytes = getStepBytesAt(step, dim);
  unsigned passes = getPasses(nested.items).size();
  int64_t widest = 1;
  for (size_t n = 0; n < program.size(); ++n)
    if (program[n].kind == ScalarNode::Kind::Load && program.varies(n, 1))
      widest = std::max(widest, getElementBytes(program[n].type));
  return {double(getSampledValue(space[0], dim)) * nested.columns,
          double(getSampledValue(space[1], dim)),
          double(bytes.read + bytes.written),
          double(bytes.read),
          passes,
          passes,
          double(nested.columns),
          unsigned(widest),
          countInstructions(target.ops, nested.items)};
}

/// The smallest last.
static SmallVector<ReduceScheduleAttr> getSchedules(MLIRContext *context,
                                                    int64_t columns,
                                                    int64_t vector,
                                                    int64_t bits) {
  SmallVector<ReduceScheduleAttr> schedules;
  for (; vector >= 1; vector /= 2)
    for (int64_t groups : {1, 2, 4, 8})
      for (int64_t kept : {1, 2, 3, 4}) {
        // More would be without items.
        if (kept > 1 && (kept - 1) * vector >= columns)
          continue;
        auto schedule = ReduceScheduleAttr::get(context, ReduceScope::Columns,
                                                256, bits, vector, groups)
                            .withKept(kept);
        if (getNestedRowsAtOnce(columns, schedule) >= 1)
          schedules.push_back(schedule);
        // Groups of a warp, in blocks of fewer threads.
        auto ofWarp = ReduceScheduleAttr::get(context, ReduceScope::Warp, 128,
                                              bits, vector, groups)
                          .withKept(kept);
        if (groups > 1 && groups * getNestedLanes(columns, ofWarp) <= 32)
          schedules.insert(schedules.begin(), ofWarp);
      }
  return schedules;
}

static SmallVector<Candidate>
getCandidates(StepOp step, const NestedIteration &nested, const Target &target,
              int64_t vector, int64_t bits, int64_t dim) {
  RowSizes sizes = getSizesAt(step, nested, target, dim);
  MLIRContext *context = step.getContext();
  SmallVector<Candidate> candidates;
  for (ReduceScheduleAttr unlimited :
       getSchedules(context, nested.columns, vector, bits)) {
    Expr atOnce =
        Expr::constant(context, getNestedRowsAtOnce(nested.columns, unlimited));
    candidates.push_back(chooseGridLimit(
        target, unlimited.getThreads(),
        nested.rows.program.getSizes()[0].ceilDiv(atOnce),
        [&](int64_t limit) -> Candidate {
          auto schedule = keepColumns(nested, unlimited.withBlocks(limit));
          return {schedule,
                  estimateNested(target, sizes, nested.columns,
                                 nested.rows.reductions.size(), schedule)};
        }));
  }
  return candidates;
}

SmallVector<VariantAttr>
fusec::chooseNestedVariants(StepOp step, const NestedIteration &nested,
                            const Target &target) {
  MLIRContext *context = step.getContext();
  VectorAccesses accesses = analyzeAccesses(step, nested);
  IndexWidth width = getIndexWidth(step);
  SmallVector<GuardAttr> guards = getAlignmentGuards(accesses.aligned);
  llvm::append_range(guards, width.guards);
  auto variant = [&](ArrayRef<GuardAttr> under, int64_t vector, int64_t bits) {
    return makeVariant(
        context, under,
        getCandidates(step, nested, target, vector, bits, typicalDim));
  };
  SmallVector<VariantAttr> variants = {
      variant(guards, accesses.width, width.neverNarrow ? 64 : 32)};
  if (!guards.empty())
    variants.push_back(variant({}, 1, width.alwaysNarrow ? 32 : 64));
  return variants;
}

Estimates fusec::estimateNestedStep(StepOp step, const NestedIteration &nested,
                                    const Target &target,
                                    ArrayRef<int64_t> dims) {
  int64_t vector = analyzeAccesses(step, nested).width;
  return llvm::map_to_vector(dims, [&](int64_t dim) {
    return std::optional(
        getFastest(getCandidates(step, nested, target, vector, 32, dim))
            .estimate);
  });
}
