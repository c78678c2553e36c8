// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/host/HostPlan.h"
#include "compiler/kernels/Family.h"
#include "compiler/kernels/Launch.h"
#include "compiler/kernels/gemm/GemmUnits.h"
#include "runtime/format/Manifest.h"
#include "test/host/HostCall.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace fusec {

/// A kernel that takes longer than this is taken for one that never ends.
constexpr unsigned secondsPerKernel = 60;

namespace {
/// One run of a plan: its memory, and the launches in it.
class Run {
public:
  Run(PlanOp plan, ModelOp model, const KernelLibrary &library,
      const reference::Dims &dims, HostPlan::Round round)
      : plan(plan), model(model), library(library), dims(dims), round(round) {}

  bool layOut(ArrayRef<reference::Tensor> tensors);
  bool holds(VariantAttr variant);
  bool launch(StepOp step, const HostVariant &variant);
  bool checkFences(StepOp step);
  void finish(HostPlan::Result &result);

  std::string error;

private:
  bool fail(std::string message) {
    error = std::move(message);
    return false;
  }
  int64_t evaluate(Expr expr) {
    std::optional<int64_t> value = dims.evaluate(expr);
    if (!value && error.empty())
      error = "cannot compute " + expr.str();
    return value.value_or(0);
  }
  std::vector<char> packParams(ArrayRef<KernelParam> params,
                               std::vector<size_t> &starts);

  PlanOp plan;
  ModelOp model;
  const KernelLibrary &library;
  const reference::Dims &dims;
  HostPlan::Round round;

  std::vector<HostMemory> slots, inputs, outputs, weights;
  reference::Tensors results;
  llvm::StringMap<char *> pointers;
  uint64_t faults = 0;
  /// More of them once a kernel asks for more: the number of the launch is then
  /// the last one before they begin again, and words are as if the first of
  /// those had been there already.
  uint32_t *getFlags(size_t words) {
    constexpr size_t plain = format::flagWords / 2;
    const bool isFirst = flags.size() == plain;
    if (2 * flags.size() < words) {
      flags.resize((words + 1) / 2,
                   isFirst ? uint64_t(1) << 32 | 0x7fc00000 : 0);
      uint32_t before = isFirst ? ~0u - 1 : uint32_t(flags[plain]);
      flags[plain] = uint64_t(2 * flags.size()) << 32 | before;
    }
    return reinterpret_cast<uint32_t *>(flags.data());
  }
  std::vector<uint64_t> flags = std::vector<uint64_t>(format::flagWords / 2);
};
} // namespace

bool Run::layOut(ArrayRef<reference::Tensor> tensors) {
  for (const reference::Tensor &tensor : tensors) {
    ArrayRef<char> bytes = tensor.getBytes();
    inputs.emplace_back(bytes.size(), round.placement, tensor.getElementBytes(),
                        round.poison);
    if (!bytes.empty())
      std::memcpy(inputs.back().data(), bytes.data(), bytes.size());
    inputs.back().protect();
  }
  for (Value value : model.getBody().front().getTerminator()->getOperands()) {
    auto type = cast<RankedTensorType>(value.getType());
    auto sizes = dims.getSizes(
        type, [&](const Twine &message) { error = message.str(); });
    if (failed(sizes))
      return false;
    results.push_back(
        reference::Tensor::allocate(type.getElementType(), *sizes));
    outputs.emplace_back(results.back().getBytes().size(), round.placement,
                         results.back().getElementBytes(), round.poison);
  }
  for (auto slot : plan.getSlots().getAsRange<ExprAttr>())
    slots.emplace_back(evaluate(slot), Placement::Aligned, 1, round.poison);
  for (BufferOp buffer : plan.getBody().getOps<BufferOp>()) {
    size_t index = buffer.getIndex();
    char *base = nullptr;
    switch (buffer.getKind()) {
    case BufferKind::Input:
      base = inputs.at(index).data();
      break;
    case BufferKind::Output:
      base = outputs.at(index).data();
      break;
    case BufferKind::Slot:
      base = slots.at(index).data();
      break;
    case BufferKind::Weight: {
      auto tensor = reference::Tensor::fromConstant(*buffer.getValue(), error);
      if (failed(tensor))
        return false;
      ArrayRef<char> bytes = tensor->getBytes();
      weights.emplace_back(bytes.size(), Placement::Aligned, 1, round.poison);
      if (!bytes.empty())
        std::memcpy(weights.back().data(), bytes.data(), bytes.size());
      weights.back().protect();
      base = weights.back().data();
      break;
    }
    }
    pointers[buffer.getSymName()] = base + evaluate(buffer.getOffset());
  }
  return error.empty();
}

bool Run::holds(VariantAttr variant) {
  for (GuardAttr guard : variant.getGuards()) {
    int64_t lhs = evaluate(guard.getLhs()), rhs = evaluate(guard.getRhs());
    bool good = false;
    switch (guard.getKind()) {
    case GuardKind::Le:
      good = lhs <= rhs;
      break;
    case GuardKind::Lt:
      good = lhs < rhs;
      break;
    case GuardKind::Ge:
      good = lhs >= rhs;
      break;
    case GuardKind::Gt:
      good = lhs > rhs;
      break;
    case GuardKind::Eq:
      good = lhs == rhs;
      break;
    case GuardKind::Ne:
      good = lhs != rhs;
      break;
    case GuardKind::Aligned:
      good = reinterpret_cast<uintptr_t>(
                 pointers.lookup(guard.getBuffer().getValue())) %
                 rhs ==
             0;
      break;
    }
    if (!good)
      return false;
  }
  return true;
}

std::vector<char> Run::packParams(ArrayRef<KernelParam> params,
                                  std::vector<size_t> &starts) {
  std::vector<char> bytes;
  auto append = [&](const auto &value) {
    const char *from = reinterpret_cast<const char *>(&value);
    bytes.insert(bytes.end(), from, from + sizeof(value));
  };
  for (const KernelParam &param : params) {
    if (!param.continues) {
      bytes.resize(llvm::alignTo(bytes.size(), 8));
      starts.push_back(bytes.size());
    }
    if (param.kind == KernelParam::Kind::Buffer)
      append(pointers.lookup(param.buffer) + param.offset);
    else if (param.kind == KernelParam::Kind::Fault)
      append(&faults);
    else if (param.kind == KernelParam::Kind::Flags)
      append(getFlags(param.words));
    else if (param.bits == 32)
      append(static_cast<int32_t>(evaluate(param.size)));
    else
      append(evaluate(param.size));
  }
  return bytes;
}

bool Run::launch(StepOp step, const HostVariant &variant) {
  auto describe = [&](StringRef what) {
    return llvm::formatv("step '{0}' {1}: {2}", step.getName(), variant.variant,
                         what)
        .str();
  };
  KernelLibrary::Entry entry = library.getEntry(variant.kernel);
  if (!entry)
    return fail(describe(library.getError(variant.kernel)));
  std::vector<size_t> starts;
  std::vector<char> bytes = packParams(variant.source.params, starts);
  std::vector<void *> params;
  for (size_t start : starts)
    params.push_back(bytes.data() + start);
  int64_t blocks = evaluate(variant.variant.getLaunch().getBlocks());
  if (blocks < 0 || blocks > INT32_MAX)
    return fail(
        describe("has a grid of " + std::to_string(blocks) + " blocks"));
  int grid[3] = {static_cast<int>(blocks), 1, 1};
  if (!error.empty())
    return fail(describe(error));
  std::string stopped = callGuarded(
      [&] { entry(params.data(), grid, 0, blocks); }, secondsPerKernel);
  if (stopped.empty() &&
      llvm::any_of(ArrayRef(flags).take_front(format::flagWords / 2),
                   [](uint64_t flag) { return flag != 0; }))
    stopped = "leaves flags that are not zero";
  return stopped.empty() || fail(describe(stopped));
}

bool Run::checkFences(StepOp step) {
  for (const auto *group : {&slots, &outputs})
    for (auto [i, memory] : llvm::enumerate(*group))
      if (!memory.isIntact())
        return fail(llvm::formatv("step '{0}' writes beside {1} {2}",
                                  step.getName(),
                                  group == &slots ? "slot" : "output", i)
                        .str());
  return true;
}

void Run::finish(HostPlan::Result &result) {
  for (auto [tensor, memory] : llvm::zip_equal(results, outputs))
    if (memory.size())
      std::memcpy(tensor.getMutableData(), memory.data(), memory.size());
  result.outputs = std::move(results);
  result.faults = faults;
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// A tensor map is the device's own: what reads through one runs there alone.
static bool isForDeviceOnly(Attribute schedule) {
  auto gemm = dyn_cast<GemmScheduleAttr>(schedule);
  return gemm && getGemmUnit(gemm).usesTensorMaps();
}

/// The variant with the schedule at that place of those that run on a host;
/// null where none does.
static VariantAttr getHostVariant(VariantAttr variant, unsigned place) {
  SmallVector<Attribute> schedules = {variant.getSchedule()};
  for (CandidateAttr candidate : variant.getAlternatives())
    schedules.push_back(candidate.getSchedule());
  llvm::erase_if(schedules, isForDeviceOnly);
  if (schedules.empty())
    return {};
  Attribute schedule = schedules[place % schedules.size()];
  return schedule == variant.getSchedule()
             ? variant
             : VariantAttr::get(variant.getContext(), variant.getGuards(),
                                schedule);
}

LogicalResult HostPlan::emit(KernelLibrary &library) {
  for (StepOp op : plan.getBody().getOps<StepOp>()) {
    Step &step = steps.emplace_back();
    step.op = op;
    SmallVector<VariantAttr> variants;
    for (auto variant : op.getVariants().getAsRange<VariantAttr>())
      if (VariantAttr forHost = getHostVariant(variant, schedule))
        variants.push_back(forHost);
    // Another schedule has the same epilogue.
    if (llvm::all_of(variants, [](VariantAttr variant) {
          return !variant.getGuards().empty();
        }))
      variants.push_back(
          VariantAttr::get(op.getContext(), {},
                           getPlainSchedule(Family::Gemm, op.getContext())));
    for (VariantAttr variant : variants) {
      variant = withLaunch(op, variant);
      FailureOr<KernelSource> source =
          emitKernel(op, variant, KernelLibrary::symbol);
      if (failed(source))
        return failure();
      unsigned kernel = library.add(source->text);
      source->text.clear();
      step.variants.push_back({variant, std::move(*source), kernel});
    }
  }
  return success();
}

std::optional<HostPlan::Result>
HostPlan::run(const KernelLibrary &library, ArrayRef<reference::Tensor> inputs,
              const reference::Dims &dims, Round round, std::string &error) {
  Run run(plan, model, library, dims, round);
  Result result;
  auto fail = [&] {
    error = run.error;
    return std::nullopt;
  };
  if (!run.layOut(inputs))
    return fail();
  for (Step &step : steps) {
    SmallVector<HostVariant *> possible;
    for (HostVariant &variant : step.variants)
      if (run.holds(variant.variant))
        possible.push_back(&variant);
    if (possible.empty()) {
      error = ("no variant of step '" + step.op.getName() + "' may run").str();
      return std::nullopt;
    }
    result.choices = std::max<unsigned>(result.choices, possible.size());
    HostVariant *chosen =
        possible[std::min<size_t>(round.choice, possible.size() - 1)];
    if (!run.launch(step.op, *chosen) || !run.checkFences(step.op))
      return fail();
    chosen->wasRun = true;
  }
  run.finish(result);
  return result;
}

std::vector<std::string> HostPlan::getUnused() const {
  std::vector<std::string> names;
  for (const Step &step : steps)
    for (const HostVariant &variant : step.variants)
      if (!variant.wasRun)
        names.push_back(llvm::formatv("{0}: {1}", StepOp(step.op).getName(),
                                      variant.variant));
  return names;
}

size_t HostPlan::countVariants() const {
  size_t count = 0;
  for (const Step &step : steps)
    count += step.variants.size();
  return count;
}

} // namespace fusec
