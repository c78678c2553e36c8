// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reduce family: one group of threads a row, or a vector of columns.
// Reductions of a region run one after another over the same row, so that a
// softmax or a norm is one kernel; what is stored at every point follows them.

#include "compiler/analysis/Iteration.h"
#include "compiler/codegen/Emitters.h"
#include "compiler/kernels/reduce/Reduce.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

static std::string scopeType(ReduceScheduleAttr schedule) {
  switch (schedule.getScope()) {
  case ReduceScope::Thread:
    return "fusec::ThreadScope";
  case ReduceScope::Warp:
    return schedule.getGroups() == 1
               ? "fusec::WarpScope"
               : fmt::format("fusec::LanesScope<{}>",
                             schedule.getThreadsTogether());
  case ReduceScope::Block:
    return fmt::format("fusec::BlockScope<{}>", schedule.getThreads());
  case ReduceScope::Cluster:
    return fmt::format("fusec::ClusterScope<{}, {}>", schedule.getThreads(),
                       schedule.getCluster());
  case ReduceScope::Columns:
    return fmt::format("fusec::ColumnScope<{}, {}>", schedule.getThreads(),
                       schedule.getGroups());
  }
  return "";
}

namespace {
/// Prints the loop over rows, or over vectors of columns, and in it the
/// region's reductions and stores. Lanes lie along rows, or across columns.
class RowPrinter {
public:
  RowPrinter(KernelWriter &writer, const RowIteration &iteration,
             VariantAttr variant);
  void print();

private:
  /// Whether some reduction tells where it found its result.
  bool findsPlaces() const {
    return llvm::any_of(iteration.reductions, [](const RowReduction &r) {
      return isa<ArgReduceOp>(r.op);
    });
  }
  void openRows();
  void openColumns();
  void keepLoads();
  void openLoop(StringRef call, StringRef parameters);
  void closeLoop();
  std::string nameReduction(Operation *op) const;
  void printReduction(const RowReduction &reduction);
  void printStores();

  KernelWriter &writer;
  const RowIteration &iteration;
  VariantAttr variant;
  ReduceScheduleAttr schedule;
  bool ofColumns;
  std::string index;
  StringRef leader; // of who reduces a row together
  std::map<void *, std::string> results;
  std::optional<ScalarEmitter::Lanes> lanes;
  std::optional<ScalarEmitter> emitter;
  llvm::MapVector<unsigned, std::string> kept; // names of loads in registers
};
} // namespace

RowPrinter::RowPrinter(KernelWriter &writer, const RowIteration &iteration,
                       VariantAttr variant)
    : writer(writer), iteration(iteration), variant(variant),
      schedule(cast<ReduceScheduleAttr>(variant.getSchedule())),
      ofColumns(schedule.isOfColumns()), index(writer.indexType()),
      leader(ofColumns || sharesWarp(schedule) ? "isMine && Scope::rank() == 0"
                                               : "Scope::rank() == 0") {
  auto sources = getRegionSources(writer, variant);
  sources.root = [&](Value value) {
    return results[value.getAsOpaquePointer()];
  };
  writer.declareBuffers();
  std::vector<std::string> dims = {"row", ""};
  if (ofColumns) {
    dims.push_back("column");
    lanes = ScalarEmitter::Lanes{2, schedule.getVector()};
  } else if (schedule.getVector() > 1 || schedule.getKept() || findsPlaces()) {
    lanes = ScalarEmitter::Lanes{1, schedule.getVector()};
  }
  emitter.emplace(writer, iteration.program, dims, lanes, sources);
}

void RowPrinter::openRows() {
  ArrayRef<Expr> sizes = iteration.program.getSizes();
  bool isOfGroup = sharesWarp(schedule),
       varies = isOfGroup || usesDim(iteration.length, 0);
  auto declareLength = [&] {
    std::string length = emitter->print(iteration.length);
    if (isOfGroup)
      length = fmt::format("isMine ? {} : 0", length);
    writer.line("const {} length = {};", index, length);
  };
  if (!varies)
    declareLength();
  StringRef loop = isOfGroup                   ? "OfWarp"
                   : schedule.getCluster() > 1 ? "OfCluster"
                                               : "";
  writer.open("fusec::forEachRow{}<Scope>({}, [&](fusec::i64 group{})", loop,
              writer.print(sizes[0], {}), isOfGroup ? ", bool isMine" : "");
  writer.line("const {0} row = {0}(group);", index);
  if (varies)
    declareLength();
  emitter->nameLeader(leader);
}

void RowPrinter::openColumns() {
  ArrayRef<Expr> sizes = iteration.program.getSizes();
  Expr vector = Expr::constant(writer.getContext(), schedule.getVector()),
       across = sizes[2].floorDiv(vector);
  writer.line("constexpr int V = {};", schedule.getVector());
  writer.line("const {} vectors = {};", index, writer.print(across, {}));
  writer.open(
      "fusec::forEachColumns<Scope>({}, [&](fusec::i64 group, bool isMine)",
      writer.print(sizes[0] * across, {}));
  if (sizes[0].isConstant(1))
    writer.line("const {0} row = 0, column = {0}(group) * V;", index);
  else
    writer.line("const {0} row = {0}(group) / vectors, "
                "column = {0}(group) % vectors * V;",
                index);
  writer.line("const {} length = isMine ? {} : 0;", index,
              emitter->print(iteration.length));
  emitter->nameLeader(leader);
}

/// ", V, Steps": of the loops over what is kept.
static std::string keptArguments(ReduceScheduleAttr schedule) {
  return fmt::format(", {}, {}", schedule.getVector(), schedule.getKept());
}

/// Loads the row's share of each thread.
void RowPrinter::keepLoads() {
  const ScalarProgram &program = iteration.program;
  for (unsigned node :
       getKeptLoads(writer.getStep(), iteration, schedule.getVector())) {
    kept[node] = writer.uniqueName("kept");
    writer.line("fusec::Vec<{}, {}> {}[fusec::keptSteps<Scope, {}>];",
                storageType(program[node].type), schedule.getVector(),
                kept[node], schedule.getKept());
  }
  writer.open("fusec::forEachKept<Scope{}>(length, [&](int step, {} k)",
              keptArguments(schedule), index);
  emitter->nameIndex(1, "k");
  for (auto &[node, name] : kept) {
    BufferOp buffer = writer.getStep().getInputBuffer(program[node].value);
    Expr offset = program.getRanges().simplify(getOffset(
        program[node].indices, buffer.getStrideExprs(), writer.getContext()));
    std::string pointer = writer.pointer(buffer, true);
    writer.line("{}[step] = fusec::load<{}>({} + {});", name,
                schedule.getVector(), pointer, emitter->print(offset));
  }
  emitter->nameIndex(1, "");
  writer.close("});");
}

void RowPrinter::openLoop(StringRef call, StringRef parameters) {
  bool isKept = schedule.getKept(), alongRow = lanes && !ofColumns;
  writer.open("{}(length, [&]({}{} k{}{}", call, isKept ? "int step, " : "",
              index, alongRow && !isKept ? ", auto width" : "", parameters);
  emitter->pushScope();
  emitter->nameIndex(1, "k");
  if (isKept)
    writer.line("constexpr int V = {};", schedule.getVector());
  else if (alongRow)
    writer.line("constexpr int V = decltype(width)::value;");
  for (auto &[node, name] : kept)
    emitter->bindVector(node, name + "[step]");
}

void RowPrinter::closeLoop() {
  emitter->popScope();
  emitter->nameIndex(1, "");
  writer.close("});");
}

/// The loop that finds a reduction's result, up to its length.
std::string RowPrinter::nameReduction(Operation *op) const {
  std::string combiner = getCombiner(op);
  if (ofColumns)
    return fmt::format("reduceColumns<Scope, {}, {}>", combiner,
                       schedule.getVector());
  if (schedule.getKept())
    return fmt::format("reduceKept<Scope, {}{}>", combiner,
                       keptArguments(schedule));
  if (isa<ArgReduceOp>(op))
    return fmt::format("findInRow<Scope, {}, {}>", combiner,
                       schedule.getVector());
  if (lanes)
    return fmt::format("reduceRowVectors<Scope, {}, {}>", combiner,
                       schedule.getVector());
  return fmt::format("reduceRow<Scope, {}>", combiner);
}

void RowPrinter::printReduction(const RowReduction &reduction) {
  auto [op, operand] = reduction;
  emitter->hoist(operand, 1);
  std::string name = writer.uniqueName(op->getName().stripDialect());
  bool isArg = isa<ArgReduceOp>(op),
       namesLane = ofColumns || (isArg && !schedule.getKept());
  // Where it is found is known from the lane and the loop, or told.
  auto item = [&](StringRef element) {
    if (isArg && (ofColumns || schedule.getKept()))
      return braced({element, ofColumns ? "k" : "k + lane"});
    return element.str();
  };
  openLoop(fmt::format("const auto {} = fusec::{}", name, nameReduction(op)),
           lanes ? ", auto add)"
                 : ") -> " + computeType(getElementType(op->getOperand(0))));
  emitter->forEachLane(operand, [&](unsigned, StringRef element) {
    if (lanes)
      writer.line("add({}{});", namesLane ? "lane, " : "", item(element));
    else
      writer.line("return {};", item(element));
  });
  closeLoop();
  results[op->getResult(0).getAsOpaquePointer()] =
      getReducedValue(op, ofColumns ? name + "[lane]" : name);
}

void RowPrinter::printStores() {
  SmallVector<RegionStore> full, once;
  for (const RowStore &s : iteration.stores)
    (s.isFull ? full : once).push_back(s);
  if (!full.empty()) {
    for (const RegionStore &s : full)
      emitter->hoist(s.node, 1);
    openLoop(schedule.getKept() ? fmt::format("fusec::forEachKept<Scope{}>",
                                              keptArguments(schedule))
             : lanes && !ofColumns
                 ? fmt::format("fusec::forEachVectorIn<Scope, {}>",
                               schedule.getVector())
                 : "fusec::forEachIn<Scope>",
             ")");
    emitStores(writer, *emitter, variant, full, lanes);
    closeLoop();
  }
  if (!once.empty()) {
    writer.open("if ({})", leader);
    emitter->pushScope();
    emitStores(writer, *emitter, variant, once,
               ofColumns ? lanes : std::nullopt);
    emitter->popScope();
    writer.close();
  }
}

void RowPrinter::print() {
  writer.line("typedef {} Scope;", scopeType(schedule));
  if (ofColumns)
    openColumns();
  else
    openRows();
  if (schedule.getKept())
    keepLoads();
  for (const RowReduction &reduction : iteration.reductions)
    printReduction(reduction);
  printStores();
  writer.close("});");
}

FailureOr<KernelSource> fusec::emitReduce(StepOp step, VariantAttr variant,
                                          StringRef symbol) {
  auto schedule = cast<ReduceScheduleAttr>(variant.getSchedule());
  KernelWriter writer(step, symbol, schedule.getIndexBits());
  writer.addHeader(schedule.isOfColumns()      ? "reduce_columns.h"
                   : schedule.getCluster() > 1 ? "reduce_cluster.h"
                                               : "reduce.h");
  FailureOr<RowIteration> iteration =
      schedule.isOfColumns() ? analyzeColumns(step) : analyzeRows(step);
  if (failed(iteration))
    return step.emitOpError(
        schedule.isOfColumns()
            ? "is not a region of reductions whose rows lie side by side"
            : "is not a region of reductions over one set of rows");
  RowPrinter(writer, *iteration, variant).print();
  return writer.finish(variant);
}
