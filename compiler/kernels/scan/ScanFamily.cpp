// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/AccessWidths.h"
#include "compiler/analysis/GridLimit.h"
#include "compiler/kernels/PassingReads.h"
#include "compiler/kernels/scan/Scan.h"
#include "compiler/kernels/scan/device/scan_config.h"
#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace fusec;

static Attribute getPlain(MLIRContext *context) {
  return ReduceScheduleAttr::get(context, ReduceScope::Columns, 256, 64, 1);
}

Expr fusec::getStrips(const ScanIteration &iteration,
                      ReduceScheduleAttr schedule) {
  ArrayRef<Expr> space = iteration.program.getSizes();
  if (!schedule.isOfColumns())
    return space[0];
  return (space[0] * space[2])
      .ceilDiv(Expr::constant(space[0].getContext(), schedule.getRowsAtOnce()));
}

int64_t fusec::getGroupParts(const ScanIteration &iteration,
                             ReduceScheduleAttr schedule) {
  return isRun(iteration, schedule) ? ScanWords::ofRun
         : schedule.isOfColumns()   ? ScanWords::ofColumns
                                    : ScanWords::ofRow(schedule.getThreads());
}

std::optional<int64_t> fusec::getFlagWords(const ScanIteration &iteration,
                                           ReduceScheduleAttr schedule) {
  std::optional<int64_t> strips = getStrips(iteration, schedule).getConstant();
  int64_t columns = getStripColumns(iteration, schedule);
  bool isOfRun = isRun(iteration, schedule);
  if (!strips || *strips > ScanWords::mostFlags ||
      columns > schedule.getThreads() ||
      columns / (isOfRun ? 1 : schedule.getVector()) > 32 ||
      getElementBytes(iteration.program[iteration.operand].type) > 4)
    return std::nullopt;
  std::optional<int64_t> across = iteration.program.getSizes()[2].getConstant();
  int64_t item = getElementBytes(iteration.program[iteration.item].type);
  if (schedule.isOfColumns() && !isOfRun &&
      (!across || *across * item < lineBytes))
    return std::nullopt;
  int64_t parts = iteration.parts->count,
          groups = llvm::divideCeil(parts, getGroupParts(iteration, schedule)),
          words = ScanWords::flags + 2 * *strips * columns * (parts + groups);
  return words <= ScanWords::mostFlags ? std::optional(words) : std::nullopt;
}

/// Whether a thread has registers for nothing but what it sums, of 32 bits or
/// fewer, and stores as it loads.
static bool sumsAlone(const ScanIteration &iteration) {
  const ScalarProgram &program = iteration.program;
  auto getBytes = [&](unsigned node) {
    return int64_t(getElementBytes(program[node].type));
  };
  int64_t stored = getBytes(iteration.stores[0].node);
  for (size_t n = 0; n < program.size(); ++n) {
    ScalarNode::Kind kind = program[n].kind;
    if ((kind == ScalarNode::Kind::Load && getBytes(n) != stored) ||
        (kind == ScalarNode::Kind::Compute && !isa<CastOp>(program[n].op)))
      return false;
  }
  return getBytes(iteration.operand) <= 4;
}

/// Whether what is summed has less than 32 bits.
static bool areHalves(const ScanIteration &iteration) {
  return getElementBytes(iteration.program[iteration.item].type) < 4;
}

int64_t fusec::getScanResident(const ScanIteration &iteration,
                               const ScanCosts &costs,
                               ReduceScheduleAttr schedule, int64_t keptBytes) {
  if (!sumsAlone(iteration))
    return 0;
  if (isOfCluster(schedule))
    return getClusterResident(iteration, costs, schedule, keptBytes);
  bool isOfWords = iteration.parts &&
                   (!schedule.isOfColumns() || isRun(iteration, schedule)) &&
                   getFlagWords(iteration, schedule),
       ofHalves = areHalves(iteration),
       // With a tile on its way while another one is summed.
      isSpan = ofHalves && getSpanPitch(iteration, schedule) &&
               *iteration.program.getSizes()[1].getConstant() >
                   schedule.getThreads() * schedule.getVector() * scanSteps;
  double threads = isOfWords && !ofHalves ? costs.residentThreads
                   : isOfWords || isSpan  ? costs.narrowResidentThreads
                                          : 0;
  auto blocks = int64_t(threads) / schedule.getThreads();
  // Of a named number of rows they would spill 8 bytes.
  return isSpan && blocks > 1 && !iteration.program.getSizes()[0].isConstant()
             ? blocks - 1
             : blocks;
}

int64_t fusec::getClusterResident(const ScanIteration &iteration,
                                  const ScanCosts &costs,
                                  ReduceScheduleAttr schedule,
                                  int64_t keptBytes) {
  // A multiprocessor gives threads registers by eights.
  constexpr double registers = 1 << 16, together = 8, mostThreads = 2048;
  double threads = double(schedule.getThreads()), kept = double(keptBytes) / 4,
         own = costs.clusterRegisters + kept;
  CumSumOp scan(iteration.op);
  bool isForwards = areHalves(iteration) && !scan.getReverse() &&
                    schedule.getIndexBits() <= 32;
  if (isForwards)
    own = std::max(costs.leastNarrowRegisters,
                   costs.narrowClusterRegisters + kept);
  // Halves before which all others are summed spilled 40 bytes, of a named
  // number of rows.
  if (getSpanPitch(iteration, schedule) &&
      !(isForwards && !scan.getExclusive()))
    own += costs.cutRowRegisters;
  own = std::ceil(own / together) * together;
  return int64_t(
      std::clamp(registers / (own * threads), 1.0, mostThreads / threads));
}

bool fusec::fillsCluster(const ScanIteration &iteration,
                         ReduceScheduleAttr schedule) {
  // Vectors of halves, with no branch between them, would be widened together:
  // bf16 took 128 registers for 80.
  if (areHalves(iteration))
    return false;
  return iteration.program.getSizes()[1].isConstant(
      schedule.getKept() * schedule.getThreadsTogether() *
      schedule.getVector());
}

/// Of less than L2 holds, sums of 1000003 x 3 took 1 to 3% longer so.
static SmallVector<int64_t> getStayingReads(StepOp step,
                                            const ScalarProgram &program) {
  return readsStay(step) && !isHeldByL2(step) ? findPassingReads(step, program)
                                              : SmallVector<int64_t>();
}

static LaunchAttr getLaunch(StepOp step, VariantAttr variant) {
  auto schedule = cast<ReduceScheduleAttr>(variant.getSchedule());
  FailureOr<ScanIteration> iteration = analyzeScan(step);
  if (failed(iteration))
    return {};
  ArrayRef<Expr> space = iteration->program.getSizes();
  auto constant = [&](int64_t value) {
    return Expr::constant(step.getContext(), value);
  };
  int64_t cluster = schedule.getCluster();
  Expr each = (space[0] * space[2]).ceilDiv(constant(schedule.getRowsAtOnce())),
       // Blocks that tell one another sums take one part each, and clusters a
       // row.
      blocks = iteration->parts ? getStrips(*iteration, schedule) *
                                      constant(iteration->parts->count)
               : isOfCluster(schedule)
                   ? each * constant(cluster)
                   : limitBlocks(each, schedule.getBlocks());
  unsigned dim = getLanesDim(*iteration, schedule);
  int64_t width = schedule.getVector();
  ScanIteration walked = getWalked(*iteration, schedule);
  return LaunchAttr::get(blocks, schedule.getThreads(), /*shared=*/0, cluster)
      .withResident(areTiles(*iteration, schedule)
                        ? columnTilesTogether
                        : std::max<int64_t>(1, schedule.getResident()))
      .withAccesses(getAccesses(
          step.getContext(),
          getSpanPitch(*iteration, schedule) ? Walk::Memory : Walk::Dimension,
          width, getLoadWidths(step, variant, walked.program, dim, width),
          getStoreWidths(step, variant, walked.stores, dim, width),
          getStayingReads(step, walked.program)));
}

static std::map<std::string, Expr> getNamedSizes(StepOp step) {
  FailureOr<ScanIteration> iteration = analyzeScan(step);
  if (failed(iteration))
    return {};
  ArrayRef<Expr> space = iteration->program.getSizes();
  std::map<std::string, Expr> sizes = {
      {"rows", space[0]}, {"length", space[1]}, {"columns", space[2]}};
  if (iteration->parts)
    sizes["parts"] = Expr::constant(step.getContext(), iteration->parts->count);
  return sizes;
}

const KernelFamily fusec::scanFamily = {getPlain,         chooseScanVariants,
                                        estimateScanStep, getLaunch,
                                        emitScan,         getNamedSizes};
