// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finding weights by their names.

#include "runtime/src/NamedWeights.h"

#include "runtime/src/Failure.h"

#include <algorithm>
#include <map>

namespace fusec::rt {

std::vector<TensorTexts>
describeTensors(const std::vector<format::TensorSpec> &tensors) {
  std::vector<TensorTexts> all(tensors.size());
  for (size_t i = 0; i != tensors.size(); ++i) {
    for (const format::Expr &size : tensors[i].sizes) {
      all[i].sizes.push_back(size.isConstant() ? size.value : -1);
      all[i].expressions.push_back(format::toString(size));
    }
    for (const std::string &expression : all[i].expressions)
      all[i].pointers.push_back(expression.c_str());
  }
  return all;
}

NamedWeights::NamedWeights(const format::Plan &plan, const char *kind,
                           bool (*isOfKind)(const format::Weight &weight),
                           bool hasOption)
    : kind(kind), hasOption(hasOption) {
  std::map<std::string, size_t> byName;
  for (size_t i = 0; i != plan.weights.size(); ++i)
    if (isOfKind(plan.weights[i]))
      byName[plan.weights[i].name] = i;
  for (const auto &[name, index] : byName) {
    const format::Weight &weight = plan.weights[index];
    format::TensorSpec spec{name, weight.dtype, {}};
    spec.sizes.assign(weight.sizes.begin(), weight.sizes.end());
    theSpecs.push_back(std::move(spec));
    weights.push_back(index);
  }
  theTexts = describeTensors(theSpecs);
}

size_t NamedWeights::find(const std::string &name) const {
  auto found = std::lower_bound(
      theSpecs.begin(), theSpecs.end(), name,
      [](const format::TensorSpec &spec, const std::string &name) {
        return spec.name < name;
      });
  if (found != theSpecs.end() && found->name == name)
    return size_t(found - theSpecs.begin());
  std::string known;
  for (const format::TensorSpec &spec : theSpecs)
    known += (known.empty() ? "'" : ", '") + spec.name + "'";
  fail(FUSEC_INVALID_ARGUMENT,
       std::string("the model has no ") + kind + " weight '" + name + "'; " +
           (!known.empty() ? "it has " + known
            : hasOption    ? std::string("it was compiled without --") + kind
                           : "it has none"));
}

} // namespace fusec::rt
