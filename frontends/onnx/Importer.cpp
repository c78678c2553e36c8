// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytes to a ModelProto, and the passes over it: a pass that finds names of
// dimensions to be equal is followed by another with the names replaced.

#include "frontends/onnx/Importer.h"
#include "frontends/onnx/GraphImporter.h"
#include "frontends/onnx/RawData.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <fmt/core.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/stubs/logging.h>

using namespace mlir;

namespace fusec::onnx {

// Three a subgraph, of which no model has many inside each other. As many as
// the stack of any thread holds.
constexpr int maxMessageDepth = 1000;
// After so many passes, what is still to be replaced becomes constraints.
constexpr int maxPasses = 8;

static bool parse(StringRef bytes, ::onnx::ModelProto &model) {
  google::protobuf::LogSilencer silencer;
  google::protobuf::io::CodedInputStream stream(
      reinterpret_cast<const uint8_t *>(bytes.data()),
      static_cast<int>(bytes.size()));
  stream.SetRecursionLimit(maxMessageDepth);
  return model.ParseFromCodedStream(&stream) && stream.ConsumedEntireMessage();
}

/// Parses all of the model but the raw data of its initializers.
static bool parse(ModelStorage &storage) {
  std::optional<SplitModel> split = splitModel(storage.bytes->getBuffer());
  if (!split || !parse(split->rest, storage.model))
    return false;
  const auto &tensors = storage.model.graph().initializer();
  if (size_t(tensors.size()) != split->rawData.size())
    return false;
  for (auto [tensor, data] : llvm::zip(tensors, split->rawData))
    if (data)
      storage.rawData[&tensor] = *data;
  return true;
}

static FailureOr<OwningOpRef<ModuleOp>>
importOnnx(std::unique_ptr<llvm::MemoryBuffer> bytes,
           const ImportOptions &options, MLIRContext &context,
           ProblemList &list) {
  Problems problems(list);
  if (bytes->getBufferSize() > INT_MAX)
    return problems.add(
        ProblemKind::Malformed,
        fmt::format("expected a model of at most 2 GiB, got {} bytes",
                    bytes->getBufferSize()),
        "store the weights as external data");
  auto storage = std::make_shared<ModelStorage>();
  storage->bytes = std::move(bytes);
  if (!parse(*storage) || !storage->model.has_graph())
    return problems.add(
        ProblemKind::Malformed,
        "expected an ONNX model, got bytes that are none",
        fmt::format(
            "check that the file is complete; messages in it may nest {} deep",
            maxMessageDepth));
  context.loadDialect<FusecDialect>();
  Constants constants(context, options.dataFolder, storage);
  SizeAgreement agreement;
  for (int pass = 1;; ++pass) {
    size_t before = agreement.getNumReplacements();
    if (pass == maxPasses)
      agreement.freeze();
    agreement.clearConstraints();
    auto module = GraphImporter(storage->model, options, context, constants,
                                agreement, problems)
                      .run();
    if (failed(module) || agreement.isFrozen() ||
        before == agreement.getNumReplacements()) {
      if (options.dataFiles)
        *options.dataFiles = constants.getExternalData().getPaths();
      if (options.mappedFiles)
        *options.mappedFiles = constants.getExternalData().getFiles();
      return module;
    }
  }
}

FailureOr<OwningOpRef<ModuleOp>> importOnnx(StringRef bytes,
                                            const ImportOptions &options,
                                            MLIRContext &context,
                                            ProblemList &list) {
  return importOnnx(llvm::MemoryBuffer::getMemBufferCopy(bytes), options,
                    context, list);
}

FailureOr<OwningOpRef<ModuleOp>> importOnnxFile(StringRef path,
                                                const ImportOptions &options,
                                                MLIRContext &context,
                                                ProblemList &list) {
  // A device or a pipe may have no end.
  llvm::sys::fs::file_status status;
  if (!llvm::sys::fs::status(path, status) &&
      !llvm::sys::fs::is_regular_file(status)) {
    (void)Problems(list).add(
        ProblemKind::IO,
        fmt::format("cannot read {}: expected a regular file", quoted(path)));
    return failure();
  }
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file) {
    (void)Problems(list).add(ProblemKind::IO,
                             fmt::format("cannot read {}: {}", quoted(path),
                                         file.getError().message()));
    return failure();
  }
  ImportOptions inFolder = options;
  inFolder.dataFolder = llvm::sys::path::parent_path(path).str();
  return importOnnx(std::move(*file), inFolder, context, list);
}

} // namespace fusec::onnx
