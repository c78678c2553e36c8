// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The scan family: a function that loads what is summed at a point, and one
// that stores what follows from the sum there.

#include "compiler/codegen/Emitters.h"
#include "compiler/kernels/scan/Scan.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

namespace {
class ScanPrinter {
public:
  /// `walked` is the scan as the schedule walks it.
  ScanPrinter(KernelWriter &writer, const ScanIteration &scan,
              const ScanIteration &walked, VariantAttr variant);
  void print();

private:
  void openRows();
  void openColumns();
  void openParts();
  void nameColumn();
  std::string getPart(StringRef number) const;
  bool fillsParts() const;
  void printLoad();
  void printStores();
  void printParts();
  std::string printFetch();
  void printLengths(StringRef part);
  void printStoredParts(std::string_view scan, std::string_view functions);
  void openRun();
  void printHeld();
  void printRow();
  /// Whether functions of a point are told how many items they take there.
  bool takesWidth() const {
    return isHeld(schedule) || pitch || isRun(iteration, schedule);
  }
  std::string getParameters() const {
    return takesWidth() ? ", auto width" : "";
  }
  bool sharesVectors() const { return ofColumns && !takesWidth(); }
  void declareWidth();
  /// The item at `k`, which parts count from their first one on.
  std::string getItem() const {
    return isRun(iteration, schedule) ? "(begin + k)"
           : iteration.parts          ? "(first + k)"
                                      : "k";
  }

  KernelWriter &writer;
  const ScalarProgram &rows;
  const ScanIteration &iteration;
  ReduceScheduleAttr schedule;
  AccessesAttr accesses;
  bool ofColumns;
  std::optional<int64_t> pitch; // of rows that are spans
  std::string index;
  ScalarEmitter::Lanes lanes;
  ScalarEmitter::Sources sources;
  ScalarEmitter emitter;
};
} // namespace

static ScalarEmitter::Sources getSources(KernelWriter &writer,
                                         const ScanIteration &iteration,
                                         ReduceScheduleAttr schedule,
                                         AccessesAttr accesses, unsigned dim) {
  auto sources = getRegionSources(writer);
  // Where all is one place, the sums are there and vary along nothing.
  bool isOnePlace = iteration.program.getSizes()[dim].isConstant(1);
  sources.root = [=](Value) { return isOnePlace ? "sums[0]" : "sums[lane]"; };
  // Sums that are told in words are stored nowhere else.
  bool inWords = iteration.parts && getFlagWords(iteration, schedule);
  writer.declareBuffers(
      inWords ? writer.getStep().getOutputBuffer(iteration.parts->output)
              : BufferOp());
  return declarePassing(writer, iteration.program, accesses, /*stay=*/true,
                        sources);
}

ScanPrinter::ScanPrinter(KernelWriter &writer, const ScanIteration &scan,
                         const ScanIteration &walked, VariantAttr variant)
    : writer(writer), rows(scan.program), iteration(walked),
      schedule(cast<ReduceScheduleAttr>(variant.getSchedule())),
      accesses(variant.getLaunch().getLoopAccesses(0)),
      ofColumns(schedule.isOfColumns()), pitch(getSpanPitch(scan, schedule)),
      index(writer.indexType()), lanes(getLanesDim(walked, schedule), accesses),
      sources(getSources(writer, iteration, schedule, accesses, lanes.dim)),
      emitter(writer, iteration.program,
              {"row", "", ofColumns ? "column" : "0"}, lanes, sources) {}

void ScanPrinter::openRows() {
  if (isOfCluster(schedule))
    writer.line("typedef fusec::ClusterScope<{}, {}> Scope;",
                schedule.getThreads(), schedule.getCluster());
  else if (schedule.getScope() == ReduceScope::Warp)
    writer.line("typedef fusec::WarpScope Scope;");
  else
    writer.line("typedef fusec::BlockScope<{}> Scope;", schedule.getThreads());
  if (isOfCluster(schedule))
    writer.open("fusec::takeRowOfCluster<Scope>([&](fusec::i64 group)");
  else
    writer.open("fusec::forEachRow<Scope>({}, [&](fusec::i64 group)",
                writer.print(iteration.program.getSizes()[0], {}));
  writer.line("const {0} row = {0}(group);", index);
}

void ScanPrinter::openColumns() {
  ArrayRef<Expr> sizes = iteration.program.getSizes();
  Expr across = sizes[2].floorDiv(
      Expr::constant(writer.getContext(), schedule.getVector()));
  writer.line("typedef fusec::ColumnScope<{}, {}> Scope;",
              schedule.getThreads(), schedule.getGroups());
  writer.line("const {} vectors = {};", index, writer.print(across, {}));
  writer.open(
      "fusec::forEachColumns<Scope>({}, [&](fusec::i64 group, bool isMine)",
      writer.print(sizes[0] * across, {}));
  nameColumn();
}

void ScanPrinter::nameColumn() {
  writer.line("const {0} row = {0}(group) / vectors, "
              "column = {0}(group) % vectors * {1};",
              index, schedule.getVector());
}

void ScanPrinter::openParts() {
  ArrayRef<Expr> sizes = rows.getSizes();
  MLIRContext *context = writer.getContext();
  Expr strips = getStrips(iteration, schedule);
  writer.addHeader(getFlagWords(iteration, schedule) ? "scan_words.h"
                                                     : "scan_parts.h");
  if (ofColumns)
    writer.line("typedef fusec::ColumnScope<{}, {}> Scope;",
                schedule.getThreads(), schedule.getGroups());
  else
    writer.line("typedef fusec::BlockScope<{}> Scope;", schedule.getThreads());
  std::optional<int64_t> words = getFlagWords(iteration, schedule);
  std::string flags = words ? writer.flags(*words) : writer.flags(),
              arguments =
                  fmt::format("{}, {}, {}", flags, writer.print(strips, {}),
                              iteration.parts->count);
  if (words)
    writer.line("fusec::ScanChain<Form::Op::Value, {}, {}> turn({});",
                getStripColumns(iteration, schedule),
                getGroupParts(iteration, schedule), arguments);
  else
    writer.line("fusec::ScanTurn turn({});", arguments);
  if (isRun(iteration, schedule)) {
    writer.line("const {} columns = {};", index, writer.print(sizes[2], {}));
  } else if (ofColumns) {
    Expr across =
        sizes[2].floorDiv(Expr::constant(context, schedule.getVector()));
    writer.line("const {} vectors = {}, all = {};", index,
                writer.print(across, {}), writer.print(sizes[0] * across, {}));
    writer.open("turn.forEachVector<Scope{}>(all, [&](int group, bool isMine)",
                words && fillsParts() ? ", true" : "");
    nameColumn();
  } else {
    writer.line("const {} row = turn.strip();", index);
  }
  printLengths("turn.part()");
  if (isRun(iteration, schedule))
    writer.line("const {} begin = first * columns;", index);
}

/// Where the part lies that is summed as the `number`-th one.
void ScanPrinter::printLengths(StringRef number) {
  std::string length = writer.print(iteration.parts->length, {}),
              items = writer.print(rows.getSizes()[1], {});
  writer.line("const {} part = {};", index, getPart(number));
  writer.line("const {} first = part * {};", index, length);
  writer.line("const {0} left = {1} - first, length = left < {2} ? (left > 0 ? "
              "left : 0) : {2};",
              index, items, length);
}

/// What fetches a later block's part, as an argument.
std::string ScanPrinter::printFetch() {
  int64_t ahead = getBlocksAhead(writer.getStep(), iteration, schedule);
  if (!ahead)
    return "[] {}";
  writer.open("const auto fetch = [&](int strip, int number)");
  if (ofColumns) {
    writer.line("const {} group = strip * {};", index,
                schedule.getRowsAtOnce() / schedule.getVector());
    nameColumn();
  } else {
    writer.line("const {} row = strip;", index);
  }
  printLengths("number");
  printFetches(writer, iteration, schedule, sources);
  writer.close("};");
  return fmt::format("[&] {{ turn.lookAhead({}, fetch); }}", ahead);
}

/// Whether each thread has all items of its own in every part.
bool ScanPrinter::fillsParts() const {
  ArrayRef<Expr> sizes = rows.getSizes();
  int64_t items = schedule.getKept() * schedule.getThreadsTogether() *
                  (ofColumns ? 1 : schedule.getVector());
  if (!iteration.parts->length.isConstant(items) ||
      !sizes[1].isConstant(items * iteration.parts->count))
    return false;
  std::optional<int64_t> columns = (sizes[0] * sizes[2]).getConstant();
  return !ofColumns || (columns && *columns % schedule.getRowsAtOnce() == 0);
}

/// The part that is summed as the n-th one.
std::string ScanPrinter::getPart(StringRef number) const {
  return CumSumOp(iteration.op).getReverse()
             ? fmt::format("{} - {}", iteration.parts->count - 1, number)
             : number.str();
}

void ScanPrinter::printParts() {
  std::string_view scan = ofColumns ? "Columns" : "Row",
                   functions = isRun(iteration, schedule)
                                   ? "isMine, loadItem, storeItem"
                               : ofColumns ? "isMine, load, store"
                                           : "load, store";
  if (isRun(iteration, schedule))
    openRun();
  if (getFlagWords(iteration, schedule)) {
    std::string fetch = printFetch();
    writer.line(
        "fusec::scanChainOf{}<Scope, Form, {}, {}{}>(turn, length, {}, {});",
        scan, schedule.getKept(), fillsParts(),
        isRun(iteration, schedule) ? ", false" : "", functions, fetch);
  } else {
    printStoredParts(scan, functions);
  }
  if (ofColumns)
    writer.close("});");
  if (isRun(iteration, schedule))
    writer.line("run.take(length * columns, store);");
}

/// What parts sum lies in memory.
void ScanPrinter::printStoredParts(std::string_view scan,
                                   std::string_view functions) {
  BufferOp sums = writer.getStep().getOutputBuffer(iteration.parts->output);
  std::string pointer = writer.pointer(sums, false),
              offset = writer.print(iteration.parts->offset,
                                    {"row", "part", "column"});
  writer.open("const auto place = [&](int number)");
  writer.line("const {} part = {};", index, getPart("number"));
  writer.line("return {} + {};", pointer, offset);
  writer.close("};");
  writer.line("fusec::scanPartOf{}<Scope, Form, {}>(turn, length, {}, place);",
              scan, schedule.getKept(), functions);
}

/// The part in shared memory, up to where threads have vectors of columns.
void ScanPrinter::openRun() {
  writer.addHeader("scan_run.h");
  writer.line("FUSEC_SHARED fusec::ScanRun<Form, {}, {}, {}, {}> run;",
              *iteration.parts->length.getConstant(),
              *rows.getSizes()[2].getConstant(), schedule.getKept(),
              schedule.getVector());
  writer.line("run.fill(length * columns, load);");
  writer.open("turn.forEachVector<Scope>(columns, [&](int column, bool "
              "isMine)");
  writer.line("constexpr {} row = 0;", index);
  writer.line("const auto loadItem = [&]({} k, auto put) {{ put(0, "
              "run.item<Scope>(k, column)); }};",
              index);
  writer.line("const auto storeItem = [&]({} k, const auto &sums) {{ "
              "run.item<Scope>(k, column) = sums[0]; }};",
              index);
}

/// What is behind the last vector of held rows is loaded and stored singly.
void ScanPrinter::declareWidth() {
  writer.line("constexpr int V = {};",
              takesWidth() ? "decltype(width)::value"
                           : std::to_string(schedule.getVector()));
}

void ScanPrinter::printLoad() {
  // Of columns, vectors that all items share are loaded before the first one.
  if (sharesVectors())
    declareWidth();
  emitter.hoist(iteration.item, 1);
  writer.open("const auto load = [&]({} k{}, auto put)", index,
              getParameters());
  if (!sharesVectors())
    declareWidth();
  emitter.pushScope();
  emitter.nameIndex(1, getItem());
  emitter.forEachLane(
      iteration.item,
      [&](unsigned, StringRef value) { writer.line("put(lane, {});", value); },
      /*inStorage=*/true);
  emitter.popScope();
  writer.close("};");
}

void ScanPrinter::printStores() {
  emitter.nameIndex(1, "");
  if (!iteration.program.getSizes()[1].isConstant(1))
    for (const RegionStore &store : iteration.stores)
      emitter.hoist(store.node, 1);
  writer.open("const auto store = [&]({} k{}, const auto &sums)", index,
              getParameters());
  if (!sharesVectors())
    declareWidth();
  emitter.pushScope();
  emitter.nameIndex(1, getItem());
  emitStores(writer, emitter, iteration.stores, accesses.getStoreWidths(),
             lanes);
  emitter.popScope();
  writer.close("};");
}

void ScanPrinter::printHeld() {
  writer.addHeader("scan_held.h");
  ArrayRef<Expr> sizes = rows.getSizes();
  writer.line("fusec::scanHeldRows<Form, {}, {}, {}>({}({}), load, store);",
              schedule.getThreads(), *sizes[1].getConstant(),
              schedule.getVector(), index, writer.print(sizes[0], {}));
}

void ScanPrinter::print() {
  emitter.nameLeader(ofColumns ? "isMine && Scope::rank() == 0"
                               : "Scope::rank() == 0");
  CumSumOp op = iteration.op;
  writer.line(
      "typedef fusec::ScanForm<{}, {}, {}, {}, {}> Form;",
      computeType(getElementType(op.getResult())),
      isHeld(schedule) || isRun(iteration, schedule) ? 1 : schedule.getVector(),
      op.getReverse(), op.getExclusive(),
      storageType(iteration.program[iteration.item].type));
  if (iteration.parts)
    openParts();
  else if (ofColumns)
    openColumns();
  else if (!isHeld(schedule))
    openRows();
  printLoad();
  printStores();
  if (iteration.parts)
    return printParts();
  if (isHeld(schedule))
    return printHeld();
  printRow();
  writer.close("});");
}

/// One row, or one vector of columns.
void ScanPrinter::printRow() {
  Expr items = rows.getSizes()[1];
  std::string length = writer.print(items, {}), scope, held;
  if (isOfCluster(schedule)) {
    writer.addHeader("scan_cluster.h");
    scope = "OfCluster";
    held = pitch ? fmt::format(", {}", schedule.getKept())
                 : fmt::format(", {}, {}", schedule.getKept(),
                               fillsCluster(iteration, schedule));
  }
  if (pitch) {
    writer.addHeader("scan_span.h");
    writer.line("const {} begin = row * {};", index, *pitch);
    writer.line("const fusec::Span<{}> span = {{begin, begin + {}}};", index,
                length);
    writer.line("fusec::scanSpan{}<Scope, Form{}>(span, load, store);", scope,
                held);
  } else {
    writer.line("fusec::scan{}{}<Scope, Form{}>({}({}), {}load, store);",
                ofColumns ? "Columns" : "Row", scope, held, index, length,
                ofColumns ? "isMine, " : "");
  }
}

FailureOr<KernelSource> fusec::emitScan(StepOp step, VariantAttr variant,
                                        StringRef symbol) {
  auto schedule = cast<ReduceScheduleAttr>(variant.getSchedule());
  FailureOr<ScanIteration> iteration = analyzeScan(step);
  if (failed(iteration))
    return step.emitOpError("is not a region of one cumulative sum");
  if (isHeld(schedule) && !iteration->program.getSizes()[1].getConstant())
    return step.emitOpError("has a schedule of held rows, whose length is not "
                            "known when compiling");
  ScanIteration walked = getWalked(*iteration, schedule);
  if (failed(checkLoops(step, variant, 1)) ||
      !takeAccesses(step, variant, 0,
                    {walked.program,
                     getLanesDim(walked, schedule),
                     schedule.getVector(),
                     {walked.stores}}))
    return failure();
  KernelWriter writer(step, symbol, schedule.getIndexBits());
  writer.addHeader("scan.h");
  ScanPrinter(writer, *iteration, walked, variant).print();
  return writer.finish(variant);
}
