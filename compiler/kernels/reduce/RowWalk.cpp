// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a kernel walks along rows. Where rows are no whole number of vectors, dim
// 1 of the iteration is moved from the position in the row to that in memory:
// whole vectors then are those of memory, with single items before and behind.

#include "compiler/analysis/ShiftedLoads.h"
#include "compiler/kernels/PassingReads.h"
#include "compiler/kernels/reduce/Reduce.h"

using namespace mlir;
using namespace fusec;

SmallVector<RegionStore> fusec::getFullStores(const RowIteration &iteration) {
  SmallVector<RegionStore> full;
  for (const RowStore &store : iteration.stores)
    if (store.isFull)
      full.push_back(store);
  return full;
}

SmallVector<RegionStore> fusec::getOnceStores(const RowIteration &iteration) {
  SmallVector<RegionStore> once;
  for (const RowStore &store : iteration.stores)
    if (!store.isFull)
      once.push_back(store);
  return once;
}

namespace {
/// Rows whose elements follow one another in a buffer: how far they are apart,
/// or how long parts of them are, and where one begins.
struct RowPlace {
  int64_t pitch;
  Expr begin, extent;
};
} // namespace

static std::optional<RowPlace> getPlace(const ScalarProgram &program,
                                        Expr offset, BufferOp buffer) {
  auto along = getDimCoefficient(offset, 1),
       pitch = getDimCoefficient(offset, 0);
  if (!along || !along->isConstant(1))
    return std::nullopt;
  ArrayRef<Expr> sizes = program.getSizes();
  Expr row = Expr::dim(program.getContext(), 0);
  if (pitch) {
    std::optional<int64_t> apart = pitch->getConstant();
    if (!apart)
      return std::nullopt;
    return RowPlace{*apart, row * *apart, sizes[0] * *apart};
  }
  std::optional<int64_t> length = sizes[1].getConstant();
  if (!length)
    return std::nullopt;
  Expr first = Expr::constant(program.getContext(), 0);
  return RowPlace{
      *length, program.getRanges().simplify(offset.replaceDims({row, first})),
      getExtent(getSizes(buffer.getType()), buffer.getStrideExprs())};
}

/// Of what is stored, else of the first operand that has rows of its own.
static std::optional<RowPlace> getPlace(StepOp step,
                                        const RowIteration &iteration) {
  const ScalarProgram &program = iteration.program;
  SmallVector<RegionStore> full = getFullStores(iteration);
  if (!full.empty())
    return getPlace(program, full[0].offset,
                    step.getOutputBuffer(full[0].output));
  for (size_t n = 0; n < program.size(); ++n) {
    const ScalarNode &node = program[n];
    if (node.kind != ScalarNode::Kind::Load || !program.varies(n, 0) ||
        !program.varies(n, 1))
      continue;
    return getPlace(program, getLoadOffset(step, program, n),
                    step.getInputBuffer(node.value));
  }
  return std::nullopt;
}

static RowWalk walkMemory(const RowIteration &rows, const RowPlace &place) {
  RowIteration moved = rows;
  ArrayRef<Expr> sizes = rows.program.getSizes();
  MLIRContext *context = rows.program.getContext();
  SmallVector<Expr> values = {Expr::dim(context, 0),
                              Expr::dim(context, 1) - place.begin};
  moved.program.substitute({sizes[0], place.extent}, values);
  for (RowStore &store : moved.stores)
    store.offset =
        moved.program.getRanges().simplify(store.offset.replaceDims(values));
  return {std::move(moved), place.pitch, {}, place.begin, sizes[1]};
}

static VectorAccesses analyzeAccesses(StepOp step,
                                      const RowIteration &iteration) {
  return analyzeVectorAccesses(step, iteration.program,
                               getFullStores(iteration), 1, /*hasTail=*/true);
}

FailureOr<RowWalk> fusec::analyzeWalk(StepOp step) {
  FailureOr<RowIteration> rows = analyzeRows(step);
  if (failed(rows))
    return failure();
  RowWalk walk{std::move(*rows), 0, {}};
  walk.accesses = analyzeAccesses(step, walk.iteration);
  // What parts gave is little beside what is stored.
  if (walk.iteration.isWide)
    walk.accesses = analyzeVectorAccesses(
        step, walk.iteration.program, getFullStores(walk.iteration), 1,
        /*hasTail=*/true, getAlignmentIfGuarded, /*loadsSmallByLanes=*/true);
  ArrayRef<Expr> sizes = walk.iteration.program.getSizes();
  std::optional<int64_t> length = sizes[1].getConstant();
  if (walk.accesses.width > 1 || !length || walk.iteration.isWide)
    return walk;
  std::optional<RowPlace> place = getPlace(step, walk.iteration);
  if (!place || place->pitch < *length)
    return walk;
  RowWalk moved = walkMemory(walk.iteration, *place);
  moved.accesses = analyzeAccesses(step, moved.iteration);
  // Shorter rows are head and tail for the most part.
  constexpr int64_t leastVectors = 8;
  if (moved.accesses.width > 1 &&
      *length >= leastVectors * moved.accesses.width)
    walk = std::move(moved);
  return walk;
}

FailureOr<RowWalk> fusec::analyzeWalk(StepOp step,
                                      ReduceScheduleAttr schedule) {
  if (!schedule.isOfColumns() && schedule.getVector() > 1)
    return analyzeWalk(step);
  FailureOr<RowIteration> iteration =
      schedule.isOfColumns() ? analyzeColumns(step) : analyzeRows(step);
  if (failed(iteration))
    return failure();
  return RowWalk{std::move(*iteration), 0, {}};
}

SmallVector<int64_t> fusec::getPassingReads(StepOp step,
                                            const RowIteration &iteration,
                                            ReduceScheduleAttr schedule) {
  size_t passes = getPasses(iteration).size() - schedule.getOnline();
  const ScalarProgram &program = iteration.program;
  if (getFullStores(iteration).empty())
    return schedule.getKept() || passes == 1 ? findPassingReads(step, program)
                                             : SmallVector<int64_t>();
  // Of those that store at every point none gained by reads that leave first,
  // and some lost a quarter. Threads that keep many items have no registers
  // left for reads that stay, but in teams, whose blocks have one row.
  double items = double(schedule.getKept() * schedule.getVector());
  bool isFull = items >= getTarget(step).row.manyItems && !schedule.isOfTeam();
  if (!items || isFull || !readsStay(step))
    return {};
  // Columns that L2 has fetched to stay need stay no longer once they are
  // loaded: softmax of 64 x 1000 x 128 floats took 24.4 us for 21.9. Rows took
  // up to 4% longer so.
  if (schedule.isOfColumns() && schedule.getFetched())
    return {};
  SmallVector<int64_t> staying = findPassingReads(step, program);
  // They are branched over where others are predicated. Halves of a row ahead,
  // which are widened there, took more registers: norms of 16384 x 1152 in fp16
  // 24.9 us for 23.7, of 16384 x 4096 in bf16 70.2 for 67.7.
  SmallVector<unsigned> reads = getReads(program);
  if (schedule.getAhead() && !sharesWarp(schedule))
    llvm::erase_if(staying, [&](int64_t read) {
      return getElementBytes(program[reads[read]].type) < 4;
    });
  return staying;
}

AccessesAttr fusec::getAccesses(StepOp step, VariantAttr variant,
                                const RowWalk &walk) {
  auto schedule = cast<ReduceScheduleAttr>(variant.getSchedule());
  int64_t width = schedule.getVector();
  unsigned dim = schedule.getLanesDim();
  // What is stored once a row, or vector of columns, follows what is stored at
  // every point of it.
  SmallVector<RegionStore> full = getFullStores(walk.iteration),
                           once = getOnceStores(walk.iteration);
  SmallVector<int64_t> stores = getStoreWidths(step, variant, full, dim, width);
  llvm::append_range(stores,
                     getStoreWidths(step, variant, once, dim,
                                    schedule.isOfColumns() ? width : 1));
  const ScalarProgram &program = walk.iteration.program;
  SmallVector<int64_t> loads =
                           getLoadWidths(step, variant, program, dim, width),
                       shifted;
  if (areColumnsPhased(walk.iteration, schedule))
    return getPhasedAccesses(step, walk.iteration, schedule, stores.size());
  if (!areColumnsShifted(walk.iteration, schedule))
    return getAccesses(
        step.getContext(), walk.pitch ? Walk::Memory : Walk::Dimension, width,
        loads, stores, getPassingReads(step, walk.iteration, schedule));
  SmallVector<unsigned> shiftable =
      findShiftableLoads(step, program, getReduced(walk.iteration), dim, width,
                         /*beginAnywhere=*/true, [&](BufferOp buffer) {
                           return getAlignment(buffer, variant);
                         });
  for (auto [i, read] : llvm::enumerate(getReads(program)))
    if (llvm::is_contained(shiftable, read)) {
      loads[i] = width;
      shifted.push_back(i);
    }
  return getAccesses(step.getContext(), Walk::Memory, width, loads, stores,
                     /*passing=*/{}, shifted);
}

FailureOr<RowWalk> fusec::takeWalk(StepOp step, VariantAttr variant) {
  auto schedule = cast<ReduceScheduleAttr>(variant.getSchedule());
  FailureOr<RowIteration> iteration =
      schedule.isOfColumns() ? analyzeColumns(step) : analyzeRows(step);
  if (failed(iteration))
    return step.emitOpError(
        schedule.isOfColumns()
            ? "is not a region of reductions whose rows lie side by side"
            : "is not a region of reductions over one set of rows");
  if (failed(checkLoops(step, variant, 1)))
    return failure();
  AccessesAttr accesses = variant.getLaunch().getLoopAccesses(0);
  RowWalk walk{std::move(*iteration), 0, {}};
  bool shifts = areColumnsShifted(walk.iteration, schedule);
  if (shifts && accesses.getWalk() != Walk::Memory)
    return step.emitOpError("has a schedule of vectors that are no part of its "
                            "columns, and a launch that does not shift them");
  if (!shifts && accesses.getWalk() != Walk::Dimension) {
    std::optional<RowPlace> place;
    if (accesses.getWalk() == Walk::Memory && !schedule.isOfColumns())
      place = getPlace(step, walk.iteration);
    if (!place)
      return step.emitOpError("has a launch that walks rows along memory, "
                              "which have no pitch there");
    walk = walkMemory(walk.iteration, *place);
  }
  SmallVector<RegionStore> full = getFullStores(walk.iteration),
                           once = getOnceStores(walk.iteration);
  SmallVector<RegionStore> reduced;
  if (shifts)
    reduced = getReduced(walk.iteration);
  if (!takeAccesses(step, variant, 0,
                    {walk.iteration.program,
                     schedule.getLanesDim(),
                     schedule.getVector(),
                     {full, once},
                     /*others=*/{},
                     shifts,
                     reduced}))
    return failure();
  return walk;
}

bool fusec::isComputedOf(const ScalarProgram &program, unsigned from,
                         llvm::function_ref<bool(unsigned)> isAsked,
                         std::optional<unsigned> known) {
  SmallVector<unsigned> open = {from};
  llvm::SmallDenseSet<unsigned> seen;
  if (known)
    seen.insert(*known);
  while (!open.empty()) {
    unsigned next = open.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (isAsked(next))
      return true;
    llvm::append_range(open, program[next].operands);
    llvm::append_range(open, program[next].rows);
  }
  return false;
}

static bool needsResult(const ScalarProgram &program, unsigned from,
                        ArrayRef<RowReduction> reductions) {
  return isComputedOf(program, from, [&](unsigned node) {
    return program[node].kind == ScalarNode::Kind::Root &&
           llvm::any_of(reductions, [&](const RowReduction &reduction) {
             return program[node].value == reduction.op->getResult(0);
           });
  });
}

/// Whether something behind the pass, at each point of a row, is as asked.
static bool isNeededBehind(const RowIteration &iteration,
                           ArrayRef<RowReduction> pass,
                           llvm::function_ref<bool(unsigned)> needs) {
  return llvm::any_of(iteration.reductions,
                      [&](const RowReduction &later) {
                        return &later >= pass.end() && needs(later.operand);
                      }) ||
         llvm::any_of(iteration.stores, [&](const RowStore &store) {
           return store.isFull && needs(store.node);
         });
}

bool fusec::isReplaced(const RowIteration &iteration,
                       ArrayRef<RowReduction> pass, unsigned load) {
  const ScalarProgram &program = iteration.program;
  return pass.size() == 1 && program[load].type.isF32() &&
         !isNeededBehind(iteration, pass, [&](unsigned from) {
           return isComputedOf(
               program, from, [&](unsigned other) { return other == load; },
               pass[0].operand);
         });
}

bool fusec::isWorthHolding(const RowIteration &iteration,
                           ArrayRef<RowReduction> pass,
                           ReduceScheduleAttr schedule, bool replaces) {
  const ScalarProgram &program = iteration.program;
  unsigned node = pass[0].operand;
  // Else it is in registers beside what is kept for a while.
  int64_t bytes = replaces ? 4 : 8;
  if (pass.size() != 1 || program[node].kind != ScalarNode::Kind::Compute ||
      (!replaces &&
       !isa<ExpOp, TanhOp, ErfOp, SigmoidOp, LogOp>(program[node].op)) ||
      !program[node].type.isF32() || !schedule.getKept() ||
      bytes * schedule.getKept() * schedule.getVector() > getMostKept(schedule))
    return false;
  return isNeededBehind(iteration, pass, [&](unsigned from) {
    return isComputedOf(program, from,
                        [&](unsigned other) { return other == node; });
  });
}

bool fusec::isStored(const RowIteration &iteration, unsigned node) {
  return isNeededBehind(
      iteration, ArrayRef(iteration.reductions), [&](unsigned from) {
        return isComputedOf(iteration.program, from,
                            [&](unsigned other) { return other == node; });
      });
}

int64_t fusec::countStepsAhead(const RowIteration &iteration,
                               ArrayRef<unsigned> kept,
                               ReduceScheduleAttr schedule) {
  // Of a thread's items: where it keeps more, it has no registers for what it
  // would load, too (group norms of 32 took 12% longer, layer norms of 8192
  // 6%). Warps, which wait for nobody, do well by two more steps: norms whose
  // rows have scales of their own 5 to 9%.
  constexpr int64_t mostItems = 8, ofWarp = 2;
  int64_t steps = schedule.getKept();
  bool areFew = steps * schedule.getVector() <= mostItems;
  if (steps < 2 || (!areFew && schedule.getScope() != ReduceScope::Warp))
    return 0;
  const ScalarProgram &program = iteration.program;
  bool loads = false;
  for (unsigned node = 0; node < program.size(); ++node) {
    if (llvm::is_contained(kept, node) || !program.varies(node, 1) ||
        !isStored(iteration, node))
      continue;
    ScalarNode::Kind kind = program[node].kind;
    loads |= kind == ScalarNode::Kind::Load;
    if (kind != ScalarNode::Kind::Load && kind != ScalarNode::Kind::Compute &&
        kind != ScalarNode::Kind::Index)
      return 0;
  }
  return !loads ? 0 : areFew ? steps : ofWarp;
}

/// What is found together is in registers together.
static constexpr size_t mostTogether = 4;

ArrayRef<RowReduction> fusec::getCombined(ArrayRef<RowReduction> pass) {
  const auto *find = llvm::find_if(pass, [](const RowReduction &reduction) {
    return isa<ArgReduceOp>(reduction.op);
  });
  return find == pass.end() ? pass : ArrayRef(*find);
}

SmallVector<ArrayRef<RowReduction>>
fusec::getPasses(const RowIteration &iteration) {
  SmallVector<ArrayRef<RowReduction>> passes;
  ArrayRef<RowReduction> rest = iteration.reductions;
  while (!rest.empty()) {
    size_t count = 1;
    auto isPair = [&](size_t first) {
      return first + 1 < rest.size() &&
             findSameExtreme(iteration.program, rest[first], rest[first + 1]);
    };
    auto joins = [&](const RowReduction &next) {
      return count < mostTogether && isa<ReduceOp>(next.op) &&
             !needsResult(iteration.program, next.operand,
                          rest.take_front(count));
    };
    if (isPair(0))
      count = 2;
    else if (isa<ReduceOp>(rest[0].op))
      while (count < rest.size() && joins(rest[count]) && !isPair(count))
        ++count;
    passes.push_back(rest.take_front(count));
    rest = rest.drop_front(count);
  }
  return passes;
}
