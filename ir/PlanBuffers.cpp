// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/PlanBuffers.h"
#include <mutex>

using namespace mlir;
using namespace fusec;

static PlanBufferTables &getTables(Operation *op) {
  return *op->getDialect()->getRegisteredInterface<PlanBufferTables>();
}

PlanBuffers::PlanBuffers(PlanOp plan) : plan(plan) {
  for (auto buffer : plan.getBody().getOps<BufferOp>())
    buffers[buffer.getSymNameAttr()] = buffer;
  getTables(plan).add(plan, this);
}

PlanBuffers::~PlanBuffers() { getTables(plan).remove(plan, this); }

void PlanBufferTables::add(Operation *plan, const PlanBuffers *table) {
  std::unique_lock lock(mutex);
  tables.try_emplace(plan, table);
}

void PlanBufferTables::remove(Operation *plan, const PlanBuffers *table) {
  std::unique_lock lock(mutex);
  if (tables.lookup(plan) == table)
    tables.erase(plan);
}

BufferOp PlanBufferTables::lookup(Operation *plan,
                                  FlatSymbolRefAttr ref) const {
  std::shared_lock lock(mutex);
  const PlanBuffers *table = tables.lookup(plan);
  return table ? table->lookup(ref) : BufferOp();
}

static BufferOp findBuffer(StepOp step, Attribute name) {
  auto ref = cast<FlatSymbolRefAttr>(name);
  if (BufferOp known = getTables(step).lookup(step->getParentOp(), ref))
    return known;
  return SymbolTable::lookupNearestSymbolFrom<BufferOp>(step, ref);
}

BufferOp StepOp::getInputBuffer(Value argument) {
  return findBuffer(*this,
                    getInputs()[cast<BlockArgument>(argument).getArgNumber()]);
}
BufferOp StepOp::getOutputBuffer(unsigned output) {
  return findBuffer(*this, getOutputs()[output]);
}
