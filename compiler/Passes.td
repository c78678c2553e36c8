// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every pass, with its IR before and after. Types are shortened where they do
// not matter.

#ifndef FUSEC_COMPILER_PASSES_TD
#define FUSEC_COMPILER_PASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// Between stages
//===----------------------------------------------------------------------===//

def VerifyLevel : Pass<"fusec-verify-level"> {
  let summary = "check that no op of a later or a lowered level is left";
  let description = [{
    At `tensor` only ops of the tensor level may occur; at `fused` those of the
    tensor and the fused level, and no `fusec.matmul`; at `planned` a plan holds
    buffers and steps, and step regions are as at `fused`.
  }];
  let options = [
    Option<"level", "level", "std::string", /*default=*/"\"tensor\"",
           "tensor, fused or planned">];
}

#endif // FUSEC_COMPILER_PASSES_TD
