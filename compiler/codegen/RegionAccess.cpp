// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a region reads and stores, as its scalar program is printed.

#include "compiler/codegen/Emitters.h"
#include <fmt/core.h>

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

void fusec::emitStores(KernelWriter &writer, ScalarEmitter &emitter,
                       VariantAttr variant, ArrayRef<RegionStore> stores,
                       std::optional<ScalarEmitter::Lanes> lanes) {
  auto getBuffer = [&](const RegionStore &store) {
    return writer.getStep().getOutputBuffer(store.output);
  };
  auto getElement = [&](const RegionStore &store) {
    std::string pointer = writer.pointer(getBuffer(store), false);
    return fmt::format("{}[{}]", pointer, emitter.print(store.offset));
  };
  SmallVector<unsigned> nodes;
  for (const RegionStore &store : stores)
    nodes.push_back(store.node);
  emitter.leaveRoundingToStores(nodes);
  if (!lanes) {
    for (const RegionStore &store : stores) {
      std::string value = emitter.emit(store.node);
      writer.line("{} = {};", getElement(store),
                  toStorage(getBuffer(store).getElementType(), value));
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
      writer.line("fusec::Vec<{}, V> {};", storageType(type), vectors[i]);
    }
  }
  emitter.forEachLane(nodes, [&](unsigned i, StringRef name) {
    std::string to =
        vectors[i].empty() ? getElement(stores[i]) : vectors[i] + "[lane]";
    writer.line("{} = {};", to,
                toStorage(getBuffer(stores[i]).getElementType(), name));
  });
  for (auto [i, store] : llvm::enumerate(stores))
    if (!vectors[i].empty()) {
      std::string pointer = writer.pointer(getBuffer(store), false);
      writer.line("fusec::store<V>({} + {}, {});", pointer,
                  emitter.print(store.offset), vectors[i]);
    }
}
