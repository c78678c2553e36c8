// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From fusions to plans: a buffer for every value that passes between kernels,
// a step for every fusion.

#include "compiler/Names.h"
#include "compiler/Passes.h"
#include "compiler/Remarks.h"
#include "compiler/kernels/Family.h"
#include "compiler/transforms/fusion/Regroupings.h"
#include "compiler/transforms/plan/CountPairParts.h"
#include "compiler/transforms/plan/RowPitch.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace fusec {
#define GEN_PASS_DEF_BUILDPLANS
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace fusec;

namespace {
/// Where a value lies.
struct Place {
  BufferKind kind;
  int64_t index;
  Expr offset; // bytes
  SmallVector<Expr> strides;
};

class PlanBuilder {
public:
  PlanBuilder(ModelOp model, StringRef target)
      : model(model), target(target), context(model.getContext()),
        pitches(chooseRowPitches(model)) {}
  LogicalResult build();

private:
  Expr constant(int64_t value) { return Expr::constant(context, value); }
  Place dense(Value value, BufferKind kind, int64_t index);
  Place newSlot(Value value);
  LogicalResult placeConcat(ConcatOp concat);
  std::optional<SmallVector<Place>> placeOperands(ConcatOp concat,
                                                  const Place &whole);
  void addBuffer(Value value, const Place &place, StringRef name,
                 ElementsAttr elements = {}, ReplaceableAttr slot = {});
  LogicalResult addConstant(ConstantOp constant);
  void addReplaceable(ReplaceableOp factor);
  void addStep(FusionOp fusion);

  ModelOp model;
  StringRef target;
  MLIRContext *context;
  llvm::DenseMap<Value, int64_t> pitches; // of rows, in elements
  PlanOp plan;
  OpBuilder builder{context};
  SmallVector<Attribute> slots;
  DenseMap<Value, Place> places;
  DenseMap<Value, std::string> names;
  UniqueNames used;
};
} // namespace

Place PlanBuilder::dense(Value value, BufferKind kind, int64_t index) {
  return {kind, index, constant(0), getDenseStrides(getSizes(value), context)};
}

Place PlanBuilder::newSlot(Value value) {
  Place place = dense(value, BufferKind::Slot, slots.size());
  SmallVector<Expr> sizes = getSizes(value);
  if (auto pitch = pitches.find(value); pitch != pitches.end()) {
    place.strides = getPitchedStrides(sizes, pitch->second, context);
    sizes.back() = constant(pitch->second);
  }
  slots.push_back(
      (getElementCount(sizes, context) * getElementBytes(getElementType(value)))
          .getAttr());
  return place;
}

/// Where the operands of an assembled concat lie in its buffer; nothing where
/// one is a view whose dimensions would not lie one after another.
std::optional<SmallVector<Place>>
PlanBuilder::placeOperands(ConcatOp concat, const Place &whole) {
  int64_t bytes = getElementBytes(getElementType(concat.getResult()));
  Expr start = constant(0);
  unsigned axis = concat.getAxis();
  SmallVector<Place> slices;
  for (Value operand : concat.getValues()) {
    Place &slice = slices.emplace_back(whole);
    slice.offset = whole.offset + start * whole.strides[axis] * bytes;
    start = start + getSizes(operand)[axis];
    auto strides = getStridesBehindRegroupings(operand, slice.strides);
    if (!strides)
      return std::nullopt;
    slice.strides = *strides;
  }
  return slices;
}

/// The operands of an assembled concat become slices of its buffer.
LogicalResult PlanBuilder::placeConcat(ConcatOp concat) {
  bool isPlaced = places.count(concat.getResult());
  Place whole =
      isPlaced ? places[concat.getResult()] : newSlot(concat.getResult());
  auto slices = placeOperands(concat, whole);
  if (!slices)
    return concat.emitError("cannot be assembled in place: an operand is a "
                            "view whose dimensions do not lie one after "
                            "another");
  if (!isPlaced) {
    places[concat.getResult()] = whole;
    addBuffer(concat.getResult(), whole, "concat");
  }
  for (auto [operand, slice] : llvm::zip_equal(concat.getValues(), *slices)) {
    Value value = followRegroupings(operand).back();
    places[value] = slice;
    std::string name;
    if (auto fusion = value.getDefiningOp<FusionOp>())
      name = fusion.getName().str();
    addBuffer(value, slice, name);
  }
  return success();
}

void PlanBuilder::addBuffer(Value value, const Place &place, StringRef name,
                            ElementsAttr elements, ReplaceableAttr slot) {
  names[value] = used.add(name);
  SmallVector<Attribute> strides = llvm::map_to_vector(
      place.strides, [](Expr e) { return Attribute(e.getAttr()); });
  BufferOp::create(builder, value.getLoc(), builder.getStringAttr(names[value]),
                   BufferKindAttr::get(context, place.kind),
                   builder.getI64IntegerAttr(place.index),
                   place.offset.getAttr(), builder.getArrayAttr(strides),
                   TypeAttr::get(value.getType()), elements, slot);
}

static std::string getWeightName(Operation *op) {
  std::string node = getNodeName(op->getLoc());
  return node.empty() ? "constant" : node;
}

LogicalResult PlanBuilder::addConstant(ConstantOp constant) {
  Place place = dense(constant, BufferKind::Weight, 0);
  ElementsAttr elements = constant.getValue();
  if (auto pitch = pitches.find(constant); pitch != pitches.end()) {
    std::string error;
    FailureOr<ElementsAttr> padded = padRows(elements, pitch->second, error);
    if (failed(padded))
      return constant.emitOpError(error);
    elements = *padded;
    place.strides =
        getPitchedStrides(getSizes(constant), pitch->second, context);
  }
  addBuffer(constant, place, getWeightName(constant), elements);
  return success();
}

/// Dense: who replaces the value packs it so.
void PlanBuilder::addReplaceable(ReplaceableOp factor) {
  addBuffer(factor, dense(factor, BufferKind::Weight, 0), getWeightName(factor),
            factor.getValue(), factor.getSlot());
}

void PlanBuilder::addStep(FusionOp fusion) {
  auto symbols = [&](ValueRange values) {
    SmallVector<Attribute> refs;
    for (Value value : values)
      refs.push_back(FlatSymbolRefAttr::get(context, names.lookup(value)));
    return builder.getArrayAttr(refs);
  };
  auto plain = VariantAttr::get(context, {},
                                getPlainSchedule(fusion.getFamily(), context));
  SmallVector<StringRef> sources;
  std::vector<std::string> sourceNames = getSourceNames(fusion.getLoc());
  sources.assign(sourceNames.begin(), sourceNames.end());
  auto step = StepOp::create(
      builder, fusion.getLoc(), fusion.getNameAttr(), fusion.getFamilyAttr(),
      symbols(fusion.getInputs()), symbols(fusion.getResults()),
      builder.getArrayAttr({plain}), builder.getStrArrayAttr(sources),
      /*lead=*/nullptr);
  IRMapping mapping;
  fusion.getBody().cloneInto(&step.getBody(), mapping);
}

LogicalResult PlanBuilder::build() {
  builder.setInsertionPointToEnd(model->getBlock());
  plan = PlanOp::create(builder, model.getLoc(), target, model.getSymName(),
                        builder.getArrayAttr({}));
  builder.setInsertionPointToStart(&plan.getBody().emplaceBlock());

  Block &block = model.getBody().front();
  for (BlockArgument argument : block.getArguments()) {
    unsigned index = argument.getArgNumber();
    auto name = cast<StringAttr>(model.getInputNames()[index]);
    addBuffer(argument, dense(argument, BufferKind::Input, index),
              name.getValue());
  }
  for (OpOperand &operand : block.getTerminator()->getOpOperands()) {
    Value value = operand.get();
    auto name =
        cast<StringAttr>(model.getOutputNames()[operand.getOperandNumber()]);
    places[value] =
        dense(value, BufferKind::Output, operand.getOperandNumber());
    addBuffer(value, places[value], name.getValue());
  }
  for (auto constant : block.getOps<ConstantOp>())
    if (failed(addConstant(constant)))
      return failure();
  for (auto factor : block.getOps<ReplaceableOp>())
    addReplaceable(factor);
  for (auto concat : block.getOps<ConcatOp>())
    if (failed(placeConcat(concat)))
      return failure();
  for (auto fusion : block.getOps<FusionOp>()) {
    for (Value result : fusion.getResults()) {
      if (names.count(result))
        continue;
      places[result] = newSlot(result);
      addBuffer(result, places[result], fusion.getName());
    }
  }
  for (auto fusion : block.getOps<FusionOp>())
    addStep(fusion);
  plan.setSlotsAttr(builder.getArrayAttr(slots));
  countPairParts(plan, *findTarget(target));
  return success();
}

namespace {
struct BuildPlans : fusec::impl::BuildPlansBase<BuildPlans> {
  using BuildPlansBase::BuildPlansBase;

  void runOnOperation() override {
    SmallVector<ModelOp> models =
        llvm::to_vector(getOperation().getOps<ModelOp>());
    if (models.size() > 1) {
      models[1].emitError("is the second model: plans are named by their "
                          "target, so that a module holds one model");
      return signalPassFailure();
    }
    for (ModelOp model : models)
      for (const std::string &target : targets) {
        if (!findTarget(target)) {
          model.emitError("there is no target '") << target << "'";
          return signalPassFailure();
        }
        if (failed(PlanBuilder(model, target).build()))
          return signalPassFailure();
      }
  }
};
} // namespace
