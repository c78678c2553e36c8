// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is asked of a matmul's schedule, whichever unit it is of.

#ifndef FUSEC_SCHEDULE_INTERFACE_TD
#define FUSEC_SCHEDULE_INTERFACE_TD

include "ir/FusecAttributes.td"

def Fusec_GemmMath : Fusec_Enum<"GemmMath", "how a matmul unit multiplies: plainly, by tensor cores, of fp32 by three products of tf32",
    ["Fma", "Tensor", "Tf32x3"]>;

def Fusec_GemmScheduleAttr : AttrInterface<"GemmScheduleAttr"> {
  let cppNamespace = "::fusec";
  let description = [{
    The attributes that have it lie in the folders of their units, below
    `compiler/kernels/gemm/`.
  }];
  let methods = [
    InterfaceMethod<"How the unit multiplies.", "::fusec::GemmMath", "getMath">,
    InterfaceMethod<[{
        Columns of the product that the last segment's A is, where the same
        launch computes it first; 0 where A comes from an earlier step.
      }], "int64_t", "getLead", (ins), "", "return 0;">,
    InterfaceMethod<"Whether the kernel multiplies B^T by A^T.",
      "bool", "getSwapped", (ins), "", "return false;">
  ];
}

#endif // FUSEC_SCHEDULE_INTERFACE_TD
