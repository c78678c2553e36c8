// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The scan family: a function that loads what is summed at a point, and one
// that stores what follows from the sum there.

#include "compiler/kernels/scan/ScanPrinter.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

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
