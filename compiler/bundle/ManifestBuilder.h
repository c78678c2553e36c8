// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From planned modules and compiled kernels to the manifest and the sections
// that it refers to.

#ifndef FUSEC_COMPILER_BUNDLE_MANIFESTBUILDER_H
#define FUSEC_COMPILER_BUNDLE_MANIFESTBUILDER_H

#include "compiler/bundle/ConvertExpr.h"
#include "compiler/bundle/KernelSet.h"
#include "compiler/bundle/WeightPool.h"
#include "llvm/ADT/StringMap.h"

namespace fusec {

class ManifestBuilder {
public:
  /// `images` has a compiled kernel for each of `kernels`. All of them must
  /// live until the bundle is written.
  ManifestBuilder(const KernelSet &kernels,
                  std::vector<const CompiledKernel *> images,
                  const NvrtcVersion &nvrtc)
      : kernels(kernels), images(std::move(images)), nvrtc(nvrtc) {}

  /// `model` has the interface: names, types, constraints. Fails with a
  /// diagnostic. To be called once.
  mlir::LogicalResult build(ModelOp model);

  format::Manifest &getManifest() { return manifest; }
  const format::BundleWriter &getWriter() const { return writer; }

private:
  /// What a buffer's symbol is called in the manifest.
  struct Place {
    format::Pointer::Kind kind;
    unsigned index;
    BufferOp op;
  };
  using Places = llvm::StringMap<Place>;

  mlir::LogicalResult addInterface(ModelOp model);
  mlir::FailureOr<std::vector<format::TensorSpec>>
  getSpecs(ModelOp model, mlir::ArrayAttr names, mlir::TypeRange types);
  mlir::LogicalResult addPlan(const EmittedPlan &emitted);
  mlir::LogicalResult addBuffer(BufferOp buffer, format::Plan &plan,
                                Places &places);
  mlir::LogicalResult addGuards(VariantAttr variant, StepOp step,
                                const Places &places,
                                std::vector<format::Condition> &conditions);
  /// The variants of a step whose launches are `own` where the kernel of `led`
  /// does not compute its result.
  mlir::LogicalResult addLedVariants(StepOp led, const Places &places,
                                     const std::vector<format::Variant> &own,
                                     std::vector<format::Variant> &variants);
  mlir::LogicalResult addGuard(GuardAttr guard, StepOp step,
                               const Places &places,
                               std::vector<format::Condition> &conditions);
  mlir::FailureOr<format::Launch>
  getLaunch(StepOp step, const EmittedLaunch &emitted, const Places &places);
  mlir::FailureOr<format::Param> getParam(const KernelParam &param,
                                          const Places &places);

  const KernelSet &kernels;
  std::vector<const CompiledKernel *> images;
  const NvrtcVersion &nvrtc;
  format::Manifest manifest;
  format::BundleWriter writer;
  ExprConverter exprs;
  WeightPool weights;
  std::vector<unsigned> sections; // of each kernel
  unsigned weightsSection = 0;
};

} // namespace fusec

#endif // FUSEC_COMPILER_BUNDLE_MANIFESTBUILDER_H
