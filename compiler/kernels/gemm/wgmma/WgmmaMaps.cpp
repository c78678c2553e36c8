// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/gemm/wgmma/WgmmaSchedules.h"
#include "compiler/kernels/gemm/wgmma/device/gemm_wgmma_lead_config.h"

using namespace mlir;
using namespace fusec;

/// What a miss fetches of matrices whose rows along K have so many bytes. Over
/// long rows blocks drift apart, and what lies beside the asked for has left L2
/// when they come to it; not of rows that lie in pages of their own.
static int64_t getRowPromotion(const WgmmaCosts &costs, Expr k,
                               int64_t elementBytes) {
  constexpr int64_t page = 2 << 20;
  if (!k.isConstant())
    return UnitStep::widestPromotion;
  int64_t bytes = k.getValue() * elementBytes;
  return bytes >= costs.driftingRowBytes && bytes < page
             ? 128
             : UnitStep::widestPromotion;
}

/// Whether ranges of K take its tiles in turn. All of them are read at once:
/// from as many places of each row, which lie far apart, or side by side. That
/// counts where a tile has all rows of one matrix, so that the other's come
/// from memory as fast as they are multiplied.
static bool takeTurns(const WgmmaCosts &costs, const MatmulIteration &iteration,
                      int64_t elementBytes) {
  constexpr int64_t page = 2 << 20;
  std::optional<Expr> whole = iteration.lhs[0].wholeK;
  if (!whole || !whole->isConstant() || iteration.made)
    return false;
  int64_t bytes = whole->getValue() * elementBytes;
  auto areFew = [&](Expr rows) {
    return rows.isConstant() && rows.getValue() <= costs.turnRows;
  };
  return bytes >= costs.turnRowBytes && bytes < page &&
         (areFew(iteration.m) || areFew(iteration.n));
}

SmallVector<Attribute> fusec::chooseWgmmaCopies(const UnitStep &at) {
  auto schedule = cast<WgmmaScheduleAttr>(at.schedule);
  const WgmmaCosts &costs = getTarget(at.step).wgmma;
  int64_t tileM = schedule.getTileM();
  // What is no number is added by hand, by pointers, as ranges lie.
  bool inTurn = schedule.getMath() != GemmMath::Tf32x3 &&
                takeTurns(costs, at.iteration, at.element);
  SmallVector<Attribute> copies;
  for (auto [lhs, k] : llvm::zip_equal(at.iteration.lhs, at.iteration.k)) {
    int64_t kBytes =
        k.isConstant() ? wgmmaKBytes(k.getValue() * at.element) : wgmmaRowBytes;
    int64_t promotion =
        getRowPromotion(costs, lhs.wholeK.value_or(k), at.element);
    // Blocks of a cluster along one axis share the load of the other matrix.
    int64_t rows = tileM / schedule.getClusterN();
    copies.push_back(at.iteration.made
                         ? at.getSourceCopy(rows, getRowBytesA(at.iteration))
                         : at.getCopy(rows, kBytes, promotion, inTurn));
    copies.push_back(at.getCopy(schedule.getTileN() / schedule.getClusterM(),
                                kBytes, promotion, inTurn));
  }
  if (int64_t lead = schedule.getLead()) {
    copies.push_back(at.getCopy(
        wgmmaLeadRows(tileM, schedule.getPingPong(), lead), wgmmaRowBytes));
    copies.push_back(at.getCopy(lead, wgmmaRowBytes));
  }
  return copies;
}

namespace {
/// An operand or a result that a tensor map can move.
struct Tile {
  size_t index;
  int64_t bytes; // of an element
  bool alongRows;
};
} // namespace

static int64_t sum(ArrayRef<Tile> tiles) {
  int64_t bytes = 0;
  for (const Tile &tile : tiles)
    bytes += tile.bytes;
  return bytes;
}

EpilogueMaps fusec::chooseWgmmaMaps(const UnitStep &at) {
  StepOp step = at.step;
  SmallVector<Tile> results, operands;
  auto add = [&](size_t index, BufferOp buffer, const TileAccess &access,
                 SmallVectorImpl<Tile> &to) {
    FailureOr<MappedMatrix> matrix = at.analyzeTile(buffer, access);
    if (succeeded(matrix))
      to.push_back(
          {index, getElementBytes(buffer.getElementType()), !matrix->alongK});
    return succeeded(matrix);
  };
  for (auto [i, store] : llvm::enumerate(at.iteration.stores))
    if (!add(i, step.getOutputBuffer(store.output), store.access, results))
      return {};
  for (auto [i, operand] : llvm::enumerate(at.iteration.operands))
    add(i, step.getInputBuffer(operand.value), operand.access, operands);
  int64_t tileN = cast<WgmmaScheduleAttr>(at.schedule).getTileN();
  if (!wgmmaResultColumns(tileN, std::max(sum(results), sum(operands))))
    operands.clear();
  int64_t bytes = std::max(sum(results), sum(operands));
  if (!wgmmaResultColumns(tileN, bytes))
    return {};
  auto getMap = [&](const Tile &tile) {
    WgmmaResultBox box =
        wgmmaResultBox(tileN, bytes, tile.bytes, tile.alongRows);
    return TileMapAttr::get(at.variant.getContext(), tile.index, box.inner,
                            box.outer, box.swizzle);
  };
  return {llvm::map_to_vector(operands, getMap),
          llvm::map_to_vector(results, getMap)};
}
