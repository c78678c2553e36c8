// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reduce family: one group of threads a row. Reductions of a region run one
// after another over the same row, so that a softmax or a norm is one kernel;
// what is stored at every point follows them.

#include "compiler/analysis/Iteration.h"
#include "compiler/codegen/Emitters.h"
#include "compiler/kernels/reduce/Reduce.h"

using namespace mlir;
using namespace fusec;

static std::string scopeType(ReduceScheduleAttr schedule) {
  switch (schedule.getScope()) {
  case ReduceScope::Thread:
    return "fusec::ThreadScope";
  case ReduceScope::Warp:
    return "fusec::WarpScope";
  case ReduceScope::Block:
    return "fusec::BlockScope<" + std::to_string(schedule.getThreads()) + ">";
  }
  return "";
}

FailureOr<KernelSource> fusec::emitReduce(StepOp step, VariantAttr variant,
                                          StringRef symbol) {
  auto schedule = cast<ReduceScheduleAttr>(variant.getSchedule());
  KernelWriter writer(step, symbol, schedule.getIndexBits());
  writer.addHeader("reduce.h");
  FailureOr<RowIteration> iteration = analyzeRows(step);
  if (failed(iteration))
    return step.emitOpError(
        "is not a region of reductions over one set of rows");
  ScalarProgram &program = iteration->program;
  Expr rows = program.getSizes()[0], length = program.getSizes()[1];

  std::map<void *, std::string> results;
  auto sources = getRegionSources(writer, variant);
  sources.root = [&](Value value) {
    return results[value.getAsOpaquePointer()];
  };
  writer.declareBuffers();

  std::string index = writer.indexType();
  writer.line("typedef " + scopeType(schedule) + " Scope;");
  writer.line("const " + index + " length = " + writer.print(length, {}) + ";");
  writer.open("fusec::forEachRow<Scope>(" + writer.print(rows, {}) +
              ", [&](fusec::i64 group) {");
  writer.line("const " + index + " row = " + index + "(group);");
  const int64_t vector = schedule.getVector();
  std::optional<ScalarEmitter::Lanes> lanes;
  if (vector > 1)
    lanes = ScalarEmitter::Lanes{1, vector};
  ScalarEmitter emitter(writer, program, {"row", ""}, lanes, sources);
  emitter.nameLeader("Scope::rank() == 0");
  auto enterLoop = [&] {
    emitter.pushScope();
    emitter.nameIndex(1, "k");
    if (lanes)
      writer.line("constexpr int V = decltype(width)::value;");
  };
  auto leaveLoop = [&] {
    emitter.popScope();
    emitter.nameIndex(1, "");
    writer.close("});");
  };

  for (auto [op, operand] : iteration->reductions) {
    emitter.hoist(operand, 1);
    Type type = getElementType(op->getOperand(0));
    std::string name = writer.uniqueName(op->getName().stripDialect());
    bool isArg = isa<ArgReduceOp>(op);
    std::string value =
        isArg ? "fusec::Indexed<" + computeType(type) + ">" : computeType(type);
    auto item = [&](StringRef element) {
      return isArg ? "{" + element.str() + (lanes ? ", k + lane}" : ", k}")
                   : element.str();
    };
    writer.open(
        "const auto " + name + " = fusec::reduceRow" +
        (lanes ? "Vectors" : "") + "<Scope, " + getCombiner(op) +
        (lanes ? ", " + std::to_string(vector) : "") + ">(length, [&](" +
        index +
        (lanes ? " k, auto width, auto add) {" : " k) -> " + value + " {"));
    enterLoop();
    emitter.forEachLane(operand, [&](unsigned, StringRef element) {
      writer.line(lanes ? "add(" + item(element) + ");"
                        : "return " + item(element) + ";");
    });
    leaveLoop();
    results[op->getResult(0).getAsOpaquePointer()] = getReducedValue(op, name);
  }

  SmallVector<RegionStore> full, once;
  for (const RowStore &s : iteration->stores)
    (s.isFull ? full : once).push_back(s);
  if (!full.empty()) {
    for (const RegionStore &s : full)
      emitter.hoist(s.node, 1);
    writer.open(
        lanes ? "fusec::forEachVectorIn<Scope, " + std::to_string(vector) +
                    ">(length, [&](" + index + " k, auto width) {"
              : "fusec::forEachIn<Scope>(length, [&](" + index + " k) {");
    enterLoop();
    emitStores(writer, emitter, variant, full, lanes);
    leaveLoop();
  }
  if (!once.empty()) {
    writer.open("if (Scope::rank() == 0) {");
    emitter.pushScope();
    emitStores(writer, emitter, variant, once, std::nullopt);
    emitter.popScope();
    writer.close();
  }
  writer.close("});");

  return writer.finish(variant);
}
