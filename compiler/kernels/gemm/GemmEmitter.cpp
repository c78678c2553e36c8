// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The gemm family: descriptors of matrices, operands and results, a pure
// function for the epilogue, and a call into a template of compiler/device/.

#include "compiler/analysis/Leads.h"
#include "compiler/codegen/Emitters.h"
#include "compiler/device/gemm_resident_config.h"
#include "compiler/device/gemm_skinny_config.h"
#include "compiler/device/gemm_wgmma_lead_config.h"
#include "compiler/kernels/gemm/Gemm.h"
#include "compiler/kernels/gemm/GemmDescriptors.h"

using namespace mlir;
using namespace fusec;

namespace {
class GemmEmitter {
public:
  GemmEmitter(StepOp step, VariantAttr variant, StringRef symbol)
      : step(step), variant(variant),
        schedule(cast<GemmScheduleAttr>(variant.getSchedule())),
        writer(step, symbol, 64), context(step.getContext()) {}

  FailureOr<KernelSource> emit();

private:
  /// Declares the leading product's types and returns the template's argument.
  FailureOr<std::string> emitLead();
  std::string print(Expr expr) { return writer.print(expr, {}); }

  StepOp step;
  VariantAttr variant;
  GemmScheduleAttr schedule;
  KernelWriter writer;
  MLIRContext *context;
  MatmulIteration *iteration = nullptr;
};
} // namespace

/// What a miss fetches of a resident root's rows. Beyond what is asked for it
/// gains 3% where a row of results has two lines or more and costs 3% where it
/// has one, measured on an H200.
static unsigned getResidentPromotion(const MatmulIteration &iteration) {
  int64_t widest = 0;
  for (const TileStore &store : iteration.stores)
    widest = std::max<int64_t>(
        widest, getElementBytes(iteration.epilogue[store.node].type));
  return iteration.n.getValue() * widest > wgmmaRowBytes ? 256 : 128;
}

/// What a miss fetches of B, whose rows along K have so many bytes. Over rows
/// this long blocks drift apart, and what lies beside the asked for has left L2
/// when they come to it: on an H200 2048 x 512 with K = 186,624 takes 3.5%
/// (fp32: 5%) less with 128, 128 x 512 with 131,072 4%; 1024 x 1024 with 32,768
/// takes 4% more.
static unsigned getRowPromotion(Expr k, int64_t elementBytes) {
  constexpr int64_t longRow = 128 << 10;
  return k.isConstant() && k.getValue() * elementBytes >= longRow ? 128 : 256;
}

FailureOr<KernelSource> GemmEmitter::emit() {
  auto analyzed = analyzeMatmul(step);
  if (failed(analyzed))
    return step.emitOpError("is not a matmul with an epilogue");
  bool isSwapped = schedule.getSwapped();
  if (isSwapped) {
    if (!schedule.isWgmma() || !canSwapOperands(*analyzed))
      return step.emitOpError("cannot be computed transposed");
    *analyzed = swapOperands(std::move(*analyzed));
  }
  iteration = &*analyzed;
  ContractionOp root = iteration->root;
  unsigned accumulators = root.getNumAccumulators();

  if (schedule.getLead())
    writer.pointer(step.getInputBuffer(iteration->lhs.back().value), false);
  writer.declareBuffers();
  // Blocks of a cluster along one axis share the load of the other matrix;
  // those of skinny tiles split K.
  bool isMapped = schedule.usesTensorMaps();
  bool sharesLoads = !schedule.isSkinny(), splits = schedule.splitsFactors();
  MatrixCopy copyA, copyB;
  copyA.rounds = copyB.rounds = !splits;
  if (isMapped) {
    copyA.tile =
        schedule.getTileM() / (sharesLoads ? schedule.getClusterN() : 1);
    copyB.tile =
        schedule.getTileN() / (sharesLoads ? schedule.getClusterM() : 1);
  }
  if (schedule.getUnit() == GemmUnit::Resident)
    copyA.promotion = getResidentPromotion(*iteration);
  GemmDescriptors descriptors(writer, step, variant, *iteration);
  EpilogueMaps maps = chooseEpilogueMaps(step, *iteration, variant);
  std::string arguments;
  int64_t bytes = getElementBytes(getElementType(root.getLhs()[0]));
  for (unsigned s = 0; s < root.getNumSegments(); ++s) {
    Expr k = iteration->k[s];
    copyA.kBytes = copyB.kBytes = schedule.isWgmma() && k.isConstant()
                                      ? wgmmaKBytes(k.getValue() * bytes)
                                      : wgmmaRowBytes;
    if (schedule.isWgmma())
      copyB.promotion = getRowPromotion(k, bytes);
    auto a = descriptors.matrix(iteration->lhs[s], iteration->m, k, copyA);
    auto b = descriptors.matrix(iteration->rhs[s], iteration->n, k, copyB);
    if (failed(a) || failed(b))
      return failure();
    std::string name = writer.uniqueName("Segment" + std::to_string(s));
    writer.declarations() << "typedef fusec::Segment<" << a->type << ",\n    "
                          << b->type << ", " << accumulators << "> " << name
                          << ";\n";
    arguments += ",\n      " + name + "{" + a->value + ", {" + b->value +
                 "}, " + writer.extent(k, "k") + "}";
  }
  writer.declarations() << "\n";

  SmallVector<Descriptor> operands, results;
  for (const TileOperand &o : iteration->operands)
    operands.push_back(descriptors.operand(o, maps));
  for (const TileStore &s : iteration->stores)
    results.push_back(descriptors.result(s, maps));
  std::string accumulator = getAccumulatorType(*iteration);
  std::string epilogue =
      declareEpilogue(writer, "Epilogue", *iteration, operands, results);

  auto number = [](int64_t value) { return std::to_string(value); };
  int64_t tileM = schedule.getTileM(), tileN = schedule.getTileN(),
          tileK = schedule.getTileK();
  LaunchAttr launch = variant.getLaunch();
  Expr batch = getElementCount(iteration->batchSizes, context);
  if (launch.getPrefetches())
    writer.waitInTemplate();
  std::string config, templateCall;
  switch (schedule.getUnit()) {
  case GemmUnit::Simt: {
    writer.addHeader("gemm_simt.h");
    config = "fusec::SimtConfig<" + number(tileM) + ", " + number(tileN) +
             ", " + number(tileK) + ", " + number(schedule.getDivideM()) +
             ", " + number(schedule.getDivideN()) + ">";
    templateCall = "fusec::gemmSimt<Config>";
    break;
  }
  case GemmUnit::Mma:
  case GemmUnit::Tf32x3:
    writer.addHeader("gemm_mma.h");
    config = (schedule.getUnit() == GemmUnit::Mma ? "fusec::MmaConfig<"
                                                  : "fusec::Tf32x3Config<") +
             number(tileM) + ", " + number(tileN) + ", " + number(tileK) +
             ", " + number(schedule.getDivideM()) + ", " +
             number(schedule.getDivideN()) + ", " +
             number(schedule.getStages()) + ">";
    templateCall = "fusec::gemmMma<Config>";
    break;
  case GemmUnit::GemvM:
  case GemmUnit::GemvN: {
    writer.addHeader("gemv.h");
    bool narrowN = schedule.getUnit() == GemmUnit::GemvN;
    config = "fusec::GemvConfig<" + number(narrowN ? tileN : tileM) + ", " +
             number(launch.getThreads()) + ">";
    templateCall = std::string("fusec::gemv<Config, fusec::Narrow::") +
                   (narrowN ? "N>" : "M>");
    break;
  }
  case GemmUnit::Wgmma:
  case GemmUnit::PingPong:
  case GemmUnit::WgmmaTf32x3: {
    writer.addHeader("gemm_wgmma.h");
    int64_t clusterM = schedule.getClusterM(),
            clusterN = schedule.getClusterN();
    auto flag = [](bool value) { return value ? ", true" : ", false"; };
    config = (splits ? "fusec::WgmmaTf32x3Config<" : "fusec::WgmmaConfig<") +
             number(tileM) + ", " + number(tileN) + ", " + number(tileK) +
             ", " + number(schedule.getStages()) + ", " + number(clusterM);
    if (!splits)
      config += schedule.getUnit() == GemmUnit::Wgmma
                    ? ", fusec::WgmmaSchedule::Cooperative"
                    : ", fusec::WgmmaSchedule::PingPong";
    config += ", " + number(clusterN) + flag(launch.getStreams()) +
              flag(launch.getPrefetches());
    if (!splits)
      config += flag(isSwapped);
    config += ">";
    templateCall = schedule.getLead() ? "fusec::gemmWgmmaLed<Config>"
                                      : "fusec::gemmWgmma<Config>";
    break;
  }
  case GemmUnit::Skinny:
  case GemmUnit::SkinnyTf32x3: {
    writer.addHeader("gemm_skinny.h");
    config = (splits ? "fusec::SkinnyTf32x3Config<" : "fusec::SkinnyConfig<") +
             number(tileM) + ", " + number(tileN / 64) + ", " + number(tileK) +
             ", " + number(schedule.getStages()) + ", " +
             number(schedule.getClusterM()) +
             (launch.getPrefetches() ? ", true>" : ">");
    templateCall = "fusec::gemmSkinny<Config>";
    break;
  }
  case GemmUnit::Resident: {
    writer.addHeader("gemm_resident.h");
    config = "fusec::ResidentConfig<" + print(iteration->n) + ", " +
             number(tileN) + ", " + number(schedule.getDivideM()) + ", " +
             number(schedule.getStages()) + ">";
    templateCall = "fusec::gemmResident<Config>";
    break;
  }
  }
  writer.line("typedef " + config + " Config;");
  writer.line("const Epilogue epilogue = " + epilogue + ";");
  if (schedule.getLead()) {
    auto lead = emitLead();
    if (failed(lead))
      return failure();
    writer.line("const auto lead = " + *lead + ";");
  }
  std::string first;
  if (schedule.getLead())
    first = "lead, ";
  else if (schedule.getUnit() == GemmUnit::Resident)
    first = writer.flags() + ", ";
  std::string m = writer.extent(iteration->m, "m"),
              n = writer.extent(iteration->n, "n"),
              batches = writer.extent(batch, "batches");
  writer.line(templateCall + "(" + first + "{" + m + ", " + n + ", " + batches +
              "}, epilogue" + arguments + ");");
  return writer.finish(launch);
}

FailureOr<std::string> GemmEmitter::emitLead() {
  StepOp leading = findWriterOfLead(step, iteration->lhs.back().value);
  if (!leading)
    return step.emitOpError("has no leading product");
  auto analyzed = analyzeMatmul(leading);
  if (failed(analyzed))
    return leading.emitOpError("is not a matmul with an epilogue");
  GemmDescriptors descriptors(writer, leading, variant, *analyzed);
  int rows = wgmmaLeadRows(schedule.getTileM(),
                           schedule.getUnit() == GemmUnit::PingPong,
                           schedule.getLead());
  auto a =
      descriptors.matrix(analyzed->lhs[0], analyzed->m, analyzed->k[0], {rows});
  auto b = descriptors.matrix(analyzed->rhs[0], analyzed->n, analyzed->k[0],
                              {schedule.getLead()});
  if (failed(a) || failed(b))
    return failure();
  std::string segment = writer.uniqueName("LeadSegment"),
              name = writer.uniqueName("LeadEpilogue");
  writer.declarations() << "typedef fusec::Segment<" << a->type << ",\n    "
                        << b->type << "> " << segment << ";\n\n";
  SmallVector<Descriptor> operands, results;
  for (const TileOperand &o : analyzed->operands)
    operands.push_back(descriptors.operand(o, {}));
  for (const TileStore &s : analyzed->stores)
    results.push_back(descriptors.result(s, {}));
  std::string epilogue =
      declareEpilogue(writer, name, *analyzed, operands, results);
  std::string k = writer.extent(analyzed->k[0], "k"),
              n = writer.extent(analyzed->n, "n");
  return "fusec::WgmmaLead<" + segment + ", " + name + ", " +
         std::to_string(schedule.getLead()) + ">{\n      {" + a->value + ", {" +
         b->value + "}, " + k + "},\n      " + epilogue + ",\n      " + n +
         ", " + writer.flags() + "}";
}

FailureOr<KernelSource> fusec::emitGemm(StepOp step, VariantAttr variant,
                                        StringRef symbol) {
  return GemmEmitter(step, variant, symbol).emit();
}
