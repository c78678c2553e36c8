// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/bundle/BundleBuilder.h"
#include "compiler/bundle/ManifestBuilder.h"

using namespace mlir;
using namespace fusec;

BundleBuilder::~BundleBuilder() { join(); }

void BundleBuilder::join() {
  if (thread.joinable())
    thread.join();
}

LogicalResult BundleBuilder::begin(ModuleOp module) {
  if (failed(weights.addAll(module)))
    return failure();
  // A kernel a variant at most: schedules are only ever replaced or given up.
  size_t mostSections = 1;
  module.walk([&](StepOp step) { mostSections += step.getVariants().size(); });
  writer.emplace(mostSections, std::move(sink));
  if (!weights.isEmpty())
    thread = std::thread([this] {
      weightsSection =
          writer->addWeights(weights.getPieces(), weights.getSize());
    });
  return success();
}

LogicalResult BundleBuilder::finish(ModelOp model, const KernelSet &kernels,
                                    ArrayRef<const CompiledKernel *> images,
                                    ArrayRef<std::string> updatable,
                                    const NvrtcVersion &nvrtc,
                                    format::Manifest manifest,
                                    std::string &error) {
  join();
  SmallVector<unsigned> sections;
  for (const CompiledKernel *image : images)
    sections.push_back(writer->addCode(
        image->isPtx ? format::SectionKind::Ptx : format::SectionKind::Cubin,
        {reinterpret_cast<const uint8_t *>(image->image.data()),
         image->image.size()}));
  ManifestBuilder builder(kernels, sections, weights, weightsSection, updatable,
                          nvrtc, manifest);
  if (failed(builder.build(model)))
    return failure();
  return success(writer->finish(manifest, error));
}
