// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/codegen/EpilogueDescriptors.h"
#include "llvm/ADT/StringExtras.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

EpilogueDescriptors::Address
EpilogueDescriptors::address(BufferOp buffer, bool isConst, Expr offset) {
  int64_t first = getConstantTerm(offset);
  return {writer.pointer(buffer, isConst, first),
          batchMap(offset - Expr::constant(context, first))};
}

Descriptor EpilogueDescriptors::batchMap(Expr offset) {
  ArrayRef<Expr> sizes = epilogue.batchSizes;
  if (offset.isConstant(0))
    return {"fusec::Unbatched", "{}"};
  // One stride where the batch dims lie one after another.
  SmallVector<Expr> space = {getElementCount(sizes, context)};
  Expr linear = ExprRanges(space).simplify(
      offset.replaceDims(delinearize(Expr::dim(context, 0), sizes)));
  if (auto stride = getDimCoefficient(linear, 0);
      stride && *stride * Expr::dim(context, 0) == linear)
    return {"fusec::Stride", braced({print(*stride)})};
  std::string name = writer.uniqueName("BatchOffset");
  SmallVector<std::string> members;
  linear.walkLeaves([&](Expr leaf) {
    if (leaf.getKind() == ExprKind::Symbol) {
      std::string member = writer.symbolParam(leaf);
      if (!llvm::is_contained(members, member))
        members.push_back(member);
    }
  });
  raw_ostream &os = writer.declarations();
  os << "struct " << name << " {\n";
  for (const std::string &member : members)
    os << "  fusec::i64 " << member << ";\n";
  os << fmt::format(
      "  FUSEC_DEVICE fusec::i64 offset(fusec::i64 index) const {{\n"
      "    return {};\n"
      "  }}\n"
      "}};\n\n",
      writer.print(linear, {std::string("index")}));
  return {name, braced({llvm::join(members, ", ")})};
}

Descriptor EpilogueDescriptors::rowStep(const TileAccess &access) {
  if (access.liesAlongRows())
    return {"fusec::Contiguous", "{}"};
  return {"fusec::Stride", braced({print(access.rowStride)})};
}

Descriptor EpilogueDescriptors::operand(const TileOperand &operand,
                                        int64_t width) {
  BufferOp buffer = step.getInputBuffer(operand.value);
  std::string element = storageType(getElementType(operand.value));
  auto [pointer, batch] = address(buffer, true, operand.access.batch);
  Expr row = operand.access.rowStride, column = operand.access.columnStride;
  std::string columns =
      column.isConstant(1) ? "fusec::Contiguous" : "fusec::Stride";
  std::string columnValue =
      column.isConstant(1) ? "{}" : braced({print(column)});
  if (row.isConstant(0) && column.isConstant(0))
    return {fmt::format("fusec::ScalarOperand<{}, {}>", element, batch.type),
            braced({pointer, batch.value})};
  int64_t aligned = width * getElementBytes(getElementType(operand.value));
  if (row.isConstant(0))
    return {fmt::format("fusec::RowOperand<{}, {}, {}, {}>", element, columns,
                        aligned, batch.type),
            braced({pointer, columnValue, batch.value})};
  if (column.isConstant(0))
    return {fmt::format("fusec::ColumnOperand<{}, fusec::Stride, {}>", element,
                        batch.type),
            braced({pointer, braced({print(row)}), batch.value})};
  auto [rows, rowValue] = rowStep(operand.access);
  return {fmt::format("fusec::FullOperand<{}, {}, {}, {}, {}>", element, rows,
                      columns, aligned, batch.type),
          braced({pointer, rowValue, columnValue, batch.value})};
}

Descriptor EpilogueDescriptors::result(const TileStore &store, int64_t width) {
  BufferOp buffer = step.getOutputBuffer(store.output);
  Type type = buffer.getElementType();
  auto [pointer, batch] = address(buffer, false, store.access.batch);
  Expr row = store.access.rowStride, column = store.access.columnStride;
  if (!store.isFull)
    return {fmt::format("fusec::ColumnResult<{}, fusec::Stride, {}>",
                        storageType(type), batch.type),
            braced({pointer, braced({print(row)}), batch.value})};
  bool contiguous = store.access.hasContiguousColumns();
  int64_t aligned = width * getElementBytes(type);
  auto [rows, rowValue] = rowStep(store.access);
  StringRef columns = contiguous ? "fusec::Contiguous" : "fusec::Stride";
  std::string columnValue = contiguous ? "{}" : braced({print(column)});
  return {fmt::format("fusec::FullResult<{}, {}, {}, {}, {}>",
                      storageType(type), rows, columns, aligned, batch.type),
          braced({pointer, rowValue, columnValue, batch.value})};
}
