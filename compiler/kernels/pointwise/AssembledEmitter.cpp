// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints a kernel whose blocks put rows together: a function for each part,
// which begins to load a vector of it and returns what computes that.

#include "compiler/codegen/Emitters.h"
#include "compiler/kernels/pointwise/Pointwise.h"

using namespace mlir;
using namespace fusec;

/// Returns the name that the part got.
static std::string printPart(KernelWriter &writer, const AssembledLoop &loop,
                             size_t part, AccessesAttr accesses,
                             ScalarEmitter::Sources sources) {
  const PointwiseIteration &iteration = loop.iteration;
  const RegionStore &store = iteration.stores[part];
  std::string name = writer.uniqueName("part"), index = writer.indexType();
  writer.open("const auto {} = fusec::partOfRows<{}, {}, {}>([&]({} base, auto "
              "width)",
              name, loop.columns, loop.places[part], loop.width, index);
  writer.line("constexpr int V = decltype(width)::value;");
  ScalarEmitter emitter(writer, iteration.program, {"base"},
                        ScalarEmitter::Lanes(0, accesses, /*loadsFirst=*/true),
                        std::move(sources));
  emitter.leaveRoundingToStores(store.node);
  emitter.prepare(store.node);
  writer.openReturned();
  BufferOp buffer = writer.getStep().getOutputBuffer(store.output);
  writer.line("fusec::Vec<{}, V> result;",
              storageType(buffer.getElementType()));
  emitter.forEachLane(
      store.node,
      [&](unsigned, StringRef value) {
        writer.line("result[lane] = {};", value);
      },
      /*inStorage=*/true);
  writer.line("return result;");
  writer.close("};");
  writer.close("});");
  return name;
}

void fusec::emitAssembledRows(KernelWriter &writer, const AssembledRows &rows,
                              VariantAttr variant) {
  auto schedule = cast<PointwiseScheduleAttr>(variant.getSchedule());
  BufferOp output = writer.getStep().getOutputBuffer(rows.output);
  ScalarEmitter::Sources sources = getRegionSources(writer);
  std::string parts;
  for (auto [i, loop] : llvm::enumerate(rows.loops))
    for (size_t part = 0; part < loop.places.size(); ++part)
      parts +=
          ", " + printPart(writer, loop, part,
                           variant.getLaunch().getLoopAccesses(i), sources);
  std::string held = writer.uniqueName("held"), index = writer.indexType(),
              count = writer.print(rows.rows, {});
  writer.addHeader("assembled_rows.h");
  writer.line("FUSEC_SHARED fusec::AssembledRows<{}, {}, {}> {};",
              storageType(output.getElementType()), schedule.getRows(),
              rows.pitch, held);
  writer.line("fusec::assembleRows<{}>({}, {}({}), {}{});",
              schedule.getThreads(), held, index, count,
              writer.pointer(output, false), parts);
}
