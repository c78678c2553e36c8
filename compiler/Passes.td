// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every pass, with its IR before and after: those of each folder of transforms/
// are listed there. Types are shortened where they do not matter.

#ifndef FUSEC_COMPILER_PASSES_TD
#define FUSEC_COMPILER_PASSES_TD

include "mlir/Pass/PassBase.td"

class ProductsOption
    : Option<"products", "products", "::fusec::Products",
             /*default=*/"::fusec::Products::Ieee",
             "how fp32 matmuls multiply", [{::llvm::cl::values(
               clEnumValN(::fusec::Products::Fma, "fma", "by FMA alone"),
               clEnumValN(::fusec::Products::Ieee, "ieee", "by FMA or 3xTF32"),
               clEnumValN(::fusec::Products::Tf32, "tf32", "as tf32"))}]>;

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

include "compiler/transforms/tensor/Passes.td"
include "compiler/transforms/fusion/Passes.td"
include "compiler/transforms/plan/Passes.td"

#endif // FUSEC_COMPILER_PASSES_TD
