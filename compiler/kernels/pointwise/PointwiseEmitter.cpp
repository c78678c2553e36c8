// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pointwise family: every point of the iteration space computed on its own,
// vectorised along the innermost dim. Gathers and lookups are members.

#include "compiler/analysis/Iteration.h"
#include "compiler/codegen/Emitters.h"
#include "compiler/codegen/ScalarEmitter.h"
#include "compiler/kernels/pointwise/Pointwise.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

/// Declares the index of each dim, from the linear one, and returns their
/// names.
static std::vector<std::string> declareDims(KernelWriter &writer,
                                            ArrayRef<Expr> sizes) {
  if (sizes.size() == 1)
    return {"base"};
  std::vector<std::string> dims(sizes.size());
  std::string rest = "base";
  for (size_t i = sizes.size(); i-- > 0;) {
    dims[i] = fmt::format("d{}", i);
    std::string size = writer.print(sizes[i], {});
    if (!sizes[i].getOperands().empty())
      size = fmt::format("({})", size);
    writer.line("const {} {} = {}{};", writer.indexType(), dims[i], rest,
                i ? " % " + size : "");
    rest += " / " + size;
  }
  return dims;
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
  FailureOr<PointwiseIteration> iteration = analyzePointwise(step);
  if (failed(iteration))
    return step.emitOpError("is not a pointwise region");
  ScalarProgram &program = iteration->program;
  ArrayRef<Expr> sizes = program.getSizes();

  writer.declareBuffers();
  auto sources = getRegionSources(writer, variant);

  Expr count = getElementCount(sizes, context);
  writer.line("const {} count = {};", writer.indexType(),
              writer.print(count, {}));
  writer.open("fusec::forEachVector<{}>(count, [&]({} base, auto width)",
              schedule.getVector(), writer.indexType());
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
      writer.open();
      emitter.pushScope();
      emitStores(writer, emitter, variant, stores.take_front(mostAtOnce / 2),
                 lanes);
      emitter.popScope();
      writer.close();
    }
  }
  writer.close("});");

  return writer.finish(variant);
}
