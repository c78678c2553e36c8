// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs for models whose real ones are not at hand.

#ifndef FUSEC_TOOLS_FUSEC_RANDOMINPUTS_H
#define FUSEC_TOOLS_FUSEC_RANDOMINPUTS_H

#include "tools/fusec/Arguments.h"

namespace fusec {

/// Floats are standard normal, integers uniform in [0, indexLimit) (at most
/// their type's largest value), bools fair coins. The same arguments give the
/// same tensor on every machine. Throws Failure where there is no memory.
data::Tensor makeRandomTensor(format::DType dtype, std::vector<int64_t> sizes,
                              uint64_t seed, int64_t indexLimit);

} // namespace fusec

#endif // FUSEC_TOOLS_FUSEC_RANDOMINPUTS_H
