// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Groups that merged greedily become a `fusec.fusion` each.

#include "compiler/Names.h"
#include "compiler/Passes.h"
#include "compiler/Remarks.h"
#include "compiler/analysis/Iteration.h"
#include "compiler/transforms/fusion/FusionGroups.h"
#include "compiler/transforms/fusion/GreedyFusion.h"
#include "compiler/transforms/fusion/Regroupings.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace fusec {
#define GEN_PASS_DEF_FORMFUSIONS
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace fusec;

//===----------------------------------------------------------------------===//
// Policy
//===----------------------------------------------------------------------===//

/// Concats of values that kernels with a root compute are assembled in place:
/// each kernel stores into its slice. A value can be stored in one place only.
static void assembleConcats(FusionGroups &groups) {
  llvm::DenseSet<Value> owned;
  for (unsigned id = 0; id < groups.getGroups().size(); ++id) {
    FusionGroup &group = groups.getGroup(id);
    auto concat =
        group.ops.size() == 1 ? dyn_cast<ConcatOp>(group.ops[0]) : nullptr;
    if (!concat)
      continue;
    SmallVector<Expr> whole =
        getDenseStrides(getSizes(concat.getResult()), concat.getContext());
    llvm::MapVector<Value, SmallVector<Expr>> slices;
    bool assembles = llvm::all_of(concat.getValues(), [&](Value operand) {
      SmallVector<Value> forms = followRegroupings(operand);
      Value value = forms.back();
      Operation *producer = value.getDefiningOp();
      auto from = producer ? groups.getGroupOf(producer) : std::nullopt;
      // Outputs are the caller's, and lookups read tables whose rows lie one
      // after another.
      bool hasOtherPlace = llvm::any_of(forms, [&](Value form) {
        return groups.isModelOutput(form) ||
               llvm::any_of(form.getUsers(), llvm::IsaPred<LookupOp, BagOp>);
      });
      auto strides = getStridesBehindRegroupings(operand, whole);
      if (!from || hasOtherPlace || owned.contains(value) || !strides ||
          !slices.insert({value, *strides}).second)
        return false;
      const FusionGroup &source = groups.getGroups()[*from];
      return !source.isAssembled &&
             (source.family != Family::Pointwise ||
              llvm::any_of(source.ops,
                           [](Operation *op) { return isa<LookupOp>(op); }));
    });
    if (assembles && !groups.slice(slices)) {
      remarkMissed(remarks::assembleConcat, concat.getLoc())
          << "a matmul computes or reads an operand in a form that a slice of "
             "the concat does not have";
    } else if (assembles) {
      group.isAssembled = true;
      for (auto &[value, strides] : slices)
        owned.insert(value);
      remarkPassed(remarks::assembleConcat, concat.getLoc())
          << "the concat is stored slice by slice by the kernels that compute "
             "its operands";
    }
  }
}

//===----------------------------------------------------------------------===//
// Mechanics
//===----------------------------------------------------------------------===//

/// "matmul_add_relu": the ops of the group, each once.
static std::string nameOf(const FusionGroup &group) {
  std::string name;
  llvm::SetVector<StringRef> words;
  for (Operation *op : group.ops)
    words.insert(isa<ContractionOp>(op) ? "matmul"
                                        : op->getName().stripDialect());
  for (StringRef word : words)
    if (name.size() + word.size() < 48)
      name += (name.empty() ? "" : "_") + word.str();
  return name;
}

namespace {
/// Writes one group as a region.
class FusionBuilder {
public:
  FusionBuilder(const FusionGroups &groups, unsigned id, const IRMapping &outer,
                OpBuilder &builder)
      : groups(groups), id(id), outer(outer), builder(builder) {}

  FusionOp build(ArrayRef<Value> outputs);

private:
  void cloneInto(Block &block, ArrayRef<Value> outputs);
  Value input(Value value);

  const FusionGroups &groups;
  unsigned id;
  const IRMapping &outer;
  OpBuilder &builder;
  IRMapping inner;
  llvm::SetVector<Value> inputs; // of the original model
};
} // namespace

FusionOp FusionBuilder::build(ArrayRef<Value> outputs) {
  const FusionGroup &group = groups.getGroups()[id];
  auto isInside = [&](Operation *op) { return groups.isInside(id, op); };
  SmallVector<Operation *> ops = collectInside(outputs, isInside);

  // A splat constant that a contraction or a lookup reads is a matrix in
  // memory.
  llvm::DenseSet<Value> inMemory;
  for (Operation *op : ops) {
    if (isa<ContractionOp, PairProductOp, BagOp>(op))
      for (Value operand : op->getOperands()) {
        while (operand.getDefiningOp() &&
               groups.isFree(operand.getDefiningOp()) &&
               operand.getDefiningOp()->getNumOperands() == 1)
          operand = operand.getDefiningOp()->getOperand(0);
        inMemory.insert(operand);
      }
    if (auto lookup = dyn_cast<LookupOp>(op))
      inMemory.insert(lookup.getTables().begin(), lookup.getTables().end());
  }

  auto isCloned = [&](Operation *op) {
    return isInside(op) &&
           !(isa<ConstantOp>(op) && inMemory.contains(op->getResult(0)));
  };
  for (Operation *op : ops)
    if (isCloned(op))
      for (Value operand : op->getOperands())
        if (!operand.getDefiningOp() || !isCloned(operand.getDefiningOp()))
          inputs.insert(operand);

  SmallVector<Value> operands;
  SmallVector<Location> locations;
  for (Value value : inputs)
    operands.push_back(outer.lookup(value));
  for (Operation *op : group.ops)
    locations.push_back(op->getLoc());
  SmallVector<Type> types =
      llvm::map_to_vector(outputs, [](Value v) { return v.getType(); });
  auto fusion = FusionOp::create(builder, builder.getFusedLoc(locations), types,
                                 group.family, nameOf(group), operands);
  Block &block = fusion.getBody().emplaceBlock();
  for (Value value : inputs)
    inner.map(value, block.addArgument(value.getType(), value.getLoc()));
  OpBuilder inside = OpBuilder::atBlockBegin(&block);
  for (Operation *op : ops) {
    if (!isCloned(op))
      continue;
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      auto value = cast<DenseElementsAttr>(constant.getValue())
                       .getSplatValue<TypedAttr>();
      inner.map(
          constant.getResult(),
          SplatOp::create(inside, op->getLoc(), constant.getType(), value));
      continue;
    }
    inside.clone(*op, inner);
  }
  SmallVector<Value> yielded =
      llvm::map_to_vector(outputs, [&](Value v) { return inner.lookup(v); });
  YieldOp::create(inside, fusion.getLoc(), yielded);
  return fusion;
}

/// Outputs that are inputs, constants or one another get an op of their own, so
/// that every output is computed by a kernel that stores it.
static void copyPlainOutputs(ModelOp model) {
  Operation *output = model.getBody().front().getTerminator();
  OpBuilder builder(output);
  llvm::DenseSet<Value> seen;
  for (OpOperand &operand : output->getOpOperands()) {
    Value value = operand.get();
    bool plain = !value.getDefiningOp() || isWeight(value.getDefiningOp());
    if (!plain && seen.insert(value).second)
      continue;
    SmallVector<int64_t> dimensions(getRank(value));
    std::iota(dimensions.begin(), dimensions.end(), 0);
    operand.set(BroadcastOp::create(builder, output->getLoc(), value.getType(),
                                    value,
                                    builder.getDenseI64ArrayAttr(dimensions)));
  }
}

namespace {
struct FormFusions : fusec::impl::FormFusionsBase<FormFusions> {
  using FormFusionsBase::FormFusionsBase;

  void runOnOperation() override {
    ModelOp model = getOperation();
    copyPlainOutputs(model);
    FusionGroups groups(model);
    if (fuse) {
      // Concats wait: whether they are assembled depends on who computes their
      // operands.
      std::optional<GreedyFusion> greedy(groups);
      for (unsigned id = 0; id < groups.getGroups().size(); ++id)
        if (isa<ConcatOp>(groups.getGroups()[id].ops[0]))
          groups.getGroup(id).isAssembled = true;
      greedy->run();
      for (unsigned id = 0; id < groups.getGroups().size(); ++id)
        if (FusionGroup &group = groups.getGroup(id); group.isAssembled) {
          group.isAssembled = false;
          ++group.version;
        }
      assembleConcats(groups);
      if (splitWideConcats(groups))
        greedy.emplace(groups);
      greedy->run();
      greedy->remarkRefusals();
    } else {
      splitWideConcats(groups);
    }

    Operation *output = model.getBody().front().getTerminator();
    OpBuilder builder(output);
    IRMapping mapping;
    for (BlockArgument argument : model.getBody().getArguments())
      mapping.map(argument, argument);
    SmallVector<Operation *> old, weights;
    for (Operation &op : model.getBody().front().without_terminator())
      (isWeight(&op) ? weights : old).push_back(&op);
    for (Operation *weight : weights)
      mapping.map(weight->getResult(0), weight->getResult(0));
    for (unsigned id : groups.getOrder()) {
      const FusionGroup &group = groups.getGroups()[id];
      SmallVector<Value> outputs = groups.getOutputs(group.ops);
      if (group.isAssembled) {
        buildAssembled(cast<ConcatOp>(group.ops[0]), mapping, builder);
        continue;
      }
      if (outputs.empty())
        continue; // dead
      FusionOp fusion =
          FusionBuilder(groups, id, mapping, builder).build(outputs);
      for (auto [value, result] : llvm::zip_equal(outputs, fusion.getResults()))
        mapping.map(value, result);
    }
    for (OpOperand &operand : output->getOpOperands())
      operand.set(mapping.lookup(operand.get()));
    for (Operation *op : llvm::reverse(old)) {
      op->dropAllUses();
      op->erase();
    }
    for (Operation *weight : weights)
      if (weight->use_empty())
        weight->erase();
  }

  /// The concat stays between fusions, with the regrouping views of its
  /// operands.
  void buildAssembled(ConcatOp concat, IRMapping &mapping, OpBuilder &builder) {
    std::function<void(Value)> cloneViews = [&](Value value) {
      if (mapping.contains(value))
        return;
      Operation *view = value.getDefiningOp();
      cloneViews(view->getOperand(0));
      builder.clone(*view, mapping);
    };
    for (Value operand : concat.getValues())
      cloneViews(operand);
    builder.clone(*concat, mapping);
  }
};
} // namespace
