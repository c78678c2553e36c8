// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Greedy fusion: of all legal merges the one that saves most memory traffic
// first, until none is left.

#ifndef FUSEC_COMPILER_TRANSFORMS_FUSION_GREEDYFUSION_H
#define FUSEC_COMPILER_TRANSFORMS_FUSION_GREEDYFUSION_H

#include "compiler/transforms/fusion/FusionGroups.h"
#include <map>
#include <set>
#include <tuple>

namespace fusec {

/// Refusals are remembered until one of the groups changes.
class GreedyFusion {
public:
  explicit GreedyFusion(FusionGroups &groups);
  /// Merges until nothing is legal. Again after groups have changed otherwise.
  void run();
  void remarkRefusals();

private:
  /// The two groups and their versions.
  using Pair = std::tuple<unsigned, unsigned, unsigned, unsigned>;
  /// Best first: saved bytes, negated; the consumer; the edge's number.
  using Candidate = std::tuple<int64_t, unsigned, size_t>;

  Pair getPair(const FusionEdge &edge) const;
  Candidate getCandidate(size_t edge) const;
  void tryMerge(size_t edge);
  void merge(size_t edge, Family family);

  FusionGroups &groups;
  std::vector<int64_t> bytes; // of the edges
  std::set<Candidate> candidates;
  std::map<Pair, std::string> refused;
  /// The refused edges of a group, until it changes.
  llvm::DenseMap<unsigned, llvm::SmallVector<size_t>> waiting;
};

} // namespace fusec

#endif // FUSEC_COMPILER_TRANSFORMS_FUSION_GREEDYFUSION_H
