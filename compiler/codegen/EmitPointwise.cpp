// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pointwise family: every point of the iteration space computed on its own,
// vectorised along the innermost dim. Gathers and lookups are members.

#include "compiler/codegen/Emitters.h"
#include "compiler/codegen/Iteration.h"
#include "compiler/codegen/ScalarEmitter.h"

using namespace mlir;
using namespace fusec;

ScalarEmitter::Sources fusec::getRegionSources(KernelWriter &writer, VariantAttr variant) {
  ScalarEmitter::Sources sources;
  sources.load = [&writer, variant](Value value) {
    BufferOp buffer = writer.getInputBuffer(value);
    return ScalarEmitter::Access{writer.pointer(buffer, true), KernelWriter::getStrides(buffer),
                                 writer.getAlignment(buffer, variant)};
  };
  sources.tables = [&writer, names = std::make_shared<std::map<Operation *, std::string>>()](LookupOp op) {
    std::string &name = (*names)[op];
    if (name.empty()) {
      SmallVector<BufferOp> buffers;
      for (Value table : op.getTables())
        buffers.push_back(writer.getInputBuffer(table));
      name = writer.pointerTable(buffers, "tables");
    }
    return name;
  };
  return sources;
}

FailureOr<KernelSource> fusec::emitPointwise(StepOp step, VariantAttr variant, StringRef symbol) {
  auto schedule = cast<PointwiseScheduleAttr>(variant.getSchedule());
  KernelWriter writer(step, symbol, schedule.getIndexBits());
  writer.addHeader("vector.h");
  MLIRContext *context = step.getContext();
  FailureOr<PointwiseIteration> iteration = analyzePointwise(
      step.getBody().front(), [&](Value v) { return KernelWriter::getStrides(writer.getInputBuffer(v)); },
      [&](unsigned i) { return KernelWriter::getStrides(writer.getOutputBuffer(i)); });
  if (failed(iteration))
    return step.emitOpError("is not a pointwise region");
  ScalarProgram &program = iteration->program;
  ArrayRef<Expr> sizes = program.getSizes();

  // Inputs first, in the region's order, then outputs: the signature reads as
  // the region does.
  auto sources = getRegionSources(writer, variant);
  for (const PointwiseStore &store : iteration->stores)
    writer.pointer(writer.getOutputBuffer(store.output), false);

  Expr count = getElementCount(sizes, context);
  writer.line("const " + writer.indexType() + " count = " + writer.print(count, {}) + ";");
  writer.open("fusec::forEachVector<" + Twine(schedule.getVector()) + ">(count, [&](" +
              writer.indexType() + " base, auto width) {");
  writer.line("constexpr int V = decltype(width)::value;");
  std::vector<std::string> dims;
  std::string rest = "base";
  SmallVector<std::string> lines;
  for (size_t i = sizes.size(); i-- > 0;) {
    std::string name = sizes.size() == 1 ? "base" : "d" + std::to_string(i);
    dims.insert(dims.begin(), name);
    if (sizes.size() == 1)
      break;
    std::string size = writer.print(sizes[i], {});
    if (sizes[i].isConstant(1))
      lines.push_back("const " + writer.indexType() + " " + name + " = 0;");
    else if (i == 0)
      lines.push_back("const " + writer.indexType() + " " + name + " = " + rest + ";");
    else {
      lines.push_back("const " + writer.indexType() + " " + name + " = (" + rest + ") % (" + size + ");");
      rest = rest == "base" ? "base / (" + size + ")" : rest + " / (" + size + ")";
    }
  }
  for (const std::string &text : lines)
    writer.line(text);

  std::optional<ScalarEmitter::Lanes> lanes;
  if (!sizes.empty())
    lanes = ScalarEmitter::Lanes{static_cast<unsigned>(sizes.size() - 1), schedule.getVector()};
  ScalarEmitter emitter(writer, program, dims, lanes, sources);

  // Vector stores where the addresses allow, single elements elsewhere.
  SmallVector<std::string> vectors(iteration->stores.size());
  SmallVector<unsigned> nodes;
  for (auto [i, store] : llvm::enumerate(iteration->stores)) {
    nodes.push_back(store.node);
    emitter.prepare(store.node);
    BufferOp buffer = writer.getOutputBuffer(store.output);
    Type type = cast<RankedTensorType>(buffer.getType()).getElementType();
    if (lanes && ScalarEmitter::isVectorAccess(store.offset, lanes->dim, lanes->width,
                                               getElementBytes(type),
                                               writer.getAlignment(buffer, variant))) {
      vectors[i] = writer.uniqueName("result");
      writer.line("fusec::Vec<" + storageType(type) + ", V> " + vectors[i] + ";");
    }
  }
  emitter.forEachLane(nodes, [&](unsigned i, StringRef name) {
    const PointwiseStore &store = iteration->stores[i];
    BufferOp buffer = writer.getOutputBuffer(store.output);
    Type type = cast<RankedTensorType>(buffer.getType()).getElementType();
    std::string target = vectors[i].empty()
                             ? writer.pointer(buffer, false) + "[" + emitter.print(store.offset) + "]"
                             : vectors[i] + "[lane]";
    writer.line(target + " = " + storageValue(type, name) + ";");
  });
  for (auto [i, store] : llvm::enumerate(iteration->stores))
    if (!vectors[i].empty())
      writer.line("fusec::store<V>(" + writer.pointer(writer.getOutputBuffer(store.output), false) +
                  " + " + emitter.print(store.offset) + ", " + vectors[i] + ");");
  writer.close("});");

  Expr perBlock = Expr::constant(context, schedule.getThreads() * schedule.getVector());
  Expr blocks = Expr::min(count.ceilDiv(perBlock), Expr::constant(context, maxGridBlocks));
  Expr one = Expr::constant(context, 1);
  return writer.finish({blocks, one, one}, schedule.getThreads(), 0,
                       "FUSEC_KERNEL(" + std::to_string(schedule.getThreads()) + ")");
}
