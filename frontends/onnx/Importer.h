// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From an ONNX model to one `fusec.model`: what tools call. All problems of a
// model are found in one run and returned as a list.

#ifndef FUSEC_FRONTENDS_ONNX_IMPORTER_H
#define FUSEC_FRONTENDS_ONNX_IMPORTER_H

#include "ir/FusecOps.h"
#include "ir/Problem.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fusec::onnx {

/// The operator sets this importer reads.
constexpr int64_t oldestOpset = 13;
constexpr int64_t newestOpset = 24;
/// The largest rank of a tensor in a model.
constexpr unsigned maxRank = 16;
/// Nodes of a model, those of a function's body counted once a call. The
/// largest models that people export have some ten thousand; what comes after
/// the import takes time that grows with their number.
constexpr uint64_t maxNodes = 100000;
constexpr unsigned maxCallDepth = 32;
/// Operations that they become, without those that nothing needs: a few a node.
constexpr uint64_t maxOperations = 250000;

/// A model input that is known when compiling.
struct ConstantInput {
  std::string name;
  /// ONNX's number of the element type (TensorProto.DataType).
  int32_t dtype = 0;
  std::vector<int64_t> sizes;
  /// Dense, row-major, little-endian; bool takes a byte.
  std::vector<char> bytes;
};

class MappedFile;

struct ImportOptions {
  /// The folder that external data must lie in; importOnnxFile takes the
  /// model's.
  std::string dataFolder;
  /// Gets the paths of the external data that was read.
  std::vector<std::string> *dataFiles = nullptr;
  /// Gets what of it is mapped.
  std::vector<std::shared_ptr<const MappedFile>> *mappedFiles = nullptr;
  /// Name of the model's symbol in the module.
  std::string modelName = "main";
  std::vector<ConstantInput> constants;
  /// Named dimensions that get a fixed size.
  std::map<std::string, int64_t> dims;
  IndexPolicy gatherPolicy = IndexPolicy::Flag;
  /// Patterns of the names of initializers whose values nothing may depend on:
  /// those that sessions replace, and those that are changed in place.
  std::vector<std::string> replaceable, updatable;
  /// Gets the names of the initializers that are changed in place.
  std::vector<std::string> *updatableNames = nullptr;
};

/// A verified module that holds one `fusec.model`. On failure `problems` has at
/// least one entry; on success it is left alone.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
importOnnxFile(llvm::StringRef path, const ImportOptions &options,
               mlir::MLIRContext &context, ProblemList &problems);

/// The same from the bytes of a ModelProto.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
importOnnx(llvm::StringRef bytes, const ImportOptions &options,
           mlir::MLIRContext &context, ProblemList &problems);

/// What docs/operators.md says of one operator; `types` spells the element
/// types of its first input.
struct OperatorDescription {
  std::string name;
  int sinceVersion; // the first opset of this importer that has this form
  std::string types;
  std::string limits; // what of the operator is refused, or empty
};

/// Every operator that has a handler, by name and version.
std::vector<OperatorDescription> describeOperators();

/// ONNX's name ("int64"), or an empty string for no element type of fusec's.
llvm::StringRef getTypeName(int32_t dtype);
/// The element type in IR, null for one that fusec does not have.
mlir::Type getTypeOfDtype(int32_t dtype, mlir::MLIRContext *context);

} // namespace fusec::onnx

#endif // FUSEC_FRONTENDS_ONNX_IMPORTER_H
