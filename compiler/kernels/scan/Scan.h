// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the files of the family share.

#ifndef FUSEC_COMPILER_KERNELS_SCAN_SCAN_H
#define FUSEC_COMPILER_KERNELS_SCAN_SCAN_H

#include "compiler/analysis/ScanIteration.h"
#include "compiler/analysis/VectorAccesses.h"
#include "compiler/codegen/ScalarEmitter.h"
#include "compiler/kernels/Family.h"

namespace fusec {

class KernelWriter;

extern const KernelFamily scanFamily;

llvm::SmallVector<VariantAttr>
chooseScanVariants(StepOp step, const Target &target, Products products);
Estimates estimateScanStep(StepOp step, const Target &target, Products products,
                           llvm::ArrayRef<int64_t> dims);
/// Whether a block moves rows as one run of memory and a thread sums a row.
inline bool isHeld(ReduceScheduleAttr schedule) {
  return schedule.getScope() == ReduceScope::Thread;
}
/// Whether the blocks of a cluster hold a row.
inline bool isOfCluster(ReduceScheduleAttr schedule) {
  return schedule.getScope() == ReduceScope::Cluster;
}
/// From a row to the next where all that is stored lies as densely as the axis;
/// a block sums such rows, or their parts, by memory's vectors, wherever they
/// begin.
std::optional<int64_t> getSpanPitch(const ScanIteration &iteration,
                                    ReduceScheduleAttr schedule);
/// Of such rows, by vectors wider than `narrower`; those of rows that are no
/// spans have the width 1.
VectorAccesses analyzeSpans(StepOp step, const ScanIteration &iteration,
                            int64_t narrower);
/// Whether a block moves its part of a few columns as one run of memory: where
/// rows are no whole vectors, of which the schedule has some.
bool isRun(const ScanIteration &iteration, ReduceScheduleAttr schedule);
/// Columns of a strip, of which some may be more than there are.
int64_t getStripColumns(const ScanIteration &iteration,
                        ReduceScheduleAttr schedule);
/// Which of rows, positions along them and columns accesses lie along: along
/// the run, if there is one.
unsigned getLanesDim(const ScanIteration &iteration,
                     ReduceScheduleAttr schedule);
/// The scan as the schedule walks it: of held rows and of runs of columns, dim
/// 1 is the position in the run, of spans that in memory.
ScanIteration getWalked(const ScanIteration &iteration,
                        ReduceScheduleAttr schedule);
/// Rows, or columns beside each other, of which a block takes a part of the
/// axis.
Expr getStrips(const ScanIteration &iteration, ReduceScheduleAttr schedule);
/// What of memory is fetched at once.
inline constexpr int64_t lineBytes = 128;
/// Words of flags by which blocks tell one another sums of parts; none where
/// these lie in memory of their own, since they are wider or too many, nobody
/// knows how many, or columns are few and no run.
std::optional<int64_t> getFlagWords(const ScanIteration &iteration,
                                    ReduceScheduleAttr schedule);
/// Parts whose words others ask for at once; behind those they ask for one sum.
int64_t getGroupParts(const ScanIteration &iteration,
                      ReduceScheduleAttr schedule);
/// Whether blocks have parts of columns, and words.
inline bool areTiles(const ScanIteration &iteration,
                     ReduceScheduleAttr schedule) {
  return iteration.parts && schedule.isOfColumns() &&
         !isRun(iteration, schedule) && getFlagWords(iteration, schedule);
}
/// Such blocks of a multiprocessor: one stores while another waits.
inline constexpr int64_t columnTilesTogether = 2;
/// For how many blocks of a multiprocessor a kernel is compiled that does not
/// spill then: with fewer others there is less to do while one waits. 0 where
/// it makes no difference.
/// `keptBytes` of registers a thread keeps.
int64_t getScanResident(const ScanIteration &iteration, const ScanCosts &costs,
                        ReduceScheduleAttr schedule, int64_t keptBytes);
/// The same of clusters, as many as registers allow.
int64_t getClusterResident(const ScanIteration &iteration,
                           const ScanCosts &costs, ReduceScheduleAttr schedule,
                           int64_t keptBytes);
/// Whether each thread of a cluster has all of its vectors, and asks for none.
bool fillsCluster(const ScanIteration &iteration, ReduceScheduleAttr schedule);
/// How many blocks ahead a block has L2 fetch a part; 0: it does not.
int64_t getBlocksAhead(StepOp step, const ScanIteration &iteration,
                       ReduceScheduleAttr schedule);
/// Prints what has L2 fetch the `length` items of a part from `first` on, of a
/// row or from a column on, behind the pointers of the sources.
void printFetches(KernelWriter &writer, const ScanIteration &iteration,
                  ReduceScheduleAttr schedule,
                  const ScalarEmitter::Sources &sources);
mlir::FailureOr<KernelSource> emitScan(StepOp step, VariantAttr variant,
                                       llvm::StringRef symbol);

} // namespace fusec

#endif // FUSEC_COMPILER_KERNELS_SCAN_SCAN_H
