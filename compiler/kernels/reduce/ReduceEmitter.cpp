// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reduce family: one group of threads a row, or a vector of columns.
// Reductions of a region run one after another over the same row, so that a
// softmax or a norm is one kernel; what is stored at every point follows them.

#include "compiler/analysis/Iteration.h"
#include "compiler/codegen/Emitters.h"
#include "compiler/kernels/reduce/Reduce.h"

using namespace mlir;
using namespace fusec;

static std::string scopeType(ReduceScheduleAttr schedule) {
  std::string threads = std::to_string(schedule.getThreads());
  switch (schedule.getScope()) {
  case ReduceScope::Thread:
    return "fusec::ThreadScope";
  case ReduceScope::Warp:
    return "fusec::WarpScope";
  case ReduceScope::Block:
    return "fusec::BlockScope<" + threads + ">";
  case ReduceScope::Columns:
    return "fusec::ColumnScope<" + threads + ", " +
           std::to_string(schedule.getGroups()) + ">";
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
  void openRows();
  void openColumns();
  void openLoop(StringRef call, StringRef parameters);
  void closeLoop();
  void printReduction(const RowReduction &reduction);
  void printStores();

  KernelWriter &writer;
  const RowIteration &iteration;
  VariantAttr variant;
  ReduceScheduleAttr schedule;
  bool ofColumns;
  std::string index;
  std::map<void *, std::string> results;
  std::optional<ScalarEmitter::Lanes> lanes;
  std::optional<ScalarEmitter> emitter;
};
} // namespace

RowPrinter::RowPrinter(KernelWriter &writer, const RowIteration &iteration,
                       VariantAttr variant)
    : writer(writer), iteration(iteration), variant(variant),
      schedule(cast<ReduceScheduleAttr>(variant.getSchedule())),
      ofColumns(schedule.isOfColumns()), index(writer.indexType()) {
  auto sources = getRegionSources(writer, variant);
  sources.root = [&](Value value) {
    return results[value.getAsOpaquePointer()];
  };
  writer.declareBuffers();
  std::vector<std::string> dims = {"row", ""};
  if (ofColumns) {
    dims.push_back("column");
    lanes = ScalarEmitter::Lanes{2, schedule.getVector()};
  } else if (schedule.getVector() > 1) {
    lanes = ScalarEmitter::Lanes{1, schedule.getVector()};
  }
  emitter.emplace(writer, iteration.program, dims, lanes, sources);
}

void RowPrinter::openRows() {
  ArrayRef<Expr> sizes = iteration.program.getSizes();
  writer.line("const " + index + " length = " + writer.print(sizes[1], {}) +
              ";");
  writer.open("fusec::forEachRow<Scope>(" + writer.print(sizes[0], {}) +
              ", [&](fusec::i64 group) {");
  writer.line("const " + index + " row = " + index + "(group);");
  emitter->nameLeader("Scope::rank() == 0");
}

void RowPrinter::openColumns() {
  ArrayRef<Expr> sizes = iteration.program.getSizes();
  Expr vector = Expr::constant(writer.getContext(), schedule.getVector()),
       across = sizes[2].floorDiv(vector);
  std::string vectors = writer.print(across, {});
  writer.line("constexpr int V = " + Twine(schedule.getVector()) + ";");
  writer.line("const " + index + " vectors = " + vectors + ";");
  writer.open("fusec::forEachColumns<Scope>(" +
              writer.print(sizes[0] * across, {}) +
              ", [&](fusec::i64 group, bool isMine) {");
  bool single = sizes[0].isConstant(1);
  std::string group = index + "(group)";
  writer.line(
      "const " + index + " row = " + (single ? "0" : group + " / vectors") +
      ", column = " + (single ? group : group + " % vectors") + " * V;");
  writer.line("const " + index + " length = isMine ? " +
              writer.print(sizes[1], {}) + " : 0;");
  emitter->nameLeader("isMine && Scope::rank() == 0");
}

void RowPrinter::openLoop(StringRef call, StringRef parameters) {
  bool alongRow = lanes && !ofColumns;
  writer.open(call + "(length, [&](" + index + " k" +
              (alongRow ? ", auto width" : "") + parameters + " {");
  emitter->pushScope();
  emitter->nameIndex(1, "k");
  if (alongRow)
    writer.line("constexpr int V = decltype(width)::value;");
}

void RowPrinter::closeLoop() {
  emitter->popScope();
  emitter->nameIndex(1, "");
  writer.close("});");
}

void RowPrinter::printReduction(const RowReduction &reduction) {
  auto [op, operand] = reduction;
  emitter->hoist(operand, 1);
  Type type = getElementType(op->getOperand(0));
  std::string name = writer.uniqueName(op->getName().stripDialect());
  bool isArg = isa<ArgReduceOp>(op);
  std::string value =
      isArg ? "fusec::Indexed<" + computeType(type) + ">" : computeType(type);
  std::string position = lanes && !ofColumns ? "k + lane" : "k";
  auto item = [&](StringRef element) {
    return isArg ? "{" + element.str() + ", " + position + "}" : element.str();
  };
  openLoop("const auto " + name + " = fusec::reduce" +
               (ofColumns ? "Columns"
                : lanes   ? "RowVectors"
                          : "Row") +
               "<Scope, " + getCombiner(op) +
               (lanes ? ", " + std::to_string(schedule.getVector()) : "") + ">",
           lanes ? ", auto add)" : ") -> " + value);
  emitter->forEachLane(operand, [&](unsigned, StringRef element) {
    writer.line(ofColumns ? "add(lane, " + item(element) + ");"
                : lanes   ? "add(" + item(element) + ");"
                          : "return " + item(element) + ";");
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
    openLoop(lanes && !ofColumns
                 ? "fusec::forEachVectorIn<Scope, " +
                       std::to_string(schedule.getVector()) + ">"
                 : "fusec::forEachIn<Scope>",
             ")");
    emitStores(writer, *emitter, variant, full, lanes);
    closeLoop();
  }
  if (!once.empty()) {
    writer.open(ofColumns ? "if (isMine && Scope::rank() == 0) {"
                          : "if (Scope::rank() == 0) {");
    emitter->pushScope();
    emitStores(writer, *emitter, variant, once,
               ofColumns ? lanes : std::nullopt);
    emitter->popScope();
    writer.close();
  }
}

void RowPrinter::print() {
  writer.line("typedef " + scopeType(schedule) + " Scope;");
  if (ofColumns)
    openColumns();
  else
    openRows();
  for (const RowReduction &reduction : iteration.reductions)
    printReduction(reduction);
  printStores();
  writer.close("});");
}

FailureOr<KernelSource> fusec::emitReduce(StepOp step, VariantAttr variant,
                                          StringRef symbol) {
  auto schedule = cast<ReduceScheduleAttr>(variant.getSchedule());
  KernelWriter writer(step, symbol, schedule.getIndexBits());
  writer.addHeader(schedule.isOfColumns() ? "reduce_columns.h" : "reduce.h");
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
