// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/transforms/FusionGroups.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fusec;

static bool isSplatConstant(Operation *op) {
  auto constant = dyn_cast<ConstantOp>(op);
  auto dense =
      constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : nullptr;
  return dense && dense.isSplat();
}

/// Views and generated values, by their kind.
static bool isFreeKind(Operation *op) {
  if (isa<SplatOp, IotaOp, SizeValueOp>(op) || isSplatConstant(op))
    return true;
  auto indexed = dyn_cast<IndexedOpInterface>(op);
  return indexed && indexed.getFusionKind() == FusionKind::View &&
         !isa<ConcatOp>(op);
}

static Family getFamily(Operation *op) {
  switch (cast<IndexedOpInterface>(op).getFusionKind()) {
  case FusionKind::Reduce:
  case FusionKind::ArgReduce:
    return Family::Reduce;
  case FusionKind::Matmul:
    return Family::Gemm;
  default:
    return Family::Pointwise;
  }
}

FusionGroups::FusionGroups(ModelOp model) : model(model) {
  Block &block = model.getBody().front();
  markCopies();
  unsigned index = 0;
  for (Operation &op : block.without_terminator()) {
    position[&op] = index++;
    if (isFree(&op) || isWeight(&op))
      continue;
    addGroup(&op);
  }
  for (Value output : block.getTerminator()->getOperands())
    modelOutputs.insert(output);
}

void FusionGroups::addGroup(Operation *op) {
  groupOf[op] = groups.size();
  groups.push_back({getFamily(op), {op}});
  setSources(op);
}

void FusionGroups::setSources(Operation *op) {
  for (Value source : sources[op])
    llvm::erase(readers[source], op);
  sources[op] = getSources(op);
  for (Value source : sources[op])
    readers[source].push_back(op);
}

void FusionGroups::addBefore(ArrayRef<Value> results, Operation *reader) {
  for (Value result : results) {
    Operation *op = result.getDefiningOp();
    position[op] = position.lookup(reader);
    addGroup(op);
  }
  setSources(reader);
}

void FusionGroups::markCopies() {
  Block &block = model.getBody().front();
  for (Operation &op : block.without_terminator()) {
    SmallVector<Value> inMemory;
    if (auto contraction = dyn_cast<ContractionOp>(op))
      llvm::copy_if(contraction.getOperands(), std::back_inserter(inMemory),
                    [](Value v) { return !isPlainMatrix(v); });
    else if (auto lookup = dyn_cast<LookupOp>(op))
      llvm::append_range(inMemory, lookup.getTables());
    for (Value value : inMemory)
      if (Operation *view = value.getDefiningOp();
          view && isFreeKind(view) && !isa<ConstantOp>(view))
        copies.insert(view);
  }
  for (Value output : block.getTerminator()->getOperands())
    if (Operation *view = output.getDefiningOp(); view && isFreeKind(view))
      copies.insert(view);
}

bool FusionGroups::isFree(Operation *op) const {
  return isFreeKind(op) && !copies.contains(op);
}

bool FusionGroups::isInside(unsigned group, Operation *op) const {
  if (isFree(op))
    return true;
  auto it = groupOf.find(op);
  return it != groupOf.end() && it->second == group;
}

std::optional<unsigned> FusionGroups::getGroupOf(Operation *op) const {
  auto it = groupOf.find(op);
  return it == groupOf.end() ? std::nullopt
                             : std::optional<unsigned>(it->second);
}

/// Values of other computing ops that the op reads, through free ops.
SmallVector<Value> FusionGroups::getSources(Operation *op) const {
  llvm::SetVector<Value> found;
  SmallVector<Value> stack(llvm::reverse(op->getOperands()));
  llvm::DenseSet<Value> seen;
  while (!stack.empty()) {
    Value value = stack.pop_back_val();
    Operation *producer = value.getDefiningOp();
    if (!producer || !seen.insert(value).second)
      continue;
    if (!isFree(producer)) {
      if (!isWeight(producer))
        found.insert(value);
      continue;
    }
    llvm::append_range(stack, producer->getOperands());
  }
  return found.takeVector();
}

SmallVector<FusionEdge> FusionGroups::getEdges() const {
  SmallVector<FusionEdge> edges;
  for (auto [id, group] : llvm::enumerate(groups))
    for (Operation *op : group.ops)
      for (Value source : sources.lookup(op))
        if (unsigned from = groupOf.lookup(source.getDefiningOp()); from != id)
          edges.push_back({from, static_cast<unsigned>(id), source});
  return edges;
}

SmallVector<Value> FusionGroups::getOutputs(ArrayRef<Operation *> ops) const {
  SmallVector<Value> outputs;
  llvm::DenseSet<Operation *> members(ops.begin(), ops.end());
  for (Operation *op : ops)
    for (Value result : op->getResults()) {
      auto it = readers.find(result);
      bool escapes = modelOutputs.contains(result);
      if (it != readers.end())
        escapes |= llvm::any_of(
            it->second, [&](Operation *r) { return !members.contains(r); });
      if (escapes)
        outputs.push_back(result);
    }
  return outputs;
}

SmallVector<Operation *> FusionGroups::getUnion(unsigned a, unsigned b) const {
  SmallVector<Operation *> ops = groups[a].ops;
  llvm::append_range(ops, groups[b].ops);
  llvm::sort(ops, [&](Operation *x, Operation *y) {
    return position.lookup(x) < position.lookup(y);
  });
  return ops;
}

bool FusionGroups::hasOtherPath(unsigned producer, unsigned consumer) const {
  // Backwards from the consumer, not taking the direct edges.
  SmallVector<unsigned> stack;
  llvm::DenseSet<unsigned> seen;
  auto visit = [&](unsigned id, bool direct) {
    for (Operation *op : groups[id].ops)
      for (Value source : sources.lookup(op)) {
        unsigned from = groupOf.lookup(source.getDefiningOp());
        if (from == id || (direct && from == producer))
          continue;
        if (seen.insert(from).second)
          stack.push_back(from);
      }
  };
  visit(consumer, true);
  while (!stack.empty()) {
    unsigned id = stack.pop_back_val();
    if (id == producer)
      return true;
    visit(id, false);
  }
  return false;
}

void FusionGroups::merge(unsigned producer, unsigned consumer, Family family) {
  groups[consumer].ops = getUnion(producer, consumer);
  groups[consumer].family = family;
  ++groups[consumer].version;
  groups[producer].ops.clear();
  ++groups[producer].version;
  for (Operation *op : groups[consumer].ops)
    groupOf[op] = consumer;
}

SmallVector<unsigned> FusionGroups::getOrder() const {
  SmallVector<unsigned> order;
  std::vector<char> state(groups.size());
  SmallVector<std::pair<unsigned, bool>> stack;
  for (size_t root = groups.size(); root-- > 0;)
    if (!groups[root].ops.empty())
      stack.push_back({static_cast<unsigned>(root), false});
  while (!stack.empty()) {
    auto [id, done] = stack.pop_back_val();
    if (done) {
      order.push_back(id);
      continue;
    }
    if (state[id]++)
      continue;
    stack.push_back({id, true});
    for (Operation *op : groups[id].ops)
      for (Value source : sources.lookup(op))
        if (unsigned from = groupOf.lookup(source.getDefiningOp());
            !state[from])
          stack.push_back({from, false});
  }
  return order;
}
