// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What makes a kernel's text readable: the comment at its head, and the width
// of its lines. And lists of members, which all emitters write.

#ifndef FUSEC_COMPILER_CODEGEN_KERNELTEXT_H
#define FUSEC_COMPILER_CODEGEN_KERNELTEXT_H

#include "ir/FusecOps.h"
#include <string>

namespace fusec {

/// Comments: the step's nodes, when the variant is used and how it is launched.
std::string describeKernel(StepOp step, VariantAttr variant);

/// The text in lines of at most 120 columns, as far as it has spaces to break
/// at. A comment behind a line that is too long moves in front of it.
std::string breakLines(llvm::StringRef text);

/// "{a, b}": an initialiser, whose members are computed in this order.
std::string braced(std::initializer_list<llvm::StringRef> members);

} // namespace fusec

#endif // FUSEC_COMPILER_CODEGEN_KERNELTEXT_H
