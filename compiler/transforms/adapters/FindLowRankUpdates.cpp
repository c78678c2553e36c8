// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recognising low-rank updates.

#include "compiler/Names.h"
#include "compiler/transforms/adapters/FollowUpdates.h"
#include "compiler/transforms/fusion/Regroupings.h"
#include "compiler/transforms/tensor/Rewrites.h"
#include "llvm/ADT/SetVector.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

std::string LowRankFactor::getName() const {
  return getNodeName(ConstantOp(constant).getLoc());
}

static int64_t getMatrixSize(const LowRankFactor &factor, bool rows) {
  MatmulOp product = factor.product;
  auto sizes = cast<RankedTensorType>(product.getRhs().getType()).getShape();
  return sizes[rows == static_cast<bool>(product.getTransposeRhs())];
}
int64_t LowRankFactor::getRows() const { return getMatrixSize(*this, true); }
int64_t LowRankFactor::getColumns() const {
  return getMatrixSize(*this, false);
}

std::string LowRankUpdate::getScaleName() const {
  if (scales.size() != 1)
    return "";
  MulOp mul = scales[0];
  for (Value factor : {mul.getRhs(), mul.getLhs()}) {
    Value source = traceViews(factor).value;
    if (auto constant = source.getDefiningOp<ConstantOp>();
        constant && getSplatValue(factor))
      return getNodeName(constant.getLoc());
  }
  return "";
}

std::optional<LowRankFactor> fusec::getFactor(MatmulOp product) {
  LowRankFactor factor;
  factor.product = product;
  Value matrix = product.getRhs();
  if (getRank(matrix) != 2 || product.getTransposeLhs())
    return std::nullopt;
  factor.transpose = matrix.getDefiningOp<TransposeOp>();
  if (factor.transpose)
    matrix = factor.transpose.getOperand();
  factor.constant = matrix.getDefiningOp<ConstantOp>();
  if (!factor.constant)
    return std::nullopt;
  return factor;
}

/// The factor of a product with one constant float, and the operand it scales.
static std::optional<std::pair<double, Value>> getScale(MulOp op) {
  for (auto [value, factor] : {std::pair(op.getLhs(), op.getRhs()),
                               std::pair(op.getRhs(), op.getLhs())})
    if (auto real = dyn_cast_if_present<FloatAttr>(getSplatValue(factor)))
      return std::pair(real.getValueAsDouble(), Value(value));
  return std::nullopt;
}

/// Whether the view regroups rows only, so that the innermost dimension stays.
static bool keepsColumns(Operation *view, ArrayAttr reassociation,
                         unsigned ofRank) {
  if (reassociation.empty())
    return false;
  auto last = dyn_cast<ArrayAttr>(reassociation.getValue().back());
  return ofRank > 0 && last && last.size() == 1;
}

Value fusec::followBack(Operation *op, LowRankUpdate &update) {
  if (auto mul = dyn_cast<MulOp>(op)) {
    auto scale = getScale(mul);
    if (!scale)
      return {};
    update.scales.push_back(mul);
    update.scale *= scale->first;
    return scale->second;
  }
  if (auto expand = dyn_cast<ExpandOp>(op);
      expand &&
      keepsColumns(op, expand.getReassociation(), getRank(expand.getOperand())))
    return expand.getOperand();
  if (auto collapse = dyn_cast<CollapseOp>(op);
      collapse && keepsColumns(op, collapse.getReassociation(),
                               getRank(collapse.getResult())))
    return collapse.getOperand();
  auto cast = dyn_cast<CastOp>(op);
  return cast && isa<FloatType>(getElementType(cast.getResult()))
             ? cast.getOperand()
             : Value();
}

void fusec::followForward(LowRankUpdate &update) {
  Value value = update.b.product.getResult();
  while (value.hasOneUse()) {
    Operation *user = *value.user_begin();
    if (!isa<MulOp, ExpandOp, CollapseOp, CastOp>(user) ||
        followBack(user, update) != value)
      break;
    update.behind.push_back(user);
    value = user->getResult(0);
  }
}

/// The update whose second product this is.
static std::optional<LowRankUpdate> matchUpdate(MatmulOp second) {
  LowRankUpdate update;
  auto b = getFactor(second);
  if (!b)
    return std::nullopt;
  update.b = *b;
  Value value = second.getLhs();
  while (Operation *op = value.hasOneUse() ? value.getDefiningOp() : nullptr) {
    if (auto first = dyn_cast<MatmulOp>(op)) {
      auto a = getFactor(first);
      if (!a)
        return std::nullopt;
      update.a = *a;
      followForward(update);
      return update;
    }
    Value next = followBack(op, update);
    if (!next)
      return std::nullopt;
    update.between.insert(update.between.begin(), op);
    value = next;
  }
  return std::nullopt;
}

static Value skipReshapes(Value value) {
  return followRegroupings(value).back();
}

/// Whether a product of `x` is among what additions add up to the value; many
/// paths may lead to one of them.
static bool addsProductOf(Value sum, Value x) {
  llvm::SetVector<Value> summands;
  summands.insert(skipReshapes(sum));
  for (unsigned i = 0; i < summands.size(); ++i) {
    if (auto add = summands[i].getDefiningOp<AddOp>())
      for (Value operand : add->getOperands())
        summands.insert(skipReshapes(operand));
    auto product = summands[i].getDefiningOp<MatmulOp>();
    if (product && skipReshapes(product.getLhs()) == x)
      return true;
  }
  return false;
}

std::vector<LowRankUpdate> fusec::findLowRankUpdates(ModelOp model) {
  std::vector<LowRankUpdate> updates;
  for (auto second : model.getBody().getOps<MatmulOp>()) {
    auto update = matchUpdate(second);
    if (!update || !update->a.constant->hasOneUse() ||
        !update->b.constant->hasOneUse())
      continue;
    Operation *last = update->behind.empty() ? second : update->behind.back();
    auto add =
        last->hasOneUse() ? dyn_cast<AddOp>(*last->user_begin()) : AddOp();
    if (!add)
      continue;
    Value other =
        add.getLhs() == last->getResult(0) ? add.getRhs() : add.getLhs();
    bool isNarrow = 2 * update->getRank() <= update->a.getRows() &&
                    2 * update->getRank() <= update->b.getColumns();
    if (isNarrow ||
        addsProductOf(other, skipReshapes(update->a.product.getLhs())))
      updates.push_back(std::move(*update));
  }
  return updates;
}

std::string fusec::suggestAdapterName(const LowRankUpdate &update,
                                      ArrayRef<std::string> taken) {
  // "layers.0.lora_A.weight" is the update of "layers.0".
  std::string full = update.a.getName();
  StringRef name = full;
  name.consume_back(".weight");
  name.consume_back(".default");
  for (StringRef end : {"lora_A", "lora.A", "lora_a", "A", "a"})
    if (name.consume_back(end))
      break;
  name = name.rtrim("._/");
  std::string base = sanitizeName(name);
  if (base.empty())
    base = "adapter";
  std::string unique = base;
  for (unsigned i = 2; llvm::is_contained(taken, unique); ++i)
    unique = fmt::format("{}_{}", base, i);
  return unique;
}
