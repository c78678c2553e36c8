// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// TensorProto to a constant's elements. Data are used where they lie, in the
// model's bytes or in a mapped file, and only copied where their form asks for
// it.

#ifndef FUSEC_FRONTENDS_ONNX_CONSTANTS_H
#define FUSEC_FRONTENDS_ONNX_CONSTANTS_H

#include "frontends/onnx/ExternalData.h"
#include "frontends/onnx/proto/onnx.pb.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/MemoryBuffer.h"

namespace fusec::onnx {

/// Whether these are sizes of a tensor: none negative, not too many, and their
/// product in bytes is a number. Fails with the reason in `error`.
bool areValidSizes(llvm::ArrayRef<int64_t> sizes, int64_t elementBytes,
                   std::string &error);

/// What constants point into: the model's bytes, what was parsed of them, and
/// nodes of functions with the attributes of a call put in.
struct ModelStorage {
  std::unique_ptr<llvm::MemoryBuffer> bytes;
  ::onnx::ModelProto model;
  /// Of initializers, what the parsed model is without.
  llvm::DenseMap<const ::onnx::TensorProto *, llvm::StringRef> rawData;
  std::vector<std::unique_ptr<::onnx::NodeProto>> nodes;
  size_t nodeBytes = 0;
};

/// A byte for each element of 4 bits, of which the first of a byte's two lies
/// in its low half.
void unpack4Bits(llvm::ArrayRef<char> packed, bool isSigned,
                 llvm::MutableArrayRef<char> elements);

class Constants {
public:
  /// `storage` owns the protos that `read` will be given.
  Constants(mlir::MLIRContext &context, std::string dataFolder,
            std::shared_ptr<ModelStorage> storage)
      : context(context), external(std::move(dataFolder)),
        storage(std::move(storage)) {}

  ModelStorage &getStorage() { return *storage; }
  const ExternalData &getExternalData() const { return external; }

  /// Null on failure, with the reason in `error`. The same proto gives the same
  /// attribute.
  mlir::ElementsAttr read(const ::onnx::TensorProto &tensor,
                          std::string &error);

private:
  mlir::ElementsAttr readNew(const ::onnx::TensorProto &tensor,
                             std::string &error);
  bool findExternal(const ::onnx::TensorProto &tensor, uint64_t byteCount,
                    llvm::ArrayRef<char> &bytes,
                    std::shared_ptr<const void> &owner, std::string &error);

  mlir::MLIRContext &context;
  ExternalData external;
  std::shared_ptr<ModelStorage> storage;
  llvm::DenseMap<const ::onnx::TensorProto *, mlir::ElementsAttr> known;
};

} // namespace fusec::onnx

#endif // FUSEC_FRONTENDS_ONNX_CONSTANTS_H
