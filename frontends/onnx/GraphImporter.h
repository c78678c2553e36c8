// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One pass over a model: inputs become arguments, nodes become ops by their
// handlers, calls of the model's own functions are inlined. After a problem the
// values that depend on it are left out, and the pass goes on to find the rest.

#ifndef FUSEC_FRONTENDS_ONNX_GRAPHIMPORTER_H
#define FUSEC_FRONTENDS_ONNX_GRAPHIMPORTER_H

#include "frontends/onnx/Constants.h"
#include "frontends/onnx/InlinedSize.h"
#include "frontends/onnx/KnownValues.h"
#include "frontends/onnx/Node.h"
#include "frontends/onnx/Problems.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/GlobPattern.h"

namespace fusec::onnx {

class GraphImporter {
public:
  GraphImporter(const ::onnx::ModelProto &model, const ImportOptions &options,
                mlir::MLIRContext &context, Constants &constants,
                SizeAgreement &agreement, Problems &problems);

  /// Fails only with a problem.
  mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> run();

  /// "Op", or "domain.Op" outside the default domain.
  static std::string getQualifiedType(const ::onnx::NodeProto &proto);

  const ::onnx::ModelProto &model;
  const ImportOptions &options;
  mlir::MLIRContext &context;
  Constants &constants;
  SizeAgreement &agreement;
  Problems &problems;

private:
  /// A name's meaning: a value, a constant that nobody has used yet, or (with
  /// neither) something that a problem has made unknown.
  struct Entry {
    mlir::Value value;
    mlir::ElementsAttr constant;
    bool isReplaceable = false;
    /// Of tensors, whose concat along the first dimension `value` is; none yet
    /// where that is null.
    bool isSequence = false;
  };
  /// The names of the graph, or of one call of a function.
  struct Scope {
    llvm::StringMap<Entry> entries;
    /// Of the default domain, the only one that has operators here.
    std::optional<int64_t> opset;
    std::string prefix; // of node names
  };

  mlir::LogicalResult readOpsets(
      const google::protobuf::RepeatedPtrField<::onnx::OperatorSetIdProto>
          &imports,
      Scope &scope, llvm::StringRef where);
  void declareFunctions();
  void addInitializers(Scope &scope);
  void addInputs(Scope &scope);
  void addInput(Scope &scope, const ::onnx::ValueInfoProto &input);
  std::optional<Sizes> readInputSizes(const ::onnx::ValueInfoProto &input,
                                      mlir::Type elementType);
  void addConstantInput(Scope &scope, const ::onnx::ValueInfoProto &input,
                        mlir::Type type, llvm::ArrayRef<Expr> sizes,
                        const ConstantInput &constant);
  void checkOptions();
  /// The patterns of options, or problems.
  std::vector<llvm::GlobPattern>
  readPatterns(llvm::StringRef option, const std::vector<std::string> &texts,
               std::vector<std::string> &globs);
  void addOutputs(Scope &scope);

  void importNode(Scope &scope, const ::onnx::NodeProto &proto);
  /// Loops over embedding bags and what surrounds them; false for other
  /// operators.
  bool importBags(Scope &scope, const ::onnx::NodeProto &proto);
  void importCall(Scope &scope, const ::onnx::NodeProto &proto,
                  const ::onnx::FunctionProto &function);
  /// Of what the model becomes with its calls inlined.
  mlir::LogicalResult checkSize();
  /// Fails where too many operations are left.
  mlir::LogicalResult eraseDeadOps();
  /// False where an input is unknown because of an earlier problem.
  bool findInputs(Scope &scope, const ::onnx::NodeProto &proto,
                  llvm::SmallVectorImpl<mlir::Value> &values, bool &complete);
  mlir::Value materialize(Entry &entry, llvm::StringRef name);
  void define(Scope &scope, const ::onnx::NodeProto &proto,
              llvm::ArrayRef<mlir::Value> values, bool areSequences = false);
  void problem(ProblemKind kind, const ::onnx::NodeProto &proto,
               const llvm::Twine &message, const llvm::Twine &note = "");

  friend class Node;
  friend class BagLoop;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  ModelOp op;
  mlir::Block *body;
  KnownValues known;
  Functions functions;
  llvm::SmallVector<std::string> inputNames;
  llvm::StringSet<> symbols; // names of dimensions
  llvm::StringSet<> initializers;
  llvm::StringSet<> usedConstants;
};

} // namespace fusec::onnx

#endif // FUSEC_FRONTENDS_ONNX_GRAPHIMPORTER_H
