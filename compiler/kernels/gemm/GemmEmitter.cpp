// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The gemm family: descriptors of matrices, operands and results, a pure
// function for the epilogue, and a call into a template of compiler/device/.

#include "compiler/analysis/Leads.h"
#include "compiler/codegen/Emitters.h"
#include "compiler/kernels/gemm/GemmAccesses.h"
#include "compiler/kernels/gemm/GemmDescriptors.h"
#include "compiler/kernels/gemm/GemmUnits.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

namespace {
class GemmEmitter {
public:
  GemmEmitter(StepOp step, VariantAttr variant, StringRef symbol)
      : step(step), variant(variant),
        schedule(cast<GemmScheduleAttr>(variant.getSchedule())),
        launch(variant.getLaunch()), writer(step, symbol, 64),
        context(step.getContext()) {}

  FailureOr<KernelSource> emit();

private:
  /// Declares the call's constants by their names.
  std::string declareTiling(const UnitCall &call);
  /// Declares the segments' types and returns the template's last arguments.
  FailureOr<std::string> emitSegments(GemmDescriptors &descriptors,
                                      AccessesAttr accesses);
  /// Declares the epilogue, whose tiles move as the maps say, and returns its
  /// initialiser.
  std::string emitEpilogue(GemmDescriptors &descriptors, StringRef name,
                           const MatmulIteration &of, AccessesAttr accesses,
                           ArrayAttr operandMaps, ArrayAttr resultMaps);
  /// Of the plan; null where matrices are read by pointers.
  CopyAttr getCopy(unsigned matrix) const {
    return launch.getMatrices() ? cast<CopyAttr>(launch.getMatrices()[matrix])
                                : CopyAttr();
  }
  /// The matrix that is made of `source`.
  Descriptor emitMade(GemmDescriptors &descriptors, const Descriptor &source,
                      AccessesAttr accesses);
  /// Declares the leading product's types and returns the template's argument.
  FailureOr<std::string> emitLead();

  StepOp step;
  VariantAttr variant;
  GemmScheduleAttr schedule;
  LaunchAttr launch;
  KernelWriter writer;
  MLIRContext *context;
  MatmulIteration *iteration = nullptr;
};
} // namespace

/// Null where the tile at `index` is moved by pointer.
static TileMapAttr findMap(ArrayAttr maps, size_t index) {
  if (maps)
    for (auto map : maps.getAsRange<TileMapAttr>())
      if (map.getIndex() == int64_t(index))
        return map;
  return {};
}

std::string GemmEmitter::emitEpilogue(GemmDescriptors &descriptors,
                                      StringRef name, const MatmulIteration &of,
                                      AccessesAttr accesses,
                                      ArrayAttr operandMaps,
                                      ArrayAttr resultMaps) {
  ArrayRef<int64_t> loads =
                        accesses.getLoadWidths().drop_front(2 * of.k.size()),
                    stores = accesses.getStoreWidths();
  SmallVector<Descriptor> operands, results;
  for (auto [i, operand] : llvm::enumerate(of.operands))
    operands.push_back(
        descriptors.operand(operand, loads[i], findMap(operandMaps, i)));
  for (auto [i, store] : llvm::enumerate(of.stores))
    results.push_back(
        descriptors.result(store, stores[i], findMap(resultMaps, i)));
  return declareEpilogue(writer, name, of, getRootType(of), operands, results);
}

FailureOr<KernelSource> GemmEmitter::emit() {
  auto analyzed = analyzeMatmul(step);
  if (failed(analyzed))
    return step.emitOpError("is not a matmul with an epilogue");
  if (schedule.getSwapped()) {
    if (!canSwapOperands(*analyzed))
      return step.emitOpError("cannot be computed transposed");
    *analyzed = swapOperands(std::move(*analyzed));
  }
  iteration = &*analyzed;
  AccessesAttr accesses = takeGemmAccesses(step, variant, 0, *iteration);
  if (!accesses ||
      failed(checkLoops(step, variant, schedule.getLead() ? 2 : 1)))
    return failure();
  if (schedule.getLead())
    writer.pointer(step.getInputBuffer(iteration->lhs.back().value), false);
  writer.declareBuffers();
  GemmDescriptors descriptors(writer, step, *iteration);
  FailureOr<std::string> segments = emitSegments(descriptors, accesses);
  if (failed(segments))
    return failure();
  std::string epilogue =
      emitEpilogue(descriptors, "Epilogue", *iteration, accesses,
                   launch.getOperands(), launch.getResults());

  Expr batch = getElementCount(iteration->batchSizes, context);
  if (variant.getLaunch().getPrefetches())
    writer.waitInTemplate();
  const GemmUnit &unit = getGemmUnit(schedule);
  writer.addHeader(unit.header);
  UnitCall call = unit.getCall(UnitStep(step, variant, *iteration));
  writer.line("typedef {}<{}> Config;", call.config, declareTiling(call));
  writer.line("const Epilogue epilogue = {};", epilogue);
  if (schedule.getLead()) {
    auto lead = emitLead();
    if (failed(lead))
      return failure();
    writer.line("const auto lead = {};", *lead);
  }
  std::string first;
  if (schedule.getLead())
    first = "lead, ";
  else if (call.takesFlags)
    first = writer.flags() + ", ";
  std::string m = writer.extent(iteration->m, "m"),
              n = writer.extent(iteration->n, "n"),
              batches = writer.extent(batch, "batches");
  writer.line("{}({}{}, epilogue{});", call.function, first,
              braced({m, n, batches}), *segments);
  return writer.finish(variant);
}

std::string GemmEmitter::declareTiling(const UnitCall &call) {
  std::string name = writer.uniqueName("Tiling");
  raw_ostream &os = writer.declarations();
  os << "struct " << name << " {\n  static constexpr int ";
  llvm::interleaveComma(call.numbers, os, [&](auto &number) {
    os << number.first << " = " << number.second;
  });
  os << ";\n";
  if (!call.switches.empty()) {
    os << "  static constexpr bool ";
    llvm::interleaveComma(call.switches, os, [&](auto &flag) {
      os << flag.first << " = " << (flag.second ? "true" : "false");
    });
    os << ";\n";
  }
  os << "};\n\n";
  return name;
}

FailureOr<std::string> GemmEmitter::emitSegments(GemmDescriptors &descriptors,
                                                 AccessesAttr accesses) {
  unsigned accumulators = ContractionOp(iteration->root).getNumAccumulators();
  ArrayRef<int64_t> widths = accesses.getLoadWidths();
  std::string arguments;
  for (auto [s, k] : llvm::enumerate(iteration->k)) {
    auto a = descriptors.matrix(iteration->lhs[s], iteration->m, k,
                                widths[2 * s], getCopy(2 * s));
    auto b = descriptors.matrix(iteration->rhs[s], iteration->n, k,
                                widths[2 * s + 1], getCopy(2 * s + 1));
    if (failed(a) || failed(b))
      return failure();
    if (iteration->made) {
      Descriptor &made = iteration->isRhsMade ? *b : *a;
      made = emitMade(descriptors, made, accesses);
    }
    std::string name = writer.uniqueName(fmt::format("Segment{}", s));
    auto wholeK = iteration->lhs[s].wholeK;
    std::string type = fmt::format("fusec::Segment<{},\n    {}, {}>", a->type,
                                   b->type, accumulators);
    std::string value =
        braced({a->value, braced({b->value}), writer.extent(k, "k")});
    if (wholeK) {
      type = fmt::format("fusec::Ranges<{}>", type);
      value = braced({value, writer.extent(*wholeK, "k")});
    }
    writer.declarations() << fmt::format("typedef {} {};\n", type, name);
    arguments += fmt::format(",\n      {}{}", name, value);
  }
  writer.declarations() << "\n";
  return arguments;
}

Descriptor GemmEmitter::emitMade(GemmDescriptors &descriptors,
                                 const Descriptor &source,
                                 AccessesAttr accesses) {
  const MadeMatrix &made = *iteration->made;
  ArrayRef<int64_t> widths =
      accesses.getLoadWidths().take_back(made.operands.size());
  SmallVector<Descriptor> operands;
  for (auto [operand, width] : llvm::zip_equal(made.operands, widths))
    operands.push_back(descriptors.operand(operand, width, {}));
  Descriptor function = declareMade(writer, made, operands);
  return {fmt::format("fusec::Made<{},\n    {}>", source.type, function.type),
          braced({source.value, function.value})};
}

FailureOr<std::string> GemmEmitter::emitLead() {
  StepOp leading = findLeadingStep(step);
  if (!leading)
    return step.emitOpError("has no leading product");
  auto analyzed = analyzeMatmul(leading);
  if (failed(analyzed))
    return leading.emitOpError("is not a matmul with an epilogue");
  AccessesAttr accesses = takeGemmAccesses(step, variant, 1, *analyzed);
  if (!accesses)
    return failure();
  ArrayRef<int64_t> widths = accesses.getLoadWidths();
  GemmDescriptors descriptors(writer, leading, *analyzed);
  unsigned first = 2 * iteration->k.size();
  auto a = descriptors.matrix(analyzed->lhs[0], analyzed->m, analyzed->k[0],
                              widths[0], getCopy(first));
  auto b = descriptors.matrix(analyzed->rhs[0], analyzed->n, analyzed->k[0],
                              widths[1], getCopy(first + 1));
  if (failed(a) || failed(b))
    return failure();
  std::string segment = writer.uniqueName("LeadSegment"),
              name = writer.uniqueName("LeadEpilogue");
  writer.declarations() << fmt::format(
      "typedef fusec::Segment<{},\n    {}> {};\n\n", a->type, b->type, segment);
  std::string epilogue =
      emitEpilogue(descriptors, name, *analyzed, accesses, {}, {});
  std::string k = writer.extent(analyzed->k[0], "k"),
              n = writer.extent(analyzed->n, "n");
  return fmt::format("fusec::WgmmaLead<{}, {}, {}>{{\n"
                     "      {},\n"
                     "      {},\n"
                     "      {}, {}}}",
                     segment, name, schedule.getLead(),
                     braced({a->value, braced({b->value}), k}), epilogue, n,
                     writer.flags());
}

FailureOr<KernelSource> fusec::emitGemm(StepOp step, VariantAttr variant,
                                        StringRef symbol) {
  return GemmEmitter(step, variant, symbol).emit();
}
