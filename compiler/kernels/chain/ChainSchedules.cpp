// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/Alignment.h"
#include "compiler/analysis/Iteration.h"
#include "compiler/analysis/StepBytes.h"
#include "compiler/kernels/chain/Chain.h"

using namespace mlir;
using namespace fusec;

namespace {
class ChainChooser {
public:
  ChainChooser(StepOp step, const Target &target,
               const ChainIteration &iteration)
      : step(step), target(target), iteration(iteration),
        context(step.getContext()) {}

  /// All that fit, the smallest last.
  SmallVector<Candidate> getCandidates(int64_t dim) const;
  SmallVector<GuardAttr> getGuards();

private:
  ChainSizes getSizesAt(int64_t dim) const;

  StepOp step;
  const Target &target;
  const ChainIteration &iteration;
  MLIRContext *context;
};
} // namespace

/// Rows of a tile, and of these a thread's.
static constexpr std::pair<int64_t, int64_t> rowTiles[] = {
    {32, 8}, {32, 4}, {32, 2}, {16, 4}, {16, 2}, {16, 1},
    {8, 4},  {8, 2},  {8, 1},  {4, 1},  {2, 1},  {1, 1}};
/// Blocks that a multiprocessor has room for, however small, and its registers.
static constexpr int64_t maxResident = 8, registersOfUnit = 65536;

ChainSizes ChainChooser::getSizesAt(int64_t dim) const {
  ChainSizes sizes{};
  sizes.rows = getSampledValue(iteration.rows, dim);
  for (const ChainPhase &phase : iteration.phases) {
    double k = 0;
    for (Expr segment : phase.matmul.k)
      k += segment.getValue();
    ContractionOp root = phase.matmul.root;
    sizes.phases.push_back({double(phase.matmul.n.getValue()), k,
                            double(root.getNumAccumulators())});
  }
  StepBytes bytes = getStepBytesAt(step, dim);
  sizes.bytes = bytes.read + bytes.written;
  for (const ChainTile &tile : iteration.tiles) {
    if (tile.isHeld)
      continue;
    int64_t bytes = getElementBytes(getElementType(tile.value));
    int64_t rowBytes = tile.columns * bytes;
    bool isScattered =
        rowBytes % 4 != 0 || (bytes < 4 && !tile.columnStride.isConstant(1));
    if (!tile.perRow)
      sizes.copiedBytes += tile.rows * rowBytes;
    if (isScattered)
      (tile.perRow ? sizes.scatteredPerRow : sizes.scattered) +=
          (tile.perRow ? 1 : tile.rows) * tile.columns;
  }
  return sizes;
}

SmallVector<Candidate> ChainChooser::getCandidates(int64_t dim) const {
  ChainSizes sizes = getSizesAt(dim);
  int64_t widest = 0;
  for (const ChainPhase &phase : iteration.phases)
    widest = std::max(widest, phase.matmul.n.getValue());
  SmallVector<Candidate> candidates;
  for (auto [rows, perThread] : rowTiles) {
    int64_t shared = iteration.getSharedBytes(rows);
    // No tile of known rows is more than half empty.
    bool isEmpty = iteration.rows.isConstant() && rows > 1 &&
                   rows / 2 >= iteration.rows.getValue();
    if (isEmpty || shared > target.sharedBytes)
      continue;
    // A thread a sum of the widest phase, if a block can have them.
    int64_t sums = rows / perThread * widest;
    int64_t threads = sums <= 128 ? 128 : sums <= 256 ? 256 : 512;
    int64_t registers =
        target.chain.registers + target.chain.rowRegisters * double(perThread);
    int64_t resident =
        std::min({maxResident, registersOfUnit / (registers * threads),
                  int64_t(target.sharedBytes / std::max<int64_t>(shared, 1)),
                  int64_t(target.threads / threads)});
    auto schedule = ChainScheduleAttr::get(context, rows, threads, perThread,
                                           target.multiprocessors * resident);
    candidates.push_back({schedule, estimateChain(target, sizes, schedule)});
  }
  return candidates;
}

/// Copies of 4 bytes need no promise; narrower elements are copied together
/// where the user's addresses are aligned.
SmallVector<GuardAttr> ChainChooser::getGuards() {
  SmallVector<BufferOp> buffers;
  for (const ChainTile &tile : iteration.tiles)
    if (!tile.isHeld && getElementBytes(getElementType(tile.value)) < 4)
      buffers.push_back(step.getInputBuffer(tile.value));
  return getAlignmentGuards(buffers);
}

SmallVector<VariantAttr>
fusec::chooseChainVariants(StepOp step, const Target &target, Products) {
  MLIRContext *context = step.getContext();
  std::string reason;
  auto iteration = analyzeChain(step, reason);
  if (failed(iteration))
    return {VariantAttr::get(context, {},
                             getPlainSchedule(Family::Chain, context))};
  ChainChooser chooser(step, target, *iteration);
  auto candidatesAt = [&](int64_t dim) { return chooser.getCandidates(dim); };
  SmallVector<VariantAttr> variants;
  if (SmallVector<GuardAttr> guards = chooser.getGuards(); !guards.empty())
    addBuckets(iteration->rows, guards, candidatesAt, variants);
  addBuckets(iteration->rows, {}, candidatesAt, variants);
  return variants;
}

Estimates fusec::estimateChainStep(StepOp step, const Target &target, Products,
                                   ArrayRef<int64_t> dims) {
  Estimates estimates(dims.size());
  std::string reason;
  auto iteration = analyzeChain(step, reason);
  if (failed(iteration))
    return estimates;
  ChainChooser chooser(step, target, *iteration);
  for (auto [dim, estimate] : llvm::zip_equal(dims, estimates))
    if (auto candidates = chooser.getCandidates(dim); !candidates.empty())
      estimate = getFastest(candidates).estimate;
  return estimates;
}
