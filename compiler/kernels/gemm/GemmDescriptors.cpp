// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/gemm/GemmDescriptors.h"
#include "llvm/ADT/StringExtras.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

GemmDescriptors::Address GemmDescriptors::address(BufferOp buffer, bool isConst,
                                                  Expr offset) {
  int64_t first = getConstantTerm(offset);
  return {writer.pointer(buffer, isConst, first),
          batchMap(offset - Expr::constant(context, first))};
}

Descriptor GemmDescriptors::batchMap(Expr offset) {
  ArrayRef<Expr> sizes = iteration.batchSizes;
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

GemmDescriptors::Address GemmDescriptors::matrixAddress(const MatrixAccess &a,
                                                        Expr k) {
  Address at = address(step.getInputBuffer(a.value), true, a.batch);
  if (a.wholeK)
    at.batch = {"fusec::KRanges", braced({print(k * a.kStride), print(k)})};
  return at;
}

FailureOr<Descriptor> GemmDescriptors::matrix(ArrayRef<MatrixAccess> accesses,
                                              Expr outerSize, Expr k,
                                              int64_t width, CopyAttr copy) {
  const MatrixAccess &access = accesses[0];
  std::string element = storageType(getElementType(access.value));
  std::string major, strides;
  if (access.liesAlongK(k)) {
    major = "K";
    strides = print(access.outerStride);
  } else if (access.liesAcrossK(outerSize)) {
    major = "Outer";
    strides = print(access.kStride);
  } else {
    major = "Strided";
    strides = print(access.outerStride);
  }
  int64_t aligned = width * getElementBytes(getElementType(access.value));
  SmallVector<Address> addresses;
  for (const MatrixAccess &a : accesses)
    addresses.push_back(matrixAddress(a, k));
  std::string type =
      fmt::format("fusec::Matrix<{}, fusec::Major::{}, {}, {}>", element, major,
                  aligned, addresses[0].batch.type);
  if (copy && copy.getKBytes() == wgmmaRowBytes)
    type = fmt::format("fusec::Mapped<{}>", type);
  else if (copy)
    type = fmt::format("fusec::Mapped<{}, {}>", type, copy.getKBytes());
  std::string value;
  for (auto [a, at] : llvm::zip_equal(accesses, addresses)) {
    BufferOp buffer = step.getInputBuffer(a.value);
    std::string item =
        major == "Strided"
            ? braced({at.pointer, strides, at.batch.value, print(a.kStride)})
            : braced({at.pointer, strides, at.batch.value});
    if (copy) {
      auto mapped = analyzeMapped(a, iteration.batchSizes);
      if (failed(mapped))
        return step.emitOpError("has a matrix that no tensor map describes");
      // Copies of another rank than their map's are undefined.
      if (!a.wholeK && mapped->batchStride.has_value() !=
                           (at.batch.type != "fusec::Unbatched"))
        return step.emitOpError("has a matrix whose tensor map counts batches "
                                "otherwise than its kernel");
      Expr count = getElementCount(iteration.batchSizes, context);
      TensorMapShape shape = getMapShape(*mapped, getElementType(a.value),
                                         outerSize, k, count, copy);
      item = braced({item, "&" + writer.tensorMap(buffer, shape)});
    }
    value += (value.empty() ? "" : ", ") + item;
  }
  return Descriptor{type, value};
}

Descriptor GemmDescriptors::rowStep(const TileAccess &access) {
  if (access.liesAlongRows())
    return {"fusec::Contiguous", "{}"};
  return {"fusec::Stride", braced({print(access.rowStride)})};
}

Descriptor GemmDescriptors::pointerOperand(const TileOperand &operand,
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

Descriptor GemmDescriptors::operand(const TileOperand &operand, int64_t width,
                                    TileMapAttr map) {
  Descriptor byPointer = pointerOperand(operand, width);
  return map ? mapped(byPointer, step.getInputBuffer(operand.value),
                      operand.access, map)
             : byPointer;
}

Descriptor GemmDescriptors::result(const TileStore &store, int64_t width,
                                   TileMapAttr map) {
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
  Descriptor byPointer = {
      fmt::format("fusec::FullResult<{}, {}, {}, {}, {}>", storageType(type),
                  rows, columns, aligned, batch.type),
      braced({pointer, rowValue, columnValue, batch.value})};
  return map ? mapped(byPointer, buffer, store.access, map) : byPointer;
}

Descriptor GemmDescriptors::mapped(const Descriptor &descriptor,
                                   BufferOp buffer, const TileAccess &access,
                                   TileMapAttr map) {
  Expr batch = getElementCount(iteration.batchSizes, context);
  // The plan has no map of what none can describe.
  MappedMatrix matrix = *analyzeMapped(access.asMatrix(), iteration.batchSizes);
  TensorMapShape shape = getTileMapShape(matrix, buffer.getElementType(),
                                         iteration.m, iteration.n, batch, map);
  return {fmt::format("fusec::Mapped<{}>", descriptor.type),
          braced({descriptor.value, "&" + writer.tensorMap(buffer, shape)})};
}
