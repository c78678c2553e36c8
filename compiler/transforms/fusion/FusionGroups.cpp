// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/transforms/fusion/FusionGroups.h"
#include "compiler/analysis/Views.h"
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
  return isa<SplatOp, IotaOp, SizeValueOp>(op) || isSplatConstant(op) ||
         isViewOfOne(op);
}

static Family getFamily(Operation *op) {
  switch (cast<IndexedOpInterface>(op).getFusionKind()) {
  case FusionKind::Reduce:
  case FusionKind::ArgReduce:
    return Family::Reduce;
  case FusionKind::Scan:
    return Family::Scan;
  case FusionKind::Matmul:
    return Family::Gemm;
  case FusionKind::Pairs:
    return Family::Pairs;
  case FusionKind::Bag:
    return Family::Bag;
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
    if (!isFree(&op) && !isWeight(&op))
      addGroup(&op);
  }
  for (Value output : block.getTerminator()->getOperands())
    modelOutputs.insert(output);
  finishAdding();
}

void FusionGroups::addGroup(Operation *op) {
  groupOf[op] = groups.size();
  groups.push_back({getFamily(op), {op}});
}

void FusionGroups::addBefore(ArrayRef<Value> results, Operation *reader) {
  for (Value result : results) {
    Operation *op = result.getDefiningOp();
    position[op] = position.lookup(reader);
    addGroup(op);
  }
}

void FusionGroups::finishAdding() {
  readEdges();
  order = GroupOrder(groups.size(), getOrder());
}

void FusionGroups::readEdges() {
  edges.clear();
  edgesTo.clear();
  readers.clear();
  for (Operation &op : model.getBody().front().without_terminator()) {
    if (!groupOf.contains(&op))
      continue;
    size_t first = edges.size();
    for (Value source : getSources(&op)) {
      edges.push_back({source, &op});
      readers[source].push_back(&op);
    }
    edgesTo[&op] = {first, edges.size()};
  }
  for (std::vector<size_t> &counts : edgeCounts)
    counts.assign(groups.size(), 0);
  for (const FusionEdge &edge : edges) {
    ++edgeCounts[false][getConsumer(edge)];
    ++edgeCounts[true][getProducer(edge)];
  }
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
    else if (auto bag = dyn_cast<BagOp>(op)) {
      llvm::append_range(inMemory, bag.getRowOperands());
      llvm::copy_if(bag.getPlaced(), std::back_inserter(inMemory),
                    [](Value v) { return !isPlainOfBag(v); });
    } else if (auto pairs = dyn_cast<PairProductOp>(op);
               pairs && !isPlainMatrix(pairs.getX(), /*alongRows=*/true))
      inMemory.push_back(pairs.getX());
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
  SmallVector<Operation *> ops;
  std::merge(groups[a].ops.begin(), groups[a].ops.end(), groups[b].ops.begin(),
             groups[b].ops.end(), std::back_inserter(ops),
             [&](Operation *x, Operation *y) {
               return position.lookup(x) < position.lookup(y);
             });
  return ops;
}

void FusionGroups::visitNeighbours(
    unsigned id, bool ahead, llvm::function_ref<void(unsigned)> visit) const {
  for (Operation *op : groups[id].ops) {
    if (!ahead) {
      auto [first, end] = getEdgesTo(op);
      for (size_t i = first; i != end; ++i)
        visit(getProducer(edges[i]));
      continue;
    }
    for (Value result : op->getResults())
      if (auto it = readers.find(result); it != readers.end())
        for (Operation *reader : it->second)
          visit(groupOf.lookup(reader));
  }
}

/// Searches backwards from the consumer and ahead from the producer, at each
/// step where less has been looked at: one of many readers of a value has few
/// operands, one of many operands few readers.
FusionGroups::Between FusionGroups::findBetween(unsigned producer,
                                                unsigned consumer) const {
  struct Side {
    SmallVector<unsigned> pending;
    llvm::DenseSet<unsigned> seen;
    SmallVector<unsigned> found;
    size_t cost = 0;
  } sides[2];
  sides[false].pending = {consumer};
  sides[true].pending = {producer};
  auto nextCost = [&](bool ahead) {
    return sides[ahead].cost + edgeCounts[ahead][sides[ahead].pending.back()];
  };
  while (true) {
    bool ahead = nextCost(true) < nextCost(false);
    Side &side = sides[ahead], &other = sides[!ahead];
    unsigned start = ahead ? producer : consumer,
             goal = ahead ? consumer : producer;
    side.cost = nextCost(ahead) + 1;
    unsigned id = side.pending.pop_back_val();
    bool hasPath = false;
    visitNeighbours(id, ahead, [&](unsigned next) {
      if (next == goal) {
        hasPath |= id != start;
        return;
      }
      if (next == id || !order.isBefore(producer, next) ||
          !order.isBefore(next, consumer) || !side.seen.insert(next).second)
        return;
      hasPath |= other.seen.contains(next);
      side.found.push_back(next);
      side.pending.push_back(next);
    });
    if (hasPath)
      return {true, ahead, {}};
    if (side.pending.empty())
      return {false, ahead, std::move(side.found)};
  }
}

bool FusionGroups::hasOtherPath(unsigned producer, unsigned consumer) const {
  return findBetween(producer, consumer).hasPath;
}

void FusionGroups::merge(unsigned producer, unsigned consumer, Family family) {
  // The merged group stands where the consumer did, with what the producer
  // leads to behind it, or where the producer did, behind what leads to it.
  Between between = findBetween(producer, consumer);
  unsigned place = consumer;
  if (!between.leadsAhead) {
    place = order.getPrevious(producer);
    between.groups.push_back(consumer);
  }
  order.remove(producer);
  if (!between.groups.empty())
    order.moveBehind(place, between.groups);

  for (Operation *op : groups[producer].ops)
    groupOf[op] = consumer;
  groups[consumer].ops = getUnion(producer, consumer);
  groups[consumer].family = family;
  ++groups[consumer].version;
  groups[producer].ops.clear();
  ++groups[producer].version;
  for (std::vector<size_t> &counts : edgeCounts)
    counts[consumer] += counts[producer];
}

SmallVector<Expr> FusionGroups::getStrides(Value value) const {
  auto it = slices.find(value);
  return it != slices.end()
             ? it->second
             : getDenseStrides(getSizes(value), value.getContext());
}

bool FusionGroups::slice(
    const llvm::MapVector<Value, SmallVector<Expr>> &strides) {
  llvm::SetVector<unsigned> touched;
  for (auto &[value, places] : strides) {
    slices[value] = places;
    touched.insert(groupOf.lookup(value.getDefiningOp()));
    for (Operation *reader : readers.lookup(value))
      touched.insert(groupOf.lookup(reader));
  }
  bool legal = llvm::all_of(
      touched, [&](unsigned id) { return readsOperands(*this, groups[id]); });
  if (!legal)
    for (auto &[value, places] : strides)
      slices.erase(value);
  return legal;
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
    visitNeighbours(id, /*ahead=*/false, [&](unsigned from) {
      if (!state[from])
        stack.push_back({from, false});
    });
  }
  return order;
}
