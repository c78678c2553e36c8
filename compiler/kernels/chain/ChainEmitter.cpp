// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The chain family: a struct of shared-memory tiles, the copies that fill it,
// and a call a phase into compiler/kernels/chain/device/chain.h.

#include "compiler/analysis/AccessWidths.h"
#include "compiler/codegen/Emitters.h"
#include "compiler/kernels/chain/Chain.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

namespace {
class ChainEmitter {
public:
  ChainEmitter(StepOp step, VariantAttr variant, StringRef symbol,
               const ChainIteration &iteration)
      : step(step), variant(variant),
        schedule(cast<ChainScheduleAttr>(variant.getSchedule())),
        iteration(iteration), writer(step, symbol, 64) {
    ArrayRef<int64_t> widths =
        variant.getLaunch().getLoopAccesses(0).getLoadWidths();
    unsigned copied = 0;
    for (auto [i, tile] : llvm::enumerate(iteration.tiles))
      if (!tile.isHeld)
        copies[i] = widths[copied++];
  }

  KernelSource emit();

private:
  std::string print(Expr expr) { return writer.print(expr, {}); }
  /// Where the tile's first row lies.
  std::string atFirstRow(const std::string &pointer, Expr stride) {
    std::string text = print(stride);
    if (!stride.getOperands().empty())
      text = fmt::format("({})", text);
    return fmt::format("{} + {} * {}", pointer, firstName, text);
  }
  int64_t getRows(const ChainTile &tile) const {
    return tile.perRow ? schedule.getRows() : tile.rows;
  }
  /// The tile from a column on, as a pointer.
  std::string pointer(const ChainOperand &operand) const;
  void declareTiles();
  void stage(unsigned tile);
  Descriptor operand(const TileOperand &operand, const ChainOperand &from);
  Descriptor result(const TileStore &store, const ChainStore &to);
  void emitPhase(const ChainPhase &phase);

  StepOp step;
  VariantAttr variant;
  ChainScheduleAttr schedule;
  const ChainIteration &iteration;
  KernelWriter writer;
  std::string sharedName, firstName, rowsName;
  SmallVector<std::string> tileNames; // as members of the shared memory
  unsigned staged = 0;                // tiles so far
  llvm::SmallDenseMap<unsigned, int64_t> copies; // elements of a tile at once
};
} // namespace

std::string ChainEmitter::pointer(const ChainOperand &operand) const {
  std::string text = tileNames[operand.tile] + ".at";
  return operand.column ? fmt::format("{} + {}", text, operand.column) : text;
}

void ChainEmitter::declareTiles() {
  std::string type = writer.uniqueName("Shared");
  raw_ostream &os = writer.declarations();
  os << "struct " << type << " {\n";
  for (const ChainTile &tile : iteration.tiles) {
    std::string name =
        tile.isHeld
            ? tile.value.getDefiningOp()->getName().stripDialect().str()
            : getTensorName(step.getInputBuffer(tile.value).getSymName());
    name = writer.uniqueName(name + "_tile");
    os << fmt::format("  fusec::ChainTile<{}, {}, {}> {};\n",
                      storageType(getElementType(tile.value)), getRows(tile),
                      tile.columns, name);
    tileNames.push_back(sharedName + "." + name);
  }
  os << "};\n\n";
  writer.line("{0} &{1} = fusec::chainShared<{0}>();", type, sharedName);
}

/// Starts the copy of a tile; inside of the loop over tiles of rows, of one
/// that has a row for each.
void ChainEmitter::stage(unsigned index) {
  const ChainTile &tile = iteration.tiles[index];
  BufferOp buffer = step.getInputBuffer(tile.value);
  std::string from = writer.pointer(buffer, true), stride = "0";
  if (!tile.offset.isConstant(0))
    from += " + " + print(tile.offset);
  // A single row has no stride.
  if (tile.perRow || tile.rows > 1)
    stride = print(tile.rowStride);
  if (tile.perRow)
    from = atFirstRow(from, tile.rowStride);
  std::string rows = tile.perRow ? ", " + rowsName : "";
  // The warps take the tiles in turn.
  unsigned turn = staged++;
  if (tile.isContiguous())
    writer.line("fusec::stage<{}>({}, {}, {}, {}{});",
                copies[index] * getElementBytes(buffer.getElementType()),
                tileNames[index], from, stride, turn, rows);
  else
    writer.line("fusec::stageEach({}, {}, {}, {}, {}{});", tileNames[index],
                from, stride, print(tile.columnStride), turn, rows);
}

Descriptor ChainEmitter::operand(const TileOperand &operand,
                                 const ChainOperand &from) {
  std::string element = storageType(getElementType(operand.value)),
              at = pointer(from),
              stride = braced({tileNames[from.tile] + ".stride"});
  bool byRow = iteration.tiles[from.tile].perRow;
  bool byColumn = !operand.access.columnStride.isConstant(0);
  if (!byRow && !byColumn)
    return {fmt::format("fusec::ScalarOperand<{}>", element), braced({at})};
  if (!byRow)
    return {fmt::format("fusec::RowOperand<{}>", element), braced({at})};
  if (!byColumn)
    return {fmt::format("fusec::ColumnOperand<{}, fusec::Stride>", element),
            braced({at, stride})};
  return {fmt::format("fusec::FullOperand<{}>", element), braced({at, stride})};
}

Descriptor ChainEmitter::result(const TileStore &store, const ChainStore &to) {
  if (to.tile) {
    const std::string &name = tileNames[*to.tile];
    Type type = getElementType(iteration.tiles[*to.tile].value);
    return {fmt::format("fusec::FullResult<{}>", storageType(type)),
            braced({name + ".at", braced({name + ".stride"})})};
  }
  BufferOp buffer = step.getOutputBuffer(*to.output);
  std::string element = storageType(buffer.getElementType()),
              row = print(store.access.rowStride),
              at = atFirstRow(writer.pointer(buffer, false),
                              store.access.rowStride);
  Expr column = store.access.columnStride;
  if (column.isConstant(1) || column.isConstant(0))
    return {fmt::format("fusec::FullResult<{}>", element),
            braced({at, braced({row})})};
  return {fmt::format("fusec::FullResult<{}, fusec::Stride, fusec::Stride>",
                      element),
          braced({at, braced({row}), braced({print(column)})})};
}

void ChainEmitter::emitPhase(const ChainPhase &phase) {
  const MatmulIteration &matmul = phase.matmul;
  SmallVector<Descriptor> operands, results;
  for (auto [access, from] : llvm::zip_equal(matmul.operands, phase.operands))
    operands.push_back(operand(access, from));
  for (auto [access, to] : llvm::zip_equal(matmul.stores, phase.stores))
    results.push_back(result(access, to));
  std::string type = writer.uniqueName("Phase"),
              name = writer.uniqueName("phase");
  std::string value = declareEpilogue(writer, type, matmul, getRootType(matmul),
                                      operands, results);
  writer.line("const {} {} = {};", type, name, value);
  std::string n = print(matmul.n), segments;
  for (auto [k, lhs, rhs] : llvm::zip_equal(matmul.k, phase.lhs, phase.rhs)) {
    std::string column = lhs.column ? fmt::format(", {}", lhs.column) : "";
    segments += fmt::format(",\n"
                            "      fusec::chainSegment<{}>(fusec::alongK({}{})",
                            print(k), tileNames[lhs.tile], column);
    for (const ChainOperand &b : rhs)
      segments += fmt::format(", fusec::{}K({})", b.alongK ? "along" : "across",
                              tileNames[b.tile]);
    segments += ")";
  }
  writer.line("fusec::chainPhase<{}, {}>({}, {}{});", schedule.getPerThread(),
              n, rowsName, name, segments);
}

KernelSource ChainEmitter::emit() {
  writer.addHeader("chain.h");
  sharedName = writer.uniqueName("shared");
  firstName = writer.uniqueName("first");
  rowsName = writer.uniqueName("rows");
  writer.declareBuffers();
  declareTiles();
  auto stageAll = [&](bool perRow) {
    for (auto [i, tile] : llvm::enumerate(iteration.tiles))
      if (!tile.isHeld && tile.perRow == perRow)
        stage(i);
  };
  stageAll(/*perRow=*/false);
  writer.open("fusec::forEachRowTile<{}>({}, [&](fusec::i64 {}, int {})",
              schedule.getRows(), print(iteration.rows), firstName, rowsName);
  stageAll(/*perRow=*/true);
  writer.line("fusec::waitStaged();");
  for (const ChainPhase &phase : iteration.phases)
    emitPhase(phase);
  writer.close("});");

  return writer.finish(variant);
}

FailureOr<KernelSource> fusec::emitChain(StepOp step, VariantAttr variant,
                                         StringRef symbol) {
  std::string reason;
  auto iteration = analyzeChain(step, reason);
  if (failed(iteration))
    return step.emitOpError("is not a chain of products: ") << reason;
  size_t copies = llvm::count_if(
      iteration->tiles, [](const ChainTile &tile) { return !tile.isHeld; });
  if (failed(checkLoops(step, variant, 1)) ||
      !takeAccesses(step, variant, 0, copies, /*stores=*/0))
    return failure();
  return ChainEmitter(step, variant, symbol, *iteration).emit();
}
