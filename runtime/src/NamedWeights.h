// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights that callers name, and how tensors are described to them.

#ifndef FUSEC_RUNTIME_SRC_NAMEDWEIGHTS_H
#define FUSEC_RUNTIME_SRC_NAMEDWEIGHTS_H

#include "runtime/format/Manifest.h"

#include <string>
#include <vector>

namespace fusec::rt {

// The text form of a tensor's sizes, for the C interface.
struct TensorTexts {
  std::vector<int64_t> sizes; // -1 where dynamic
  std::vector<std::string> expressions;
  std::vector<const char *> pointers;
};
std::vector<TensorTexts>
describeTensors(const std::vector<format::TensorSpec> &tensors);

// Those of a plan of one kind, in ascending order of names.
class NamedWeights {
public:
  NamedWeights() = default;
  // The texts have pointers into themselves.
  NamedWeights(NamedWeights &&) = default;
  NamedWeights &operator=(NamedWeights &&) = default;
  // `hasOption`: an option of `fusec compile` called `kind` makes such weights.
  NamedWeights(const format::Plan &plan, const char *kind,
               bool (*isOfKind)(const format::Weight &weight),
               bool hasOption = true);

  size_t size() const { return theSpecs.size(); }
  const std::vector<format::TensorSpec> &specs() const { return theSpecs; }
  const std::vector<TensorTexts> &texts() const { return theTexts; }
  // The index of the plan's weight.
  size_t weight(size_t index) const { return weights[index]; }
  // Throws Failure that names those there are.
  size_t find(const std::string &name) const;

private:
  const char *kind = "";
  bool hasOption = true;
  std::vector<format::TensorSpec> theSpecs;
  std::vector<size_t> weights;
  std::vector<TensorTexts> theTexts;
};

} // namespace fusec::rt

#endif
