// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From planned modules to the manifest.

#ifndef FUSEC_COMPILER_BUNDLE_MANIFESTBUILDER_H
#define FUSEC_COMPILER_BUNDLE_MANIFESTBUILDER_H

#include "compiler/bundle/ConvertExpr.h"
#include "compiler/bundle/KernelSet.h"
#include "compiler/bundle/WeightPool.h"
#include "llvm/ADT/StringMap.h"

namespace fusec {

class ManifestBuilder {
public:
  /// `sections` has the section of each of `kernels`, `updatable` the names of
  /// weights that are changed in place. `manifest` has what is known beside
  /// plans and interface. All must live as long as the builder.
  ManifestBuilder(const KernelSet &kernels, llvm::ArrayRef<unsigned> sections,
                  const WeightPool &weights, unsigned weightsSection,
                  llvm::ArrayRef<std::string> updatable,
                  const NvrtcVersion &nvrtc, format::Manifest &manifest)
      : kernels(kernels), sections(sections), weights(weights),
        weightsSection(weightsSection), updatable(updatable), nvrtc(nvrtc),
        manifest(manifest) {}

  /// `model` has the interface: names, types, constraints. Fails with a
  /// diagnostic. To be called once.
  mlir::LogicalResult build(ModelOp model);

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
  /// What callers may do to a weight.
  void markChanging(format::Weight &weight, ReplaceableAttr slot);
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
  mlir::FailureOr<format::Launch> getLaunch(StepOp step, VariantAttr variant,
                                            const EmittedLaunch &emitted,
                                            const Places &places);
  mlir::FailureOr<format::Param> getParam(const KernelParam &param,
                                          const Places &places);

  const KernelSet &kernels;
  llvm::ArrayRef<unsigned> sections;
  const WeightPool &weights;
  unsigned weightsSection;
  llvm::ArrayRef<std::string> updatable;
  const NvrtcVersion &nvrtc;
  format::Manifest &manifest;
  ExprConverter exprs;
  /// Of the plan at hand.
  llvm::DenseSet<mlir::Operation *> tables;
};

} // namespace fusec

#endif // FUSEC_COMPILER_BUNDLE_MANIFESTBUILDER_H
