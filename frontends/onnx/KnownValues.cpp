// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "frontends/onnx/KnownValues.h"
#include "frontends/onnx/KnownArithmetic.h"
#include "frontends/onnx/SizeAgreement.h"
#include "ir/Constants.h"
#include "llvm/ADT/APSInt.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>

using namespace mlir;

namespace fusec::onnx {

using Elements = llvm::SmallVector<Expr>;

// Shape operands have a few elements each; index tensors of models have many
// and are data.
constexpr int64_t maxElements = 1024;
// Floats only matter as the bounds of a Range.
constexpr int64_t maxFloatElements = 16;
// Work on all of them together, counted in elements that are numbers.
constexpr int64_t maxWork = 1 << 22;

/// Terms are compared with each other.
static int64_t getWork(Expr element) {
  if (element.isConstant())
    return 1;
  int64_t nodes = countNodes(element);
  return 1 + nodes * nodes / 8;
}

/// Number of elements of a tensor that may be worth knowing. Of floats, whole
/// numbers are known.
static std::optional<int64_t> getCount(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  Type element = type.getElementType();
  if (element.isUnsignedInteger() || !type.hasStaticShape())
    return std::nullopt;
  int64_t most = isa<FloatType>(element) ? maxFloatElements : maxElements;
  int64_t count = 1;
  for (int64_t size : type.getShape())
    if (llvm::MulOverflow(count, size, count) || count > most)
      return std::nullopt;
  return count;
}

//===----------------------------------------------------------------------===//
// Elements of an op
//===----------------------------------------------------------------------===//

/// Calls back with each index of a static shape, in row-major order, until the
/// callback gives false.
static bool forEachIndex(ArrayRef<Expr> sizes,
                         llvm::function_ref<bool(ArrayRef<Expr>)> callback) {
  SmallVector<int64_t> index(sizes.size(), 0);
  SmallVector<Expr> exprs;
  for (Expr size : sizes) {
    if (size.getValue() == 0)
      return true;
    exprs.push_back(size - size);
  }
  while (true) {
    if (!callback(exprs))
      return false;
    size_t d = sizes.size();
    while (d > 0 && ++index[d - 1] == sizes[d - 1].getValue())
      index[--d] = 0;
    if (d == 0)
      return true;
    for (size_t i = d - 1; i < sizes.size(); ++i)
      exprs[i] = Expr::constant(sizes[i].getContext(), index[i]);
  }
}

/// Position of the element that the map reads at an iteration index.
static std::optional<int64_t> locate(const IndexMap &map, ArrayRef<Expr> index,
                                     ArrayRef<Expr> sizes) {
  for (const IndexCondition &condition : map.conditions) {
    auto value = condition.value.replaceDims(index).getConstant();
    auto lower = condition.lower.getConstant(),
         upper = condition.upper.getConstant();
    if (!value || !lower || !upper || *value < *lower || *value >= *upper)
      return std::nullopt;
  }
  int64_t position = 0;
  for (auto [result, size] : llvm::zip_equal(map.results, sizes)) {
    auto value = result.replaceDims(index).getConstant();
    if (!value || !size.isConstant() || *value < 0 || *value >= size.getValue())
      return std::nullopt;
    position = position * size.getValue() + *value;
  }
  return position;
}

/// The number, if it is a whole one of moderate size.
static std::optional<int64_t> getWhole(llvm::APFloat value) {
  llvm::APSInt integer(64, /*isUnsigned=*/false);
  bool exact;
  value.convertToInteger(integer, llvm::APFloat::rmTowardZero, &exact);
  if (!exact)
    return std::nullopt;
  return integer.getSExtValue();
}

static std::optional<Elements> readFloats(ConstantOp op) {
  auto attr = dyn_cast<DenseFPElementsAttr>(op.getValue());
  if (!attr)
    return std::nullopt;
  Elements elements;
  for (llvm::APFloat value : attr) {
    auto number = getWhole(value);
    if (!number)
      return std::nullopt;
    elements.push_back(Expr::constant(op.getContext(), *number));
  }
  return elements;
}

static std::optional<Elements> readConstant(ConstantOp op) {
  if (isa<FloatType>(getElementType(op.getResult())))
    return readFloats(op);
  std::string error;
  auto data = getConstantData(op.getValue(), error);
  if (failed(data))
    return std::nullopt;
  Elements elements;
  Type type = getElementType(op.getResult());
  size_t width = getElementBytes(type);
  for (size_t i = 0; i < data->bytes.size(); i += width) {
    uint64_t bits = 0;
    std::memcpy(&bits, data->bytes.data() + i, width);
    int64_t value = type.isInteger(1) ? static_cast<int64_t>(bits)
                                      : llvm::SignExtend64(bits, 8 * width);
    elements.push_back(Expr::constant(op.getContext(), value));
  }
  return elements;
}

namespace {
/// Evaluates one op whose operands are known.
class OpEvaluator {
public:
  OpEvaluator(Operation *op, int64_t count,
              const llvm::DenseMap<Value, Elements> &known)
      : op(op), count(count), known(known) {}

  std::optional<Elements> run() {
    if (auto constant = dyn_cast<ConstantOp>(op))
      return readConstant(constant);
    if (auto splat = dyn_cast<SplatOp>(op))
      return runSplat(splat.getValue());
    if (auto size = dyn_cast<SizeValueOp>(op))
      return Elements{Expr(size.getValue())};
    if (isa<IotaOp>(op))
      return runIota();
    for (Value operand : op->getOperands())
      if (!known.contains(operand))
        return std::nullopt;
    if (isa<GatherOp>(op))
      return runGather();
    if (isa<ReduceOp>(op))
      return runReduce();
    if (isa<PointwiseOpInterface>(op))
      return runPointwise();
    if (cast<IndexedOpInterface>(op).getFusionKind() == FusionKind::View)
      return runView();
    return std::nullopt;
  }

private:
  ArrayRef<Expr> of(unsigned operand) {
    return known.find(op->getOperand(operand))->second;
  }
  Type resultType() { return getElementType(op->getResult(0)); }

  std::optional<Elements> runSplat(Attribute attr) {
    std::optional<int64_t> number;
    if (auto real = dyn_cast<FloatAttr>(attr))
      number = getWhole(real.getValue());
    else if (llvm::APInt value = cast<IntegerAttr>(attr).getValue();
             value.getBitWidth() == 1)
      number = value.getZExtValue();
    else
      number = value.getSExtValue();
    if (!number)
      return std::nullopt;
    return Elements(count, Expr::constant(op->getContext(), *number));
  }

  std::optional<Elements> runIota() {
    Elements elements;
    unsigned axis = cast<IotaOp>(op).getAxis();
    forEachIndex(getSizes(op->getResult(0)), [&](ArrayRef<Expr> index) {
      elements.push_back(index[axis]);
      return true;
    });
    return elements;
  }

  std::optional<Elements> runPointwise() {
    Elements elements;
    Type type = resultType();
    if (isa<FloatType>(getElementType(op->getOperand(0))) &&
        !isSameOnWholeFloats(op))
      return std::nullopt;
    for (int64_t i = 0; i < count; ++i) {
      std::optional<Expr> value;
      if (isa<SelectOp>(op)) {
        auto condition = of(0)[i].getConstant();
        if (of(1)[i] == of(2)[i])
          value = of(1)[i];
        else if (condition)
          value = *condition ? of(1)[i] : of(2)[i];
      } else if (op->getNumOperands() == 2) {
        value = applyBinary(op, of(0)[i], of(1)[i]);
      } else {
        value = applyUnary(op, of(0)[i]);
      }
      value = fitting(value, type);
      if (!value)
        return std::nullopt;
      elements.push_back(*value);
    }
    return elements;
  }

  std::optional<Elements> runView() {
    auto indexed = cast<IndexedOpInterface>(op);
    SmallVector<IndexMap> maps;
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      maps.push_back(indexed.getOperandMap(i));
    Elements elements;
    bool complete =
        forEachIndex(getSizes(op->getResult(0)), [&](ArrayRef<Expr> index) {
          for (auto [i, map] : llvm::enumerate(maps))
            if (auto position =
                    locate(map, index, getSizes(op->getOperand(i)))) {
              elements.push_back(of(i)[*position]);
              return true;
            }
          return false;
        });
    return complete ? std::optional(elements) : std::nullopt;
  }

  std::optional<Elements> runGather() {
    auto gather = cast<GatherOp>(op);
    SmallVector<Expr> sizes = getSizes(gather.getSource());
    Elements elements;
    int64_t at = 0;
    bool complete =
        forEachIndex(getSizes(op->getResult(0)), [&](ArrayRef<Expr> index) {
          int64_t position = 0;
          for (auto [d, p] : llvm::enumerate(gather.getPositions())) {
            auto value = (p >= 0 ? index[p] : of(-p)[at]).getConstant();
            int64_t size = sizes[d].getValue();
            if (value && *value < 0)
              *value += size;
            if (!value || *value < 0 || *value >= size)
              return false;
            position = position * size + *value;
          }
          ++at;
          elements.push_back(of(0)[position]);
          return true;
        });
    return complete ? std::optional(elements) : std::nullopt;
  }

  std::optional<Elements> runReduce() {
    auto reduce = cast<ReduceOp>(op);
    if (resultType().isInteger(1))
      return std::nullopt;
    SmallVector<Expr> operand = getSizes(reduce.getOperand()),
                      result = getSizes(op->getResult(0));
    SmallVector<std::optional<Expr>> values(count);
    int64_t at = 0;
    bool complete = forEachIndex(operand, [&](ArrayRef<Expr> index) {
      int64_t position = 0, r = 0;
      for (size_t d = 0; d < operand.size(); ++d)
        if (!llvm::is_contained(reduce.getAxes(), static_cast<int64_t>(d)))
          position = position * result[r++].getValue() + index[d].getValue();
      std::optional<Expr> &value = values[position];
      value = fitting(value ? combine(reduce.getKind(), *value, of(0)[at])
                            : of(0)[at],
                      resultType());
      ++at;
      return value.has_value();
    });
    if (!complete)
      return std::nullopt;
    Elements elements;
    bool isProduct = reduce.getKind() == ReduceKind::Prod;
    for (std::optional<Expr> value : values) {
      if (!value && !isProduct && reduce.getKind() != ReduceKind::Sum)
        return std::nullopt;
      elements.push_back(value ? *value
                               : Expr::constant(op->getContext(), isProduct));
    }
    return elements;
  }

  static std::optional<Expr> combine(ReduceKind kind, Expr a, Expr b) {
    switch (kind) {
    case ReduceKind::Sum:
      return a + b;
    case ReduceKind::Prod:
      if (countTerms(a) * countTerms(b) > maxTerms)
        return std::nullopt;
      return a * b;
    case ReduceKind::Max:
      return Expr::max(a, b);
    case ReduceKind::Min:
      return Expr::min(a, b);
    }
    return std::nullopt;
  }

  Operation *op;
  int64_t count;
  const llvm::DenseMap<Value, Elements> &known;
};
} // namespace

void KnownValues::evaluate(Operation *op) {
  if (op->getNumResults() != 1 || !isa<IndexedOpInterface, ConstantOp>(op))
    return;
  auto count = getCount(op->getResult(0));
  if (!count)
    return;
  work += *count * std::max(1u, op->getNumOperands());
  if (work > maxWork)
    return;
  auto elements = OpEvaluator(op, *count, known).run();
  if (!elements)
    return;
  for (Expr element : *elements)
    work += getWork(element);
  known[op->getResult(0)] = std::move(*elements);
}

void KnownValues::catchUp() {
  Operation *op = last            ? last->getNextNode()
                  : block.empty() ? nullptr
                                  : &block.front();
  for (; op; op = op->getNextNode()) {
    evaluate(op);
    last = op;
  }
}

std::optional<Elements> KnownValues::get(Value value) {
  catchUp();
  auto it = known.find(value);
  if (it == known.end())
    return std::nullopt;
  return it->second;
}

} // namespace fusec::onnx
