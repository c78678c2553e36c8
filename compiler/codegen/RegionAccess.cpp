// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a region reads and stores, as its scalar program is printed.

#include "compiler/analysis/AccessWidths.h"
#include "compiler/codegen/Emitters.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

ScalarEmitter::Sources fusec::getRegionSources(KernelWriter &writer) {
  ScalarEmitter::Sources sources;
  sources.load = [&writer](Value value) {
    BufferOp buffer = writer.getStep().getInputBuffer(value);
    return ScalarEmitter::Access{writer.pointer(buffer, true),
                                 buffer.getStrideExprs()};
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

ScalarEmitter::Sources fusec::declarePassing(KernelWriter &writer,
                                             const ScalarProgram &program,
                                             AccessesAttr accesses, bool stay,
                                             ScalarEmitter::Sources sources) {
  llvm::DenseMap<Value, std::string> passing;
  SmallVector<unsigned> reads = getReads(program);
  for (int64_t read : accesses.getPassingReads()) {
    Value value = program[reads[read]].value;
    if (passing.contains(value))
      continue;
    BufferOp buffer = writer.getStep().getInputBuffer(value);
    std::string pointer = writer.pointer(buffer, true);
    std::string name = writer.uniqueName(pointer + "_once");
    writer.line("const fusec::{}<{}> {}({});", stay ? "Staying" : "Passing",
                storageType(buffer.getElementType()), name, pointer);
    passing[value] = name;
  }
  sources.rename(std::move(passing));
  return sources;
}

namespace {
/// Where the lanes of a store go: elements of a vector, or of the buffer.
struct LaneStore {
  std::string vector; // empty where each lane is stored on its own
  int64_t stride = 1, first = 0;

  std::string getLane() const {
    return stride == 1
               ? vector + "[lane]"
               : fmt::format("{}[{} * lane + {}]", vector, stride, first);
  }
};
/// A vector that is stored as a whole.
struct VectorStore {
  std::string vector, pointer;
  Expr base;
  int64_t stride;
};

class StoreEmitter {
public:
  StoreEmitter(KernelWriter &writer, ScalarEmitter &emitter,
               ArrayRef<RegionStore> stores, ArrayRef<int64_t> widths,
               std::optional<ScalarEmitter::Lanes> lanes)
      : writer(writer), emitter(emitter), stores(stores), widths(widths),
        lanes(lanes), places(stores.size()) {}
  void emit(llvm::function_ref<void()> whenLoaded);

private:
  BufferOp getBuffer(const RegionStore &store) {
    return writer.getStep().getOutputBuffer(store.output);
  }
  std::string getPointer(const RegionStore &store) {
    return writer.pointer(getBuffer(store), false);
  }
  std::string getElement(const RegionStore &store) {
    std::string pointer = getPointer(store);
    return fmt::format("{}[{}]", pointer, emitter.print(store.offset));
  }
  void emitEach();
  void declareVectors();
  void declareVector(Expr base, ArrayRef<unsigned> members);

  KernelWriter &writer;
  ScalarEmitter &emitter;
  ArrayRef<RegionStore> stores;
  ArrayRef<int64_t> widths;
  std::optional<ScalarEmitter::Lanes> lanes;
  SmallVector<LaneStore> places;
  SmallVector<VectorStore> vectors;
};
} // namespace

void StoreEmitter::emitEach() {
  for (const RegionStore &store : stores) {
    std::string value = emitter.emitStored(store.node);
    writer.line("{} = {};", getElement(store), value);
  }
}

/// Of stores that take turns, or of one.
void StoreEmitter::declareVector(Expr base, ArrayRef<unsigned> members) {
  int64_t stride = members.size();
  const RegionStore &first = stores[members[0]];
  std::string name = writer.uniqueName("result");
  writer.line("fusec::Vec<{}, {}V> {};",
              storageType(getBuffer(first).getElementType()),
              stride == 1 ? "" : fmt::format("{} * ", stride), name);
  for (auto [turn, member] : llvm::enumerate(members))
    places[member] = {name, stride, int64_t(turn)};
  vectors.push_back({name, getPointer(first), base, stride});
}

void StoreEmitter::declareVectors() {
  if (lanes->width > 1)
    for (const TakenTurns &turns : findTurns(stores, lanes->dim)) {
      int64_t stride = turns.stores.size();
      if (widths[turns.stores[0]] == stride * lanes->width)
        declareVector(turns.base, turns.stores);
    }
  for (unsigned i = 0; i < stores.size(); ++i) {
    auto whole =
        getLaneAccess(stores[i].offset, lanes->dim, lanes->width, widths[i]);
    if (places[i].vector.empty() && whole && whole->stride == 1)
      declareVector(stores[i].offset, i);
  }
}

void StoreEmitter::emit(llvm::function_ref<void()> whenLoaded) {
  SmallVector<unsigned> nodes;
  for (const RegionStore &store : stores)
    nodes.push_back(store.node);
  emitter.leaveRoundingToStores(nodes);
  if (!lanes)
    return emitEach();
  if (whenLoaded) {
    bool hasIndices = false;
    for (unsigned node : nodes)
      hasIndices |= emitter.prepareIndices(node);
    if (hasIndices)
      whenLoaded();
    emitter.settleRows();
  }
  for (unsigned node : nodes)
    emitter.prepare(node);
  if (whenLoaded)
    whenLoaded();
  emitter.settleRows();
  declareVectors();
  emitter.forEachLane(
      nodes,
      [&](unsigned i, StringRef value) {
        writer.line("{} = {};",
                    places[i].vector.empty() ? getElement(stores[i])
                                             : places[i].getLane(),
                    value);
      },
      /*inStorage=*/true);
  for (const VectorStore &vector : vectors)
    writer.line("fusec::store<{}V>({} + {}, {});",
                vector.stride == 1 ? "" : fmt::format("{} * ", vector.stride),
                vector.pointer, emitter.print(vector.base), vector.vector);
}

void fusec::emitStores(KernelWriter &writer, ScalarEmitter &emitter,
                       ArrayRef<RegionStore> stores, ArrayRef<int64_t> widths,
                       std::optional<ScalarEmitter::Lanes> lanes,
                       llvm::function_ref<void()> whenLoaded) {
  StoreEmitter(writer, emitter, stores, widths, lanes).emit(whenLoaded);
}
