// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A value of the reference: an element type, sizes and dense row-major bytes.
// Copies share the bytes; a tensor is written only by the op that makes it.

#ifndef FUSEC_IR_REFERENCE_TENSOR_H
#define FUSEC_IR_REFERENCE_TENSOR_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallVector.h"
#include <memory>

namespace fusec::reference {

class Tensor {
public:
  Tensor() = default;

  /// Zeros; the caller has checked that the sizes are not negative and that
  /// their product is a number of bytes it can afford.
  static Tensor allocate(mlir::Type elementType, llvm::ArrayRef<int64_t> sizes);
  /// Bytes that lie elsewhere and that `owner`, where given, keeps alive. Bytes
  /// that are not aligned for the element are copied.
  static Tensor view(mlir::Type elementType, llvm::ArrayRef<int64_t> sizes,
                     llvm::ArrayRef<char> bytes,
                     std::shared_ptr<const void> owner = nullptr);
  /// The elements of a constant; fails as `getConstantData` does.
  static mlir::FailureOr<Tensor> fromConstant(mlir::ElementsAttr value,
                                              std::string &error);
  mlir::ElementsAttr toConstant(llvm::StringRef name = "constant") const;

  explicit operator bool() const { return static_cast<bool>(elementType); }
  mlir::Type getElementType() const { return elementType; }
  llvm::ArrayRef<int64_t> getSizes() const { return sizes; }
  int64_t getRank() const { return sizes.size(); }
  int64_t getElementBytes() const { return width; }
  int64_t getElementCount() const { return bytes.size() / width; }
  llvm::ArrayRef<char> getBytes() const { return bytes; }
  /// For the op that allocated the tensor.
  char *getMutableData() { return mutableData; }

  /// The same elements in other sizes of the same product.
  Tensor reshape(llvm::ArrayRef<int64_t> newSizes) const;

  /// The stored form of the elements: the C++ type must be as wide as they are.
  template <typename T> llvm::ArrayRef<T> getElements() const {
    return {reinterpret_cast<const T *>(bytes.data()),
            bytes.size() / sizeof(T)};
  }
  template <typename T> llvm::MutableArrayRef<T> getMutableElements() {
    return {reinterpret_cast<T *>(mutableData), bytes.size() / sizeof(T)};
  }

private:
  mlir::Type elementType;
  int64_t width = 1;
  llvm::SmallVector<int64_t, 4> sizes;
  llvm::ArrayRef<char> bytes;
  char *mutableData = nullptr;
  std::shared_ptr<const void> owner;
};

/// Row-major strides, in elements.
llvm::SmallVector<int64_t> getDenseStrides(llvm::ArrayRef<int64_t> sizes);

/// Calls back for each index of a space in row-major order, with an offset that
/// advances by `strides`.
template <typename Callback>
void forEachOffset(llvm::ArrayRef<int64_t> sizes,
                   llvm::ArrayRef<int64_t> strides, int64_t offset,
                   Callback callback) {
  if (llvm::is_contained(sizes, 0))
    return;
  llvm::SmallVector<int64_t> index(sizes.size(), 0);
  while (true) {
    callback(offset);
    int64_t d = sizes.size() - 1;
    for (; d >= 0; --d) {
      offset += strides[d];
      if (++index[d] < sizes[d])
        break;
      offset -= strides[d] * sizes[d];
      index[d] = 0;
    }
    if (d < 0)
      return;
  }
}

} // namespace fusec::reference

#endif // FUSEC_IR_REFERENCE_TENSOR_H
