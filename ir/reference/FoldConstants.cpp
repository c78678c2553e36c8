// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/reference/FoldConstants.h"
#include "ir/reference/Evaluate.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace fusec::reference {

/// Views of views of constants end somewhere.
constexpr unsigned maxChain = 8;
/// What a byte of the model's own constants adds to the budget.
constexpr int64_t bytesPerByte = 8, workPerByte = 64;
/// Of all ops but matmul a point takes this many times as long.
constexpr int64_t workPerElement = 8;

static int64_t add(int64_t a, int64_t b) {
  return llvm::AddOverflow(a, b, a) ? INT64_MAX : a;
}
static int64_t multiply(int64_t a, int64_t b) {
  return llvm::MulOverflow(a, b, a) ? INT64_MAX : a;
}

/// What all elements take; saturates.
static int64_t getBytes(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  int64_t bytes = getElementBytes(tensor.getElementType());
  if (llvm::is_contained(tensor.getShape(), 0))
    return 0;
  for (int64_t size : tensor.getShape())
    bytes = ShapedType::isDynamic(size) ? INT64_MAX : multiply(bytes, size);
  return bytes;
}

//===----------------------------------------------------------------------===//
// The budget
//===----------------------------------------------------------------------===//

void FoldBudget::open(Operation *model) {
  if (isOpen)
    return;
  isOpen = true;
  // The same bytes may be those of many ops.
  llvm::DenseSet<const void *> seen;
  int64_t own = 0;
  auto count = [&](ElementsAttr value) {
    const void *key = value.getAsOpaquePointer();
    if (auto resource = dyn_cast<DenseResourceElementsAttr>(value))
      if (AsmResourceBlob *blob = resource.getRawHandle().getBlob())
        key = blob->getData().data();
    if (seen.insert(key).second)
      own = add(own, fusec::reference::getBytes(value.getType()));
  };
  model->walk([&](ConstantOp op) { count(op.getValue()); });
  model->walk([&](BufferOp op) {
    if (op.getValue())
      count(*op.getValue());
  });
  bytes = bytesLeft = add(leastBytes, multiply(own, bytesPerByte));
  work = workLeft = add(leastWork, multiply(own, workPerByte));
}

std::string FoldBudget::take(int64_t operandBytes, int64_t resultBytes,
                             int64_t opWork) {
  // Operands that are views of constants are expanded for a while.
  bool fits = operandBytes <= bytes && resultBytes <= bytesLeft;
  if (fits && opWork <= workLeft) {
    bytesLeft -= resultBytes;
    workLeft -= opWork;
    return "";
  }
  exceeded = true;
  if (!fits)
    return "would take the constants that are computed when compiling beyond " +
           std::to_string(bytes) + " bytes";
  return "would take the computation of constants beyond " +
         std::to_string(work) + " steps";
}

static int64_t getWork(Operation *op);

std::string FoldBudget::takeBlock(Block &block) {
  int64_t largest = 0, results = 0, steps = 0;
  for (Operation &op : block.without_terminator()) {
    for (Type type : op.getResultTypes())
      largest = std::max(largest, fusec::reference::getBytes(type));
    steps =
        add(steps, multiply(fusec::reference::getWork(&op), workPerElement));
  }
  for (Type type : block.getTerminator()->getOperandTypes())
    results = add(results, fusec::reference::getBytes(type));
  return take(largest, results, steps);
}

//===----------------------------------------------------------------------===//
// Folding
//===----------------------------------------------------------------------===//

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
  bytes = add(bytes, getBytes(value.getType()));
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
    work = multiply(work, *constant);
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

/// Takes what the op needs from the budget; else says why it cannot.
static std::string takeFrom(FoldBudget &budget, Operation *op, int64_t work) {
  int64_t operands = 0, results = 0;
  for (Value operand : op->getOperands()) {
    // Elements may be computed in a wider type.
    int64_t bytes = getBytes(operand.getType());
    Type type = getElementType(operand);
    operands = add(operands,
                   multiply(bytes, type.isF16() || type.isBF16() ? 2
                                   : type.isInteger(1) || isa<FloatType>(type)
                                       ? 1
                                       : 8 / getElementBytes(type)));
  }
  for (Type type : op->getResultTypes())
    results = add(results, getBytes(type));
  if (!isa<MatmulOp>(op))
    work = multiply(work, workPerElement);
  return budget.take(operands, results, add(work, operands));
}

FailureOr<SmallVector<ElementsAttr>> foldConstants(Operation *op,
                                                   FoldBudget &budget,
                                                   std::string &reason,
                                                   const FoldLimits &limits) {
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
  int64_t maxBytes =
      std::max(multiply(operandBytes, limits.growth), limits.smallBytes);
  int64_t work = getWork(op);
  if (work > limits.maxWork)
    return decline("would take more than " + Twine(limits.maxWork) + " steps");
  auto isTooLarge = [&](Type type) { return getBytes(type) > maxBytes; };
  if (llvm::any_of(op->getResultTypes(), isTooLarge) ||
      llvm::any_of(op->getOperandTypes(), isTooLarge))
    return decline("has a result, or an operand, that takes more than " +
                   Twine(maxBytes) + " bytes");
  if (std::string why = takeFrom(budget, op, work); !why.empty())
    return decline(why);

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
