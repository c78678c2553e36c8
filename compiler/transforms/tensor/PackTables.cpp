// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables of small integers take 4 bits an element: two of a row share a byte.
// Importers and quantisers write bytes, whose values say that half is enough.

#include "compiler/Passes.h"
#include "compiler/Remarks.h"
#include "compiler/transforms/tensor/BagPatterns.h"
#include "ir/Constants.h"
#include "llvm/ADT/SetVector.h"

namespace fusec {
#define GEN_PASS_DEF_PACKTABLES
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace mlir;
using namespace fusec;

bool fusec::fitsFourBits(Value table) {
  auto constant = table.getDefiningOp<ConstantOp>();
  if (!constant || !isTable(table) || !getElementType(table).isInteger(8))
    return false;
  std::string error;
  auto data = getConstantData(constant.getValue(), error);
  if (failed(data))
    return false;
  bool isUnsigned = getElementType(table).isUnsignedInteger();
  return llvm::all_of(data->bytes, [&](char byte) {
    return isUnsigned ? static_cast<unsigned char>(byte) < 16
                      : byte >= -8 && byte < 8;
  });
}

namespace {
struct PackTables : fusec::impl::PackTablesBase<PackTables> {
  using PackTablesBase::PackTablesBase;

  void runOnOperation() override;
};
} // namespace

/// Whether only bags read its rows, as bytes.
static bool onlyBagsRead(Value table) {
  return llvm::all_of(table.getUses(), [](OpOperand &use) {
    auto bag = dyn_cast<BagOp>(use.getOwner());
    return bag && use.getOperandNumber() < bag.getTables().size() &&
           !bag.getFactors().empty() && !bag.getPacked();
  });
}

/// The first of two columns in the low half of their byte.
static std::vector<char> pack(ArrayRef<char> elements, int64_t width) {
  int64_t rows = elements.size() / width, perRow = llvm::divideCeil(width, 2);
  std::vector<char> bytes(rows * perRow);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < width; ++column) {
      int half = elements[row * width + column] & 15;
      bytes[row * perRow + column / 2] |= char(half << column % 2 * 4);
    }
  return bytes;
}

/// Null where its elements cannot be read.
static Value createPacked(ConstantOp table) {
  std::string error;
  auto data = getConstantData(table.getValue(), error);
  if (failed(data)) {
    table.emitError(error);
    return {};
  }
  Sizes sizes = getSizes(table);
  auto bytes = std::make_shared<std::vector<char>>(
      pack(data->bytes, sizes[1].getValue()));
  sizes[1] = sizes[1].ceilDiv(Expr::constant(table.getContext(), 2));
  OpBuilder builder(table);
  auto type = getTensorType(sizes, getElementType(table));
  remarkPassed(remarks::packTable, table.getLoc())
      << "the table's elements take 4 bits each";
  return ConstantOp::create(
      builder, table.getLoc(), type,
      makeConstant(cast<RankedTensorType>(Type(type)), *bytes, "table", bytes));
}

void PackTables::runOnOperation() {
  llvm::SetVector<Operation *> tables;
  for (ConstantOp table : getOperation().getBody().getOps<ConstantOp>())
    if (!table->use_empty() && getRank(table) == 2 && onlyBagsRead(table) &&
        fitsFourBits(table))
      tables.insert(table);
  // All tables of a bag are packed, or none.
  SmallVector<BagOp> bags(getOperation().getBody().getOps<BagOp>());
  auto isPacked = [&](BagOp bag) {
    return llvm::all_of(bag.getTables(), [&](Value table) {
      return tables.contains(table.getDefiningOp());
    });
  };
  for (bool isSettled = false; !isSettled;) {
    isSettled = true;
    for (BagOp bag : bags)
      if (!isPacked(bag))
        for (Value table : bag.getTables())
          isSettled &= !tables.remove(table.getDefiningOp());
  }
  for (BagOp bag : bags) {
    if (!isPacked(bag))
      continue;
    SmallVector<int64_t> widths;
    for (Value table : bag.getTables())
      widths.push_back(getSizes(table)[1].getValue());
    bag.setPacked(widths);
  }
  for (Operation *table : tables) {
    Value packed = createPacked(cast<ConstantOp>(table));
    if (!packed)
      return signalPassFailure();
    table->replaceAllUsesWith(ValueRange(packed));
    table->erase();
  }
}
