// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the files of the family share.

#ifndef FUSEC_COMPILER_KERNELS_REDUCE_REDUCE_H
#define FUSEC_COMPILER_KERNELS_REDUCE_REDUCE_H

#include "compiler/analysis/AccessWidths.h"
#include "compiler/analysis/NestedIteration.h"
#include "compiler/kernels/Family.h"

namespace fusec {

extern const KernelFamily reduceFamily;

llvm::SmallVector<VariantAttr>
chooseReduceVariants(StepOp step, const Target &target, Products products);
Estimates estimateReduceStep(StepOp step, const Target &target,
                             Products products, llvm::ArrayRef<int64_t> dims);
mlir::FailureOr<KernelSource> emitReduce(StepOp step, VariantAttr variant,
                                         llvm::StringRef symbol);

/// How rows are walked by vectors.
struct RowWalk {
  RowIteration iteration;
  /// Where dim 1 is the position in memory: from a row's first to the next
  /// row's, else 0.
  int64_t pitch;
  VectorAccesses accesses;
  /// There: where a row begins, and the elements of the longest.
  Expr begin = {}, longest = {};
};
mlir::FailureOr<RowWalk> analyzeWalk(StepOp step);
/// Of rows, or of columns, as the schedule walks them.
mlir::FailureOr<RowWalk> analyzeWalk(StepOp step, ReduceScheduleAttr schedule);
/// Of columns of narrow elements that lie anywhere: vectors of 16 bytes by
/// phases, else such of 8 that are shifted into place, the last of them beside
/// the last column. The width is 1 where such gain nothing.
VectorAccesses analyzeShiftedColumns(StepOp step, const RowIteration &columns);
/// What lanes of columns have to load: what is reduced of them.
llvm::SmallVector<RegionStore> getReduced(const RowIteration &columns);
/// Whether the schedule's vectors are those.
bool areColumnsShifted(const RowIteration &columns,
                       ReduceScheduleAttr schedule);
/// Whether these are vectors of memory, which threads that keep to rows of one
/// phase move to their columns where they meet (reduce_phases.h).
bool areColumnsPhased(const RowIteration &columns, ReduceScheduleAttr schedule);
/// Elements of the memory that a node of the program reads.
Expr getReadExtent(StepOp step, const ScalarProgram &program, unsigned read);
/// What they load and store, of so many stores.
AccessesAttr getPhasedAccesses(StepOp step, const RowIteration &columns,
                               ReduceScheduleAttr schedule, size_t stores);
/// The blocks that such take.
Expr getPhasedBlocks(const RowIteration &columns, ReduceScheduleAttr schedule);
/// As the variant's launch lists the accesses; with an error where it does not.
mlir::FailureOr<RowWalk> takeWalk(StepOp step, VariantAttr variant);
/// Of the walk, under the variant's guards.
AccessesAttr getAccesses(StepOp step, VariantAttr variant, const RowWalk &walk);
/// What is stored at every point of a row, and what once for all of it.
llvm::SmallVector<RegionStore> getFullStores(const RowIteration &iteration);
llvm::SmallVector<RegionStore> getOnceStores(const RowIteration &iteration);

/// How threads walk along columns.
struct ColumnSteps {
  /// Vectors that a thread asks for together, by the registers that so many
  /// blocks of a multiprocessor leave it. Twice as many as usual of few blocks:
  /// means of GELUs of 197 x 768 halves took 26.3 us for 26.7, means of 1024 x
  /// 512 22.6 for 22.8.
  int64_t together = 8, resident = 1;
  /// Rows by which each plane's are begun behind those of the one before.
  int64_t behind = 0;
};
ColumnSteps getColumnSteps(StepOp step, const RowIteration &columns,
                           ReduceScheduleAttr schedule);

/// Whether some reduction tells where it found its result.
inline bool findsPlaces(const RowIteration &iteration) {
  return llvm::any_of(iteration.reductions, [](const RowReduction &reduction) {
    return mlir::isa<ArgReduceOp>(reduction.op);
  });
}

/// Whether a warp reduces several rows at a time.
inline bool sharesWarp(ReduceScheduleAttr schedule) {
  return schedule.getScope() == ReduceScope::Warp && schedule.getGroups() > 1;
}

/// Loads along rows that more than one pass over a row needs, of those that lie
/// along `lanesDim` and are accesses as wide as the schedule's: what it can
/// keep. With `ahead` also those that only what is stored along the row needs.
llvm::SmallVector<unsigned>
getKeptLoads(const RowIteration &iteration, unsigned lanesDim,
             llvm::function_ref<bool(unsigned)> isAccess, bool ahead = false);

/// Those of loads along rows for which the lanes of an access load one by one,
/// once for each pass that needs them.
llvm::SmallVector<unsigned>
getLaneLoads(const RowIteration &iteration,
             llvm::function_ref<bool(unsigned)> isOfLanes);

/// Whether each item is needed once, by one walk over a row.
bool isOnePass(const RowIteration &iteration);

/// Reads, by their place among the program's, that pass through L2: of rows
/// that are read once.
llvm::SmallVector<int64_t> getPassingReads(StepOp step,
                                           const RowIteration &iteration,
                                           ReduceScheduleAttr schedule);

/// Whether some node that `from` is computed of, or itself, is as asked, not
/// only for what `known` is computed of.
bool isComputedOf(const ScalarProgram &program, unsigned from,
                  llvm::function_ref<bool(unsigned)> isAsked,
                  std::optional<unsigned> known = {});

/// Reductions that one walk along a row finds: neighbours of which none needs
/// another's result, or a place and the extreme that is there.
llvm::SmallVector<llvm::ArrayRef<RowReduction>>
getPasses(const RowIteration &iteration);
/// Those of a pass that the walk combines: the extreme beside a place comes
/// with it.
llvm::ArrayRef<RowReduction> getCombined(llvm::ArrayRef<RowReduction> pass);

/// Bytes of registers that a thread may keep: a multiprocessor has 256 bytes
/// for each of 1024 threads in all. Blocks of 512 that keep more are alone on
/// it, which only rows that nothing else holds are worth, and columns, of which
/// fewer threads hold narrower pieces.
int64_t getMostKept(ReduceScheduleAttr schedule);

/// Whether what the pass reduces is expensive or takes the place of a load, and
/// is needed again by later ones or by what is stored at every point.
bool isWorthHolding(const RowIteration &iteration,
                    llvm::ArrayRef<RowReduction> pass,
                    ReduceScheduleAttr schedule, bool replaces);
/// Whether what the pass reduces can take the place of a load in registers,
/// which is not needed behind it.
bool isReplaced(const RowIteration &iteration,
                llvm::ArrayRef<RowReduction> pass, unsigned load);

/// Whether what is stored at every point of a row needs the node.
bool isStored(const RowIteration &iteration, unsigned node);
/// For how many more of its steps a thread loads what only stores need along
/// the row before it stores those of one: 0 where there are no such loads,
/// where something else is needed to find them, or for want of registers.
int64_t countStepsAhead(const RowIteration &iteration,
                        llvm::ArrayRef<unsigned> kept,
                        ReduceScheduleAttr schedule);

/// How many rows behind its own a block, or a cluster, or blocks that keep its
/// columns, do well to have L2 fetch the one that others are going to keep; 0:
/// none. A multiprocessor has so many blocks together.
int64_t getRowsAhead(StepOp step, const Target &target,
                     const RowIteration &iteration, ReduceScheduleAttr schedule,
                     int64_t together);

/// A pass that finds a maximum, whose successor sums exponentials below it: one
/// pass can find both.
struct OnlinePair {
  size_t pass;
  bool isFinite; // they are below 0 where the maximum is infinite
};
std::optional<OnlinePair> findOnlinePair(const RowIteration &iteration);

/// The two reductions of a kernel that are all it reduces: the sum of rows, and
/// that of squares of what is apart from their mean.
struct Moments {
  unsigned summed; // the node
  ReduceOp sum, squares;
  mlir::Type rounded; // the mean, before it is wide again; null: it is not
};
std::optional<Moments> findMoments(const RowIteration &iteration);
/// Whether a team finds all that is reduced by one meeting: moments, a maximum
/// and the sum of exponentials below it, or what one walk finds.
bool canTeamFind(const RowIteration &iteration);
/// Whether a team can do so: its threads keep as many accesses each, and flags
/// have words for all rows.
bool fitsTeam(const RowWalk &walk, ReduceScheduleAttr schedule);

/// Points of a wide row that each of so many blocks stores: whole vectors.
inline int64_t getStoredPart(int64_t points, int64_t blocks) {
  constexpr int64_t whole = 64;
  return llvm::divideCeil(points, whole * blocks) * whole;
}

/// Threads beside each other that hold a row of `columns` items, which others
/// reduced: a power of two of them.
int64_t getNestedLanes(int64_t columns, ReduceScheduleAttr schedule);
/// Rows of items that a block finds at a time.
int64_t getNestedRowsAtOnce(int64_t columns, ReduceScheduleAttr schedule);
/// Accesses of its items' columns that a thread holds in registers, so that all
/// are on their way together: 0 where it walks along them.
int64_t getNestedKept(const NestedIteration &nested,
                      ReduceScheduleAttr schedule);
/// Of its two loops: that of the items, then that of the rows.
llvm::SmallVector<AccessesAttr>
getNestedAccesses(StepOp step, VariantAttr variant,
                  const NestedIteration &nested);
llvm::SmallVector<VariantAttr>
chooseNestedVariants(StepOp step, const NestedIteration &nested,
                     const Target &target);
Estimates estimateNestedStep(StepOp step, const NestedIteration &nested,
                             const Target &target,
                             llvm::ArrayRef<int64_t> dims);

/// Of an item, in all walks along its row that reduce it.
double countFinding(const OpCosts &costs, const RowIteration &iteration);
/// The same in those that store it, too.
double countInstructions(const OpCosts &costs, const RowIteration &iteration);

/// Bytes of the widest element that varies along the row.
int64_t getWidestElement(const ScalarProgram &program);

/// `rows` reductions of `length` elements each.
struct RowSizes {
  double rows, length;
  double bytes;    // read and written by the kernel
  double read;     // of these
  unsigned passes; // how often a row is walked
  unsigned reductions;

  double columns;      // rows that are neighbours in memory where they are not
  unsigned element;    // bytes of what is read most
  double instructions; // of an item, in all walks

  bool findsPlaces = false; // by ArgMax or ArgMin
  double found = 0;         // instructions of an item, in walks that reduce it
  bool selects = false;     // by conditions
  bool divides = false;     // what its stores need, item by item, or takes
                            // exponentials for them
  /// What a schedule can keep of each item: so many loads, and whether some of
  /// their elements have less than 32 bits, and some have not.
  unsigned keptLoads = 1;
  bool keepsNarrow = false, keepsWide = false;
  /// Loads of an item, in all walks, that the lanes of an access do one by one,
  /// and their bytes.
  double laneLoads = 0, laneBytes = 0;
  bool waitsForStores = false; // for some of these, which only stores need
  bool storesByRow = false;    // with loads for stores alone, of each row
  /// Of columns: whether vectors are shifted into place; how often those of
  /// phases load what they read, else 0.
  bool areShifted = false;
  double phasesLoad = 0;
};
/// Latencies that a walk of so many loads one after another takes: as many at
/// once as are on their way together, then halves of that.
double getRounds(double steps, double atOnce = 8);
/// Bytes that walks over columns read and write, which load them in so many
/// passes. Later ones mostly hit L2, which is about twice as fast.
double getColumnsTraffic(const Target &target, const RowSizes &sizes,
                         double passes);
Estimate estimateColumns(const Target &target, const RowSizes &sizes,
                         ReduceScheduleAttr schedule);
/// Of rows that leave little behind, microseconds until L2 has written back
/// what others left there and has room for what they read, as far as such a
/// time is the memory's. Those that are stored were measured with it.
double getReadMicros(const Target &target, const RowSizes &sizes,
                     double micros);
/// What is seen of such a time of rows. Of many each block begins when another
/// one ends, so that others hide what it waits for and computes, but for the
/// first and the last. Which schedule is best is not asked by it.
double getShownMicros(const Target &target, const RowSizes &sizes,
                      double micros);
/// Of rows or columns.
Estimate estimateReduce(const Target &target, const RowSizes &sizes,
                        ReduceScheduleAttr schedule);
/// Adds three times that hide one another in part.
void addBeside(Overlap &time, double power, double memory, double latency,
               double work);
/// Blocks of a multiprocessor at a time, by the registers that a thread takes.
int64_t getResidentBlocks(const Target &target, const RowSizes &sizes,
                          ReduceScheduleAttr schedule);
/// Whether a thread has the registers for what the schedule keeps; it would be
/// spilled else.
bool hasRegisters(const Target &target, const RowSizes &sizes,
                  ReduceScheduleAttr schedule);
/// Whether warps load ahead what only their rows' stores need; by blocks of 256
/// threads and more some lose by it.
bool loadsAheadByWarps(ReduceScheduleAttr schedule);
/// Whether a kernel that is compiled for so many blocks asks for nothing that
/// all threads have, so that the compiler may order what it keeps.
inline bool asksForNothing(ReduceScheduleAttr schedule) {
  return schedule.getResident() && !loadsAheadByWarps(schedule);
}
/// Whether there are more rows than the device takes at a time.
bool isFollowed(const Target &target, const RowSizes &sizes,
                ReduceScheduleAttr schedule);
/// Whether a schedule that keeps what `kept` says does better to load ahead
/// what only stores need, too, as `ahead` says: warps do, and rows that all
/// begin at once, which have no others to hide its latency, and registers for
/// it. Of blocks that others follow those gain up to 3% that keep one load
/// beside one factor; by two factors some lose a tenth. Teams have registers
/// for what they keep alone.
bool paysAhead(const Target &target, const RowSizes &kept,
               const RowSizes &ahead, ReduceScheduleAttr schedule);
/// Of items by `sizes`, and then of rows of `columns` of them, so many times.
Estimate estimateNested(const Target &target, const RowSizes &sizes,
                        double columns, double ofRows,
                        ReduceScheduleAttr schedule);

} // namespace fusec

#endif // FUSEC_COMPILER_KERNELS_REDUCE_REDUCE_H
