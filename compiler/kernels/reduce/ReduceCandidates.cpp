// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What schedules are said to take, and which of them come first.

#include "compiler/kernels/reduce/ReduceProblem.h"
#include <cmath>

using namespace mlir;
using namespace fusec;

/// For how many blocks, of those of the grid, a kernel is compiled that does
/// not ask for what all threads have, but of spans of halves, and of floats
/// that a cluster's blocks store: softmax of 2048 x 50257 took 202 us by 64
/// registers, and 224 by 66, with which a block less has room. 0: it asks. Rows
/// that share a warp take longer so, and warps and blocks that load ahead while
/// others follow, items and places of 64 bits take twice the registers. Rows of
/// halves that share a warp and load ahead ask, but are compiled for as many
/// blocks as they have registers for: left to itself the compiler widens all
/// items at once, by 96 registers instead of 72 for a norm of 96 halves, which
/// took 18.1 us for 17.3. With a row a warp nothing was gained, nor with floats
/// beside the halves, of which some were spilled. Teams' schedules say it.
int64_t ReduceProblem::getResident(const Target &target, const RowSizes &sizes,
                                   ReduceScheduleAttr schedule) const {
  double threads = schedule.getThreads(),
         items = double(schedule.getKept() * schedule.getVector()) *
                 sizes.keptLoads,
         blocks = std::ceil(sizes.rows / double(schedule.getRowsAtOnce())) *
                  double(schedule.getBlocksTogether());
  bool isSpan = pitch && schedule.getVector() > 1,
       isNarrow = !ofColumns && !isSpan && sizes.keepsNarrow,
       areSingles = !ofColumns && schedule.getVector() == 1;
  auto ofGrid = [&](double resident) {
    return std::max<int64_t>(
        1, std::min(resident, std::ceil(blocks / target.multiprocessors)));
  };
  if (schedule.getKept() && loadsAheadByWarps(schedule))
    return isNarrow && !sizes.keepsWide && sharesWarp(schedule)
               ? ofGrid(getResidentBlocks(target, sizes, schedule))
               : 0;
  if (!schedule.getKept() || schedule.isOfTeam() || sharesWarp(schedule) ||
      sizes.element > 4 ||
      (schedule.getAhead() && isFollowed(target, sizes, schedule)) ||
      (isNarrow && items > target.row.mostFreeItems) ||
      (isSpan && !sizes.keepsNarrow &&
       (schedule.getCluster() == 1 || getFullStores(iteration).empty())) ||
      ((isSpan || areSingles) && schedule.getIndexBits() > 32))
    return 0;
  // One pass has nothing but long functions that could be computed too early.
  if (ofColumns && isOnePass(iteration))
    return sizes.instructions <= mostInstructionsOfPass;
  // Spans of halves that are divided keep what is, in 32 bits each.
  bool areWidened = isNarrow || (isSpan && sizes.divides);
  double beside = target.row.freeRegisters +
                  (isSpan ? target.row.quotientRegisters : 0),
         resident = areWidened ? std::min(target.threads / threads,
                                          65536 / ((beside + items) * threads))
                               : double(getResidentBlocks(
                                     target, sizes, schedule.withResident(1)));
  return ofGrid(resident);
}

/// What rows take where L2 fetches later ones: of teams, whose blocks all wait
/// at about one time, .96 by the median of 83 pairs of schedules, but .93 to
/// 1.05 where L2 has much to write.
static double getFetchedPart(const Target &target,
                             ReduceScheduleAttr schedule) {
  constexpr double ofTeams = 0.985;
  return schedule.isOfTeam() ? ofTeams : target.row.fetchedPart;
}

/// The same schedule by twice the threads, each of which does as much.
static bool isTwin(ReduceScheduleAttr twin, ReduceScheduleAttr schedule) {
  return twin.getThreads() == 2 * schedule.getThreads() &&
         twin.getVector() == schedule.getVector() &&
         twin.getGroups() == schedule.getGroups() &&
         twin.getKept() == schedule.getKept() &&
         twin.getResident() == schedule.getResident();
}

/// Of one pass over columns that all threads have as many items of, where many
/// blocks begin one behind another: by half as many, which read pieces twice as
/// wide, sums of 65536 x 512 halves took 23.5 us for 23.8, of 131072 x 256
/// floats 39.3 for 39.8. Columns that are no whole number of such pieces take
/// longer.
bool ReduceProblem::gainsByTwin(const Target &target,
                                ReduceScheduleAttr schedule) const {
  constexpr int64_t leastBlocks = 8; // of a multiprocessor
  std::optional<int64_t> rows = getRows().getConstant();
  int64_t atOnce = schedule.getRowsAtOnce();
  Expr columns = iteration.program.getSizes()[2],
       piece = Expr::constant(columns.getContext(), 2 * atOnce);
  return schedule.getKept() && rows && isOnePass(iteration) &&
         iteration.length.isConstant(schedule.getGroups() *
                                     schedule.getKept()) &&
         columns.mod(piece).isConstant(0) &&
         *rows / atOnce >= leastBlocks * target.multiprocessors;
}

void ReduceProblem::adjustTwins(const Target &target,
                                MutableArrayRef<Candidate> candidates) const {
  constexpr double ofTwin = 0.99;
  if (!ofColumns)
    return;
  for (Candidate &candidate : candidates) {
    auto twin = cast<ReduceScheduleAttr>(candidate.schedule);
    for (const Candidate &other : candidates)
      if (auto schedule = cast<ReduceScheduleAttr>(other.schedule);
          isTwin(twin, schedule) && gainsByTwin(target, schedule))
        candidate.estimate.microseconds =
            std::min(candidate.estimate.microseconds,
                     ofTwin * other.estimate.microseconds);
  }
}

SmallVector<Candidate>
ReduceProblem::getCandidates(StepOp step, const Target &target, int64_t vector,
                             int64_t bits, int64_t dim) const {
  if (pitch && vector == 1)
    return asSingles(step).getCandidates(step, target, vector, bits, dim);
  if (iteration.isWide)
    return getWideCandidates(step, target, vector, bits, dim);
  std::pair<RowSizes, RowSizes> keeping =
      getKeptSizes(step, target, vector, dim);
  RowSizes &sizes = keeping.first;
  const RowSizes &ahead = keeping.second;
  bool isShifted = ofColumns && vector > 1 && !accesses.shifted.empty(),
       hasPhases = isShifted && getPhasedVector() == vector;
  if (isShifted && !hasPhases) {
    sizes.instructions += target.columns.shiftInstructions;
    sizes.areShifted = true;
  }
  SmallVector<Candidate> candidates;
  // With later rows on their way, where they can be, and without, which is
  // there for kernels that would spill else.
  auto add = [&](const Candidate &candidate) {
    auto schedule = cast<ReduceScheduleAttr>(candidate.schedule);
    const RowSizes &kept = schedule.getAhead() ? ahead : sizes;
    int64_t together = schedule.getResident()
                           ? schedule.getResident()
                           : getResidentBlocks(target, kept, schedule);
    if (int64_t later =
            pitch ? 0
                  : getRowsAhead(step, target, iteration, schedule, together)) {
      candidates.push_back(candidate);
      candidates.back().schedule = schedule.withFetched(later);
      candidates.back().estimate.microseconds *=
          getFetchedPart(target, schedule);
    }
    candidates.push_back(candidate);
  };
  for (ReduceScheduleAttr unlimited :
       getSchedules(step, target, vector, bits)) {
    if (!hasRegisters(target, sizes, unlimited) ||
        (ofColumns && isOnePass(iteration) && unlimited.getKept() &&
         sizes.keepsNarrow && sizes.instructions > mostInstructionsOfPass))
      continue;
    if (!pitch && paysAhead(target, sizes, ahead, unlimited))
      unlimited = unlimited.asAhead();
    Expr atOnce = Expr::constant(step.getContext(), unlimited.getRowsAtOnce()),
         blocks = getRows().ceilDiv(atOnce) * unlimited.getBlocksTogether();
    RowSizes walked = sizes;
    if (hasPhases) {
      blocks = getPhasedBlocks(iteration, unlimited);
      walked.rows = double(getSampledValue(blocks * atOnce, dim));
      double vectors = double(unlimited.getThreads() / unlimited.getGroups());
      // The last one is loaded for the one before, and sectors have two.
      walked.phasesLoad = (vectors + 1) / (vectors - 1);
    }
    auto getAt = [&](int64_t limit) -> Candidate { // a team has one row
      auto schedule = unlimited.withBlocks(unlimited.isOfTeam() ? 0 : limit);
      return {schedule, estimateReduce(target, walked, schedule)};
    };
    Candidate candidate =
        chooseGridLimit(target, unlimited.getThreads(), blocks, getAt);
    // Dots and maxima of rows that are read once took 3% less without a limit.
    if (!ofColumns && isOnePass(iteration) && !unlimited.getKept())
      candidate = getFastest({getAt(0), candidate});
    // The one that asks is there for kernels that would spill else.
    const RowSizes &kept = unlimited.getAhead() ? ahead : sizes;
    if (int64_t resident = getResident(target, kept, unlimited)) {
      auto schedule =
          cast<ReduceScheduleAttr>(candidate.schedule).withResident(resident);
      Candidate free = {schedule, estimateReduce(target, walked, schedule)};
      if (!loadsAheadByWarps(unlimited) &&
          (unlimited.getCluster() == 1 || !kept.keepsNarrow))
        free.estimate.microseconds *= target.row.freePart;
      add(free);
      candidates.push_back(candidate);
    } else {
      add(candidate);
    }
  }
  if (!ofColumns)
    for (Candidate &candidate : candidates)
      candidate.estimate.microseconds =
          getShownMicros(target, sizes, candidate.estimate.microseconds);
  adjustTwins(target, candidates);
  // Narrower vectors, or single items, are there beside those that memory's
  // places ask for.
  if (isShifted || pitch)
    llvm::append_range(
        candidates,
        getCandidates(step, target, hasPhases ? vector / 2 : 1, bits, dim));
  return candidates;
}

/// Of columns that are said to take as long, those of most threads, each of
/// which holds less: softmax of 64 x 1000 x 128 took 23.1 us, by 256 25.6.
Attribute ReduceProblem::getFirst(ArrayRef<Candidate> candidates) const {
  constexpr double same = 1.001;
  ReduceScheduleAttr first;
  if (!ofColumns)
    return first;
  double most = same * getFastest(candidates).estimate.microseconds;
  for (const Candidate &candidate : candidates) {
    auto schedule = cast<ReduceScheduleAttr>(candidate.schedule);
    if (candidate.estimate.microseconds <= most &&
        (!first || schedule.getThreads() > first.getThreads()))
      first = schedule;
  }
  return first;
}

SmallVector<VariantAttr>
fusec::chooseReduceVariants(StepOp step, const Target &target, Products) {
  MLIRContext *context = step.getContext();
  if (auto nested = analyzeNested(step); succeeded(nested))
    return chooseNestedVariants(step, *nested, target);
  auto problem = analyzeReduce(step);
  if (failed(problem))
    return {VariantAttr::get(context, {},
                             getPlainSchedule(Family::Reduce, context))};
  if (!problem->accesses.shifted.empty() || problem->pitch) {
    // Where single items are faster no other variant asks for alignment.
    auto fastest = cast<ReduceScheduleAttr>(
        getFastest(problem->getCandidates(step, target, problem->accesses.width,
                                          32, typicalDim))
            .schedule);
    if (fastest.getVector() == 1)
      problem = problem->asSingles(step);
  }
  auto variant = [&](ArrayRef<GuardAttr> guards, int64_t vector, int64_t bits) {
    SmallVector<Candidate> candidates =
        problem->getCandidates(step, target, vector, bits, typicalDim);
    return makeVariant(context, guards, candidates, typicalDim,
                       problem->getFirst(candidates));
  };
  IndexWidth width = getIndexWidth(step);
  int64_t fastBits = width.neverNarrow ? 64 : 32,
          safeBits = width.alwaysNarrow ? 32 : 64;
  SmallVector<GuardAttr> guards = getAlignmentGuards(problem->accesses.aligned);
  llvm::append_range(guards, width.guards);
  SmallVector<VariantAttr> variants = {
      variant(guards, problem->accesses.width, fastBits)};
  if (!guards.empty())
    variants.push_back(variant({}, 1, safeBits));
  return variants;
}

Estimates fusec::estimateReduceStep(StepOp step, const Target &target, Products,
                                    ArrayRef<int64_t> dims) {
  if (auto nested = analyzeNested(step); succeeded(nested))
    return estimateNestedStep(step, *nested, target, dims);
  Estimates estimates(dims.size());
  auto problem = analyzeReduce(step);
  if (failed(problem))
    return estimates;
  for (auto [dim, estimate] : llvm::zip_equal(dims, estimates))
    estimate = getFastest(problem->getCandidates(
                              step, target, problem->accesses.width, 32, dim))
                   .estimate;
  return estimates;
}
