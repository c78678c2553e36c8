// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/transforms/IsolateStep.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace fusec;

static ArrayAttr makeNames(OpBuilder &builder, StringRef base, size_t count) {
  SmallVector<Attribute> names;
  for (size_t i = 0; i != count; ++i)
    names.push_back(builder.getStringAttr(base + Twine(i)));
  return builder.getArrayAttr(names);
}

OwningOpRef<ModuleOp> fusec::isolateStep(StepOp step) {
  Location loc = step.getLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  Block &body = step.getBody().front();
  auto model = ModelOp::create(
      builder, loc, "main", makeNames(builder, "in", body.getNumArguments()),
      makeNames(builder, "out", step.getOutputs().size()),
      builder.getArrayAttr({}));
  Block &block = model.getBody().emplaceBlock();
  for (BlockArgument argument : body.getArguments())
    block.addArgument(argument.getType(), argument.getLoc());
  builder.setInsertionPointToEnd(&block);
  auto fusion = FusionOp::create(
      builder, loc, body.getTerminator()->getOperandTypes(),
      step.getFamilyAttr(), step.getNameAttr(), block.getArguments());
  IRMapping mapping;
  step.getBody().cloneInto(&fusion.getBody(), mapping);
  OutputOp::create(builder, loc, fusion.getResults());
  return module;
}
