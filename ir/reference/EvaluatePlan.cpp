// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/reference/EvaluatePlan.h"
#include "ir/reference/Inputs.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cstring>

using namespace mlir;

namespace fusec::reference {

/// NaN in every float type.
constexpr char poison = '\xff';

namespace {
/// A buffer's elements in the memory that it lies in.
struct Place {
  mutable BufferOp op; // MLIR has no const ops
  /// Of an input or a weight; others lie in the memory of the run.
  Tensor tensor;
  SmallVector<int64_t> sizes, strides;
  int64_t start = 0; // bytes, in the tensor or in the memory
  int64_t width = 1;

  bool isWritable() const { return !tensor; }
  /// Calls back with the position of each element in row-major order.
  template <typename Callback> void forEach(Callback callback) const {
    SmallVector<int64_t> byteStrides =
        llvm::map_to_vector(strides, [&](int64_t s) { return s * width; });
    forEachOffset(sizes, byteStrides, start, callback);
  }
};

/// One run of a plan.
class Run {
public:
  Run(PlanOp plan, ModelOp model, ArrayRef<Tensor> inputs,
      const EvaluateOptions &options, const Dims &dims)
      : plan(plan), model(model), inputs(inputs), options(options), dims(dims) {
  }

  FailureOr<Evaluation> run();

private:
  LogicalResult layOut();
  LogicalResult addBuffer(BufferOp op);
  LogicalResult findLifetimes();
  LogicalResult runStep(StepOp step, Environment &env);
  FailureOr<int64_t> evaluate(Operation *op, Expr expr);

  PlanOp plan;
  ModelOp model;
  ArrayRef<Tensor> inputs;
  const EvaluateOptions &options;
  const Dims &dims;

  /// Slots first, then outputs.
  std::vector<char> memory;
  SmallVector<std::pair<int64_t, int64_t>> slots; // position and size
  SmallVector<std::pair<int64_t, int64_t>> outputs;
  Tensors results;
  llvm::StringMap<Place> places;
  /// The bytes that die with each step.
  std::vector<std::vector<int64_t>> deaths;
};
} // namespace

FailureOr<int64_t> Run::evaluate(Operation *op, Expr expr) {
  auto value = dims.evaluate(expr);
  if (!value) {
    op->emitOpError("cannot compute ") << expr.str();
    return failure();
  }
  return *value;
}

LogicalResult Run::layOut() {
  int64_t end = 0;
  auto reserve = [&](Operation *op,
                     int64_t size) -> FailureOr<std::pair<int64_t, int64_t>> {
    if (size < 0 || size > options.maxTensorBytes ||
        end > options.maxTensorBytes) {
      op->emitOpError("needs memory of ")
          << size << " bytes, expected 0 to " << options.maxTensorBytes;
      return failure();
    }
    std::pair<int64_t, int64_t> place(end, size);
    end += llvm::alignTo(size, slotAlignment);
    return place;
  };
  for (auto attr : plan.getSlots().getAsRange<ExprAttr>()) {
    auto size = evaluate(plan, attr);
    if (failed(size))
      return failure();
    auto place = reserve(plan, *size);
    if (failed(place))
      return failure();
    slots.push_back(*place);
  }
  Operation *terminator = model.getBody().front().getTerminator();
  for (Value value : terminator->getOperands()) {
    auto type = cast<RankedTensorType>(value.getType());
    auto sizes = dims.getSizes(
        type, [&](const Twine &message) { plan.emitOpError(message); });
    if (failed(sizes))
      return failure();
    int64_t bytes = getElementBytes(type.getElementType());
    for (int64_t size : *sizes)
      if (llvm::MulOverflow(bytes, size, bytes))
        bytes = INT64_MAX;
    auto place = reserve(plan, bytes);
    if (failed(place))
      return failure();
    outputs.push_back(*place);
    results.push_back(Tensor::allocate(type.getElementType(), *sizes));
  }
  memory.assign(end, poison);
  for (auto buffer : plan.getBody().getOps<BufferOp>())
    if (failed(addBuffer(buffer)))
      return failure();
  return success();
}

LogicalResult Run::addBuffer(BufferOp op) {
  Place place;
  place.op = op;
  auto type = cast<RankedTensorType>(op.getType());
  auto sizes = dims.getSizes(
      type, [&](const Twine &message) { op.emitOpError(message); });
  auto offset = evaluate(op, op.getOffset());
  if (failed(sizes) || failed(offset))
    return failure();
  place.sizes = *sizes;
  place.width = getElementBytes(type.getElementType());
  for (auto attr : op.getStrides().getAsRange<ExprAttr>()) {
    auto stride = evaluate(op, attr);
    if (failed(stride))
      return failure();
    place.strides.push_back(*stride);
  }

  auto outOf = [&](size_t count, const char *what) {
    return op.emitOpError("expected ")
           << what << " below " << count << ", got " << op.getIndex();
  };
  int64_t base = 0, size = 0;
  size_t index = op.getIndex();
  switch (op.getKind()) {
  case BufferKind::Input:
    if (index >= inputs.size())
      return outOf(inputs.size(), "an input");
    place.tensor = inputs[index];
    break;
  case BufferKind::Weight: {
    std::string error;
    auto tensor = Tensor::fromConstant(*op.getValue(), error);
    if (failed(tensor))
      return op.emitOpError(error);
    place.tensor = *tensor;
    break;
  }
  case BufferKind::Output:
    if (index >= outputs.size())
      return outOf(outputs.size(), "an output");
    std::tie(base, size) = outputs[index];
    break;
  case BufferKind::Slot:
    if (index >= slots.size())
      return outOf(slots.size(), "a slot");
    std::tie(base, size) = slots[index];
    break;
  }
  if (place.tensor) {
    if (place.tensor.getElementBytes() != place.width)
      return op.emitOpError("expected elements of ")
             << place.tensor.getElementType();
    size = place.tensor.getBytes().size();
  }
  // The first and the last byte; 128 bits hold every sum of products here.
  if (!llvm::is_contained(place.sizes, 0)) {
    __int128 first = *offset, last = *offset;
    for (auto [stride, count] : llvm::zip_equal(place.strides, place.sizes))
      (stride < 0 ? first : last) +=
          static_cast<__int128>(stride) * (count - 1) * place.width;
    if (first < 0 || last + place.width > size)
      return op.emitOpError("leaves its memory of ")
             << size << " bytes: it lies from " << static_cast<int64_t>(first)
             << " to " << static_cast<int64_t>(last + place.width);
  }
  place.start = base + *offset;
  places[op.getSymName()] = place;
  return success();
}

/// Goes through the steps backwards, so that for each byte it is known whether
/// it will be read before it is written again.
LogicalResult Run::findLifetimes() {
  std::vector<bool> live(memory.size(), false);
  for (auto [position, size] : outputs)
    std::fill_n(live.begin() + position, size, true);
  SmallVector<StepOp> steps(plan.getBody().getOps<StepOp>());
  deaths.resize(steps.size());
  // Who touched a byte in the step at hand: 1 reads, 2 writes.
  std::vector<char> touched(memory.size(), 0);
  for (size_t i = steps.size(); i-- > 0;) {
    StepOp step = steps[i];
    std::vector<int64_t> bytes;
    bool conflict = false;
    auto touch = [&](ArrayAttr refs, char how) -> LogicalResult {
      for (auto ref : refs.getAsRange<FlatSymbolRefAttr>()) {
        const Place &place = places.find(ref.getValue())->second;
        if (how == 2 && !place.isWritable())
          return step.emitOpError("writes '")
                 << place.op.getSymName() << "', which is an input or a weight";
        if (!place.isWritable())
          continue;
        place.forEach([&](int64_t position) {
          for (int64_t at = position; at < position + place.width; ++at) {
            conflict |= how == 2 && touched[at] != 0;
            if (touched[at] == 0)
              bytes.push_back(at);
            touched[at] = how;
          }
        });
        if (conflict)
          return step.emitOpError("writes bytes of '")
                 << place.op.getSymName()
                 << "' that it also reads or writes elsewhere";
      }
      return success();
    };
    if (failed(touch(step.getInputs(), 1)) ||
        failed(touch(step.getOutputs(), 2)))
      return failure();
    for (int64_t at : bytes) {
      if (!live[at])
        deaths[i].push_back(at);
      live[at] = touched[at] == 1;
      touched[at] = 0;
    }
  }
  for (auto [i, output] : llvm::enumerate(outputs))
    for (int64_t at = output.first; at < output.first + output.second; ++at)
      if (live[at])
        return plan.emitOpError("does not write byte ")
               << at - output.first << " of output " << i;
  for (auto [i, slot] : llvm::enumerate(slots))
    for (int64_t at = slot.first; at < slot.first + slot.second; ++at)
      if (live[at])
        return plan.emitOpError("reads byte ") << at - slot.first << " of slot "
                                               << i << " before it is written";
  return success();
}

LogicalResult Run::runStep(StepOp step, Environment &env) {
  Tensors arguments;
  for (auto ref : step.getInputs().getAsRange<FlatSymbolRefAttr>()) {
    const Place &place = places.find(ref.getValue())->second;
    Type type = cast<RankedTensorType>(place.op.getType()).getElementType();
    Tensor tensor = Tensor::allocate(type, place.sizes);
    const char *from =
        place.isWritable() ? memory.data() : place.tensor.getBytes().data();
    char *to = tensor.getMutableData();
    place.forEach([&](int64_t position) {
      std::memcpy(to, from + position, place.width);
      to += place.width;
    });
    arguments.push_back(std::move(tensor));
  }
  auto values = reference::evaluate(step.getBody().front(), arguments, env);
  if (failed(values))
    return failure();
  auto outputs = step.getOutputs().getAsRange<FlatSymbolRefAttr>();
  for (auto [ref, tensor] : llvm::zip_equal(outputs, *values)) {
    const Place &place = places.find(ref.getValue())->second;
    const char *from = tensor.getBytes().data();
    place.forEach([&](int64_t position) {
      std::memcpy(memory.data() + position, from, place.width);
      from += place.width;
    });
  }
  return success();
}

FailureOr<Evaluation> Run::run() {
  if (failed(layOut()) || failed(findLifetimes()))
    return failure();
  EvaluateOptions inside = options;
  inside.observer = nullptr;
  Environment env{inside, dims};
  for (auto [i, step] : llvm::enumerate(plan.getBody().getOps<StepOp>())) {
    if (failed(runStep(step, env)))
      return failure();
    for (int64_t at : deaths[i])
      memory[at] = poison;
  }
  for (auto [tensor, place] : llvm::zip_equal(results, outputs))
    std::copy_n(memory.data() + place.first, place.second,
                static_cast<char *>(tensor.getMutableData()));
  return Evaluation{results, env.faults, env.outside};
}

FailureOr<Evaluation> evaluate(PlanOp plan, ArrayRef<Tensor> inputs,
                               const EvaluateOptions &options, Dims dims) {
  auto model = SymbolTable::lookupNearestSymbolFrom<ModelOp>(
      plan->getParentOp(), plan.getModelAttr());
  if (!model)
    return plan.emitOpError("expected the model ")
           << plan.getModelAttr() << " beside it";
  if (options.exact)
    return plan.emitOpError(
        "has buffers of its own types; evaluate the model to get exact values");
  if (failed(bindInputs(model, inputs, options, dims)))
    return failure();
  return Run(plan, model, inputs, options, dims).run();
}

} // namespace fusec::reference
