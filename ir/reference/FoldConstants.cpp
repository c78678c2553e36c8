// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/reference/FoldConstants.h"
#include "ir/reference/Evaluate.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace fusec::reference {

/// Views of views of constants end somewhere.
constexpr unsigned maxChain = 8;

/// Adds what the constants behind the value take; false where it is none.
static bool addConstantBytes(Value value, int64_t &bytes, unsigned depth = 0) {
  Operation *op = value.getDefiningOp();
  if (!op || depth > maxChain ||
      !cast<RankedTensorType>(value.getType()).hasStaticShape())
    return false;
  if (isa<SplatOp, IotaOp>(op))
    return true;
  if (auto broadcast = dyn_cast<BroadcastOp>(op))
    return addConstantBytes(broadcast.getOperand(), bytes, depth + 1);
  if (!isa<ConstantOp>(op))
    return false;
  int64_t size = getElementBytes(getElementType(value));
  // What a constant holds is known to be addressable, unless it is a splat.
  for (int64_t d : cast<RankedTensorType>(value.getType()).getShape())
    if (llvm::MulOverflow(size, d, size))
      size = INT64_MAX;
  if (llvm::AddOverflow(bytes, size, bytes))
    bytes = INT64_MAX;
  return true;
}

/// Points of the iteration space; saturates, and is 0 where one size is.
static int64_t getWork(Operation *op) {
  auto indexed = dyn_cast<IndexedOpInterface>(op);
  if (!indexed)
    return INT64_MAX;
  int64_t work = 1;
  for (Expr size : indexed.getIterationSizes()) {
    auto constant = size.getConstant();
    if (!constant)
      return INT64_MAX;
    if (*constant == 0)
      return 0;
    if (llvm::MulOverflow(work, *constant, work))
      work = INT64_MAX;
  }
  return work;
}

static FailureOr<Tensors> evaluateWithOperands(Operation *op,
                                               Environment &env) {
  Tensors operands;
  for (Value operand : op->getOperands()) {
    auto results = evaluateWithOperands(operand.getDefiningOp(), env);
    if (failed(results))
      return failure();
    operands.push_back(std::move(results->front()));
  }
  return evaluate(op, operands, env);
}

/// Resources are called after the node whose value they hold.
static std::string getName(Operation *op) {
  if (auto loc = dyn_cast<NameLoc>(op->getLoc()))
    return loc.getName().str();
  return "folded";
}

FailureOr<SmallVector<ElementsAttr>>
foldConstants(Operation *op, std::string &reason, const FoldLimits &limits) {
  auto decline = [&](const Twine &why) {
    reason = why.str();
    return failure();
  };
  if (op->getNumOperands() == 0 || op->getNumRegions() != 0 ||
      isa<BroadcastOp>(op))
    return decline("is smaller than its value");
  int64_t operandBytes = 0;
  for (Value operand : op->getOperands())
    if (!isa<RankedTensorType>(operand.getType()) ||
        !addConstantBytes(operand, operandBytes))
      return decline("has an operand that is no constant");
  int64_t maxBytes;
  if (llvm::MulOverflow(operandBytes, limits.growth, maxBytes))
    maxBytes = INT64_MAX;
  maxBytes = std::max(maxBytes, limits.smallBytes);
  if (getWork(op) > limits.maxWork)
    return decline("would take more than " + Twine(limits.maxWork) + " steps");

  // What cannot be evaluated stays in the program, where it is diagnosed.
  ScopedDiagnosticHandler capture(op->getContext(),
                                  [&](Diagnostic &diagnostic) {
                                    reason = diagnostic.str();
                                    return success();
                                  });
  EvaluateOptions options;
  options.maxTensorBytes = maxBytes;
  Dims dims;
  Environment env{options, dims};
  auto results = evaluateWithOperands(op, env);
  if (failed(results))
    return failure();
  if (env.faults != 0)
    return decline("reads out of range, which a session reports when it runs");
  SmallVector<ElementsAttr> values;
  for (const Tensor &result : *results)
    values.push_back(result.toConstant(getName(op)));
  return values;
}

} // namespace fusec::reference
