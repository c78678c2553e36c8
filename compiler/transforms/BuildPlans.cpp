// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From fusions to plans: a buffer for every value that passes between kernels,
// a step for every fusion.

#include "compiler/Passes.h"
#include "compiler/Remarks.h"
#include "compiler/codegen/KernelSource.h"
#include "compiler/schedule/Schedules.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringSet.h"

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
      : model(model), target(target), context(model.getContext()) {}
  LogicalResult build();

private:
  Expr constant(int64_t value) { return Expr::constant(context, value); }
  std::string uniqueName(StringRef base);
  Place dense(Value value, BufferKind kind, int64_t index);
  Place newSlot(Value value);
  LogicalResult placeConcat(ConcatOp concat);
  std::optional<SmallVector<Expr>> stridesBehind(Operation *view,
                                                 ArrayRef<Expr> strides);
  void addBuffer(Value value, const Place &place, StringRef name,
                 ElementsAttr elements = {}, ReplaceableAttr slot = {});
  void addWeight(Operation *op, ElementsAttr elements,
                 ReplaceableAttr slot = {});
  void addStep(FusionOp fusion);

  ModelOp model;
  StringRef target;
  MLIRContext *context;
  PlanOp plan;
  OpBuilder builder{context};
  SmallVector<Attribute> slots;
  DenseMap<Value, Place> places;
  DenseMap<Value, std::string> names;
  llvm::StringSet<> used;
};
} // namespace

std::string PlanBuilder::uniqueName(StringRef base) {
  std::string clean = sanitizeIdentifier(base), name = clean;
  for (unsigned i = 2; !used.insert(name).second; ++i)
    name = clean + "_" + std::to_string(i);
  return name;
}

Place PlanBuilder::dense(Value value, BufferKind kind, int64_t index) {
  return {kind, index, constant(0), getDenseStrides(getSizes(value), context)};
}

Place PlanBuilder::newSlot(Value value) {
  Expr bytes = getElementCount(getSizes(value), context) *
               getElementBytes(getElementType(value));
  slots.push_back(bytes.getAttr());
  return dense(value, BufferKind::Slot, slots.size() - 1);
}

/// Strides of a regrouping view's operand from those of its result.
std::optional<SmallVector<Expr>>
PlanBuilder::stridesBehind(Operation *view, ArrayRef<Expr> strides) {
  Value source = view->getOperand(0);
  SmallVector<Expr> sizes = getSizes(source), result(sizes.size(), constant(1));
  if (auto collapse = dyn_cast<CollapseOp>(view)) {
    // A joined dimension is split again.
    for (auto [i, group] : llvm::enumerate(collapse.getReassociation())) {
      Expr stride = strides[i];
      for (Attribute index : llvm::reverse(cast<ArrayAttr>(group))) {
        int64_t d = cast<IntegerAttr>(index).getInt();
        result[d] = stride;
        stride = stride * sizes[d];
      }
    }
    return result;
  }
  auto expand = cast<ExpandOp>(view);
  SmallVector<Expr> inner = getSizes(expand.getResult());
  for (auto [i, group] : llvm::enumerate(expand.getReassociation())) {
    // Dimensions that are joined must lie one after another.
    std::optional<Expr> stride, next;
    for (Attribute index : llvm::reverse(cast<ArrayAttr>(group))) {
      int64_t d = cast<IntegerAttr>(index).getInt();
      if (inner[d].isConstant(1))
        continue;
      if (next && strides[d] != *next)
        return std::nullopt;
      if (!stride)
        stride = strides[d];
      next = strides[d] * inner[d];
    }
    if (stride)
      result[i] = *stride;
  }
  return result;
}

/// The operands of an assembled concat become slices of its buffer.
LogicalResult PlanBuilder::placeConcat(ConcatOp concat) {
  if (!places.count(concat.getResult())) {
    Place place = newSlot(concat.getResult());
    places[concat.getResult()] = place;
    addBuffer(concat.getResult(), place, "concat");
  }
  Place whole = places[concat.getResult()];
  int64_t bytes = getElementBytes(getElementType(concat.getResult()));
  Expr start = constant(0);
  unsigned axis = concat.getAxis();
  for (Value operand : concat.getValues()) {
    Place slice = whole;
    slice.offset = whole.offset + start * whole.strides[axis] * bytes;
    start = start + getSizes(operand)[axis];
    Value value = operand;
    while (Operation *view = value.getDefiningOp()) {
      if (!isa<CollapseOp, ExpandOp>(view))
        break;
      auto strides = stridesBehind(view, slice.strides);
      if (!strides)
        return concat.emitError(
            "cannot be assembled in place: an operand is a view whose "
            "dimensions do not lie one after another");
      slice.strides = *strides;
      value = view->getOperand(0);
    }
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
  names[value] = uniqueName(name);
  SmallVector<Attribute> strides = llvm::map_to_vector(
      place.strides, [](Expr e) { return Attribute(e.getAttr()); });
  BufferOp::create(builder, value.getLoc(), builder.getStringAttr(names[value]),
                   BufferKindAttr::get(context, place.kind),
                   builder.getI64IntegerAttr(place.index),
                   place.offset.getAttr(), builder.getArrayAttr(strides),
                   TypeAttr::get(value.getType()), elements, slot);
}

void PlanBuilder::addWeight(Operation *op, ElementsAttr elements,
                            ReplaceableAttr slot) {
  Value value = op->getResult(0);
  std::string node = getNodeName(op->getLoc());
  addBuffer(value, dense(value, BufferKind::Weight, 0),
            node.empty() ? "constant" : node, elements, slot);
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
      builder.getArrayAttr({plain}), builder.getStrArrayAttr(sources));
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
    addWeight(constant, constant.getValue());
  for (auto factor : block.getOps<ReplaceableOp>())
    addWeight(factor, factor.getValue(), factor.getSlot());
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
