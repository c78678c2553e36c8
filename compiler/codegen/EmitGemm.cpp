// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The gemm family: descriptors of matrices, operands and results, a pure
// function for the epilogue, and a call into a template of compiler/device/.

#include "compiler/codegen/Emitters.h"
#include "compiler/codegen/MappedMatrix.h"
#include "compiler/device/gemm_resident_config.h"
#include "compiler/device/gemm_skinny_config.h"
#include "llvm/ADT/StringExtras.h"

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
  Expr one() { return Expr::constant(context, 1); }
  std::string print(Expr expr) { return writer.print(expr, {}); }
  /// How a batch index moves the pointer.
  Descriptor batchMap(Expr offset);
  /// `mapTile`: extent along the outer axis that a tensor map copies at once,
  /// or 0 where the kernel reads the matrices by their pointers.
  FailureOr<Descriptor> matrix(ArrayRef<MatrixAccess> accesses, Expr outerSize,
                               Expr k, int64_t mapTile);
  Descriptor operand(const TileOperand &operand);
  Descriptor result(const TileStore &store);
  /// The tile as the copy engine moves it, if it can.
  FailureOr<MappedMatrix> mappedTile(BufferOp buffer, const TileAccess &access);
  /// Wraps the descriptor of a tile that moves through a tensor map.
  void addMap(Descriptor &descriptor, BufferOp buffer, const MappedMatrix &tile,
              const WgmmaResultBox &box);
  void chooseMaps();
  unsigned alignment(BufferOp buffer, ArrayRef<Expr> offsets) {
    return getOffsetAlignment(writer, variant, buffer, offsets);
  }

  StepOp step;
  VariantAttr variant;
  GemmScheduleAttr schedule;
  KernelWriter writer;
  MLIRContext *context;
  MatmulIteration *iteration = nullptr;
  /// Boxes of the epilogue's tiles; unset ones are read and written by pointer.
  std::map<const TileOperand *, WgmmaResultBox> operandBoxes;
  std::map<const TileStore *, WgmmaResultBox> resultBoxes;
};
} // namespace

Descriptor GemmEmitter::batchMap(Expr offset) {
  ArrayRef<Expr> sizes = iteration->batchSizes;
  if (offset.isConstant(0))
    return {"fusec::Unbatched", "{}"};
  // One stride where the batch dims lie one after another.
  SmallVector<Expr> space = {getElementCount(sizes, context)};
  Expr linear = ExprRanges(space).simplify(
      offset.replaceDims(delinearize(Expr::dim(context, 0), sizes)));
  if (auto stride = getDimCoefficient(linear, 0);
      stride && *stride * Expr::dim(context, 0) == linear)
    return {"fusec::Stride", "{" + print(*stride) + "}"};
  std::string name = writer.uniqueName("BatchOffset");
  SmallVector<std::string> members;
  linear.walkLeaves([&](Expr leaf) {
    if (leaf.getKind() == ExprKind::Symbol) {
      std::string member = writer.symbolParam(leaf);
      if (!llvm::is_contained(members, member))
        members.push_back(member);
    }
  });
  raw_ostream &os = writer.declarations();
  os << "struct " << name << " {\n";
  for (const std::string &member : members)
    os << "  fusec::i64 " << member << ";\n";
  os << "  FUSEC_DEVICE fusec::i64 offset(fusec::i64 index) const {\n    "
        "return "
     << writer.print(linear, {std::string("index")}) << ";\n  }\n};\n\n";
  return {name, "{" + llvm::join(members, ", ") + "}"};
}

FailureOr<Descriptor> GemmEmitter::matrix(ArrayRef<MatrixAccess> accesses,
                                          Expr outerSize, Expr k,
                                          int64_t mapTile) {
  const MatrixAccess &access = accesses[0];
  std::string element = storageType(getElementType(access.value));
  Descriptor batch = batchMap(access.batch);
  std::string major, strides;
  SmallVector<Expr> offsets = {access.batch};
  if (access.kStride.isConstant(1) || access.kStride.isConstant(0)) {
    major = "K";
    strides = print(access.outerStride);
    offsets.push_back(access.outerStride);
  } else if (access.outerStride.isConstant(1) ||
             access.outerStride.isConstant(0)) {
    major = "Outer";
    strides = print(access.kStride);
    offsets.push_back(access.kStride);
  } else {
    major = "Strided";
    strides = print(access.outerStride);
  }
  unsigned bytes = getElementBytes(getElementType(access.value)), aligned = 16;
  for (const MatrixAccess &a : accesses)
    aligned =
        std::min(aligned, alignment(step.getInputBuffer(a.value), offsets));
  if (major == "Strided")
    aligned = bytes;
  std::string type = "fusec::Matrix<" + element + ", fusec::Major::" + major +
                     ", " + std::to_string(aligned) + ", " + batch.type + ">";
  if (mapTile)
    type = "fusec::Mapped<" + type + ">";
  std::string value;
  for (const MatrixAccess &a : accesses) {
    BufferOp buffer = step.getInputBuffer(a.value);
    std::string item = "{" + writer.pointer(buffer, true) + ", " + strides +
                       ", " + batch.value;
    item +=
        (major == "Strided" ? ", " + print(a.kStride) : std::string()) + "}";
    if (mapTile) {
      auto mapped = analyzeMapped(a, iteration->batchSizes);
      if (failed(mapped))
        return step.emitOpError("has a matrix that no tensor map describes");
      Expr count = getElementCount(iteration->batchSizes, context);
      item =
          "{" + item + ", &" +
          writer.tensorMap(buffer, getMapShape(*mapped, getElementType(a.value),
                                               outerSize, k, count, mapTile)) +
          "}";
    }
    value += (value.empty() ? "" : ", ") + item;
  }
  return Descriptor{type, value};
}

Descriptor GemmEmitter::operand(const TileOperand &operand) {
  BufferOp buffer = step.getInputBuffer(operand.value);
  std::string element = storageType(getElementType(operand.value));
  std::string pointer = writer.pointer(buffer, true);
  Descriptor batch = batchMap(operand.access.batch);
  Expr row = operand.access.rowStride, column = operand.access.columnStride;
  std::string columns =
      column.isConstant(1) ? "fusec::Contiguous" : "fusec::Stride";
  std::string columnValue =
      column.isConstant(1) ? "{}" : "{" + print(column) + "}";
  if (row.isConstant(0) && column.isConstant(0))
    return {"fusec::ScalarOperand<" + element + ", " + batch.type + ">",
            "{" + pointer + ", " + batch.value + "}"};
  unsigned aligned = column.isConstant(1)
                         ? alignment(buffer, {operand.access.batch, row})
                         : getElementBytes(getElementType(operand.value));
  if (row.isConstant(0))
    return {"fusec::RowOperand<" + element + ", " + columns + ", " +
                std::to_string(aligned) + ", " + batch.type + ">",
            "{" + pointer + ", " + columnValue + ", " + batch.value + "}"};
  if (column.isConstant(0))
    return {"fusec::ColumnOperand<" + element + ", fusec::Stride, " +
                batch.type + ">",
            "{" + pointer + ", {" + print(row) + "}, " + batch.value + "}"};
  return {"fusec::FullOperand<" + element + ", fusec::Stride, " + columns +
              ", " + std::to_string(aligned) + ", " + batch.type + ">",
          "{" + pointer + ", {" + print(row) + "}, " + columnValue + ", " +
              batch.value + "}"};
}

Descriptor GemmEmitter::result(const TileStore &store) {
  BufferOp buffer = step.getOutputBuffer(store.output);
  Type type = buffer.getElementType();
  Descriptor batch = batchMap(store.access.batch);
  Expr row = store.access.rowStride, column = store.access.columnStride;
  // A single column lies contiguously whatever its stride.
  bool contiguous = column.isConstant(1) || column.isConstant(0);
  unsigned aligned = contiguous ? alignment(buffer, {store.access.batch, row})
                                : getElementBytes(type);
  return {"fusec::FullResult<" + storageType(type) + ", fusec::Stride, " +
              (contiguous ? "fusec::Contiguous" : "fusec::Stride") + ", " +
              std::to_string(aligned) + ", " + batch.type + ">",
          "{" + writer.pointer(buffer, false) + ", {" + print(row) + "}, " +
              (contiguous ? std::string("{}") : "{" + print(column) + "}") +
              ", " + batch.value + "}"};
}

FailureOr<MappedMatrix> GemmEmitter::mappedTile(BufferOp buffer,
                                                const TileAccess &access) {
  return analyzeMappedTile(access, buffer.getElementType(), iteration->n,
                           iteration->batchSizes,
                           alignment(buffer, {access.batch, access.rowStride}));
}

void GemmEmitter::addMap(Descriptor &descriptor, BufferOp buffer,
                         const MappedMatrix &tile, const WgmmaResultBox &box) {
  Expr batch = getElementCount(iteration->batchSizes, context);
  TensorMapShape shape = getTileMapShape(
      tile, buffer.getElementType(), iteration->m, iteration->n, batch, box);
  descriptor.type = "fusec::Mapped<" + descriptor.type + ">";
  descriptor.value =
      "{" + descriptor.value + ", &" + writer.tensorMap(buffer, shape) + "}";
}

/// Which tiles of the epilogue move through tensor maps: of wgmma's tiles all
/// results or none, and then operands as far as they can; of resident weights'
/// each result that can.
void GemmEmitter::chooseMaps() {
  int64_t tileN = schedule.getTileN();
  auto bytesOf = [](BufferOp buffer) {
    return getElementBytes(buffer.getElementType());
  };
  if (schedule.getUnit() == GemmUnit::Resident) {
    for (const TileStore &store : iteration->stores) {
      BufferOp buffer = step.getOutputBuffer(store.output);
      int row = wgmmaRowBytes / bytesOf(buffer);
      if (succeeded(mappedTile(buffer, store.access)))
        resultBoxes[&store] = {row, residentResultRows, wgmmaRowBytes};
    }
    return;
  }
  if (schedule.getUnit() != GemmUnit::Wgmma &&
      schedule.getUnit() != GemmUnit::PingPong)
    return;
  int64_t results = 0, operands = 0;
  for (const TileStore &store : iteration->stores) {
    BufferOp buffer = step.getOutputBuffer(store.output);
    if (failed(mappedTile(buffer, store.access)))
      return;
    results += bytesOf(buffer);
  }
  SmallVector<const TileOperand *> mapped;
  for (const TileOperand &operand : iteration->operands) {
    BufferOp buffer = step.getInputBuffer(operand.value);
    if (failed(mappedTile(buffer, operand.access)))
      continue;
    mapped.push_back(&operand);
    operands += bytesOf(buffer);
  }
  if (!wgmmaResultColumns(tileN, std::max(results, operands))) {
    mapped.clear();
    operands = 0;
  }
  int64_t bytes = std::max(results, operands);
  if (!wgmmaResultColumns(tileN, bytes))
    return;
  for (const TileStore &store : iteration->stores)
    resultBoxes[&store] = wgmmaResultBox(
        tileN, bytes, bytesOf(step.getOutputBuffer(store.output)));
  for (const TileOperand *operand : mapped)
    operandBoxes[operand] = wgmmaResultBox(
        tileN, bytes, bytesOf(step.getInputBuffer(operand->value)));
}

FailureOr<KernelSource> GemmEmitter::emit() {
  Block &block = step.getBody().front();
  SmallVector<Value> outputs =
      llvm::to_vector(block.getTerminator()->getOperands());
  auto analyzed = analyzeMatmul(
      outputs, [&](Operation *op) { return op->getBlock() == &block; },
      [&](Value v) { return step.getInputBuffer(v).getStrideExprs(); },
      [&](unsigned i) { return step.getOutputBuffer(i).getStrideExprs(); });
  if (failed(analyzed))
    return step.emitOpError("is not a matmul with an epilogue");
  iteration = &*analyzed;
  ContractionOp root = iteration->root;
  unsigned accumulators = root.getNumAccumulators();

  writer.declareBuffers();
  // Blocks of a cluster along one axis share the load of the other matrix;
  // those of skinny tiles split K.
  bool isMapped = schedule.usesTensorMaps();
  bool sharesLoads = schedule.getUnit() != GemmUnit::Skinny;
  int64_t mapTileM = !isMapped ? 0
                     : sharesLoads
                         ? schedule.getTileM() / schedule.getClusterN()
                         : schedule.getTileM();
  int64_t mapTileN = !isMapped ? 0
                     : sharesLoads
                         ? schedule.getTileN() / schedule.getClusterM()
                         : schedule.getTileN();
  chooseMaps();
  std::string arguments;
  for (unsigned s = 0; s < root.getNumSegments(); ++s) {
    auto a = matrix(iteration->lhs[s], iteration->m, iteration->k[s], mapTileM);
    auto b = matrix(iteration->rhs[s], iteration->n, iteration->k[s], mapTileN);
    if (failed(a) || failed(b))
      return failure();
    std::string name = writer.uniqueName("Segment" + std::to_string(s));
    writer.declarations() << "typedef fusec::Segment<" << a->type << ",\n    "
                          << b->type << ", " << accumulators << "> " << name
                          << ";\n";
    arguments += ",\n      " + name + "{" + a->value + ", {" + b->value +
                 "}, int(" + print(iteration->k[s]) + ")}";
  }
  writer.declarations() << "\n";

  SmallVector<Descriptor> operands, results;
  for (const TileOperand &o : iteration->operands) {
    operands.push_back(operand(o));
    if (auto it = operandBoxes.find(&o); it != operandBoxes.end()) {
      BufferOp buffer = step.getInputBuffer(o.value);
      addMap(operands.back(), buffer, *mappedTile(buffer, o.access),
             it->second);
    }
  }
  for (const TileStore &s : iteration->stores) {
    results.push_back(result(s));
    if (auto it = resultBoxes.find(&s); it != resultBoxes.end()) {
      BufferOp buffer = step.getOutputBuffer(s.output);
      addMap(results.back(), buffer, *mappedTile(buffer, s.access), it->second);
    }
  }
  std::string accumulator = getAccumulatorType(*iteration);
  std::string epilogue =
      declareEpilogue(writer, "Epilogue", *iteration, operands, results);

  auto number = [](int64_t value) { return std::to_string(value); };
  int64_t tileM = schedule.getTileM(), tileN = schedule.getTileN(),
          tileK = schedule.getTileK();
  int64_t threads = 0, shared = 0, cluster = 1;
  int64_t bytes = getElementBytes(getElementType(root.getLhs()[0]));
  Expr batch = getElementCount(iteration->batchSizes, context), blocks;
  auto tiles = [&](int64_t m, int64_t n) {
    return iteration->m.ceilDiv(Expr::constant(context, m)) *
           iteration->n.ceilDiv(Expr::constant(context, n)) * batch;
  };
  std::string config, templateCall;
  switch (schedule.getUnit()) {
  case GemmUnit::Simt: {
    writer.addHeader("gemm_simt.h");
    config = "fusec::SimtConfig<" + number(tileM) + ", " + number(tileN) +
             ", " + number(tileK) + ", " + number(schedule.getDivideM()) +
             ", " + number(schedule.getDivideN()) + ">";
    templateCall = "fusec::gemmSimt<Config>";
    threads = (tileM / schedule.getDivideM()) * (tileN / schedule.getDivideN());
    int64_t wide =
        accumulator == "double" || accumulator == "long long" ? 8 : 4;
    shared = simtSharedBytes(tileM, tileN, tileK, accumulators, wide);
    blocks = tiles(tileM, tileN);
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
    threads = 32 * schedule.getDivideM() * schedule.getDivideN();
    shared = mmaSharedBytes(tileM, tileN, tileK, schedule.getDivideM(),
                            schedule.getDivideN(), schedule.getStages(),
                            accumulators, bytes);
    blocks = tiles(tileM, tileN);
    break;
  case GemmUnit::GemvM:
  case GemmUnit::GemvN: {
    writer.addHeader("gemv.h");
    bool narrowN = schedule.getUnit() == GemmUnit::GemvN;
    threads = schedule.getDivideM();
    config = "fusec::GemvConfig<" + number(narrowN ? tileN : tileM) + ", " +
             number(threads) + ">";
    templateCall = std::string("fusec::gemv<Config, fusec::Narrow::") +
                   (narrowN ? "N>" : "M>");
    const MatrixAccess &wide =
        narrowN ? iteration->lhs[0] : iteration->rhs[0][0];
    bool alongK = wide.kStride.isConstant(1) || wide.kStride.isConstant(0);
    blocks =
        (narrowN ? iteration->m : iteration->n)
            .ceilDiv(Expr::constant(context, gemvOuters(alongK, threads))) *
        batch;
    break;
  }
  case GemmUnit::Wgmma:
  case GemmUnit::PingPong: {
    writer.addHeader("gemm_wgmma.h");
    int64_t clusterM = schedule.getClusterM(),
            clusterN = schedule.getClusterN();
    cluster = clusterM * clusterN;
    config = "fusec::WgmmaConfig<" + number(tileM) + ", " + number(tileN) +
             ", " + number(tileK) + ", " + number(schedule.getStages()) + ", " +
             number(clusterM) + ", fusec::WgmmaSchedule::" +
             (schedule.getUnit() == GemmUnit::PingPong ? "PingPong"
                                                       : "Cooperative") +
             ", " + number(clusterN) + ">";
    templateCall = "fusec::gemmWgmma<Config>";
    threads = wgmmaThreadsOf(tileM);
    shared = wgmmaSharedBytes(tileM, tileN, schedule.getStages(), accumulators,
                              !operandBoxes.empty());
    // Persistent: no more blocks than the device holds at once.
    Expr most = Expr::constant(context, schedule.getBlocks() / cluster);
    blocks =
        Expr::min(tiles(tileM * clusterM, tileN * clusterN), most) * cluster;
    break;
  }
  case GemmUnit::Skinny:
    writer.addHeader("gemm_skinny.h");
    cluster = schedule.getClusterM();
    config = "fusec::SkinnyConfig<" + number(tileM) + ", " +
             number(tileN / 64) + ", " + number(tileK) + ", " +
             number(schedule.getStages()) + ", " + number(cluster) + ">";
    templateCall = "fusec::gemmSkinny<Config>";
    threads = 160;
    shared = skinnySharedBytes(tileM, tileN / 64, schedule.getStages(), cluster,
                               accumulators);
    blocks = tiles(tileM, tileN) * cluster;
    break;
  case GemmUnit::Resident: {
    writer.addHeader("gemm_resident.h");
    int64_t consumers = schedule.getDivideM(), blocksK = 0, staged = 0;
    config = "fusec::ResidentConfig<" + print(iteration->n) + ", " +
             number(tileN) + ", " + number(consumers) + ", " +
             number(schedule.getStages()) + ">";
    templateCall = "fusec::gemmResident<Config>";
    threads = 128 * (1 + consumers);
    for (Expr k : iteration->k)
      blocksK += residentBlocksK(k.getValue(), bytes);
    for (auto &[store, box] : resultBoxes)
      staged += residentStagedBytes(tileN, wgmmaRowBytes / box.inner);
    shared = residentSharedBytes(tileN, accumulators, schedule.getStages(),
                                 consumers, staged, blocksK);
    blocks = Expr::min(tiles(residentRows, tileN),
                       Expr::constant(context, schedule.getBlocks()));
    break;
  }
  }
  writer.line("typedef " + config + " Config;");
  writer.line("const Epilogue epilogue = " + epilogue + ";");
  writer.line(templateCall + "({int(" + print(iteration->m) + "), int(" +
              print(iteration->n) + "), int(" + print(batch) + ")}, epilogue" +
              arguments + ");");
  std::string bounds = number(threads);
  if (schedule.getUnit() == GemmUnit::Skinny && schedule.getDivideM() > 1)
    bounds += ", " + number(schedule.getDivideM());
  KernelSource kernel = writer.finish({blocks, one(), one()}, threads, shared,
                                      (bounds.find(',') == std::string::npos
                                           ? "FUSEC_KERNEL("
                                           : "FUSEC_KERNEL_RESIDENT(") +
                                          bounds + ")");
  kernel.cluster = cluster;
  return kernel;
}

FailureOr<KernelSource> fusec::emitGemm(StepOp step, VariantAttr variant,
                                        StringRef symbol) {
  return GemmEmitter(step, variant, symbol).emit();
}
