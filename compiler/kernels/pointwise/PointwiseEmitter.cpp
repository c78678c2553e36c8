// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pointwise family: every point of the iteration space computed on its own,
// vectorised along the innermost dim. Gathers and lookups are members.

#include "compiler/codegen/Emitters.h"
#include "compiler/codegen/ScalarEmitter.h"
#include "compiler/kernels/pointwise/Pointwise.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

/// Declares the index of each dim, from the linear one, and returns their
/// names.
static std::vector<std::string> declareDims(KernelWriter &writer,
                                            ArrayRef<Expr> sizes,
                                            const std::string &linear) {
  if (sizes.size() == 1)
    return {linear};
  std::vector<std::string> dims(sizes.size());
  std::string rest = linear;
  for (size_t i = sizes.size(); i-- > 0;) {
    dims[i] = fmt::format("d{}", i);
    std::string size = writer.print(sizes[i], {});
    if (!sizes[i].getOperands().empty())
      size = fmt::format("({})", size);
    writer.line("const {} {} = {}{};", writer.indexType(), dims[i], rest,
                i ? " % " + size : "");
    rest += " / " + size;
  }
  return dims;
}

namespace {
class PiecePrinter {
public:
  PiecePrinter(KernelWriter &writer, VariantAttr variant,
               ScalarEmitter::Sources sources)
      : writer(writer), variant(variant), sources(std::move(sources)),
        schedule(cast<PointwiseScheduleAttr>(variant.getSchedule())) {}
  /// All that the kernel does, or what some blocks of it do.
  void print(const PointwisePiece &piece, std::optional<Expr> blocks);

private:
  void printVectors(const PointwisePiece &piece, std::optional<Expr> blocks);
  void printRows(const PointwisePiece &piece, std::optional<Expr> blocks);
  void printBody(const PointwisePiece &piece,
                 const std::vector<std::string> &dims);
  std::string getNumber(Expr size);
  std::string getWidths(const PointwisePiece &piece) const;
  int64_t getWidth(const PointwisePiece &piece) const {
    return piece.getWidth(schedule.getVector());
  }
  int64_t getAtOnce(const PointwisePiece &piece) const {
    return piece.getAtOnce(schedule.getVector());
  }

  KernelWriter &writer;
  VariantAttr variant;
  ScalarEmitter::Sources sources;
  PointwiseScheduleAttr schedule;
};
} // namespace

std::string PiecePrinter::getWidths(const PointwisePiece &piece) const {
  int64_t atOnce = getAtOnce(piece);
  return fmt::format("{}{}", getWidth(piece),
                     atOnce > 1 ? fmt::format(", {}", atOnce) : "");
}

/// Of the type of indices.
std::string PiecePrinter::getNumber(Expr size) {
  std::string text = writer.print(size, {});
  return writer.indexType() == "int"
             ? text
             : fmt::format("{}({})", writer.indexType(), text);
}

void PiecePrinter::print(const PointwisePiece &piece,
                         std::optional<Expr> blocks) {
  if (piece.byRows)
    printRows(piece, blocks);
  else
    printVectors(piece, blocks);
}

void PiecePrinter::printVectors(const PointwisePiece &piece,
                                std::optional<Expr> blocks) {
  std::string count = "count", call = "fusec::forEachVector", own;
  if (blocks) {
    call = "grid.forEachVector";
    own = writer.print(*blocks, {}) + ", ";
    count = getNumber(piece.count);
  } else {
    writer.line("const {} count = {};", writer.indexType(),
                writer.print(piece.count, {}));
  }
  writer.open("{}<{}>({}{}, [&]({} base, auto width)", call, getWidths(piece),
              own, count, writer.indexType());
  writer.line("constexpr int V = decltype(width)::value;");
  printBody(piece,
            declareDims(writer, piece.iteration.program.getSizes(), "base"));
  writer.close("});");
}

void PiecePrinter::printRows(const PointwisePiece &piece,
                             std::optional<Expr> blocks) {
  ArrayRef<Expr> sizes = piece.iteration.program.getSizes();
  std::string index = writer.indexType(),
              call = blocks ? "grid.forEachChunk" : "fusec::forEachChunk",
              own = blocks ? writer.print(*blocks, {}) + ", " : "",
              rows = getNumber(
                  getElementCount(sizes.drop_back(), writer.getContext())),
              chunks = getNumber(piece.getChunks()),
              columns = getNumber(sizes.back());
  writer.open("{}({}{}, {}, [&]({} row, {} chunk)", call, own, rows, chunks,
              index, index);
  std::vector<std::string> dims = declareDims(writer, sizes.drop_back(), "row");
  SmallVector<Expr> begin =
      IndexMap::identity(writer.getContext(), sizes.size()).results;
  begin.back() = Expr::constant(writer.getContext(), 0);
  int64_t width = getWidth(piece);
  writer.line(
      "const {} first = chunk * {} - ({}) % {};", index, width,
      writer.print(piece.iteration.stores[0].offset.replaceDims(begin), dims),
      width);
  writer.open("fusec::forColumns<{}>(first, {}, [&]({} column, auto width)",
              width, columns, index);
  writer.line("constexpr int V = decltype(width)::value;");
  dims.push_back("column");
  printBody(piece, dims);
  writer.close("});");
  writer.close("});");
}

void PiecePrinter::printBody(const PointwisePiece &piece,
                             const std::vector<std::string> &dims) {
  const ScalarProgram &program = piece.iteration.program;
  bool loadsFirst = getAtOnce(piece) > 1;
  std::optional<ScalarEmitter::Lanes> lanes;
  if (!dims.empty())
    lanes = ScalarEmitter::Lanes{static_cast<unsigned>(dims.size() - 1),
                                 getWidth(piece), loadsFirst, piece.byRows};
  ScalarEmitter emitter(writer, program, dims, lanes, sources);
  if (!piece.byRows)
    emitter.nameLinearIndex("base");

  ArrayRef<RegionStore> stores = piece.iteration.stores;
  if (loadsFirst) {
    unsigned opened = 0;
    emitStores(writer, emitter, variant, stores, lanes, [&] {
      writer.openReturned();
      ++opened;
    });
    while (opened--)
      writer.close("};");
  } else if (stores.size() <= mostStoresTogether) {
    emitStores(writer, emitter, variant, stores, lanes);
  } else {
    for (; !stores.empty(); stores = stores.drop_front(std::min(
                                mostStoresTogether / 2, stores.size()))) {
      writer.open();
      emitter.pushScope();
      emitStores(writer, emitter, variant,
                 stores.take_front(mostStoresTogether / 2), lanes);
      emitter.popScope();
      writer.close();
    }
  }
}

FailureOr<KernelSource> fusec::emitPointwise(StepOp step, VariantAttr variant,
                                             StringRef symbol) {
  auto schedule = cast<PointwiseScheduleAttr>(variant.getSchedule());
  KernelWriter writer(step, symbol, schedule.getIndexBits());
  writer.addHeader("vector.h");
  FailureOr<PointwisePieces> pieces = analyzePointwisePieces(
      step, [&](BufferOp buffer) { return getAlignment(buffer, variant); });
  if (failed(pieces))
    return step.emitOpError("is not a pointwise region");
  writer.declareBuffers();
  PiecePrinter printer(writer, variant, getRegionSources(writer, variant));
  if (pieces->size() == 1) {
    printer.print(pieces->front(), std::nullopt);
  } else {
    writer.line("fusec::SharedGrid grid;");
    for (auto [piece, blocks] :
         llvm::zip_equal(*pieces, getBlocks(*pieces, schedule)))
      printer.print(piece, blocks);
  }
  return writer.finish(variant);
}
