// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/transforms/fusion/GreedyFusion.h"
#include "compiler/Names.h"
#include "compiler/Remarks.h"
#include "compiler/analysis/TypicalSizes.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

static std::string describe(const FusionGroup &group) {
  std::string name;
  for (Operation *op : group.ops)
    if (std::string node = getNodeName(op->getLoc()); !node.empty())
      name = node;
  if (name.empty())
    name = group.ops.back()->getName().stripDialect().str();
  return fmt::format("'{}'", name);
}

static int64_t getTypicalBytes(Value value) {
  Expr count = getElementCount(getSizes(value), value.getContext());
  return std::min(getTypicalValue(count), INT64_MAX / 64) *
         getElementBytes(getElementType(value));
}

GreedyFusion::GreedyFusion(FusionGroups &groups) : groups(groups) {
  llvm::DenseMap<Value, int64_t> known;
  for (const FusionEdge &edge : groups.getEdges()) {
    auto [it, isNew] = known.try_emplace(edge.value);
    if (isNew)
      it->second = getTypicalBytes(edge.value);
    bytes.push_back(it->second);
  }
}

GreedyFusion::Pair GreedyFusion::getPair(const FusionEdge &edge) const {
  unsigned producer = groups.getProducer(edge),
           consumer = groups.getConsumer(edge);
  return {producer, groups.getGroups()[producer].version, consumer,
          groups.getGroups()[consumer].version};
}

GreedyFusion::Candidate GreedyFusion::getCandidate(size_t edge) const {
  return {-bytes[edge], groups.getConsumer(groups.getEdges()[edge]), edge};
}

void GreedyFusion::run() {
  waiting.clear();
  for (size_t edge = 0; edge < bytes.size(); ++edge)
    candidates.insert(getCandidate(edge));
  while (!candidates.empty()) {
    size_t edge = std::get<size_t>(*candidates.begin());
    candidates.erase(candidates.begin());
    tryMerge(edge);
  }
}

void GreedyFusion::tryMerge(size_t number) {
  const FusionEdge &edge = groups.getEdges()[number];
  unsigned producer = groups.getProducer(edge),
           consumer = groups.getConsumer(edge);
  if (producer == consumer)
    return;
  auto [refusal, isNew] = refused.try_emplace(getPair(edge));
  if (isNew) {
    FusionVerdict verdict = checkFusion(groups, producer, consumer);
    if (verdict.family) {
      refused.erase(refusal);
      return merge(number, *verdict.family);
    }
    refusal->second = verdict.reason;
  }
  waiting[producer].push_back(number);
  waiting[consumer].push_back(number);
}

void GreedyFusion::merge(size_t number, Family family) {
  const FusionEdge &edge = groups.getEdges()[number];
  unsigned producer = groups.getProducer(edge),
           consumer = groups.getConsumer(edge);
  remarkPassed(remarks::merge, edge.value.getLoc())
      << describe(groups.getGroups()[producer]) << " into "
      << describe(groups.getGroups()[consumer]) << ": saves "
      << std::to_string(2 * bytes[number]) << " bytes";

  // What the producer reads, the consumer will.
  SmallVector<size_t> changed;
  for (Operation *op : groups.getGroups()[producer].ops) {
    auto [first, end] = groups.getEdgesTo(op);
    for (size_t i = first; i != end; ++i)
      if (candidates.erase(getCandidate(i)))
        changed.push_back(i);
  }
  for (unsigned id : {producer, consumer})
    if (auto it = waiting.find(id); it != waiting.end()) {
      llvm::append_range(changed, it->second);
      waiting.erase(it);
    }
  groups.merge(producer, consumer, family);
  for (size_t i : changed)
    candidates.insert(getCandidate(i));
}

void GreedyFusion::remarkRefusals() {
  // Products that follow one another may become a chain, and a reduction part
  // of a product's epilogue: those passes have the last word on them.
  auto isLeftToPlans = [&](const FusionEdge &edge) {
    Family from = groups.getGroups()[groups.getProducer(edge)].family,
           to = groups.getGroups()[groups.getConsumer(edge)].family;
    return from == Family::Gemm && (to == Family::Gemm || to == Family::Reduce);
  };
  // In the order of the groups that read.
  SmallVector<const FusionEdge *> edges;
  for (const FusionEdge &edge : groups.getEdges())
    edges.push_back(&edge);
  llvm::stable_sort(edges, [&](const FusionEdge *a, const FusionEdge *b) {
    return groups.getConsumer(*a) < groups.getConsumer(*b);
  });
  for (const FusionEdge *edge : edges)
    if (auto it = refused.find(getPair(*edge));
        it != refused.end() && !isLeftToPlans(*edge))
      remarkMissed(remarks::merge, edge->value.getLoc())
          << describe(groups.getGroups()[groups.getProducer(*edge)]) << " into "
          << describe(groups.getGroups()[groups.getConsumer(*edge)]) << ": "
          << it->second;
}
