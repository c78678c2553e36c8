// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matmul steps that feed one another become one step of the chain family, where
// that is legal and the target's cost model says that it pays.

#include "compiler/Passes.h"
#include "compiler/Remarks.h"
#include "compiler/codegen/Iteration.h"
#include "compiler/schedule/Schedules.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace fusec {
#define GEN_PASS_DEF_FORMCHAINS
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace fusec;

static BufferOp lookUp(StepOp step, Attribute ref) {
  return SymbolTable::lookupNearestSymbolFrom<BufferOp>(
      step, cast<FlatSymbolRefAttr>(ref));
}

static bool mayOverlap(BufferOp a, BufferOp b) {
  return a == b ||
         (a.getKind() == b.getKind() && a.getKind() != BufferKind::Weight &&
          a.getIndex() == b.getIndex());
}

static bool touches(StepOp step, ArrayAttr refs, BufferOp buffer) {
  return llvm::any_of(refs, [&](Attribute ref) {
    return mayOverlap(lookUp(step, ref), buffer);
  });
}

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

static bool isProduct(StepOp step) {
  return step.getFamily() == Family::Gemm || step.getFamily() == Family::Chain;
}

/// The later of two steps is where both can run, unless a step between them
/// needs the earlier one's results; then it is the earlier one, unless the
/// later one needs that step's. Null where neither is.
static StepOp findPlace(StepOp producer, StepOp consumer) {
  bool canMoveDown = true, canMoveUp = true;
  for (Operation *op = producer->getNextNode(); op != consumer;
       op = op->getNextNode()) {
    auto between = dyn_cast<StepOp>(op);
    if (!between)
      continue;
    for (Attribute ref : producer.getOutputs())
      canMoveDown &=
          !touches(between, between.getInputs(), lookUp(producer, ref));
    for (Attribute ref : consumer.getInputs())
      canMoveUp &=
          !touches(between, between.getOutputs(), lookUp(consumer, ref));
  }
  return canMoveDown ? consumer : canMoveUp ? producer : StepOp();
}

/// Why the step is no kernel of the target, or nothing.
static std::string checkChain(StepOp chain, const Target &target) {
  std::string reason;
  auto iteration = analyzeChain(chain, reason);
  if (failed(iteration))
    return reason;
  int64_t bytes = iteration->getSharedBytes(1);
  if (bytes > target.sharedBytes)
    return llvm::formatv("weights and one row take {0} bytes of shared memory "
                         "of {1}",
                         bytes, target.sharedBytes);
  return "";
}

//===----------------------------------------------------------------------===//
// Policy
//===----------------------------------------------------------------------===//

static double getTime(StepOp step, const Target &target, Precision precision,
                      int64_t dim) {
  auto estimate = step.getFamily() == Family::Chain
                      ? estimateChainStep(step, target, dim)
                      : estimateGemmStep(step, target, precision, dim);
  return estimate ? estimate->microseconds : INFINITY;
}

/// Why the chain is slower than its parts at some size, or nothing: there is
/// one plan for all of them.
static std::string checkTime(StepOp chain, ArrayRef<StepOp> parts,
                             const Target &target, Precision precision) {
  for (int64_t dim : sampledDims) {
    double together = getTime(chain, target, precision, dim), apart = 0;
    for (StepOp part : parts)
      apart += getTime(part, target, precision, dim);
    if (!(together <= apart))
      return llvm::formatv("a chain takes {0:f1} us where its parts take "
                           "{1:f1} us, at dimensions of {2}",
                           together, apart, dim);
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Mechanics
//===----------------------------------------------------------------------===//

/// Whether nobody but the two steps, the one writing and the other reading it,
/// knows the buffer.
static bool isBetween(BufferOp buffer, StepOp producer, StepOp consumer) {
  if (buffer.getKind() != BufferKind::Slot)
    return false;
  for (auto step : cast<PlanOp>(buffer->getParentOp()).getOps<StepOp>())
    for (ArrayAttr refs : {step.getInputs(), step.getOutputs()})
      for (Attribute ref : refs) {
        BufferOp other = lookUp(step, ref);
        bool isOwn = other == buffer && (step == producer || step == consumer);
        if (!isOwn && mayOverlap(other, buffer))
          return false;
      }
  return true;
}

static std::string joinNames(StepOp producer, StepOp consumer) {
  std::string name = producer.getName().str();
  if (producer.getFamily() != Family::Chain)
    name = "chain_" + name;
  StringRef added = consumer.getName();
  added.consume_front("chain_");
  return name.size() + added.size() < 48 ? name + "_" + added.str() : name;
}

/// A step of both regions at `place`, beside the two.
static StepOp join(StepOp producer, StepOp consumer, StepOp place) {
  OpBuilder builder(place);
  llvm::SetVector<Attribute> inputs, outputs, sources;
  for (Attribute ref : producer.getOutputs())
    if (!isBetween(lookUp(producer, ref), producer, consumer))
      outputs.insert(ref);
  outputs.insert(consumer.getOutputs().begin(), consumer.getOutputs().end());
  auto isComputed = [&](Attribute ref) {
    return llvm::is_contained(producer.getOutputs(), ref);
  };
  inputs.insert(producer.getInputs().begin(), producer.getInputs().end());
  for (Attribute ref : consumer.getInputs())
    if (!isComputed(ref))
      inputs.insert(ref);
  for (StepOp part : {producer, consumer})
    sources.insert(part.getSources().begin(), part.getSources().end());

  MLIRContext *context = place.getContext();
  auto plain =
      VariantAttr::get(context, {}, getPlainSchedule(Family::Chain, context));
  auto chain = StepOp::create(
      builder, builder.getFusedLoc({producer.getLoc(), consumer.getLoc()}),
      joinNames(producer, consumer), Family::Chain,
      builder.getArrayAttr(inputs.getArrayRef()),
      builder.getArrayAttr(outputs.getArrayRef()),
      builder.getArrayAttr({plain}),
      builder.getArrayAttr(sources.getArrayRef()));
  Block &block = chain.getBody().emplaceBlock();
  llvm::DenseMap<Attribute, Value> values; // of buffers
  for (Attribute ref : inputs)
    values[ref] = block.addArgument(lookUp(place, ref).getType(),
                                    lookUp(place, ref).getLoc());
  builder.setInsertionPointToEnd(&block);
  for (StepOp part : {producer, consumer}) {
    IRMapping mapping;
    Block &body = part.getBody().front();
    for (auto [argument, ref] :
         llvm::zip_equal(body.getArguments(), part.getInputs()))
      mapping.map(argument, values.lookup(ref));
    for (Operation &op : body.without_terminator())
      builder.clone(op, mapping);
    for (auto [value, ref] : llvm::zip_equal(
             body.getTerminator()->getOperands(), part.getOutputs()))
      values[ref] = mapping.lookup(value);
  }
  SmallVector<Value> yielded;
  for (Attribute ref : outputs)
    yielded.push_back(values.lookup(ref));
  YieldOp::create(builder, chain.getLoc(), yielded);
  return chain;
}

/// Erases buffers and slots that no step is left to touch.
static void eraseUnused(PlanOp plan) {
  llvm::DenseSet<Operation *> touched;
  for (auto step : plan.getOps<StepOp>())
    for (ArrayAttr refs : {step.getInputs(), step.getOutputs()})
      for (Attribute ref : refs)
        touched.insert(lookUp(step, ref));
  SmallVector<Attribute> slots;
  llvm::DenseMap<uint64_t, unsigned> places;
  for (auto buffer :
       llvm::make_early_inc_range(plan.getBody().getOps<BufferOp>())) {
    if (buffer.getKind() != BufferKind::Slot)
      continue;
    if (!touched.contains(buffer)) {
      buffer.erase();
      continue;
    }
    auto [it, isNew] = places.try_emplace(buffer.getIndex(), slots.size());
    if (isNew)
      slots.push_back(plan.getSlots()[buffer.getIndex()]);
    buffer.setIndex(it->second);
  }
  plan.setSlotsAttr(ArrayAttr::get(plan.getContext(), slots));
}

namespace {
struct FormChains : fusec::impl::FormChainsBase<FormChains> {
  using FormChainsBase::FormChainsBase;

  void runOnOperation() override {
    PlanOp plan = getOperation();
    target = findTarget(plan.getSymName());
    std::optional<Precision> parsed = parsePrecision(precision);
    if (!target || !parsed) {
      plan.emitError("expected a known target and a precision of 'fma', 'ieee' "
                     "or 'tf32', got '")
          << plan.getSymName() << "' and '" << precision << "'";
      return signalPassFailure();
    }
    products = *parsed;
    bool changed = false;
    for (StepOp step : llvm::to_vector(plan.getOps<StepOp>()))
      if (isProduct(step))
        while ((step = joinWithProducer(step)))
          changed = true;
    if (changed)
      eraseUnused(plan);
  }

  /// Null where no producer joins it.
  StepOp joinWithProducer(StepOp consumer) {
    llvm::SetVector<StepOp> producers;
    for (Operation *op = consumer->getPrevNode(); op; op = op->getPrevNode())
      if (auto step = dyn_cast<StepOp>(op); step && isProduct(step))
        if (llvm::any_of(step.getOutputs(), [&](Attribute ref) {
              return llvm::is_contained(consumer.getInputs(), ref);
            }))
          producers.insert(step);
    SmallVector<std::pair<StepOp, std::string>> refused;
    for (StepOp producer : producers) {
      std::string reason;
      if (StepOp chain = tryJoin(producer, consumer, reason))
        return chain;
      refused.push_back({producer, reason});
    }
    for (auto &[producer, reason] : refused)
      remarkMissed(RemarkTopic::Fusion, "chain", consumer.getLoc())
          << describe(producer, consumer) << ": " << reason;
    return {};
  }

  StepOp tryJoin(StepOp producer, StepOp consumer, std::string &reason) {
    StepOp place = findPlace(producer, consumer);
    if (!place) {
      reason = "a kernel between them reads the one's results and computes the "
               "other's operands";
      return {};
    }
    StepOp chain = join(producer, consumer, place);
    reason = checkChain(chain, *target);
    if (reason.empty())
      reason = checkTime(chain, {producer, consumer}, *target, products);
    if (!reason.empty()) {
      chain.erase();
      return {};
    }
    remarkPassed(RemarkTopic::Fusion, "chain", consumer.getLoc())
        << describe(producer, consumer) << " are one kernel";
    consumer.erase();
    producer.erase();
    return chain;
  }

  static std::string describe(StepOp producer, StepOp consumer) {
    return "'" + producer.getName().str() + "' and '" +
           consumer.getName().str() + "'";
  }

  const Target *target = nullptr;
  Precision products = Precision::Ieee;
};
} // namespace
