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
                                            ArrayRef<Expr> sizes) {
  if (sizes.size() == 1)
    return {"base"};
  std::vector<std::string> dims(sizes.size());
  std::string rest = "base";
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

/// Results that are computed together: of the hundreds of pieces that a wide
/// concat may have, registers would not hold what is loaded, and what several
/// need is computed again sooner than kept.
static constexpr size_t mostAtOnce = 32;

namespace {
class PiecePrinter {
public:
  PiecePrinter(KernelWriter &writer, VariantAttr variant,
               ScalarEmitter::Sources sources)
      : writer(writer), variant(variant), sources(std::move(sources)),
        schedule(cast<PointwiseScheduleAttr>(variant.getSchedule())) {}
  void printOnly(const PointwisePiece &piece);
  void printOneOf(const PointwisePiece &piece, Expr blocks);

private:
  void printBody(const PointwisePiece &piece);
  std::string getWidths(const PointwisePiece &piece) const;
  /// Elements of an access, and accesses that are on their way together.
  int64_t getWidth(const PointwisePiece &piece) const {
    return std::min(piece.accesses.width, schedule.getVector());
  }
  int64_t getAtOnce(const PointwisePiece &piece) const {
    bool fits = piece.iteration.stores.size() <= mostAtOnce &&
                !piece.iteration.program.getSizes().empty();
    return fits ? schedule.getVector() / getWidth(piece) : 1;
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

void PiecePrinter::printOnly(const PointwisePiece &piece) {
  writer.line("const {} count = {};", writer.indexType(),
              writer.print(piece.count, {}));
  writer.open("fusec::forEachVector<{}>(count, [&]({} base, auto width)",
              getWidths(piece), writer.indexType());
  printBody(piece);
  writer.close("});");
}

void PiecePrinter::printOneOf(const PointwisePiece &piece, Expr blocks) {
  std::string own = writer.print(blocks, {}),
              count = writer.print(piece.count, {});
  if (writer.indexType() != "int")
    count = fmt::format("{}({})", writer.indexType(), count);
  writer.open("grid.forEachVector<{}>({}, {}, [&]({} base, auto width)",
              getWidths(piece), own, count, writer.indexType());
  printBody(piece);
  writer.close("});");
}

void PiecePrinter::printBody(const PointwisePiece &piece) {
  const ScalarProgram &program = piece.iteration.program;
  ArrayRef<Expr> sizes = program.getSizes();
  bool loadsFirst = getAtOnce(piece) > 1;
  writer.line("constexpr int V = decltype(width)::value;");
  std::vector<std::string> dims = declareDims(writer, sizes);
  std::optional<ScalarEmitter::Lanes> lanes;
  if (!sizes.empty())
    lanes = ScalarEmitter::Lanes{static_cast<unsigned>(sizes.size() - 1),
                                 getWidth(piece), loadsFirst};
  ScalarEmitter emitter(writer, program, dims, lanes, sources);
  emitter.nameLinearIndex("base");

  ArrayRef<RegionStore> stores = piece.iteration.stores;
  if (loadsFirst) {
    emitStores(writer, emitter, variant, stores, lanes,
               [&] { writer.open("return [=]"); });
    writer.close("};");
  } else if (stores.size() <= mostAtOnce) {
    emitStores(writer, emitter, variant, stores, lanes);
  } else {
    for (; !stores.empty();
         stores = stores.drop_front(std::min(mostAtOnce / 2, stores.size()))) {
      writer.open();
      emitter.pushScope();
      emitStores(writer, emitter, variant, stores.take_front(mostAtOnce / 2),
                 lanes);
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
    printer.printOnly(pieces->front());
  } else {
    writer.line("fusec::SharedGrid grid;");
    for (auto [piece, blocks] :
         llvm::zip_equal(*pieces, getBlocks(*pieces, schedule)))
      printer.printOneOf(piece, blocks);
  }
  return writer.finish(variant);
}
