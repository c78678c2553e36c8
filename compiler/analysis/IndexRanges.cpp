// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each use of a table is traced back from its index to an input. On the way the
// interval of rows that exist becomes the interval of the input's values that
// lead there, element by element where constants differ by column.

#include "compiler/analysis/IndexRanges.h"
#include "compiler/analysis/Views.h"
#include "ir/Constants.h"
#include "ir/ShapeRules.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fusec;

namespace {
/// Points of an index tensor that are looked at one by one, and columns of an
/// input that are told apart.
constexpr int64_t mostPoints = 1 << 16, mostColumns = 1 << 12;

/// Values from begin to below end. Behind a remainder any value has a row, and
/// these reach all of them.
struct Interval {
  int64_t begin, end;
  bool isHashed = false;
};

/// What happens to an index on its way from the input, with a constant.
struct Term {
  enum Kind { Add, Subtract, Modulo, Divide, AtLeast, AtMost } kind;
  Value constant;
  SmallVector<Expr> at; // its index, by the point of the index tensor
};

/// How one use of a table reads an input.
struct Path {
  BlockArgument input;
  SmallVector<Expr> at;      // the input's index, by the same point
  SmallVector<Term> terms;   // the table's side first
  SmallVector<Expr> extents; // of the points
};

/// The tables' rows that a column's values stand for, by all uses.
struct Column {
  std::optional<Interval> rows;
  Value table;
};

/// The value behind views and fusions; `at` becomes the index into it.
Value traceBack(Value value, SmallVector<Expr> &at, ArrayRef<Expr> extents) {
  while (true) {
    ViewSource source = traceViews(leaveFusions(value));
    at = source.map.compose(at).simplify(ExprRanges(extents)).results;
    if (source.value == value)
      return value;
    value = source.value;
  }
}

bool isKnown(Value value) {
  SmallVector<Expr> at =
      IndexMap::identity(value.getContext(), getRank(value)).results;
  Operation *op = traceBack(value, at, getSizes(value)).getDefiningOp();
  return isa_and_present<ConstantOp, SplatOp>(op);
}

class RangeFinder {
public:
  explicit RangeFinder(ModelOp model)
      : body(&model.getBody().front()), columns(body->getNumArguments()) {
    for (auto [list, argument] : llvm::zip_equal(columns, body->getArguments()))
      list.resize(countColumns(argument));
  }
  void addUses(Operation *op);
  std::vector<std::vector<format::IndexRange>> getRanges() const;

private:
  static int64_t countColumns(BlockArgument input);
  /// `column` is that of the index tensor where it indexes one table a column.
  void addUse(Value table, unsigned dim, Value index,
              std::optional<int64_t> column = std::nullopt);
  bool addTerm(Operation *op, Path &path, Value &value) const;
  std::optional<Path> trace(Value index, std::optional<int64_t> column) const;
  void addPath(const Path &path, Value table, int64_t rows);
  std::optional<Interval> invert(const Path &path, ArrayRef<int64_t> point,
                                 int64_t rows);
  std::optional<int64_t> read(const Term &term, ArrayRef<int64_t> point);
  void merge(Column &column, Interval rows, Value table);

  Block *body;
  std::vector<std::vector<Column>> columns; // by input
  DenseMap<Attribute, ConstantData> constants;
};
} // namespace

/// 1 where all values of the input are one column.
int64_t RangeFinder::countColumns(BlockArgument input) {
  SmallVector<Expr> sizes = getSizes(input);
  std::optional<int64_t> last =
      sizes.empty() ? std::nullopt : sizes.back().getConstant();
  return last && *last <= mostColumns ? std::max<int64_t>(*last, 1) : 1;
}

void RangeFinder::addUses(Operation *op) {
  if (auto gather = dyn_cast<GatherOp>(op)) {
    for (auto [dim, position] : llvm::enumerate(gather.getPositions()))
      if (position < 0)
        addUse(gather.getSource(), dim, gather.getIndices()[-1 - position]);
  } else if (auto lookup = dyn_cast<LookupOp>(op)) {
    for (auto [column, table] : llvm::enumerate(lookup.getTables()))
      addUse(table, 0, lookup.getIndices(), column);
  } else if (auto bag = dyn_cast<BagOp>(op)) {
    for (auto [table, index] :
         llvm::zip_equal(bag.getTables(), bag.getIndices()))
      addUse(table, 0, index);
  }
}

void RangeFinder::addUse(Value table, unsigned dim, Value index,
                         std::optional<int64_t> column) {
  std::optional<int64_t> rows = getSizes(table)[dim].getConstant();
  if (!rows || *rows == 0)
    return;
  if (std::optional<Path> path = trace(index, column))
    addPath(*path, leaveFusions(table), *rows);
}

/// Whether the op is one that intervals pass; `value` becomes its operand.
bool RangeFinder::addTerm(Operation *op, Path &path, Value &value) const {
  if (isa<CastOp>(op)) {
    value = op->getOperand(0);
    return isa<IntegerType>(getElementType(value));
  }
  if (auto select = dyn_cast<SelectOp>(op)) {
    // Counted from the end where negative, or replaced where masked.
    value = isKnown(select.getFalseValue()) ? select.getTrueValue()
                                            : select.getFalseValue();
    return true;
  }
  std::optional<Term::Kind> kind =
      llvm::TypeSwitch<Operation *, std::optional<Term::Kind>>(op)
          .Case<AddOp>([](auto) { return Term::Add; })
          .Case<SubOp>([](auto) { return Term::Subtract; })
          .Case<ModOp>([](auto) { return Term::Modulo; })
          .Case<DivOp>([](auto) { return Term::Divide; })
          .Case<MaxOp>([](auto) { return Term::AtLeast; })
          .Case<MinOp>([](auto) { return Term::AtMost; })
          .Default([](auto) { return std::nullopt; });
  if (!kind)
    return false;
  unsigned known = isKnown(op->getOperand(1)) ? 1 : 0;
  if (known == 0 &&
      (!op->hasTrait<OpTrait::IsCommutative>() || !isKnown(op->getOperand(0))))
    return false;
  Term term{*kind, op->getOperand(known), path.at};
  term.constant = traceBack(term.constant, term.at, path.extents);
  path.terms.push_back(std::move(term));
  value = op->getOperand(1 - known);
  return true;
}

std::optional<Path> RangeFinder::trace(Value index,
                                       std::optional<int64_t> column) const {
  Path path;
  path.extents = getSizes(index);
  path.at = IndexMap::identity(index.getContext(), getRank(index)).results;
  if (column) {
    path.at.back() = Expr::constant(index.getContext(), *column);
    path.extents.back() = Expr::constant(index.getContext(), 1);
  }
  for (Value value = index;;) {
    value = traceBack(value, path.at, path.extents);
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      path.input = argument;
      // What is true or false is drawn as such.
      return getElementType(argument).isInteger(1) ? std::nullopt
                                                   : std::optional(path);
    }
    if (!addTerm(value.getDefiningOp(), path, value))
      return std::nullopt;
  }
}

static std::optional<int64_t> evaluateAt(Expr expr, ArrayRef<int64_t> point) {
  return expr.evaluate([&](Expr leaf) -> std::optional<int64_t> {
    if (leaf.getKind() != ExprKind::Dim || leaf.getIndex() >= point.size())
      return std::nullopt;
    return point[leaf.getIndex()];
  });
}

/// The element of the term's constant.
std::optional<int64_t> RangeFinder::read(const Term &term,
                                         ArrayRef<int64_t> point) {
  Operation *op = term.constant.getDefiningOp();
  if (auto splat = dyn_cast<SplatOp>(op)) {
    auto value = dyn_cast<IntegerAttr>(splat.getValue());
    return value ? std::optional(value.getValue().getSExtValue())
                 : std::nullopt;
  }
  auto constant = cast<ConstantOp>(op);
  int64_t element = 0;
  for (auto [size, at] : llvm::zip_equal(getSizes(term.constant), term.at)) {
    std::optional<int64_t> index = evaluateAt(at, point);
    if (!index)
      return std::nullopt;
    element = element * size.getValue() + *index;
  }
  auto [it, isNew] = constants.try_emplace(constant.getValue());
  std::string error;
  if (isNew)
    if (FailureOr<ConstantData> data =
            getConstantData(constant.getValue(), error);
        succeeded(data))
      it->second = std::move(*data);
  auto type = cast<IntegerType>(getElementType(term.constant));
  size_t bytes = getElementBytes(type);
  if (it->second.bytes.size() < (element + 1) * bytes)
    return std::nullopt;
  uint64_t value = 0;
  for (size_t i = bytes; i-- != 0;)
    value = value << 8 | uint8_t(it->second.bytes[element * bytes + i]);
  return type.isUnsigned() || bytes == 8 ? int64_t(value)
                                         : llvm::SignExtend64(value, 8 * bytes);
}

/// Of the input's values those that reach rows below `rows`; nothing where none
/// do, or nobody knows.
std::optional<Interval>
RangeFinder::invert(const Path &path, ArrayRef<int64_t> point, int64_t rows) {
  Interval values{0, rows};
  for (const Term &term : path.terms) {
    std::optional<int64_t> by = read(term, point);
    if (!by)
      return std::nullopt;
    bool overflows = false;
    int64_t shift = term.kind == Term::Add ? *by : -*by;
    switch (term.kind) {
    case Term::Add:
    case Term::Subtract:
      // Of what is hashed one value is as good as its neighbour.
      if (!values.isHashed)
        overflows = llvm::SubOverflow(values.begin, shift, values.begin) ||
                    llvm::SubOverflow(values.end, shift, values.end);
      break;
    case Term::Modulo:
      if (*by <= 0)
        return std::nullopt;
      if (!values.isHashed)
        values = {0, *by, true};
      break;
    case Term::Divide:
      if (*by <= 0)
        return std::nullopt;
      overflows = llvm::MulOverflow(values.begin, *by, values.begin) ||
                  llvm::MulOverflow(values.end, *by, values.end);
      break;
    case Term::AtLeast:
      values.begin = std::max(values.begin, *by);
      break;
    case Term::AtMost:
      if (*by != INT64_MAX)
        values.end = std::min(values.end, *by + 1);
      break;
    }
    if (overflows)
      return std::nullopt;
  }
  return values;
}

void RangeFinder::merge(Column &column, Interval rows, Value table) {
  rows.begin = std::max<int64_t>(rows.begin, 0);
  if (rows.begin >= rows.end)
    return;
  std::optional<Interval> &known = column.rows;
  bool isOther = !known || (known->isHashed && !rows.isHashed);
  if (isOther || (known->isHashed && known->end < rows.end)) {
    known = rows;
    column.table = table;
  } else if (!known->isHashed && !rows.isHashed) {
    // The smallest table counts.
    int64_t begin = std::max(known->begin, rows.begin);
    int64_t end = std::min(known->end, rows.end);
    if (begin < end && end - begin < known->end - known->begin)
      column.table = table;
    if (begin < end)
      known = Interval{begin, end};
  }
}

/// The dims that elements of the input or of constants depend on.
static SmallVector<unsigned> findDims(const Path &path) {
  llvm::SmallSetVector<unsigned, 4> dims;
  auto add = [&](Expr expr) {
    expr.walkLeaves([&](Expr leaf) {
      if (leaf.getKind() == ExprKind::Dim)
        dims.insert(leaf.getIndex());
    });
  };
  if (!path.at.empty())
    add(path.at.back());
  for (const Term &term : path.terms)
    for (Expr at : term.at)
      add(at);
  return dims.takeVector();
}

/// Where columns of one index tensor have parts of a table of their own, a part
/// ends where the next one begins.
static void endAtNext(llvm::MapVector<int64_t, Interval> &found) {
  SmallVector<int64_t> begins;
  for (const auto &[column, rows] : found)
    if (!rows.isHashed)
      begins.push_back(rows.begin);
  llvm::sort(begins);
  for (auto &[column, rows] : found) {
    auto next = std::lower_bound(begins.begin(), begins.end(), rows.begin);
    if (!rows.isHashed && next != begins.begin() && next != begins.end())
      rows.end = std::min(rows.end, rows.begin - *std::prev(next) +
                                        std::max<int64_t>(rows.begin, 0));
  }
}

void RangeFinder::addPath(const Path &path, Value table, int64_t rows) {
  std::vector<Column> &list = columns[path.input.getArgNumber()];
  SmallVector<unsigned> dims = findDims(path);
  SmallVector<int64_t> point(path.extents.size(), 0);
  int64_t points = 1;
  for (unsigned dim : dims) {
    std::optional<int64_t> extent = path.extents[dim].getConstant();
    if (!extent || llvm::MulOverflow(points, *extent, points))
      points = mostPoints + 1;
  }
  bool differs = llvm::any_of(path.terms, [](const Term &term) {
    return !term.at.empty() && isa<ConstantOp>(term.constant.getDefiningOp());
  });
  bool isEach = points <= mostPoints;
  if (!isEach && differs)
    return;
  llvm::MapVector<int64_t, Interval> found;
  for (int64_t i = 0, count = isEach ? points : 1; i != count; ++i) {
    int64_t left = i;
    for (unsigned dim : isEach ? dims : SmallVector<unsigned>()) {
      int64_t extent = *path.extents[dim].getConstant();
      point[dim] = left % extent;
      left /= extent;
    }
    std::optional<int64_t> column = 0;
    if (isEach && list.size() > 1)
      column = evaluateAt(path.at.back(), point);
    std::optional<Interval> values = invert(path, point, rows);
    if (!column || *column < 0 || *column >= int64_t(list.size()) || !values)
      return;
    auto [it, isNew] = found.try_emplace(*column, *values);
    if (!isNew && !values->isHashed && !it->second.isHashed)
      it->second = {std::max(it->second.begin, values->begin),
                    std::min(it->second.end, values->end)};
  }
  endAtNext(found);
  if (!isEach)
    for (size_t i = 1; i < list.size(); ++i)
      found.try_emplace(int64_t(i), found.front().second);
  for (const auto &[column, values] : found)
    merge(list[column], values, table);
}

std::vector<std::vector<format::IndexRange>> RangeFinder::getRanges() const {
  std::vector<std::vector<format::IndexRange>> ranges;
  for (const std::vector<Column> &list : columns) {
    std::vector<format::IndexRange> &runs = ranges.emplace_back();
    Value last;
    for (const Column &column : list) {
      Interval rows = column.rows.value_or(Interval{0, 0});
      if (!runs.empty() && last == column.table &&
          runs.back().begin == rows.begin && runs.back().end == rows.end)
        ++runs.back().columns;
      else
        runs.push_back({rows.begin, rows.end, 1});
      last = column.table;
    }
    if (runs.size() == 1)
      runs[0].columns = 0;
    if (llvm::all_of(runs, [](auto &run) { return run.begin == run.end; }))
      runs.clear();
  }
  return ranges;
}

std::vector<std::vector<format::IndexRange>>
fusec::findIndexRanges(ModelOp model) {
  RangeFinder finder(model);
  model.walk([&](Operation *op) { finder.addUses(op); });
  return finder.getRanges();
}
