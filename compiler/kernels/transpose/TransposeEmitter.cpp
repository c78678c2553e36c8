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
  void storeVectors();
  ScalarEmitter::Sources getPointSources();
  void storePoints();
  void readTiles(ArrayRef<std::string> names);
  bool loadsWholeRows(unsigned node) const;
  int64_t getLoadWidth(unsigned node) const;
  std::string getTileOffset(unsigned node) const;

  KernelWriter &writer;
  const TransposeIteration &iteration;
  const ScalarProgram &program;
  TransposeScheduleAttr schedule;
  AccessesAttr accesses;
  std::string index;
  std::vector<std::string> dims;
  std::vector<std::string> tiles; // a load
  ScalarEmitter::Sources sources;
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
                  schedule.getAlong(), schedule.getAcross(), tiles.back());
  }
}

void TilePrinter::openTiles() {
  auto declareExtent = [&](unsigned dim, const char *name, int64_t extent) {
    std::string size = writer.print(iteration.getSize(dim), {});
    writer.line("const {0} {1} = {2}, {1}Tiles = {1} / {3} + ({1} % {3} != 0);",
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

/// Whether a tile's rows are whole and lie one behind the other, from where
/// vectors do.
bool TilePrinter::loadsWholeRows(unsigned node) const {
  return isOfWholeRows(writer.getStep(), iteration, node, schedule);
}

/// Where the tile begins in what is loaded.
std::string TilePrinter::getTileOffset(unsigned node) const {
  std::vector<std::string> begin = dims;
  begin[iteration.along] = "alongFirst";
  begin[iteration.across()] = "acrossFirst";
  return writer.print(getLoadOffset(writer.getStep(), program, node), begin);
}

void TilePrinter::fillTiles() {
  for (auto [node, tile] : llvm::zip_equal(iteration.loads, tiles)) {
    std::string pointer = sources.load(program[node].value).pointer;
    if (loadsWholeRows(node)) {
      // The last tile has fewer rows.
      writer.line("fusec::fillTileOfWholeRows<{0}, {1}>({2}, int(across - "
                  "acrossFirst < {3} ? across - acrossFirst : {3}) * {4}, {5} "
                  "+ {6});",
                  getLoadWidth(node), schedule.getThreads(), tile,
                  schedule.getAcross(),
                  *iteration.getSize(iteration.along).getConstant(), pointer,
                  getTileOffset(node));
      continue;
    }
    writer.open("fusec::fillTile<{}, {}>({}, along - alongFirst, across - "
                "acrossFirst, [&](int a, int b)",
                getLoadWidth(node), schedule.getThreads(), tile);
    declarePoint();
    writer.line(
        "return {} + {};", pointer,
        writer.print(getLoadOffset(writer.getStep(), program, node), dims));
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
  storeVectors();
  // The tiles are filled anew.
  writer.line("fusec::launch::barrier();");
}

/// That a thread stores of a whole tile, if each does.
int64_t TilePrinter::countVectors() const {
  int64_t vectors =
      schedule.getAlong() * schedule.getAcross() / accesses.getWidth();
  return vectors % schedule.getThreads() ? 0 : vectors / schedule.getThreads();
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

void TilePrinter::storeVectors() {
  std::string extents =
      fmt::format("{}, {}, {}", schedule.getAlong(), schedule.getAcross(),
                  schedule.getThreads());
  if (loadsBeside())
    writer.open("fusec::forEachBesideTile<{}, {}, {}>(along - alongFirst, "
                "across - acrossFirst, fill, [&](int a, int b, bool isThere)",
                accesses.getWidth(), extents, countAtOnce());
  else
    writer.open("fusec::forEachInTile<{}, {}>(along - alongFirst, across - "
                "acrossFirst, [&](int a, int b)",
                accesses.getWidth(), extents);
  writer.line("constexpr int V = {};", accesses.getWidth());
  declarePoint();
  storePoints();
  writer.close("});");
}

void TilePrinter::readTiles(ArrayRef<std::string> names) {
  for (auto [tile, name] : llvm::zip_equal(tiles, names))
    writer.line("const auto {} = fusec::readTile<V>({}, a, b);", name, tile);
}

/// Beyond an edge no point reads what is in no tile.
ScalarEmitter::Sources TilePrinter::getPointSources() {
  if (!loadsBeside())
    return sources;
  llvm::DenseMap<Value, std::string> points;
  for (unsigned node : getReads(program)) {
    Value value = program[node].value;
    if (llvm::is_contained(iteration.loads, node) || points.contains(value))
      continue;
    std::string pointer = sources.load(value).pointer;
    points[value] = writer.uniqueName(pointer + "_of");
    writer.line("const fusec::OfPoint {}({}, isThere);", points[value],
                pointer);
  }
  ScalarEmitter::Sources ofPoints = sources;
  ofPoints.rename(std::move(points));
  return ofPoints;
}

void TilePrinter::storePoints() {
  ScalarEmitter::Lanes lanes(iteration.across(), accesses, loadsBeside());
  ScalarEmitter emitter(writer, program, dims, lanes, getPointSources());
  std::vector<std::string> names;
  for (auto [node, tile] : llvm::zip_equal(iteration.loads, tiles)) {
    names.push_back(writer.uniqueName(tile + "_at"));
    emitter.bindVector(node, names.back());
  }
  auto goOn = [&] {
    writer.openReturned("(int a, int b)");
    declarePoint();
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
  sources = declarePassing(writer, program, accesses, /*stay=*/true,
                           getRegionSources(writer));
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
