// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/transforms/plan/JoinSteps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

bool fusec::readsWeightsOnly(StepOp step, const PlanBuffers &buffers) {
  auto isWeight = [&](FlatSymbolRefAttr ref) {
    BufferOp buffer = buffers.lookup(ref);
    return buffer.getKind() == BufferKind::Weight && buffer.getValue() &&
           !buffer.getReplaceable();
  };
  return !step.getInputs().empty() &&
         llvm::all_of(step.getInputs().getAsRange<FlatSymbolRefAttr>(),
                      isWeight);
}

StepJoiner::StepJoiner(PlanOp plan) : plan(plan), buffers(plan) {
  for (StepOp step : plan.getOps<StepOp>())
    add(step);
}

BufferOp StepJoiner::lookUp(Attribute ref) const {
  return buffers.lookup(cast<FlatSymbolRefAttr>(ref));
}

static std::pair<unsigned, int64_t> getPlace(BufferOp buffer) {
  return {static_cast<unsigned>(buffer.getKind()), buffer.getIndex()};
}

void StepJoiner::add(StepOp step) {
  for (Attribute ref : step.getOutputs())
    writers[ref] = step;
  for (bool write : {false, true})
    for (Attribute ref : write ? step.getOutputs() : step.getInputs())
      if (BufferOp buffer = lookUp(ref); buffer.getKind() != BufferKind::Weight)
        steps[write][getPlace(buffer)].insert(step);
}

void StepJoiner::remove(StepOp step) {
  for (bool write : {false, true})
    for (Attribute ref : write ? step.getOutputs() : step.getInputs())
      if (BufferOp buffer = lookUp(ref); buffer.getKind() != BufferKind::Weight)
        steps[write][getPlace(buffer)].erase(step);
}

/// Those that may touch what the buffer holds.
const StepJoiner::Steps &StepJoiner::getSteps(bool write,
                                              BufferOp buffer) const {
  static const Steps none;
  auto it = steps[write].find(getPlace(buffer));
  return it == steps[write].end() || buffer.getKind() == BufferKind::Weight
             ? none
             : it->second;
}

SmallVector<StepOp> StepJoiner::getProducers(StepOp step) const {
  llvm::SetVector<StepOp> found;
  for (Attribute ref : step.getInputs())
    if (StepOp writer = getWriter(ref))
      found.insert(writer);
  SmallVector<StepOp> producers = found.takeVector();
  llvm::sort(producers,
             [](StepOp a, StepOp b) { return b->isBeforeInBlock(a); });
  return producers;
}

static bool mayOverlap(BufferOp a, BufferOp b) {
  return a == b ||
         (a.getKind() == b.getKind() && a.getKind() != BufferKind::Weight &&
          a.getIndex() == b.getIndex());
}

bool StepJoiner::touches(ArrayAttr refs, BufferOp buffer) const {
  return llvm::any_of(
      refs, [&](Attribute ref) { return mayOverlap(lookUp(ref), buffer); });
}

/// The later of two steps is where both can run, unless a step between them
/// needs the earlier one's results; then it is the earlier one, unless the
/// later one needs that step's. Null where neither is.
StepOp StepJoiner::findPlace(StepOp producer, StepOp consumer) const {
  auto isBetween = [&](Operation *step) {
    return producer->isBeforeInBlock(step) && step->isBeforeInBlock(consumer);
  };
  auto isUntouched = [&](ArrayAttr refs, bool write) {
    return llvm::none_of(refs, [&](Attribute ref) {
      return llvm::any_of(getSteps(write, lookUp(ref)), isBetween);
    });
  };
  return isUntouched(producer.getOutputs(), /*write=*/false) ? consumer
         : isUntouched(consumer.getInputs(), /*write=*/true) ? producer
                                                             : StepOp();
}

/// Whether the consumer reads a buffer of which the producer writes a part, as
/// of a concat: other blocks of one kernel would not have stored it yet.
bool StepJoiner::readsPartly(StepOp consumer, StepOp producer) const {
  return llvm::any_of(consumer.getInputs(), [&](Attribute ref) {
    return !llvm::is_contained(producer.getOutputs(), ref) &&
           touches(producer.getOutputs(), lookUp(ref));
  });
}

/// Whether nobody but the two steps, the one writing and the other reading it,
/// knows the buffer.
bool StepJoiner::isBetween(BufferOp buffer, StepOp producer,
                           StepOp consumer) const {
  if (buffer.getKind() != BufferKind::Slot)
    return false;
  for (bool write : {false, true})
    for (Operation *step : getSteps(write, buffer))
      if (step != producer && step != consumer)
        return false;
  auto isOtherPart = [&](Attribute ref) {
    BufferOp other = lookUp(ref);
    return other != buffer && mayOverlap(other, buffer);
  };
  return llvm::none_of(ArrayRef{producer, consumer}, [&](StepOp step) {
    return llvm::any_of(step.getInputs(), isOtherPart) ||
           llvm::any_of(step.getOutputs(), isOtherPart);
  });
}

StepOp StepJoiner::buildJoined(StepOp producer, StepOp consumer, StepOp place,
                               const JoinedStep &wanted) const {
  OpBuilder builder(place);
  llvm::SetVector<Attribute> inputs, outputs, sources;
  for (Attribute ref : producer.getOutputs())
    if (!isBetween(lookUp(ref), producer, consumer))
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
      VariantAttr::get(context, {}, getPlainSchedule(wanted.family, context));
  auto joined = StepOp::create(
      builder, builder.getFusedLoc({producer.getLoc(), consumer.getLoc()}),
      wanted.name, wanted.family, builder.getArrayAttr(inputs.getArrayRef()),
      builder.getArrayAttr(outputs.getArrayRef()),
      builder.getArrayAttr({plain}),
      builder.getArrayAttr(sources.getArrayRef()), /*lead=*/nullptr);
  Block &block = joined.getBody().emplaceBlock();
  llvm::DenseMap<Attribute, Value> values; // of buffers
  for (Attribute ref : inputs)
    values[ref] =
        block.addArgument(lookUp(ref).getType(), lookUp(ref).getLoc());
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
  YieldOp::create(builder, joined.getLoc(), yielded);
  return joined;
}

std::string fusec::nameBoth(StepOp producer, StepOp consumer) {
  return fmt::format("'{}' and '{}'", producer.getName(), consumer.getName());
}

StepOp StepJoiner::join(StepOp producer, StepOp consumer,
                        const JoinedStep &joined, std::string &reason) {
  StepOp place = findPlace(producer, consumer);
  if (!place) {
    reason = "a kernel between them reads the one's results and computes the "
             "other's operands";
    return {};
  }
  if (readsPartly(consumer, producer)) {
    reason = "the one's results are part of what the other reads";
    return {};
  }
  StepOp step = buildJoined(producer, consumer, place, joined);
  reason = joined.check(step);
  if (!reason.empty()) {
    step.erase();
    return {};
  }
  remarkPassed(joined.remark, consumer.getLoc())
      << nameBoth(producer, consumer) << " are one kernel";
  remove(consumer);
  remove(producer);
  add(step);
  consumer.erase();
  producer.erase();
  return step;
}

void StepJoiner::eraseUnusedBuffers() {
  llvm::DenseSet<Operation *> touched;
  for (auto step : plan.getOps<StepOp>())
    for (ArrayAttr refs : {step.getInputs(), step.getOutputs()})
      for (Attribute ref : refs)
        touched.insert(lookUp(ref));
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
