// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/transforms/plan/IsolateStep.h"
#include "compiler/transforms/tensor/Rewrites.h"
#include "ir/Constants.h"
#include "mlir/IR/IRMapping.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

static ArrayAttr makeNames(OpBuilder &builder, StringRef base, size_t count) {
  SmallVector<Attribute> names;
  for (size_t i = 0; i != count; ++i)
    names.push_back(builder.getStringAttr(fmt::format("{}{}", base, i)));
  return builder.getArrayAttr(names);
}

/// Integers index tables or say how many there are: others in their place would
/// measure another kernel.
static ElementsAttr getKeptConstant(StepOp step, BlockArgument argument) {
  BufferOp buffer = step.getInputBuffer(argument);
  ElementsAttr value = buffer.getValue().value_or(ElementsAttr());
  Type type = getElementType(argument);
  if (!value || value.getType() != argument.getType() ||
      !isa<IntegerType>(type) || type.isInteger(1))
    return {};
  // Part of the text: the model alone may be printed and read again, and
  // resources stay behind.
  std::string error;
  FailureOr<ConstantData> data = getConstantData(value, error);
  if (failed(data))
    return {};
  return DenseElementsAttr::getFromRawBuffer(
      cast<ShapedType>(argument.getType()), data->bytes);
}

/// The dense matrix whose first columns the argument is, where its rows lie
/// apart: they are padded, or a slice of a larger buffer.
static RankedTensorType getWholeRows(StepOp step, BlockArgument argument) {
  auto type = cast<RankedTensorType>(argument.getType());
  SmallVector<Expr> sizes = getSizes(argument),
                    strides = step.getInputBuffer(argument).getStrideExprs();
  if (sizes.size() != 2 || !strides[0].isConstant() ||
      !strides[1].isConstant(1) || !sizes[1].isConstant() ||
      strides[0].getValue() <= sizes[1].getValue())
    return type;
  return getTensorType({sizes[0], strides[0]}, type.getElementType());
}

OwningOpRef<ModuleOp> fusec::isolateStep(StepOp step) {
  Location loc = step.getLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  Block &body = step.getBody().front();
  size_t count = llvm::count_if(body.getArguments(), [&](BlockArgument arg) {
    return !getKeptConstant(step, arg);
  });
  auto model =
      ModelOp::create(builder, loc, "main", makeNames(builder, "in", count),
                      makeNames(builder, "out", step.getOutputs().size()),
                      builder.getArrayAttr({}));
  Block &block = model.getBody().emplaceBlock();
  builder.setInsertionPointToEnd(&block);
  SmallVector<Value> inputs;
  for (BlockArgument argument : body.getArguments()) {
    if (ElementsAttr value = getKeptConstant(step, argument))
      inputs.push_back(
          ConstantOp::create(builder, argument.getLoc(), value).getResult());
    else
      inputs.push_back(
          block.addArgument(getWholeRows(step, argument), argument.getLoc()));
  }
  auto fusion =
      FusionOp::create(builder, loc, body.getTerminator()->getOperandTypes(),
                       step.getFamilyAttr(), step.getNameAttr(), inputs);
  IRMapping mapping;
  step.getBody().cloneInto(&fusion.getBody(), mapping);
  Block &inside = fusion.getBody().front();
  builder.setInsertionPointToStart(&inside);
  for (auto [argument, input] :
       llvm::zip_equal(inside.getArguments(), inputs)) {
    if (argument.getType() == input.getType())
      continue;
    SmallVector<Expr> sizes = getSizes(argument);
    argument.setType(input.getType());
    SmallVector<Expr> first(2, Expr::constant(builder.getContext(), 0));
    Value columns = createSlice(builder, loc, argument, first, sizes, {1, 1});
    argument.replaceAllUsesExcept(columns, columns.getDefiningOp());
  }
  builder.setInsertionPointToEnd(&block);
  OutputOp::create(builder, loc, fusion.getResults());
  return module;
}
