// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The iteration of chains: one matmul iteration a root, in which values of
// other phases are loads from shared memory.

#include "compiler/analysis/Iteration.h"
#include "compiler/analysis/Views.h"
#include "compiler/kernels/chain/device/chain_config.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fusec;

/// Wider ones are no work for shared memory, and sums of bytes do not overflow.
static constexpr int64_t widest = 1 << 14;

/// What each phase that needs it computes or reads through for itself.
static bool isFree(Operation *op) {
  return isa<SplatOp, ConstantOp>(op) || isViewOfOne(op);
}

static Value skipViews(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isFree(op) || op->getNumOperands() != 1)
      break;
    value = op->getOperand(0);
  }
  return value;
}

namespace {
class ChainAnalysis {
public:
  ChainAnalysis(StepOp step, std::string &reason)
      : step(step), block(step.getBody().front()),
        outputs(block.getTerminator()->getOperands()), reason(reason) {}

  FailureOr<ChainIteration> run();

private:
  LogicalResult fail(const Twine &why) {
    reason = why.str();
    return failure();
  }
  std::optional<unsigned> getPhase(Value value) const {
    auto it = phaseOf.find(value.getDefiningOp());
    return it == phaseOf.end() ? std::nullopt
                               : std::optional<unsigned>(it->second);
  }
  void assignPhases();
  LogicalResult addPhase(unsigned phase);
  LogicalResult addMatrices(ChainPhase &phase);
  LogicalResult addOperands(ChainPhase &phase);
  FailureOr<ChainOperand> readHeld(Value value, Expr rowStride,
                                   Expr columnStride, Expr offset,
                                   std::optional<int64_t> k) const;
  unsigned addCopy(const ChainTile &tile);

  StepOp step;
  Block &block;
  SmallVector<Value> outputs;
  std::string &reason;

  /// The last root that an op depends on; ops before any root have none.
  llvm::DenseMap<Operation *, unsigned> phaseOf;
  unsigned numPhases = 0;
  /// Values that other phases read, with their tiles once they have one.
  llvm::MapVector<Value, std::optional<unsigned>> held;
  ChainIteration result;
};
} // namespace

void ChainAnalysis::assignPhases() {
  for (Operation &op : block.without_terminator()) {
    if (isFree(&op))
      continue;
    std::optional<unsigned> last;
    llvm::SetVector<Value> read;
    for (Value operand : op.getOperands()) {
      Value source = skipViews(operand);
      read.insert(source);
      if (auto phase = getPhase(source))
        last = std::max(last.value_or(0), *phase);
    }
    if (isa<ContractionOp>(op))
      last = numPhases++;
    if (!last)
      continue;
    phaseOf[&op] = *last;
    for (Value source : read)
      if (auto phase = getPhase(source); phase && *phase != *last)
        held.insert({source, std::nullopt});
  }
}

/// A value of an earlier phase, of which each row is read where it was
/// computed; `k`, of a matrix, is how many columns.
FailureOr<ChainOperand>
ChainAnalysis::readHeld(Value value, Expr rowStride, Expr columnStride,
                        Expr offset, std::optional<int64_t> k) const {
  auto it = held.find(value);
  if (it == held.end() || !it->second)
    return failure();
  const ChainTile &tile = result.tiles[*it->second];
  bool sameRow =
      rowStride.isConstant(tile.columns) || result.rows.isConstant(1);
  bool neighbours = columnStride.isConstant(1) ||
                    (columnStride.isConstant(0) && k.value_or(1) == 1);
  auto column = offset.getConstant();
  // A matrix is read in vectors of four.
  if (!sameRow || !neighbours || !column || *column < 0 ||
      *column >= tile.columns || (k && *column % 4 != 0))
    return failure();
  return ChainOperand{*it->second, *column};
}

unsigned ChainAnalysis::addCopy(const ChainTile &tile) {
  auto isSame = [&](const ChainTile &t) {
    return !t.isHeld && t.value == tile.value && t.perRow == tile.perRow &&
           t.rows == tile.rows && t.columns == tile.columns &&
           t.rowStride == tile.rowStride &&
           t.columnStride == tile.columnStride && t.offset == tile.offset;
  };
  auto it = llvm::find_if(result.tiles, isSame);
  if (it != result.tiles.end())
    return it - result.tiles.begin();
  result.tiles.push_back(tile);
  return result.tiles.size() - 1;
}

LogicalResult ChainAnalysis::addMatrices(ChainPhase &phase) {
  const MatmulIteration &matmul = phase.matmul;
  int64_t n = matmul.n.getValue();
  for (auto [size, lhs, rhs] :
       llvm::zip_equal(matmul.k, matmul.lhs, matmul.rhs)) {
    int64_t k = size.getValue();
    if (getPhase(lhs.value)) {
      auto operand =
          readHeld(lhs.value, lhs.outerStride, lhs.kStride, lhs.batch, k);
      if (failed(operand))
        return fail("a product reads other rows of an earlier one, or parts "
                    "of its columns");
      phase.lhs.push_back(*operand);
    } else {
      phase.lhs.push_back({addCopy({lhs.value, false, true, 0, k,
                                    lhs.outerStride, lhs.kStride, lhs.batch})});
    }
    auto &accumulators = phase.rhs.emplace_back();
    for (const MatrixAccess &b : rhs) {
      if (getPhase(b.value))
        return fail("the right operand of a product is computed by another");
      bool alongK = b.isAlongK() || !b.outerStride.isConstant(1);
      ChainTile tile = alongK
                           ? ChainTile{b.value,       false,     false,  n, k,
                                       b.outerStride, b.kStride, b.batch}
                           : ChainTile{b.value,   false,         false,  k, n,
                                       b.kStride, b.outerStride, b.batch};
      accumulators.push_back({addCopy(tile), 0, alongK});
    }
  }
  return success();
}

LogicalResult ChainAnalysis::addOperands(ChainPhase &phase) {
  for (const TileOperand &operand : phase.matmul.operands) {
    const TileAccess &access = operand.access;
    if (getPhase(operand.value)) {
      auto read = readHeld(operand.value, access.rowStride, access.columnStride,
                           access.batch, std::nullopt);
      if (failed(read))
        return fail("an epilogue reads other rows of an earlier product");
      phase.operands.push_back(*read);
      continue;
    }
    int64_t columns =
        access.columnStride.isConstant(0) ? 1 : phase.matmul.n.getValue();
    phase.operands.push_back({addCopy(
        {operand.value, false, !access.rowStride.isConstant(0), 1, columns,
         access.rowStride, access.columnStride, access.batch})});
  }
  return success();
}

LogicalResult ChainAnalysis::addPhase(unsigned index) {
  SmallVector<Value> values;
  SmallVector<ChainStore> stores;
  for (auto &[value, tile] : held)
    if (getPhase(value) == index) {
      tile = result.tiles.size();
      values.push_back(value);
      stores.push_back({tile, std::nullopt});
      result.tiles.push_back({value, true, true, 0, 0});
    }
  for (auto [i, output] : llvm::enumerate(outputs))
    if (getPhase(skipViews(output)) == index) {
      values.push_back(output);
      stores.push_back({std::nullopt, static_cast<unsigned>(i)});
    }
  auto inPhase = [&](Operation *op) {
    auto it = phaseOf.find(op);
    return op->getBlock() == &block &&
           (it == phaseOf.end() || it->second == index);
  };
  auto denseStrides = [](Value value) {
    return getDenseStrides(getSizes(value), value.getContext());
  };
  auto matmul = analyzeMatmul(
      values, inPhase,
      [&](Value value) {
        return getPhase(value) ? denseStrides(value)
                               : step.getInputBuffer(value).getStrideExprs();
      },
      [&](unsigned i) {
        return stores[i].output
                   ? step.getOutputBuffer(*stores[i].output).getStrideExprs()
                   : denseStrides(values[i]);
      });
  if (failed(matmul))
    return fail("the values between two products are not an epilogue");
  if (!matmul->batchSizes.empty())
    return fail("a product has batches");
  auto isNarrow = [](Expr size) {
    return size.isConstant() && size.getValue() > 0 && size.getValue() < widest;
  };
  if (!isNarrow(matmul->n) || !llvm::all_of(matmul->k, isNarrow))
    return fail("a width is not constant, or too large for shared memory");
  if (!result.phases.empty() && matmul->m != result.rows)
    return fail("the products have different rows");
  result.rows = matmul->m;
  for (const ChainStore &store : stores)
    if (store.tile)
      result.tiles[*store.tile].columns = matmul->n.getValue();
  ChainPhase phase{std::move(*matmul), {}, {}, {}, std::move(stores)};
  if (failed(addMatrices(phase)) || failed(addOperands(phase)))
    return failure();
  result.phases.push_back(std::move(phase));
  return success();
}

FailureOr<ChainIteration> ChainAnalysis::run() {
  assignPhases();
  for (Value output : outputs)
    if (!getPhase(skipViews(output)))
      return fail("a result depends on no product");
  for (unsigned phase = 0; phase < numPhases; ++phase)
    if (failed(addPhase(phase)))
      return failure();
  return std::move(result);
}

int64_t ChainIteration::getSharedBytes(int64_t rows) const {
  int64_t bytes = 0;
  for (const ChainTile &tile : tiles)
    bytes += chainTileBytes(tile.perRow ? rows : tile.rows, tile.columns,
                            getElementBytes(getElementType(tile.value)));
  return bytes;
}

FailureOr<ChainIteration> fusec::analyzeChain(StepOp step,
                                              std::string &reason) {
  return ChainAnalysis(step, reason).run();
}
