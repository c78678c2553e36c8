// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/bundle/ManifestBuilder.h"
#include "compiler/analysis/IndexRanges.h"
#include "compiler/analysis/Leads.h"
#include "compiler/analysis/Tables.h"
#include "compiler/bundle/LaunchWork.h"
#include "compiler/device/flag_words.h"
#include "compiler/kernels/gemm/device/gemm_config.h"
#include "compiler/schedule/Targets.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace fusec;

static_assert(format::mostSize32 == mostExtent,
              "launches check what kernels count");
static_assert(format::flagWords == FlagWords::launches &&
                  format::flagSizeWord == FlagWords::size &&
                  format::mostFlagWords == FlagWords::mostFlags,
              "kernels find flags where sessions have them");

/// The oldest driver that loads what this NVRTC writes: cubins load on every
/// driver of the same major version that knows the device, PTX on those that
/// know its version of the language.
static unsigned getMinDriver(StringRef target, const NvrtcVersion &nvrtc) {
  if (target == "ptx")
    return nvrtc.major * 1000 + nvrtc.minor * 10;
  const Target *known = findTarget(target);
  return std::max<unsigned>(nvrtc.major * 1000, known ? known->minDriver : 0);
}

/// What a reader of the manifest needs to find an element.
static std::string describeLayout(BufferOp buffer) {
  llvm::json::Array strides, sizes;
  for (auto stride : buffer.getStrides().getAsRange<ExprAttr>())
    strides.push_back(Expr(stride).str());
  for (Expr size : getSizes(buffer.getType()))
    sizes.push_back(size.str());
  std::optional<format::DType> dtype = convertElementType(
      cast<RankedTensorType>(buffer.getType()).getElementType());
  llvm::json::Object layout{{"sizes", std::move(sizes)},
                            {"strides", std::move(strides)}};
  if (dtype)
    layout["dtype"] = std::string(format::dtypeName(*dtype));
  return llvm::formatv("{0}", llvm::json::Value(std::move(layout))).str();
}

//===----------------------------------------------------------------------===//
// The interface
//===----------------------------------------------------------------------===//

FailureOr<std::vector<format::TensorSpec>>
ManifestBuilder::getSpecs(ModelOp model, ArrayAttr names, TypeRange types) {
  std::vector<format::TensorSpec> specs;
  for (auto [name, type] :
       llvm::zip_equal(names.getAsRange<StringAttr>(), types)) {
    std::optional<format::DType> dtype =
        convertElementType(cast<RankedTensorType>(type).getElementType());
    FailureOr<std::vector<format::Expr>> sizes = exprs.convert(getSizes(type));
    if (!dtype || failed(sizes))
      return model.emitOpError("expected ")
             << name << " to have a type that a bundle can name, got " << type;
    specs.push_back({name.str(), *dtype, std::move(*sizes)});
  }
  return specs;
}

LogicalResult ManifestBuilder::addInterface(ModelOp model) {
  Block &body = model.getBody().front();
  auto inputs = getSpecs(model, model.getInputNames(), body.getArgumentTypes());
  auto outputs = getSpecs(model, model.getOutputNames(),
                          body.getTerminator()->getOperandTypes());
  if (failed(inputs) || failed(outputs))
    return failure();
  manifest.inputs = std::move(*inputs);
  for (auto [input, ranges] :
       llvm::zip_equal(manifest.inputs, findIndexRanges(model)))
    input.indexRanges = std::move(ranges);
  manifest.outputs = std::move(*outputs);
  for (auto constraint : model.getConstraints().getAsRange<ConstraintAttr>()) {
    FailureOr<format::Expr> lhs = exprs.convert(constraint.getLhs());
    FailureOr<format::Expr> rhs = exprs.convert(constraint.getRhs());
    if (failed(lhs) || failed(rhs))
      return model.emitOpError("has a constraint that is not about sizes: ")
             << constraint;
    manifest.constraints.push_back(
        {std::move(*lhs), std::move(*rhs), constraint.getReason().str()});
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

void ManifestBuilder::markChanging(format::Weight &weight,
                                   ReplaceableAttr slot) {
  AdapterPart part = slot.getPart();
  if (part == AdapterPart::Whole) {
    // The buffer's name may have been taken by an input.
    weight.name = slot.getName().str();
    weight.updatable = llvm::is_contained(updatable, weight.name);
    weight.replaceable = !weight.updatable;
    return;
  }
  weight.replaceable = true;
  bool isA = part == AdapterPart::A || part == AdapterPart::ATransposed;
  weight.adapter = slot.getName().str();
  weight.part = isA ? format::AdapterPart::A : format::AdapterPart::B;
  weight.isTransposed =
      part == AdapterPart::ATransposed || part == AdapterPart::BTransposed;
  weight.pack = isA ? R"(["cast","pad"])" : R"(["scale","cast","pad"])";
}

LogicalResult ManifestBuilder::addBuffer(BufferOp buffer, format::Plan &plan,
                                         Places &places) {
  Place place{format::Pointer::Kind::Buffer,
              static_cast<unsigned>(buffer.getIndex()), buffer};
  std::string name = buffer.getSymName().str();
  auto type = cast<RankedTensorType>(buffer.getType());
  switch (buffer.getKind()) {
  case BufferKind::Input:
    place.kind = format::Pointer::Kind::Input;
    break;
  case BufferKind::Output:
    place.kind = format::Pointer::Kind::Output;
    break;
  case BufferKind::Weight: {
    ReplaceableAttr slot = buffer.getReplaceableAttr();
    WeightPool::Place at = weights.getPlace(buffer);
    place.kind = format::Pointer::Kind::Weight;
    place.index = plan.weights.size();
    format::Weight weight;
    weight.name = name;
    weight.section = weightsSection;
    weight.offset = at.offset;
    weight.size = at.size;
    weight.alignment = WeightPool::alignment;
    weight.sizes.assign(type.getShape().begin(), type.getShape().end());
    weight.layout = describeLayout(buffer);
    if (std::optional<format::DType> dtype =
            convertElementType(type.getElementType()))
      weight.dtype = *dtype;
    if (slot)
      markChanging(weight, slot);
    weight.table = tables.contains(buffer) && !weight.replaceable;
    plan.weights.push_back(std::move(weight));
    break;
  }
  case BufferKind::Slot: {
    // The range that the buffer's elements span: its last element's end.
    Expr bytes = Expr::constant(buffer.getContext(), 1);
    bool isEmpty = false;
    for (auto [size, stride] : llvm::zip_equal(
             getSizes(type), buffer.getStrides().getAsRange<ExprAttr>())) {
      isEmpty |= size.isConstant(0);
      bytes = bytes + (size - 1) * Expr(stride);
    }
    // A dynamic size of zero makes this negative, where the buffer is empty.
    Expr zero = Expr::constant(buffer.getContext(), 0);
    bytes = isEmpty ? zero
                    : Expr::max(zero,
                                bytes * getElementBytes(type.getElementType()));
    FailureOr<format::Expr> offset = exprs.convert(buffer.getOffset());
    FailureOr<format::Expr> size = exprs.convert(bytes);
    if (failed(offset) || failed(size))
      return buffer.emitOpError("expected a place that depends on sizes alone");
    plan.buffers.push_back({name, place.index, std::move(*offset),
                            std::move(*size), describeLayout(buffer)});
    place.index = plan.buffers.size() - 1;
    break;
  }
  }
  places.try_emplace(name, place);
  return success();
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

FailureOr<format::Param> ManifestBuilder::getParam(const KernelParam &param,
                                                   const Places &places) {
  switch (param.kind) {
  case KernelParam::Kind::Fault:
    return format::Param(format::FaultParam());
  case KernelParam::Kind::Flags:
    return format::Param(
        format::FlagsParam{unsigned(param.words), unsigned(param.team)});
  case KernelParam::Kind::Size: {
    FailureOr<format::Expr> value = exprs.convert(param.size);
    if (failed(value))
      return failure();
    return format::Param(format::SizeParam{
        param.bits == 32 ? format::DType::I32 : format::DType::I64,
        std::move(*value)});
  }
  case KernelParam::Kind::Buffer:
  case KernelParam::Kind::TensorMap:
    break;
  }
  auto it = places.find(param.buffer);
  if (it == places.end())
    return failure();
  BufferOp buffer = it->second.op;
  bool isMap = param.kind == KernelParam::Kind::TensorMap;
  Expr start = isMap ? param.map.offset
                     : Expr::constant(buffer.getContext(), param.offset);
  // A buffer of the arena carries its own offset.
  if (it->second.kind != format::Pointer::Kind::Buffer)
    start = start + Expr(buffer.getOffset());
  FailureOr<format::Expr> offset = exprs.convert(start);
  if (failed(offset))
    return failure();
  format::Pointer pointer{it->second.kind, it->second.index,
                          std::move(*offset)};
  if (!isMap)
    return format::Param(std::move(pointer));
  Type element = param.map.element;
  FailureOr<std::vector<format::Expr>> sizes = exprs.convert(param.map.sizes);
  FailureOr<std::vector<format::Expr>> strides =
      exprs.convert(param.map.strides);
  if (failed(sizes) || failed(strides))
    return failure();
  format::TensorMapParam map;
  map.of = std::move(pointer);
  map.dtype = element.isF16()        ? format::MapType::F16
              : element.isBF16()     ? format::MapType::BF16
              : element.isInteger(8) ? format::MapType::U8
              : param.map.rounds     ? format::MapType::TF32
                                     : format::MapType::F32;
  map.sizes = std::move(*sizes);
  map.strides = std::move(*strides);
  map.box.assign(param.map.box.begin(), param.map.box.end());
  map.swizzle = param.map.swizzle;
  map.promotion = param.map.promotion;
  return format::Param(std::move(map));
}

FailureOr<format::Launch>
ManifestBuilder::getLaunch(StepOp step, VariantAttr variant,
                           const EmittedLaunch &emitted, const Places &places) {
  format::Launch launch;
  launch.section = sections[emitted.kernel];
  launch.symbol = kernels.getKernels()[emitted.kernel].symbol;
  LaunchAttr planned = variant.getLaunch();
  FailureOr<format::Expr> blocks = exprs.convert(planned.getBlocks());
  if (failed(blocks))
    return step.emitOpError("has a grid that does not depend on sizes alone");
  launch.grid[0] = std::move(*blocks);
  launch.block[0] = planned.getThreads();
  launch.cluster[0] = planned.getCluster();
  launch.smem = planned.getShared();
  launch.cooperative = planned.getCooperative();
  for (const KernelParam &param : emitted.source.params) {
    FailureOr<format::Param> converted = getParam(param, places);
    if (failed(converted))
      return step.emitOpError(
          "has a kernel parameter that the manifest cannot express");
    launch.params.push_back(std::move(*converted));
  }
  return launch;
}

LogicalResult
ManifestBuilder::addLedVariants(StepOp led, const Places &places,
                                const std::vector<format::Variant> &own,
                                std::vector<format::Variant> &variants) {
  for (auto variant : led.getVariants().getAsRange<VariantAttr>()) {
    std::vector<format::Condition> guard;
    if (failed(addGuards(variant, led, places, guard)))
      return failure();
    if (hasLead(variant)) {
      variants.push_back({std::move(guard), {}});
      continue;
    }
    for (const format::Variant &launched : own) {
      variants.push_back({guard, launched.launches});
      llvm::append_range(variants.back().guard, launched.guard);
    }
  }
  return success();
}

LogicalResult ManifestBuilder::addPlan(const EmittedPlan &emitted) {
  PlanOp op = emitted.plan;
  format::Plan plan;
  plan.target = op.getSymName().str();
  plan.minDriver = getMinDriver(op.getSymName(), nvrtc);
  bool canStartEarly = findTarget(plan.target)->major >= 9;
  for (auto slot : op.getSlots().getAsRange<ExprAttr>()) {
    FailureOr<format::Expr> size = exprs.convert(Expr(slot));
    if (failed(size))
      return op.emitOpError(
          "has a slot whose size is not an expression of sizes");
    plan.slots.push_back(std::move(*size));
  }
  tables = findTables(op);
  llvm::DenseSet<Operation *> stored;
  for (BufferOp weight : getStoredWeights(op))
    stored.insert(weight);
  Leads leads(op);
  llvm::DenseMap<StepOp, unsigned> numbers;
  for (auto [number, step] : llvm::enumerate(op.getOps<StepOp>()))
    numbers[step] = number;
  Places places;
  for (BufferOp buffer : op.getOps<BufferOp>()) {
    if (buffer.getKind() == BufferKind::Weight && !stored.contains(buffer))
      continue;
    if (failed(addBuffer(buffer, plan, places)))
      return failure();
  }
  for (auto [step, launches] :
       llvm::zip_equal(op.getOps<StepOp>(), emitted.steps)) {
    format::Step to;
    to.name = step.getName().str();
    for (auto source : step.getSources().getAsRange<StringAttr>())
      to.sources.push_back(source.str());
    std::vector<format::Variant> own;
    auto variants = step.getVariants().getAsRange<VariantAttr>();
    for (auto [variant, launch] : llvm::zip(variants, launches)) {
      format::Variant &out = own.emplace_back();
      if (failed(addGuards(variant, step, places, out.guard)))
        return failure();
      FailureOr<format::Launch> converted =
          getLaunch(step, variant, launch, places);
      if (failed(converted))
        return failure();
      converted->pdl = canStartEarly && variant.getLaunch().getEarly();
      StepOp leading = hasLead(variant) ? findLeadingStep(step) : StepOp();
      converted->work = getLaunchWork(step, variant, leading, exprs);
      if (converted->work && leading)
        converted->work->lead = numbers.at(leading);
      plan.smem = std::max(plan.smem, converted->smem);
      plan.cluster = std::max(plan.cluster, converted->cluster[0]);
      out.launches.push_back(std::move(*converted));
    }
    if (StepOp led = leads.findLedStep(step)) {
      if (failed(addLedVariants(led, places, own, to.variants)))
        return failure();
    } else {
      to.variants = std::move(own);
    }
    plan.steps.push_back(std::move(to));
  }
  manifest.plans.push_back(std::move(plan));
  return success();
}

LogicalResult ManifestBuilder::build(ModelOp model) {
  if (failed(addInterface(model)))
    return failure();
  for (const EmittedPlan &plan : kernels.getPlans())
    if (failed(addPlan(plan)))
      return failure();
  manifest.dims = exprs.getDims();
  manifest.nvrtc = nvrtc.str();
  return success();
}
