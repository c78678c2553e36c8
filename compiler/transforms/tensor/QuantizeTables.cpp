// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables of floats become integers of 8 or 4 bits with a factor a row, where
// all that reads them gathers rows: an eighth to half of the memory, and of
// what bags read. The error is said.

#include "compiler/Passes.h"
#include "compiler/transforms/tensor/BagPatterns.h"
#include "ir/Constants.h"
#include "ir/reference/Elements.h"
#include <cmath>
#include <fmt/core.h>

namespace fusec {
#define GEN_PASS_DEF_QUANTIZETABLES
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace mlir;
using namespace fusec;

namespace {
/// A table as integers, a factor a row, and how far off they are.
struct NarrowTable {
  std::vector<char> elements;
  std::vector<float> factors;
  double largest = 0, error = 0;
};

struct QuantizeTables : fusec::impl::QuantizeTablesBase<QuantizeTables> {
  using QuantizeTablesBase::QuantizeTablesBase;

  void runOnOperation() override {
    for (ConstantOp table :
         llvm::to_vector(getOperation().getBody().getOps<ConstantOp>()))
      if (isRead(table) && failed(quantize(table)))
        signalPassFailure();
  }

private:
  static bool isRead(ConstantOp table);
  LogicalResult quantize(ConstantOp table);
};
} // namespace

/// Whether it is read, and only by gathers of whole rows and bags.
bool QuantizeTables::isRead(ConstantOp table) {
  if (!isTable(table) || !isa<FloatType>(getElementType(table)) ||
      table->use_empty())
    return false;
  return llvm::all_of(table->getUses(), [&](OpOperand &use) {
    if (auto gather = dyn_cast<GatherOp>(use.getOwner()))
      return use.get() == gather.getSource() && gathersRows(gather) &&
             llvm::count(gather->getOperands(), use.get()) == 1;
    // One that an importer made, of a table alone.
    auto bag = dyn_cast<BagOp>(use.getOwner());
    return bag && bag.getTables().size() == 1 && use.getOperandNumber() == 0;
  });
}

/// The integer that stands for x.
static float roundTo(float x, float factor, unsigned bits) {
  float most = float((1 << (bits - 1)) - 1), least = bits == 8 ? -most : -8;
  float q = factor != 0 ? std::nearbyint(x / factor) : 0;
  return std::min(most, std::max(least, q));
}

/// What a row is divided by. Of 8 bits its largest element becomes 127, which
/// is symmetric. Of 4 bits that leaves one of 16 numbers unused: it becomes 7
/// or, where squares of errors are less, -8, to which a factor of its sign
/// belongs.
static float chooseFactor(ArrayRef<float> row, unsigned bits) {
  float largest = 0;
  for (float x : row)
    if (std::fabs(x) > std::fabs(largest))
      largest = x;
  float symmetric = std::fabs(largest) / ((1 << (bits - 1)) - 1);
  if (bits == 8 || largest == 0)
    return symmetric;
  float whole = largest / -8;
  auto getError = [&](float factor) {
    double sum = 0;
    for (float x : row) {
      double error = double(x) - double(roundTo(x, factor, bits)) * factor;
      sum += error * error;
    }
    return sum;
  };
  return getError(whole) < getError(symmetric) ? whole : symmetric;
}

static NarrowTable narrow(const reference::Tensor &table, unsigned bits) {
  int64_t rows = table.getSizes()[0], width = table.getSizes()[1];
  NarrowTable result;
  result.elements.resize(rows * width);
  result.factors.resize(rows);
  std::vector<float> row(width);
  for (int64_t i = 0; i < rows; ++i) {
    reference::load<float>(table, i * width, row);
    float factor = chooseFactor(row, bits);
    result.factors[i] = factor;
    for (int64_t e = 0; e < width; ++e) {
      float q = roundTo(row[e], factor, bits);
      result.largest = std::max<double>(result.largest, std::fabs(row[e]));
      result.elements[i * width + e] = static_cast<char>(int8_t(q));
      result.error = std::max(result.error,
                              std::fabs(double(row[e]) - double(q) * factor));
    }
  }
  return result;
}

/// The rows of `table` at the indices of `gather`, dequantised.
static Value gatherNarrow(OpBuilder &builder, GatherOp gather, Value table,
                          Value factors) {
  Location loc = gather.getLoc();
  Sizes sizes = getSizes(gather.getResult()), one = sizes;
  one.back() = Expr::constant(gather.getContext(), 1);
  Value index = gather.getIndices()[-1 - gather.getPositions()[0]];
  Value column =
      createSlice(builder, loc, index,
                  Sizes(sizes.size(), Expr::constant(gather.getContext(), 0)),
                  one, SmallVector<int64_t>(sizes.size(), 1));
  Type f32 = builder.getF32Type();
  Value rows = GatherOp::create(
      builder, loc, getTensorType(sizes, getElementType(table)), table,
      gather.getPositions(), gather.getIndices(), gather.getPolicy());
  Value ofRows =
      GatherOp::create(builder, loc, getTensorType(one, f32), factors,
                       gather.getPositions(), column, gather.getPolicy());
  Type wide = getTensorType(sizes, f32);
  rows = CastOp::create(builder, loc, wide, rows);
  Value product = MulOp::create(
      builder, loc, wide, rows,
      createBroadcast(builder, loc, ofRows, sizes,
                      llvm::to_vector(llvm::seq<int64_t>(0, sizes.size()))));
  return product.getType() == gather.getType()
             ? product
             : CastOp::create(builder, loc, gather.getType(), product);
}

LogicalResult QuantizeTables::quantize(ConstantOp table) {
  std::string error;
  auto data = reference::Tensor::fromConstant(table.getValue(), error);
  if (failed(data))
    return table.emitError(error);
  auto result = std::make_shared<NarrowTable>(narrow(*data, bits));
  OpBuilder builder(table);
  Sizes sizes = getSizes(table);
  auto create = [&](Type type, ArrayRef<char> bytes, StringRef name) -> Value {
    auto tensor = cast<RankedTensorType>(type);
    return ConstantOp::create(builder, table.getLoc(), type,
                              makeConstant(tensor, bytes, name, result));
  };
  Value elements = create(getTensorType(sizes, builder.getIntegerType(8)),
                          result->elements, "table");
  sizes[1] = Expr::constant(builder.getContext(), 1);
  Value factors =
      create(getTensorType(sizes, builder.getF32Type()),
             ArrayRef(reinterpret_cast<const char *>(result->factors.data()),
                      result->factors.size() * sizeof(float)),
             "factors");
  for (Operation *user : llvm::make_early_inc_range(table->getUsers())) {
    builder.setInsertionPoint(user);
    if (auto gather = dyn_cast<GatherOp>(user)) {
      gather.replaceAllUsesWith(
          gatherNarrow(builder, gather, elements, factors));
      gather.erase();
      continue;
    }
    auto bag = cast<BagOp>(user);
    bag.getTablesMutable()[0].set(elements);
    bag.getFactorsMutable().assign(factors);
  }
  emitWarning(table.getLoc()) << fmt::format(
      "the table is quantised to int{}: the largest error is {:.3g}, and the "
      "largest element {:.3g}",
      bits.getValue(), result->error, result->largest);
  table.erase();
  return success();
}
