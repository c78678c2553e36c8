// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pointwise family: every point of the iteration space computed on its own,
// vectorised along the innermost dim. Gathers and lookups are members.

#include "compiler/codegen/Emitters.h"
#include "compiler/codegen/ScalarEmitter.h"
#include "compiler/kernels/PassingReads.h"
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
  PiecePrinter(KernelWriter &writer, PointwiseScheduleAttr schedule)
      : writer(writer), shared(getRegionSources(writer)), schedule(schedule) {}
  /// What `blocks` do: all of the kernel's, unless the grid is shared.
  void print(const PointwisePiece &piece, AccessesAttr accesses,
             const Expr &blocks, bool isShared);

private:
  void printVectors(const PointwisePiece &piece, const Expr &blocks,
                    bool isShared);
  void printRows(const PointwisePiece &piece, const Expr &blocks,
                 bool isShared);
  void printHeldRows(const PointwisePiece &piece);
  void declarePicked(Value value);
  void printBody(const PointwisePiece &piece,
                 const std::vector<std::string> &dims);
  std::string getNumber(Expr size);
  std::string getShare(const Expr &blocks, bool isShared);
  bool hasThreads(const Expr &blocks, const Expr &items) const;
  int64_t getWidth(const PointwisePiece &piece) const {
    return piece.getWidth(schedule.getVector());
  }
  int64_t getAtOnce(const PointwisePiece &piece) const {
    return piece.getAtOnce(schedule.getVector());
  }

  KernelWriter &writer;
  ScalarEmitter::Sources shared;
  PointwiseScheduleAttr schedule;
  AccessesAttr accesses;          // of the piece
  ScalarEmitter::Sources sources; // of the piece
};
} // namespace

/// An argument of loops: the grid is shared, or begins with what L2 holds.
std::string PiecePrinter::getShare(const Expr &blocks, bool isShared) {
  if (isShared)
    return fmt::format("grid.take({}), ", writer.print(blocks, {}));
  return readsAgain(writer.getStep()) ? "fusec::lastFirst(), " : "";
}

/// Whether blocks are known to have a thread for each of the items, and all of
/// them to begin at once: where many follow one another loops were up to 1.3%
/// faster, nobody knows why.
bool PiecePrinter::hasThreads(const Expr &blocks, const Expr &items) const {
  const Target &target = getTarget(writer.getStep());
  std::optional<int64_t> some = blocks.getConstant(), all = items.getConstant();
  return some && all && *some * schedule.getThreads() >= *all &&
         *all <= int64_t(target.multiprocessors) * target.threads;
}

/// Of the type of indices.
std::string PiecePrinter::getNumber(Expr size) {
  std::string text = writer.print(size, {});
  return writer.indexType() == "int"
             ? text
             : fmt::format("{}({})", writer.indexType(), text);
}

void PiecePrinter::print(const PointwisePiece &piece,
                         AccessesAttr accessesOfPiece, const Expr &blocks,
                         bool isShared) {
  accesses = accessesOfPiece;
  sources = declarePassing(writer, piece.iteration.program, accesses,
                           readsStay(writer.getStep()), shared);
  if (auto row = findPickedRow(writer.getStep(), piece.iteration);
      row && !piece.row && picksMost(writer.getStep(), piece.iteration, *row))
    declarePicked(piece.iteration.program[row->load].value);
  if (piece.row)
    printHeldRows(piece);
  else if (piece.isByRows())
    printRows(piece, blocks, isShared);
  else
    printVectors(piece, blocks, isShared);
}

void PiecePrinter::declarePicked(Value value) {
  std::string pointer = shared.load(value).pointer;
  std::string name = writer.uniqueName(pointer + "_picked");
  writer.line(
      "const fusec::PickedFrom<{}> {}({});",
      storageType(writer.getStep().getInputBuffer(value).getElementType()),
      name, pointer);
  sources.rename({{value, name}});
}

void PiecePrinter::printVectors(const PointwisePiece &piece, const Expr &blocks,
                                bool isShared) {
  std::string count = "count", loop;
  if (isShared)
    count = getNumber(piece.count);
  else
    writer.line("const {} count = {};", writer.indexType(),
                writer.print(piece.count, {}));
  int64_t width = getWidth(piece), atOnce = getAtOnce(piece);
  if (atOnce > 1)
    loop = fmt::format("forEachVector<{}, {}>", width, atOnce);
  else if (hasThreads(blocks, piece.count.floorDiv(
                                  Expr::constant(writer.getContext(), width))))
    loop = fmt::format("forOwnVector<{}>", width);
  else
    loop = fmt::format("forEachVector<{}>", width);
  writer.open("fusec::{}({}{}, [&]({} base, auto width)", loop,
              getShare(blocks, isShared), count, writer.indexType());
  writer.line("constexpr int V = decltype(width)::value;");
  printBody(piece,
            declareDims(writer, piece.iteration.program.getSizes(), "base"));
  writer.close("});");
}

void PiecePrinter::printRows(const PointwisePiece &piece, const Expr &blocks,
                             bool isShared) {
  ArrayRef<Expr> sizes = piece.iteration.program.getSizes();
  std::string index = writer.indexType(), columns = getNumber(sizes.back());
  Expr rows = piece.countOuter(), parts = piece.getParts();
  writer.open("fusec::{}({}{}, {}, [&]({} row, {} part)",
              hasThreads(blocks, rows * parts) ? "forOwnPart" : "forEachPart",
              getShare(blocks, isShared), getNumber(rows), getNumber(parts),
              index, index);
  std::vector<std::string> dims = declareDims(writer, sizes.drop_back(), "row");
  SmallVector<Expr> begin =
      IndexMap::identity(writer.getContext(), sizes.size()).results;
  begin.back() = Expr::constant(writer.getContext(), 0);
  int64_t width = getWidth(piece);
  writer.line(
      "const {} begin = ({}) % {};", index,
      writer.print(piece.iteration.stores[0].offset.replaceDims(begin), dims),
      width);
  std::string place = piece.dividesEnds()
                          ? fmt::format("fusec::forPart<{}>(part, begin", width)
                          : fmt::format("fusec::forColumns<{0}>(part * {0} - "
                                        "begin",
                                        width);
  writer.open("{}, {}, [&]({} column, auto width)", place, columns, index);
  writer.line("constexpr int V = decltype(width)::value;");
  dims.push_back("column");
  printBody(piece, dims);
  writer.close("});");
  writer.close("});");
}

void PiecePrinter::printHeldRows(const PointwisePiece &piece) {
  const ScalarProgram &program = piece.iteration.program;
  ArrayRef<Expr> sizes = program.getSizes();
  Value picked = program[piece.row->load].value;
  BufferOp buffer = writer.getStep().getInputBuffer(picked);
  std::string index = writer.indexType(), held = writer.uniqueName("held");
  SmallVector<unsigned> reads = getReads(program);
  SmallVector<int64_t> loads = llvm::to_vector(accesses.getLoadWidths());
  int64_t &fill = loads[llvm::find(reads, piece.row->load) - reads.begin()];

  writer.addHeader("held_rows.h");
  writer.line("FUSEC_SHARED fusec::HeldRows<{}, {}, {}, {}> {};",
              storageType(program[piece.row->load].type), piece.row->size,
              schedule.getHolds(), schedule.getThreads(), held);
  writer.open("const auto begin = [&]({} row)", index);
  std::vector<std::string> dims = declareDims(writer, sizes.drop_back(), "row");
  writer.line("return {} + {};", writer.pointer(buffer, true),
              writer.print(piece.row->begin, dims));
  writer.close("};");
  writer.open("fusec::forEachHeldRow<{}, {}>({}, {}, {}, begin, [&]({} row, "
              "{} column, auto width)",
              fill, getWidth(piece), held, getNumber(piece.countOuter()),
              getNumber(sizes.back()), index, index);
  writer.line("constexpr int V = decltype(width)::value;");
  dims = declareDims(writer, sizes.drop_back(), "row");
  dims.push_back("column");
  // Elements of the row are on their own, wherever it lies.
  fill = 1;
  SmallVector<int64_t> stores = llvm::to_vector(accesses.getStoreWidths());
  accesses = fusec::getAccesses(writer.getContext(), accesses.getWalk(),
                                accesses.getWidth(), loads, stores,
                                /*passing=*/{}, accesses.getShiftedReads());
  sources.load = [load = sources.load, picked, held](Value value) {
    ScalarEmitter::Access access = load(value);
    if (value != picked)
      return access;
    for (Expr &stride : MutableArrayRef(access.strides).drop_back())
      stride = Expr::constant(stride.getContext(), 0);
    return ScalarEmitter::Access{held, access.strides, /*isLate=*/true};
  };
  printBody(piece, dims);
  writer.close("});");
}

void PiecePrinter::printBody(const PointwisePiece &piece,
                             const std::vector<std::string> &dims) {
  const ScalarProgram &program = piece.iteration.program;
  bool loadsFirst = piece.row || getAtOnce(piece) > 1;
  std::optional<ScalarEmitter::Lanes> lanes;
  if (!dims.empty())
    lanes = ScalarEmitter::Lanes(piece.getDim(), accesses, loadsFirst);
  ScalarEmitter emitter(writer, program, dims, lanes, sources);
  if (!piece.isByRows() && !piece.row)
    emitter.nameLinearIndex("base");

  auto groups = piece.getStoreGroups();
  ArrayRef<int64_t> widths = accesses.getStoreWidths();
  if (loadsFirst) {
    // Of a held row all but the indices is there once these are.
    unsigned opened = 0;
    emitStores(writer, emitter, groups[0], widths, lanes, [&] {
      if (opened && piece.row)
        return;
      writer.openReturned();
      ++opened;
    });
    while (opened--)
      writer.close("};");
  } else if (groups.size() == 1) {
    emitStores(writer, emitter, groups[0], widths, lanes);
  } else {
    for (ArrayRef<RegionStore> stores : groups) {
      writer.open();
      emitter.pushScope();
      emitStores(writer, emitter, stores, widths.take_front(stores.size()),
                 lanes);
      emitter.popScope();
      writer.close();
      widths = widths.drop_front(stores.size());
    }
  }
}

/// Whether the pieces store parts of the same rows, of what they read in order.
static bool shareRows(const PointwisePieces &pieces) {
  auto getRows = [](const PointwisePiece &piece) {
    const RegionStore &store = piece.iteration.stores[0];
    size_t rank = piece.iteration.program.getSizes().size();
    std::optional<Expr> pitch;
    if (rank > 1)
      pitch = getDimCoefficient(store.offset, rank - 2);
    return std::pair(store.output, pitch);
  };
  auto first = getRows(pieces[0]);
  auto isPlain = [](const PointwisePiece &piece) {
    const ScalarProgram &program = piece.iteration.program;
    for (size_t n = 0; n < program.size(); ++n)
      if (program[n].kind == ScalarNode::Kind::GatherRow ||
          program[n].kind == ScalarNode::Kind::Lookup)
        return false;
    return piece.count.getConstant().has_value();
  };
  return first.second && llvm::all_of(pieces, [&](const PointwisePiece &piece) {
           return isPlain(piece) && getRows(piece) == first;
         });
}

FailureOr<KernelSource> fusec::emitPointwise(StepOp step, VariantAttr variant,
                                             StringRef symbol) {
  auto schedule = cast<PointwiseScheduleAttr>(variant.getSchedule());
  KernelWriter writer(step, symbol, schedule.getIndexBits());
  writer.addHeader("vector.h");
  if (schedule.getRows()) {
    auto rows = takeAssembledRows(step, variant);
    if (!rows)
      return failure();
    writer.declareBuffers();
    emitAssembledRows(writer, *rows, variant);
    return writer.finish(variant);
  }
  FailureOr<PointwisePieces> pieces = takePointwisePieces(step, variant);
  if (failed(pieces))
    return failure();
  writer.declareBuffers();
  PiecePrinter printer(writer, schedule);
  bool isShared = pieces->size() > 1;
  SmallVector<Expr> blocks = getBlocks(*pieces, schedule);
  if (isShared && shareRows(*pieces)) {
    Expr all = Expr::constant(writer.getContext(), 0);
    for (Expr some : blocks)
      all = all + some;
    writer.line("fusec::MixedGrid grid({});", writer.print(all, {}));
  } else if (isShared) {
    writer.line("fusec::SharedGrid grid;");
  }
  for (auto [i, some] : llvm::enumerate(blocks))
    printer.print((*pieces)[i], variant.getLaunch().getLoopAccesses(i), some,
                  isShared);
  return writer.finish(variant);
}
