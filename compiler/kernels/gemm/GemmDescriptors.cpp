// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/gemm/GemmDescriptors.h"
#include "llvm/ADT/StringExtras.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

GemmDescriptors::Address GemmDescriptors::matrixAddress(const MatrixAccess &a,
                                                        Expr k, CopyAttr copy) {
  Address at = address(step.getInputBuffer(a.value), true, a.batch);
  if (!a.wholeK)
    return at;
  std::string stride = print(k * a.kStride), length = print(k);
  // Of a segment that is shorter than others the last ranges may have nothing:
  // turns are as many as ranges all the same.
  std::string ranges = print(getElementCount(iteration.batchSizes, context));
  at.batch = {"fusec::KRanges", copy && copy.getInTurn()
                                    ? braced({stride, length, ranges})
                                    : braced({stride, length})};
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
    addresses.push_back(matrixAddress(a, k, copy));
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

Descriptor GemmDescriptors::operand(const TileOperand &operand, int64_t width,
                                    TileMapAttr map) {
  Descriptor byPointer = EpilogueDescriptors::operand(operand, width);
  return map ? mapped(byPointer, step.getInputBuffer(operand.value),
                      operand.access, map)
             : byPointer;
}

Descriptor GemmDescriptors::result(const TileStore &store, int64_t width,
                                   TileMapAttr map) {
  Descriptor byPointer = EpilogueDescriptors::result(store, width);
  return map ? mapped(byPointer, step.getOutputBuffer(store.output),
                      store.access, map)
             : byPointer;
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
