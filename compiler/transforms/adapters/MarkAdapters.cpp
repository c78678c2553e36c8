// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Marking low-rank updates that the user names.

#include "compiler/Names.h"
#include "compiler/Remarks.h"
#include "compiler/transforms/adapters/FollowUpdates.h"
#include "compiler/transforms/tensor/Rewrites.h"
#include "ir/reference/Elements.h"
#include "llvm/ADT/StringSet.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

int64_t fusec::getRankMultiple(Type elementType) {
  return 32 / getElementBytes(elementType);
}

static std::string sizesText(Value value) { return toString(getSizes(value)); }

/// What can be marked, for messages.
static std::string listUpdates(ModelOp model) {
  std::string text;
  std::vector<LowRankUpdate> updates = findLowRankUpdates(model);
  constexpr size_t most = 8;
  for (const LowRankUpdate &update : ArrayRef(updates).take_front(most))
    text += fmt::format("{}{}' {} with '{}' {}", text.empty() ? "'" : ", '",
                        update.a.getName(),
                        sizesText(ConstantOp(update.a.constant).getResult()),
                        update.b.getName(),
                        sizesText(ConstantOp(update.b.constant).getResult()));
  if (text.empty())
    return "the model has no low-rank update that is recognised";
  if (updates.size() > most)
    text += fmt::format(" and {} more", updates.size() - most);
  return fmt::format(
      "low-rank updates of the model: {}; 'fusec explain' prints the options",
      text);
}

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

namespace {
/// Finds the update that a request names, or says why it is none.
class Resolver {
public:
  Resolver(ModelOp model, const AdapterRequest &request)
      : model(model), request(request) {}

  std::optional<LowRankUpdate> resolve(int64_t maxRank);
  AdapterProblem takeProblem() { return std::move(problem); }

private:
  bool fail(const Twine &message, const Twine &note = "") {
    problem = {fmt::format("adapter '{}': {}", request.name, message.str()),
               note.str()};
    return false;
  }
  bool findFactor(StringRef name, LowRankFactor &factor);
  bool connect();
  bool checkScale();
  bool checkSizes(int64_t maxRank);
  bool checkRange();

  ModelOp model;
  const AdapterRequest &request;
  LowRankUpdate update;
  AdapterProblem problem;
};
} // namespace

bool Resolver::findFactor(StringRef name, LowRankFactor &factor) {
  ConstantOp found;
  for (auto constant : model.getBody().getOps<ConstantOp>())
    if (getNodeName(constant.getLoc()) == name)
      found = constant;
  std::string quoted = fmt::format("'{}'", name);
  for (auto weights : model.getBody().getOps<ReplaceableOp>())
    if (!found && getNodeName(weights.getLoc()) == name)
      return fail(quoted + " is changed as a whole already, by --replaceable "
                           "or --updatable; expected one of them");
  if (!found)
    return fail("there is no constant " + quoted, listUpdates(model));
  if (getRank(found.getResult()) != 2)
    return fail(fmt::format("expected {} to be a matrix, found sizes {}",
                            quoted, sizesText(found.getResult())),
                listUpdates(model));
  size_t uses = std::distance(found->use_begin(), found->use_end());
  Operation *user = uses == 1 ? *found->user_begin() : nullptr;
  if (auto transpose = dyn_cast_if_present<TransposeOp>(user)) {
    uses = std::distance(transpose->use_begin(), transpose->use_end());
    user = uses == 1 ? *transpose->user_begin() : nullptr;
  }
  if (uses != 1)
    return fail(
        fmt::format("expected {} to have one use, found {}", quoted, uses),
        "a constant that other parts of the model read too cannot be "
        "replaced; export the model with a copy of it");
  auto product = dyn_cast<MatmulOp>(user);
  std::optional<LowRankFactor> match =
      product ? getFactor(product) : std::nullopt;
  if (!match || match->constant != found)
    return fail(fmt::format("expected {} to be the right operand of a matrix "
                            "product, found it in '{}'",
                            quoted, user->getName().getStringRef()),
                listUpdates(model));
  factor = *match;
  return true;
}

/// Follows the left operand of B's product to A's.
bool Resolver::connect() {
  Value value = update.b.product.getLhs();
  while (true) {
    Operation *op = value.getDefiningOp();
    if (op && op == update.a.product) {
      if (!value.hasOneUse())
        return fail(fmt::format("expected the product with '{}' to be used in "
                                "the update only, found other uses",
                                request.a));
      return true;
    }
    Value next = op && value.hasOneUse() && !isa<MatmulOp>(op)
                     ? followBack(op, update)
                     : Value();
    if (!next)
      return fail(
          fmt::format("expected the left operand of the product with '{}' to "
                      "be the product with '{}', scaled at most, found {}",
                      request.b, request.a,
                      op ? fmt::format("'{}'", op->getName().getStringRef())
                         : std::string("an input of the model")),
          listUpdates(model));
    update.between.insert(update.between.begin(), op);
    value = next;
  }
}

static std::string numberText(double value) {
  return fmt::format("{:.6g}", value);
}

bool Resolver::checkScale() {
  if (request.scale.empty())
    return true;
  std::string found = update.scales.empty()
                          ? "no constant scale"
                          : "the scale " + numberText(update.scale);
  std::string name = update.getScaleName();
  if (!name.empty())
    found += fmt::format(", the constant '{}'", name);
  double number;
  if (StringRef(request.scale).getAsDouble(number)) {
    if (name != request.scale)
      return fail(fmt::format(
          "expected the update to be scaled by the constant '{}', found {}",
          request.scale, found));
    return true;
  }
  // Exporters write fp16 and bf16 scales.
  if (!std::isfinite(number))
    return fail(fmt::format(
        "expected the update's scale to be finite, found {}", request.scale));
  if (!(std::abs(number - update.scale) <= 0x1p-7 * std::abs(number)))
    return fail(fmt::format("expected the update to be scaled by {}, found {}",
                            request.scale, found));
  return true;
}

bool Resolver::checkSizes(int64_t maxRank) {
  for (const LowRankFactor *factor : {&update.a, &update.b}) {
    Type type = getElementType(ConstantOp(factor->constant).getResult());
    if (!type.isF16() && !type.isBF16() && !type.isF32()) {
      std::string text;
      llvm::raw_string_ostream(text) << type;
      return fail(fmt::format(
          "expected '{}' to have the type f16, bf16 or f32, found {}",
          factor->getName(), text));
    }
  }
  if (update.a.getColumns() != update.b.getRows())
    return fail(fmt::format(
        "expected '{}' and '{}' to have one rank, found {} and {}", request.a,
        request.b, update.a.getColumns(), update.b.getRows()));
  if (maxRank && update.getRank() > maxRank)
    return fail(
        fmt::format("its rank in the model, {}, is above --max-rank={}",
                    update.getRank(), maxRank),
        fmt::format("'{}' has sizes {}", request.a,
                    sizesText(ConstantOp(update.a.constant).getResult())));
  return true;
}

/// Whether the scale has room in B.
bool Resolver::checkRange() {
  std::string error;
  auto b = reference::Tensor::fromConstant(update.b.constant.getValue(), error);
  if (failed(b))
    return fail(fmt::format("'{}': {}", request.b, error));
  auto scaled = reference::Tensor::allocate(b->getElementType(), {1});
  for (float value : reference::loadAll<float>(*b)) {
    reference::store<float>(scaled, 0,
                            {static_cast<float>(value * update.scale)});
    if (std::isfinite(value) &&
        !std::isfinite(reference::loadAll<float>(scaled)[0]))
      return fail(
          fmt::format("the scale {} times an element of '{}' exceeds its type",
                      numberText(update.scale), request.b));
  }
  auto a = reference::Tensor::fromConstant(update.a.constant.getValue(), error);
  return succeeded(a) || fail(fmt::format("'{}': {}", request.a, error));
}

std::optional<LowRankUpdate> Resolver::resolve(int64_t maxRank) {
  if (!findFactor(request.a, update.a) || !findFactor(request.b, update.b))
    return std::nullopt;
  if (!connect())
    return std::nullopt;
  followForward(update);
  if (!checkScale() || !checkSizes(maxRank) || !checkRange())
    return std::nullopt;
  return std::move(update);
}

//===----------------------------------------------------------------------===//
// Mechanics
//===----------------------------------------------------------------------===//

/// The factor in the orientation that its product reads, in a corner of zeros.
static Value createReplaceable(OpBuilder &builder, StringRef adapter, bool isA,
                               const LowRankFactor &factor, int64_t rank,
                               double scale) {
  ConstantOp constant = factor.constant;
  MatmulOp product = factor.product;
  bool isTransposed = product.getTransposeRhs();
  std::string error;
  auto from = reference::Tensor::fromConstant(constant.getValue(), error);
  assert(succeeded(from) && "the resolver has read it");
  std::vector<float> values = reference::loadAll<float>(*from);
  ArrayRef<int64_t> sizes = from->getSizes();
  SmallVector<int64_t> padded(
      cast<RankedTensorType>(product.getRhs().getType()).getShape());
  padded[isA != isTransposed] = rank;
  auto to = reference::Tensor::allocate(from->getElementType(), padded);
  for (int64_t row = 0; row < sizes[0]; ++row) {
    std::vector<float> scaled;
    for (int64_t column = 0; column < sizes[1]; ++column)
      scaled.push_back(
          static_cast<float>(values[row * sizes[1] + column] * scale));
    if (!factor.transpose) {
      reference::store<float>(to, row * padded[1], scaled);
      continue;
    }
    for (auto [column, value] : llvm::enumerate(scaled))
      reference::store<float>(to, column * padded[1] + row, value);
  }
  AdapterPart part =
      isA ? (isTransposed ? AdapterPart::ATransposed : AdapterPart::A)
          : (isTransposed ? AdapterPart::BTransposed : AdapterPart::B);
  auto slot = ReplaceableAttr::get(builder.getContext(), adapter, part);
  auto type = RankedTensorType::get(padded, from->getElementType());
  return ReplaceableOp::create(builder, constant.getLoc(), type, slot,
                               to.toConstant(factor.getName()));
}

/// The type with another innermost size.
static Type withColumns(Type type, int64_t columns) {
  Sizes sizes = getSizes(type);
  sizes.back() = Expr::constant(type.getContext(), columns);
  return getTensorType(sizes, cast<RankedTensorType>(type).getElementType());
}

static void markUpdate(const AdapterRequest &request, LowRankUpdate &update,
                       int64_t rank) {
  MatmulOp first = update.a.product, second = update.b.product;
  OpBuilder builder(first);
  Value a = createReplaceable(builder, request.name, true, update.a, rank, 1);
  Value value = MatmulOp::create(
      builder, first.getLoc(), withColumns(first.getType(), rank),
      first.getLhs(), a, UnitAttr(), first.getTransposeRhsAttr());
  for (Operation *op : update.between) {
    if (isa<MulOp>(op))
      continue;
    builder.setInsertionPoint(op);
    Operation *clone = builder.clone(*op);
    clone->setOperand(0, value);
    clone->getResult(0).setType(
        cast<RankedTensorType>(withColumns(op->getResult(0).getType(), rank)));
    value = clone->getResult(0);
  }
  builder.setInsertionPoint(second);
  Value b = createReplaceable(builder, request.name, false, update.b, rank,
                              update.scale);
  value = MatmulOp::create(builder, second.getLoc(), second.getType(), value, b,
                           UnitAttr(), second.getTransposeRhsAttr());
  remarkPassed(remarks::markAdapter, first.getLoc())
      << fmt::format("the update '{}' of rank {} is replaceable up to rank {}",
                     request.name, update.getRank(), rank);
  second.getResult().replaceAllUsesWith(value);
  for (Operation *op : update.behind)
    if (isa<MulOp>(op)) {
      // Its operand is now the product, with the scale in B.
      LowRankUpdate ignored;
      op->getResult(0).replaceAllUsesWith(followBack(op, ignored));
    }

  SmallVector<Operation *> dead(update.behind.begin(), update.behind.end());
  llvm::erase_if(dead, [](Operation *op) { return !isa<MulOp>(op); });
  std::reverse(dead.begin(), dead.end());
  dead.push_back(second);
  dead.append(update.between.rbegin(), update.between.rend());
  dead.push_back(first);
  for (LowRankFactor *factor : {&update.a, &update.b}) {
    if (factor->transpose)
      dead.push_back(factor->transpose);
    dead.push_back(factor->constant);
  }
  for (Operation *op : dead)
    op->erase();
}

std::vector<AdapterProblem>
fusec::markAdapters(ModelOp model, ArrayRef<AdapterRequest> requests,
                    int64_t maxRank) {
  std::vector<AdapterProblem> problems;
  std::vector<LowRankUpdate> updates;
  llvm::StringSet<> names, constants;
  for (const AdapterRequest &request : requests) {
    if (!names.insert(request.name).second)
      problems.push_back(
          {fmt::format("adapter '{}' is given twice", request.name), ""});
    for (const std::string &constant : {request.a, request.b})
      if (!constants.insert(constant).second)
        problems.push_back(
            {fmt::format("adapter '{}': '{}' is part of an adapter already",
                         request.name, constant),
             ""});
    Resolver resolver(model, request);
    if (auto update = resolver.resolve(maxRank))
      updates.push_back(std::move(*update));
    else
      problems.push_back(resolver.takeProblem());
  }
  if (!problems.empty())
    return problems;
  for (auto [request, update] : llvm::zip_equal(requests, updates)) {
    int64_t multiple = getRankMultiple(
        getElementType(ConstantOp(update.a.constant).getResult()));
    int64_t rank = maxRank ? maxRank : update.getRank();
    markUpdate(request, update, llvm::alignTo(rank, multiple));
  }
  return {};
}
