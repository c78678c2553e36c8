// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/transforms/tensor/OuterProducts.h"
#include "compiler/transforms/tensor/Rewrites.h"
#include "ir/reference/Elements.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace fusec;

namespace {
/// Where an operand of the outer product is read: x, at [row, dimension 1 or 2
/// of the outer product].
struct Features {
  Value x;
  unsigned dim;
};

struct OuterProduct {
  Value x;
  int64_t features;
};
} // namespace

/// `value` at `indices`, which are over the sizes of the outer product: the
/// matrix behind views that has a row's features along one dimension.
static std::optional<Features>
traceFeatures(Value value, SmallVector<Expr> indices, ArrayRef<Expr> sizes) {
  MLIRContext *context = value.getContext();
  ExprRanges ranges(sizes);
  while (true) {
    if (getRank(value) == 2 && indices[0] == Expr::dim(context, 0))
      for (unsigned dim : {1, 2})
        if (indices[1] == Expr::dim(context, dim) &&
            getSizes(value)[1] == sizes[dim])
          return Features{value, dim};
    Operation *op = value.getDefiningOp();
    if (!op || !isa<CollapseOp, ExpandOp, TransposeOp, BroadcastOp>(op))
      return std::nullopt;
    IndexMap map =
        cast<IndexedOpInterface>(op).getOperandMap(0).compose(indices).simplify(
            ranges);
    indices = map.results;
    value = op->getOperand(0);
  }
}

/// The value is [row, i, j] of x_i x_j.
static std::optional<OuterProduct> matchOuterProduct(Value value) {
  SmallVector<Expr> sizes = getSizes(value);
  MLIRContext *context = value.getContext();
  if (sizes.size() != 3 || !sizes[1].isConstant() || sizes[1] != sizes[2])
    return std::nullopt;
  SmallVector<Expr> places = IndexMap::identity(context, 3).results, left,
                    right;
  Operation *op = value.getDefiningOp();
  if (auto matmul = dyn_cast_if_present<MatmulOp>(op)) {
    Expr zero = Expr::constant(context, 0);
    left = {places[0], places[1], zero};
    right = {places[0], zero, places[2]};
    if (matmul.getTransposeLhs())
      std::swap(left[1], left[2]);
    if (matmul.getTransposeRhs())
      std::swap(right[1], right[2]);
    if (!getSizes(matmul.getLhs())[matmul.getTransposeLhs() ? 1 : 2].isConstant(
            1))
      return std::nullopt;
  } else if (isa_and_present<MulOp>(op)) {
    left = right = places;
  } else {
    return std::nullopt;
  }
  auto a = traceFeatures(op->getOperand(0), left, sizes),
       b = traceFeatures(op->getOperand(1), right, sizes);
  if (!a || !b || a->x != b->x || a->dim == b->dim)
    return std::nullopt;
  return OuterProduct{a->x, sizes[1].getValue()};
}

namespace {
/// Where each column of a matrix is read, one step towards the outer product
/// after another: through views, and through a gather by constant indices.
class ColumnTrace {
public:
  ColumnTrace(Value matrix, bool transposed);

  std::optional<FlattenedPairs> match();

private:
  void walkViews();
  bool passGather(GatherOp gather);
  /// The constant behind the views of an index operand.
  bool readIndices(Value operand, std::vector<int64_t> &values) const;

  MLIRContext *context;
  Value value;
  /// Of each column, the index of `value` that it is read at; that of the row
  /// is counted as 0.
  std::vector<SmallVector<int64_t>> indices;
  /// Which dimension of `value` is the row.
  unsigned rowDim;
  bool isGood = true;
  SmallVector<Operation *> dead;
};
} // namespace

/// Of a matrix that is followed column by column: pairs of 1024 features.
static constexpr int64_t mostColumns = 1 << 20;

ColumnTrace::ColumnTrace(Value matrix, bool transposed)
    : context(matrix.getContext()), value(matrix), rowDim(transposed ? 1 : 0) {
  SmallVector<Expr> sizes = getSizes(matrix);
  isGood = sizes.size() == 2 && sizes[1 - rowDim].isConstant() &&
           sizes[1 - rowDim].getValue() <= mostColumns;
  if (!isGood)
    return;
  indices.resize(sizes[1 - rowDim].getValue(), {0, 0});
  for (auto [column, index] : llvm::enumerate(indices))
    index[1 - rowDim] = column;
}

/// Follows an index map, of whose results one is the row.
static bool follow(const IndexMap &map, unsigned &rowDim,
                   std::vector<SmallVector<int64_t>> &indices) {
  if (!map.conditions.empty())
    return false;
  MLIRContext *context = map.results.front().getContext();
  auto row = llvm::find(map.results, Expr::dim(context, rowDim));
  if (row == map.results.end())
    return false;
  unsigned nextRow = row - map.results.begin();
  for (SmallVector<int64_t> &index : indices) {
    SmallVector<int64_t> next;
    for (auto [d, expr] : llvm::enumerate(map.results)) {
      auto value = expr.evaluate([&](Expr leaf) -> std::optional<int64_t> {
        if (leaf.getKind() != ExprKind::Dim || leaf.getIndex() == rowDim)
          return std::nullopt;
        return index[leaf.getIndex()];
      });
      if (!value && d != nextRow)
        return false;
      next.push_back(d == nextRow ? 0 : *value);
    }
    index = std::move(next);
  }
  rowDim = nextRow;
  return true;
}

void ColumnTrace::walkViews() {
  ViewSource source = traceViews(value);
  if (source.value == value)
    return;
  isGood &= follow(source.map, rowDim, indices);
  for (; isGood && value != source.value;
       value = value.getDefiningOp()->getOperand(0)) {
    isGood &= value.hasOneUse();
    dead.push_back(value.getDefiningOp());
  }
}

bool ColumnTrace::readIndices(Value operand,
                              std::vector<int64_t> &values) const {
  ViewSource source = traceViews(operand);
  auto constant = source.value.getDefiningOp<ConstantOp>();
  std::string error;
  if (!constant || !source.map.conditions.empty())
    return false;
  auto tensor = reference::Tensor::fromConstant(constant.getValue(), error);
  if (failed(tensor))
    return false;
  std::vector<int64_t> all = reference::loadAll<int64_t>(*tensor);
  Expr at = linearize(source.map.results, getSizes(source.value), context);
  for (const SmallVector<int64_t> &index : indices) {
    auto place = at.evaluate([&](Expr leaf) -> std::optional<int64_t> {
      if (leaf.getKind() != ExprKind::Dim || leaf.getIndex() == rowDim)
        return std::nullopt;
      return index[leaf.getIndex()];
    });
    if (!place || *place < 0 || *place >= int64_t(all.size()))
      return false;
    values.push_back(all[*place]);
  }
  return true;
}

bool ColumnTrace::passGather(GatherOp gather) {
  SmallVector<Expr> sizes = getSizes(gather.getSource());
  ArrayRef<int64_t> positions = gather.getPositions();
  auto row = llvm::find(positions, int64_t(rowDim));
  if (!value.hasOneUse() || row == positions.end())
    return false;
  SmallVector<std::vector<int64_t>> read(gather.getIndices().size());
  for (auto [operand, values] : llvm::zip_equal(gather.getIndices(), read))
    if (!readIndices(operand, values))
      return false;
  unsigned nextRow = row - positions.begin();
  for (auto [column, index] : llvm::enumerate(indices)) {
    SmallVector<int64_t> next;
    for (auto [d, position] : llvm::enumerate(positions)) {
      int64_t at =
          position >= 0 ? index[position] : read[-1 - position][column];
      if (d != nextRow && !sizes[d].isConstant())
        return false;
      if (at < 0)
        at += sizes[d].getValue();
      if (d != nextRow && (at < 0 || at >= sizes[d].getValue()))
        return false;
      next.push_back(at);
    }
    index = std::move(next);
  }
  rowDim = nextRow;
  dead.push_back(gather);
  value = gather.getSource();
  return true;
}

std::optional<FlattenedPairs> ColumnTrace::match() {
  if (!isGood)
    return std::nullopt;
  walkViews();
  if (auto gather = value.getDefiningOp<GatherOp>(); isGood && gather) {
    isGood = passGather(gather);
    if (isGood)
      walkViews();
  }
  auto outer =
      isGood && value.hasOneUse() ? matchOuterProduct(value) : std::nullopt;
  if (!outer || rowDim != 0)
    return std::nullopt;
  dead.push_back(value.getDefiningOp());
  FlattenedPairs pairs{outer->x, outer->features, {}, std::move(dead)};
  llvm::BitVector seen(outer->features * outer->features);
  bool inOrder = indices.size() == seen.size();
  for (auto [column, index] : llvm::enumerate(indices)) {
    int64_t place = index[1] * outer->features + index[2];
    if (seen.test(place))
      return std::nullopt;
    seen.set(place);
    inOrder &= place == int64_t(column);
    pairs.places.push_back(place);
  }
  if (inOrder)
    pairs.places.clear();
  return pairs;
}

/// Whether an outer product lies behind the views and the gather that a trace
/// would follow column by column, which takes 64 bytes for each.
static bool comesFromOuterProduct(Value matrix) {
  Value source = traceViews(matrix).value;
  if (auto gather = source.getDefiningOp<GatherOp>())
    source = traceViews(gather.getSource()).value;
  return matchOuterProduct(source).has_value();
}

std::optional<FlattenedPairs> fusec::matchFlattenedPairs(Value matrix,
                                                         bool transposed) {
  if (!comesFromOuterProduct(matrix))
    return std::nullopt;
  return ColumnTrace(matrix, transposed).match();
}
