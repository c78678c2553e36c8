// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/reference/Evaluate.h"
#include "ir/reference/Elements.h"
#include "ir/reference/Families.h"
#include "ir/reference/Inputs.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;

namespace fusec::reference {

Type Environment::getStoredType(Type elementType) const {
  if (options.exact && isa<FloatType>(elementType))
    return Float64Type::get(elementType.getContext());
  return elementType;
}

FailureOr<Tensor> Environment::allocate(OpResult result) const {
  Operation *op = result.getOwner();
  auto type = cast<RankedTensorType>(result.getType());
  auto sizes = dims.getSizes(
      type, [&](const Twine &message) { op->emitOpError(message); });
  if (failed(sizes))
    return failure();
  Type stored = getStoredType(type.getElementType());
  int64_t bytes =
      llvm::is_contained(*sizes, 0) ? 0 : fusec::getElementBytes(stored);
  for (int64_t size : *sizes)
    if (bytes != 0 && llvm::MulOverflow(bytes, size, bytes))
      bytes = INT64_MAX;
  if (bytes > options.maxTensorBytes) {
    op->emitOpError("has a result of sizes ")
        << toString(fusec::getSizes(type)) << ", which takes more than "
        << options.maxTensorBytes << " bytes";
    return failure();
  }
  return Tensor::allocate(stored, *sizes);
}

LogicalResult checkOperands(Operation *op, Operands operands,
                            Environment &env) {
  if (operands.size() != op->getNumOperands())
    return op->emitOpError("expected ")
           << op->getNumOperands() << " operands, got " << operands.size();
  for (auto [i, tensor] : llvm::enumerate(operands)) {
    auto type = cast<RankedTensorType>(op->getOperand(i).getType());
    auto sizes = env.dims.getSizes(
        type, [&](const Twine &message) { op->emitOpError(message); });
    if (failed(sizes))
      return failure();
    if (tensor.getSizes() != ArrayRef<int64_t>(*sizes) ||
        tensor.getElementType() != env.getStoredType(type.getElementType()))
      return op->emitOpError("expected operand ")
             << i << " to be of " << type << ", got "
             << RankedTensorType::get(tensor.getSizes(),
                                      tensor.getElementType());
  }
  return success();
}

static FailureOr<Tensors> single(TensorOr result) {
  if (failed(result))
    return failure();
  return Tensors{std::move(*result)};
}

FailureOr<Tensors> evaluate(Operation *op, ArrayRef<Tensor> operands,
                            Environment &env) {
  if (failed(checkOperands(op, operands, env)))
    return failure();
  return llvm::TypeSwitch<Operation *, FailureOr<Tensors>>(op)
      .Case([&](PointwiseOpInterface op) {
        return single(evaluatePointwise(op, operands, env));
      })
      .Case<ConstantOp, ReplaceableOp>([&](auto op) {
        return single(evaluateConstant(op, op.getValue(), env));
      })
      .Case([&](SplatOp op) { return single(evaluateSplat(op, env)); })
      .Case([&](IotaOp op) { return single(evaluateIota(op, env)); })
      .Case([&](SizeValueOp op) { return single(evaluateSizeValue(op, env)); })
      .Case<CollapseOp, ExpandOp>([&](auto op) {
        return single(evaluateReshape(op, operands[0], env));
      })
      .Case([&](TransposeOp op) {
        return single(evaluateTranspose(op, operands[0], env));
      })
      .Case([&](SliceOp op) {
        return single(evaluateSlice(op, operands[0], env));
      })
      .Case([&](BroadcastOp op) {
        return single(evaluateBroadcast(op, operands[0], env));
      })
      .Case([&](ConcatOp op) {
        return single(evaluateConcat(op, operands, env));
      })
      .Case([&](GatherOp op) {
        return single(evaluateGather(op, operands, env));
      })
      .Case([&](LookupOp op) {
        return single(evaluateLookup(op, operands, env));
      })
      .Case([&](BagOp op) { return single(evaluateBag(op, operands, env)); })
      .Case([&](ReduceOp op) {
        return single(evaluateReduce(op, operands[0], env));
      })
      .Case([&](ArgReduceOp op) {
        return single(evaluateArgReduce(op, operands[0], env));
      })
      .Case([&](CumSumOp op) {
        return single(evaluateCumSum(op, operands[0], env));
      })
      .Case([&](MatmulOp op) {
        return single(evaluateMatmul(op, operands, env));
      })
      .Case([&](ContractionOp op) {
        return evaluateContraction(op, operands, env);
      })
      .Case([&](PairProductOp op) {
        return single(evaluatePairProduct(op, operands, env));
      })
      .Case([&](FusionOp op) -> FailureOr<Tensors> {
        // The observer sees values between kernels; those inside are never
        // stored.
        EvaluateOptions options = env.options;
        options.observer = nullptr;
        Environment inner{options, env.dims};
        auto results = evaluate(op.getBody().front(), operands, inner);
        env.faults += inner.faults;
        env.outside += inner.outside;
        return results;
      })
      .Default([&](Operation *op) {
        op->emitOpError("cannot be evaluated by the reference");
        return failure();
      });
}

FailureOr<Tensors> evaluate(Block &block, ArrayRef<Tensor> arguments,
                            Environment &env) {
  if (arguments.size() != block.getNumArguments())
    return block.getParentOp()->emitOpError("expected ")
           << block.getNumArguments() << " arguments, got " << arguments.size();
  llvm::DenseMap<Value, Tensor> values;
  // A tensor is released after its last use, so that a deep model needs no more
  // memory than its widest place.
  llvm::DenseMap<Value, unsigned> uses;
  for (auto [value, tensor] : llvm::zip_equal(block.getArguments(), arguments))
    values[value] = tensor;
  for (Operation &op : block)
    for (Value operand : op.getOperands())
      ++uses[operand];

  auto take = [&](Operation &op) -> FailureOr<Tensors> {
    Tensors operands;
    for (Value operand : op.getOperands()) {
      auto it = values.find(operand);
      if (it == values.end())
        return op.emitOpError("uses a value from outside its region");
      operands.push_back(it->second);
    }
    for (Value operand : op.getOperands())
      if (--uses[operand] == 0)
        values.erase(operand);
    return operands;
  };
  for (Operation &op : block) {
    auto operands = take(op);
    if (failed(operands))
      return failure();
    if (op.hasTrait<OpTrait::IsTerminator>())
      return operands;
    auto results = evaluate(&op, *operands, env);
    if (failed(results))
      return failure();
    for (auto [value, tensor] : llvm::zip_equal(op.getResults(), *results)) {
      if (env.options.observer)
        env.options.observer(value, tensor);
      if (!value.use_empty())
        values[value] = tensor;
    }
  }
  return block.getParentOp()->emitOpError("expected a terminator");
}

LogicalResult bindInputs(ModelOp model, ArrayRef<Tensor> inputs,
                         const EvaluateOptions &options, Dims &dims) {
  Block &block = model.getBody().front();
  auto emit = [&](const Twine &message) { model.emitError(message); };
  if (inputs.size() != block.getNumArguments())
    return model.emitError("expected ")
           << block.getNumArguments() << " inputs, got " << inputs.size();
  for (auto [argument, tensor, name] :
       llvm::zip_equal(block.getArguments(), inputs,
                       model.getInputNames().getAsRange<StringAttr>())) {
    auto type = cast<RankedTensorType>(argument.getType());
    std::string what = ("input '" + name.getValue() + "'").str();
    bool exactFloat = options.exact && isa<FloatType>(type.getElementType()) &&
                      isa<FloatType>(tensor.getElementType());
    if (tensor.getElementType() != type.getElementType() && !exactFloat)
      return model.emitError(what)
             << ": expected elements of type " << type.getElementType()
             << ", got " << tensor.getElementType();
    if (failed(dims.bind(type, tensor.getSizes(), what, emit)))
      return failure();
  }
  return dims.check(model.getConstraints(), emit);
}

FailureOr<Evaluation> evaluate(ModelOp model, ArrayRef<Tensor> inputs,
                               const EvaluateOptions &options, Dims dims) {
  if (failed(bindInputs(model, inputs, options, dims)))
    return failure();
  Environment env{options, dims};
  Tensors arguments;
  for (const Tensor &input : inputs)
    arguments.push_back(
        convert(input, env.getStoredType(input.getElementType())));
  auto outputs = evaluate(model.getBody().front(), arguments, env);
  if (failed(outputs))
    return failure();
  return Evaluation{std::move(*outputs), env.faults, env.outside};
}

/// Of each byte, or of its two halves.
static Tensor absoluteOfBytes(const Tensor &tensor, bool isPacked) {
  if (tensor.getElementType().isUnsignedInteger())
    return tensor;
  Tensor result = Tensor::allocate(tensor.getElementType(), tensor.getSizes());
  std::vector<int64_t> values = loadAll<int64_t>(tensor);
  auto halfOf = [](int64_t bits) {
    return bits < 8 ? bits : std::min<int64_t>(16 - bits, 7);
  };
  for (int64_t &value : values)
    if (isPacked)
      value = halfOf(value & 15) | halfOf(value >> 4 & 15) << 4;
    else if (value < 0)
      value = std::min<int64_t>(-value, INT8_MAX);
  store<int64_t>(result, 0, values);
  return result;
}

FailureOr<Tensors> evaluateMagnitude(Operation *op, ArrayRef<Tensor> operands,
                                     Environment &env) {
  auto absolute = [](const Tensor &tensor, bool isNegated = false) {
    if (!isa<FloatType>(tensor.getElementType()))
      return tensor;
    Tensor result =
        Tensor::allocate(tensor.getElementType(), tensor.getSizes());
    withComputeType(tensor.getElementType(), [&](auto x) {
      if constexpr (std::is_floating_point_v<decltype(x)>) {
        auto values = loadAll<decltype(x)>(tensor);
        for (auto &value : values)
          value = isNegated ? -std::fabs(value) : std::fabs(value);
        store<decltype(x)>(result, 0, values);
      }
    });
    return result;
  };
  auto reduce = dyn_cast<ReduceOp>(op);
  Tensors inputs(operands);
  if (isa<MatmulOp, ContractionOp, PairProductOp, BagOp, CumSumOp>(op) ||
      (reduce && reduce.getKind() == ReduceKind::Sum))
    for (Tensor &input : inputs)
      input = absolute(input);
  // (|x| + |zero|) * |factor| of rows that are quantised.
  if (auto bag = dyn_cast<BagOp>(op); bag && !bag.getFactors().empty()) {
    for (size_t t = 0; t < bag.getTables().size(); ++t)
      inputs[t] = absoluteOfBytes(inputs[t], !!bag.getPacked());
    for (Tensor &zeros :
         MutableArrayRef(inputs).take_back(bag.getZeros().size()))
      zeros = absolute(zeros, /*isNegated=*/true);
  }
  auto results = evaluate(op, inputs, env);
  if (succeeded(results))
    for (Tensor &result : *results)
      result = absolute(result);
  return results;
}

} // namespace fusec::reference
