// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a thread does for an element, in instructions: what decides where memory
// does not.

#ifndef FUSEC_COMPILER_KERNELS_NODEWORK_H
#define FUSEC_COMPILER_KERNELS_NODEWORK_H

#include "compiler/analysis/ScalarProgram.h"
#include "compiler/schedule/Costs.h"

namespace fusec {

double getInstructions(const OpCosts &costs, const ScalarNode &node);

} // namespace fusec

#endif // FUSEC_COMPILER_KERNELS_NODEWORK_H
