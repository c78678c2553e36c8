// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pointwise family: every point of the iteration space computed on its own,
// vectorised along the innermost dim. Gathers and lookups are members.

#include "compiler/analysis/Iteration.h"
#include "compiler/codegen/Emitters.h"
#include "compiler/codegen/ScalarEmitter.h"

using namespace mlir;
using namespace fusec;

ScalarEmitter::Sources fusec::getRegionSources(KernelWriter &writer,
                                               VariantAttr variant) {
  ScalarEmitter::Sources sources;
  sources.load = [&writer, variant](Value value) {
    BufferOp buffer = writer.getStep().getInputBuffer(value);
    return ScalarEmitter::Access{writer.pointer(buffer, true),
                                 buffer.getStrideExprs(),
                                 getAlignment(buffer, variant)};
  };
  sources.tableAlignment = [&writer, variant](LookupOp op) {
    unsigned known = 256;
    for (Value table : op.getTables())
      known = std::min(
          known, getAlignment(writer.getStep().getInputBuffer(table), variant));
    return known;
  };
  sources.tables =
      [&writer, names = std::make_shared<std::map<Operation *, std::string>>()](
          LookupOp op) {
        std::string &name = (*names)[op];
        if (name.empty()) {
          SmallVector<BufferOp> buffers;
          for (Value table : op.getTables())
            buffers.push_back(writer.getStep().getInputBuffer(table));
          name = writer.pointerTable(buffers, "tables");
        }
        return name;
      };
  return sources;
}

/// Declares the index of each dim, from the linear one, and returns their
/// names.
static std::vector<std::string> declareDims(KernelWriter &writer,
                                            ArrayRef<Expr> sizes) {
  if (sizes.size() == 1)
    return {"base"};
  std::vector<std::string> dims(sizes.size());
  std::string rest = "base";
  for (size_t i = sizes.size(); i-- > 0;) {
    dims[i] = "d" + std::to_string(i);
    std::string size = writer.print(sizes[i], {});
    if (!sizes[i].getOperands().empty())
      size = "(" + size + ")";
    writer.line("const " + writer.indexType() + " " + dims[i] + " = " + rest +
                (i ? " % " + size : "") + ";");
    rest += " / " + size;
  }
  return dims;
}

void fusec::emitStores(KernelWriter &writer, ScalarEmitter &emitter,
                       VariantAttr variant, ArrayRef<RegionStore> stores,
                       std::optional<ScalarEmitter::Lanes> lanes) {
  auto getBuffer = [&](const RegionStore &store) {
    return writer.getStep().getOutputBuffer(store.output);
  };
  auto getElement = [&](const RegionStore &store) {
    return writer.pointer(getBuffer(store), false) + "[" +
           emitter.print(store.offset) + "]";
  };
  SmallVector<unsigned> nodes;
  for (const RegionStore &store : stores)
    nodes.push_back(store.node);
  emitter.leaveRoundingToStores(nodes);
  if (!lanes) {
    for (const RegionStore &store : stores) {
      std::string value = emitter.emit(store.node);
      writer.line(getElement(store) + " = " +
                  toStorage(getBuffer(store).getElementType(), value) + ";");
    }
    return;
  }
  SmallVector<std::string> vectors(stores.size());
  for (auto [i, store] : llvm::enumerate(stores)) {
    emitter.prepare(store.node);
    BufferOp buffer = getBuffer(store);
    Type type = buffer.getElementType();
    if (isVectorAccess(store.offset, lanes->dim, lanes->width,
                       getElementBytes(type), getAlignment(buffer, variant))) {
      vectors[i] = writer.uniqueName("result");
      writer.line("fusec::Vec<" + storageType(type) + ", V> " + vectors[i] +
                  ";");
    }
  }
  emitter.forEachLane(nodes, [&](unsigned i, StringRef name) {
    writer.line(
        (vectors[i].empty() ? getElement(stores[i]) : vectors[i] + "[lane]") +
        " = " + toStorage(getBuffer(stores[i]).getElementType(), name) + ";");
  });
  for (auto [i, store] : llvm::enumerate(stores))
    if (!vectors[i].empty())
      writer.line("fusec::store<V>(" + writer.pointer(getBuffer(store), false) +
                  " + " + emitter.print(store.offset) + ", " + vectors[i] +
                  ");");
}

/// Results that are computed together: of the hundreds of pieces that a wide
/// concat may have, registers would not hold what is loaded, and what several
/// need is computed again sooner than kept.
static constexpr size_t mostAtOnce = 32;

FailureOr<KernelSource> fusec::emitPointwise(StepOp step, VariantAttr variant,
                                             StringRef symbol) {
  auto schedule = cast<PointwiseScheduleAttr>(variant.getSchedule());
  KernelWriter writer(step, symbol, schedule.getIndexBits());
  writer.addHeader("vector.h");
  MLIRContext *context = step.getContext();
  FailureOr<PointwiseIteration> iteration = analyzePointwise(
      step.getBody().front(),
      [&](Value v) { return step.getInputBuffer(v).getStrideExprs(); },
      [&](unsigned i) { return step.getOutputBuffer(i).getStrideExprs(); });
  if (failed(iteration))
    return step.emitOpError("is not a pointwise region");
  ScalarProgram &program = iteration->program;
  ArrayRef<Expr> sizes = program.getSizes();

  writer.declareBuffers();
  auto sources = getRegionSources(writer, variant);

  Expr count = getElementCount(sizes, context);
  writer.line("const " + writer.indexType() +
              " count = " + writer.print(count, {}) + ";");
  writer.open("fusec::forEachVector<" + Twine(schedule.getVector()) +
              ">(count, [&](" + writer.indexType() + " base, auto width) {");
  writer.line("constexpr int V = decltype(width)::value;");
  std::vector<std::string> dims = declareDims(writer, sizes);
  std::optional<ScalarEmitter::Lanes> lanes;
  if (!sizes.empty())
    lanes = ScalarEmitter::Lanes{static_cast<unsigned>(sizes.size() - 1),
                                 schedule.getVector()};
  ScalarEmitter emitter(writer, program, dims, lanes, sources);
  emitter.nameLinearIndex("base");

  ArrayRef<RegionStore> stores = iteration->stores;
  if (stores.size() <= mostAtOnce) {
    emitStores(writer, emitter, variant, stores, lanes);
  } else {
    for (; !stores.empty();
         stores = stores.drop_front(std::min(mostAtOnce / 2, stores.size()))) {
      writer.open("{");
      emitter.pushScope();
      emitStores(writer, emitter, variant, stores.take_front(mostAtOnce / 2),
                 lanes);
      emitter.popScope();
      writer.close();
    }
  }
  writer.close("});");

  return writer.finish(variant.getLaunch());
}
