// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The transpose family: a block fills tiles along the dim in which operands
// lie, and computes and stores along the one in which results do.

#include "compiler/analysis/TransposeIteration.h"
#include "compiler/codegen/Emitters.h"
#include "compiler/kernels/PassingReads.h"
#include "compiler/kernels/transpose/Transpose.h"
#include <algorithm>
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

namespace {
class TilePrinter {
public:
  TilePrinter(KernelWriter &writer, const TransposeIteration &iteration,
              VariantAttr variant);
  void print();

private:
  void declareTiles();
  void openTiles();
  void declarePoint();
  void fillTiles();
  void storeTiles();
  int64_t countVectors() const;
  int64_t countAtOnce() const;
  bool loadsBeside() const;
  bool storesColumns() const;
  void storeVectors();
  void storeRows();
  void storePoints();
  void readTiles(ArrayRef<std::string> names);
  bool loadsAlign(unsigned node) const;
  bool loadsWholeRows(unsigned node) const;
  int64_t getLoadWidth(unsigned node) const;
  std::string getRowOffset(unsigned node, StringRef b) const;
  /// Rows of what is stored begin anywhere: a tile is as far before its place
  /// in each row as vectors are.
  bool storesByRows() const { return accesses.getWalk() == Walk::Memory; }
  int64_t getBefore() const {
    return storesByRows() ? accesses.getWidth() - 1 : 0;
  }

  KernelWriter &writer;
  const TransposeIteration &iteration;
  const ScalarProgram &program;
  TransposeScheduleAttr schedule;
  AccessesAttr accesses;
  std::string index;
  std::vector<std::string> dims;
  std::vector<std::string> tiles; // a load
};
} // namespace

TilePrinter::TilePrinter(KernelWriter &writer,
                         const TransposeIteration &iteration,
                         VariantAttr variant)
    : writer(writer), iteration(iteration), program(iteration.points.program),
      schedule(cast<TransposeScheduleAttr>(variant.getSchedule())),
      accesses(variant.getLaunch().getLoopAccesses(0)),
      index(writer.indexType()) {
  for (size_t i = 0; i < program.getSizes().size(); ++i)
    dims.push_back(fmt::format("d{}", i));
}

void TilePrinter::declareTiles() {
  for (unsigned node : iteration.loads) {
    tiles.push_back(writer.uniqueName("tile"));
    std::string type = storageType(program[node].type);
    if (loadsWholeRows(node))
      writer.line("FUSEC_SHARED fusec::TransposeTile<{0}, {1}, {2}, {1}> {3};",
                  type, *iteration.getSize(iteration.along).getConstant(),
                  schedule.getAcross(), tiles.back());
    else
      writer.line("FUSEC_SHARED fusec::TransposeTile<{}, {}, {}> {};", type,
                  schedule.getAlong() +
                      (loadsAlign(node) ? 0 : getLoadWidth(node)),
                  schedule.getAcross() + getBefore(), tiles.back());
  }
}

void TilePrinter::openTiles() {
  auto declareExtent = [&](unsigned dim, const char *name, int64_t extent) {
    std::string size = writer.print(iteration.getSize(dim), {});
    if (dim == iteration.across() && storesByRows())
      writer.line("const {0} {1} = {2}, {1}Tiles = ({1} + {4}) / {3};", index,
                  name, size, extent, getBefore() + extent - 1);
    else
      writer.line("const {0} {1} = {2}, {1}Tiles = {1} / {3} + ({1} % {3} != "
                  "0);",
                  index, name, size, extent);
  };
  declareExtent(iteration.along, "along", schedule.getAlong());
  declareExtent(iteration.across(), "across", schedule.getAcross());
  std::string count = "alongTiles * acrossTiles";
  if (Expr batch = iteration.getBatch(); !batch.isConstant(1))
    count += fmt::format(" * ({})", writer.print(batch, {}));
  writer.open("fusec::forEachTile({}, [&]({} place)", count, index);
  writer.line("const {0} acrossFirst = place % acrossTiles * {1}, "
              "alongFirst = place / acrossTiles % alongTiles * {2};",
              index, schedule.getAcross(), schedule.getAlong());
  // The other dims, the last one fastest.
  std::string rest = "place / acrossTiles / alongTiles";
  for (size_t i = iteration.across(); i-- > 0;) {
    if (i == iteration.along)
      continue;
    std::string size = writer.print(program.getSizes()[i], {});
    bool isFirst = i == 0 || (i == 1 && iteration.along == 0);
    std::string own = isFirst ? rest : fmt::format("{} % ({})", rest, size);
    writer.line("const {} {} = {};", index, dims[i], own);
    rest += fmt::format(" / ({})", size);
  }
}

/// The tile's (a, b) as indices of the iteration.
void TilePrinter::declarePoint() {
  writer.line("const {} {} = alongFirst + a, {} = acrossFirst + b;", index,
              dims[iteration.along], dims[iteration.across()]);
}

int64_t TilePrinter::getLoadWidth(unsigned node) const {
  SmallVector<unsigned> reads = getReads(program);
  return accesses.getLoadWidths()[llvm::find(reads, node) - reads.begin()];
}

/// Whether rows of what is loaded begin where vectors do, if the buffer does.
bool TilePrinter::loadsAlign(unsigned node) const {
  constexpr unsigned always = 256;
  int64_t width = getLoadWidth(node);
  return width == 1 ||
         (isWhole(iteration.getSize(iteration.along), width) &&
          isVectorAccess(getLoadOffset(writer.getStep(), program, node),
                         iteration.along, width,
                         getElementBytes(program[node].type), always));
}

/// Whether a tile's rows are whole and lie one behind the other, from where
/// vectors do.
bool TilePrinter::loadsWholeRows(unsigned node) const {
  return !getBefore() &&
         isOfWholeRows(writer.getStep(), iteration, node, schedule);
}

/// Where the tile's row `b` begins in what is loaded.
std::string TilePrinter::getRowOffset(unsigned node, StringRef b) const {
  std::vector<std::string> begin = dims;
  begin[iteration.along] = "alongFirst";
  begin[iteration.across()] = fmt::format("(acrossFirst + {})", b.str());
  return writer.print(getLoadOffset(writer.getStep(), program, node), begin);
}

void TilePrinter::fillTiles() {
  for (auto [node, tile] : llvm::zip_equal(iteration.loads, tiles)) {
    BufferOp buffer = writer.getStep().getInputBuffer(program[node].value);
    std::string pointer = writer.pointer(buffer, true);
    StringRef stays = staysInL2(writer.getStep(), buffer) ? ", true" : "";
    if (loadsAlign(node) && !getBefore()) {
      writer.open("fusec::fillTile<{}, {}{}>({}, along - alongFirst, "
                  "across - acrossFirst, [&](int a, int b)",
                  getLoadWidth(node), transposeThreads, stays.str(), tile);
      declarePoint();
      writer.line(
          "return {} + {};", pointer,
          writer.print(getLoadOffset(writer.getStep(), program, node), dims));
      writer.close("});");
      continue;
    }
    if (loadsWholeRows(node)) {
      // The last tile has fewer rows.
      writer.line("fusec::fillTileOfWholeRows<{0}, {1}>({2}, int(across - "
                  "acrossFirst < {3} ? across - acrossFirst : {3}) * {4}, {5} "
                  "+ {6});",
                  getLoadWidth(node), transposeThreads, tile,
                  schedule.getAcross(),
                  *iteration.getSize(iteration.along).getConstant(), pointer,
                  getRowOffset(node, "0"));
      continue;
    }
    std::string extent = writer.print(
        getExtent(getSizes(buffer.getType()), buffer.getStrideExprs()), {});
    writer.open("fusec::fillTileByRows<{}, {}, {}{}>({}, along - alongFirst, "
                "acrossFirst, across - acrossFirst, {}, {}({}), [&](int b)",
                getLoadWidth(node), transposeThreads, getBefore(), stays.str(),
                tile, pointer, index, extent);
    writer.line("return {};", getRowOffset(node, "b"));
    writer.close("});");
  }
  writer.line("fusec::launch::barrier();");
}

void TilePrinter::storeTiles() {
  if (loadsBeside())
    writer.open("const auto fill = [&]");
  fillTiles();
  if (loadsBeside())
    writer.close("};");
  if (storesByRows())
    storeRows();
  else
    storeVectors();
  // The tiles are filled anew.
  writer.line("fusec::launch::barrier();");
}

/// That a thread stores of a whole tile, if each does.
int64_t TilePrinter::countVectors() const {
  int64_t vectors =
      schedule.getAlong() * schedule.getAcross() / accesses.getWidth();
  return vectors % transposeThreads ? 0 : vectors / transposeThreads;
}

/// Of a thread that are loaded together: as many as there are registers for
/// what they read beside the tiles, which is held while those are filled.
int64_t TilePrinter::countAtOnce() const {
  int64_t widest = 1, registers = 0;
  for (unsigned node = 0; node < program.size(); ++node) {
    if (program[node].kind != ScalarNode::Kind::Load)
      continue;
    int64_t bytes = getElementBytes(program[node].type);
    if (llvm::is_contained(iteration.loads, node))
      widest = std::max(widest, bytes);
    else if (program.varies(node, iteration.across()))
      registers += llvm::divideCeil(accesses.getWidth() * bytes, 4);
  }
  // Blocks of halves are more, each with fewer registers.
  int64_t most = widest > 2 ? 16 : 8,
          atOnce = std::clamp<int64_t>(most / registers, 1,
                                       std::min(countVectors(), mostAtOnce));
  while (countVectors() % atOnce)
    --atOnce;
  return atOnce;
}

/// Whether each thread has something to load before the tiles are filled. What
/// is read at some points, or by indices, is found among what is computed.
bool TilePrinter::loadsBeside() const {
  for (unsigned node = 0; node < program.size(); ++node)
    if (program[node].kind == ScalarNode::Kind::Gather ||
        program[node].kind == ScalarNode::Kind::Lookup ||
        program[node].kind == ScalarNode::Kind::Piecewise)
      return false;
  return readsBesideTiles(iteration) && countVectors();
}

/// Whether single elements are stored of tiles whose rows begin anywhere, so
/// that there is much to find for each column.
bool TilePrinter::storesColumns() const {
  return accesses.getWidth() == 1 && !readsBesideTiles(iteration) &&
         llvm::any_of(iteration.loads, [&](unsigned node) {
           return !loadsAlign(node) && !loadsWholeRows(node);
         });
}

void TilePrinter::storeVectors() {
  std::string extents = fmt::format("{}, {}, {}", schedule.getAlong(),
                                    schedule.getAcross(), transposeThreads);
  if (loadsBeside())
    writer.open("fusec::forEachBesideTile<{}, {}, {}>(along - alongFirst, "
                "across - acrossFirst, fill, [&](int a, int b)",
                accesses.getWidth(), extents, countAtOnce());
  else if (storesColumns())
    writer.open("fusec::forEachOfColumns<{}>(along - alongFirst, across - "
                "acrossFirst, [&](int a, int b)",
                extents);
  else
    writer.open("fusec::forEachInTile<{}, {}>(along - alongFirst, across - "
                "acrossFirst, [&](int a, int b)",
                accesses.getWidth(), extents);
  writer.line("constexpr int V = {};", accesses.getWidth());
  declarePoint();
  storePoints();
  writer.close("});");
}

void TilePrinter::storeRows() {
  int64_t width = accesses.getWidth();
  std::string extents =
      fmt::format("{}, {}, {}, {}", width, schedule.getAlong(),
                  schedule.getAcross(), transposeThreads);
  std::vector<std::string> begin = dims;
  begin[iteration.along] = "(alongFirst + a)";
  begin[iteration.across()] = "0";
  std::string first =
      fmt::format("acrossFirst + chunk * {0} - ({1}) % {0}", width,
                  writer.print(iteration.points.stores[0].offset, begin));
  auto storeColumn = [&] {
    writer.line("constexpr int V = decltype(width)::value;");
    writer.line("const int b = int(column - acrossFirst);");
    declarePoint();
    storePoints();
    writer.close("});");
  };
  if (loadsBeside()) {
    writer.open("const auto first = [&](int a, int chunk)");
    writer.line("return {}({});", index, first);
    writer.close("};");
    writer.open("fusec::forEachChunkBesideTile<{}>(along - alongFirst, across, "
                "fill, first, [&](int a, {} column, auto width)",
                extents, index);
    return storeColumn();
  }
  writer.open("fusec::forEachChunkInTile<{}>(along - alongFirst, "
              "[&](int a, int chunk)",
              extents);
  writer.line("const {} first = {};", index, first);
  writer.open("fusec::forColumns<{}>(first, across, [&]({} column, auto width)",
              width, index);
  storeColumn();
  writer.close("});");
}

void TilePrinter::readTiles(ArrayRef<std::string> names) {
  std::string row = getBefore() ? fmt::format("b + {}", getBefore()) : "b";
  for (auto [node, tile, name] :
       llvm::zip_equal(iteration.loads, tiles, names)) {
    if (loadsAlign(node) || loadsWholeRows(node)) {
      writer.line("const auto {} = fusec::readTile<V>({}, a, {});", name, tile,
                  row);
      continue;
    }
    writer.open("const auto {} = fusec::readTile<V>({}, a, {}, [&](int lane)",
                name, tile, row);
    writer.line("return int(({}) % {});", getRowOffset(node, "b + lane"),
                getLoadWidth(node));
    writer.close("});");
  }
}

void TilePrinter::storePoints() {
  ScalarEmitter::Lanes lanes(iteration.across(), accesses, loadsBeside());
  ScalarEmitter emitter(writer, program, dims, lanes, getRegionSources(writer));
  std::vector<std::string> names;
  for (auto [node, tile] : llvm::zip_equal(iteration.loads, tiles)) {
    names.push_back(writer.uniqueName(tile + "_at"));
    emitter.bindVector(node, names.back());
  }
  auto goOn = [&] {
    writer.openReturned();
    // Not filled before.
    readTiles(names);
  };
  llvm::function_ref<void()> whenLoaded;
  if (loadsBeside())
    whenLoaded = goOn;
  else
    readTiles(names);
  emitStores(writer, emitter, iteration.points.stores,
             accesses.getStoreWidths(), lanes, whenLoaded);
  if (loadsBeside())
    writer.close("};");
}

void TilePrinter::print() {
  writer.declareBuffers();
  declareTiles();
  openTiles();
  storeTiles();
  writer.close("});");
}

FailureOr<KernelSource> fusec::emitTranspose(StepOp step, VariantAttr variant,
                                             StringRef symbol) {
  auto schedule = cast<TransposeScheduleAttr>(variant.getSchedule());
  FailureOr<TransposeIteration> iteration = analyzeTranspose(step);
  if (failed(iteration))
    return step.emitOpError("is not a region whose loads lie along another "
                            "dimension than its stores");
  if (failed(checkLoops(step, variant, 1)) ||
      !takeAccesses(step, variant, 0,
                    {iteration->points.program,
                     iteration->across(),
                     schedule.getStore(),
                     {iteration->points.stores},
                     iteration->loads}))
    return failure();
  KernelWriter writer(step, symbol, schedule.getIndexBits());
  writer.addHeader("transpose.h");
  TilePrinter(writer, *iteration, variant).print();
  return writer.finish(variant);
}
