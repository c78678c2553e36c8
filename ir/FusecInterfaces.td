// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What fusion, emission and the reference ask of an op.

#ifndef FUSEC_INTERFACES_TD
#define FUSEC_INTERFACES_TD

include "ir/FusecBase.td"

def Fusec_IndexedOpInterface : OpInterface<"IndexedOpInterface"> {
  let cppNamespace = "::fusec";
  let description = [{
    An op whose result at an index depends on its operands at mapped indices.
    The iteration space is that of the (single) result, followed by the
    reduced dimensions where there are any.
  }];
  let methods = [
    InterfaceMethod<"How the op may take part in a fusion.",
      "::fusec::FusionKind", "getFusionKind">,
    InterfaceMethod<"Sizes of the iteration space: result, then reduced dimensions.",
      "::llvm::SmallVector<::fusec::Expr>", "getIterationSizes">,
    InterfaceMethod<"Where the op reads operand `index`, by iteration index.",
      "::fusec::IndexMap", "getOperandMap", (ins "unsigned":$index)>
  ];
}

def Fusec_PointwiseOpInterface : OpInterface<"PointwiseOpInterface"> {
  let cppNamespace = "::fusec";
  let description = [{
    An op that computes each element of its result from the same element of its
    operands. The ODS record gives the CUDA spelling and the reference of each
    type class; a class without a spelling is not supported.
  }];
  let methods = [
    InterfaceMethod<[{
        CUDA expression over {0}, {1}, {2} in the compute type of the class;
        empty where the op is not defined for it.
      }], "::llvm::StringRef", "getCudaSpelling", (ins "::fusec::TypeClass":$typeClass)>,
    InterfaceMethod<[{
        The same for an fp32 value that is going to be rounded to 16 bits.
      }], "::llvm::StringRef", "getFastCudaSpelling">,
    InterfaceMethod<[{
        Whether that one is a function that also takes a vector and is faster so.
      }], "bool", "isFasterOfVectors">,
    InterfaceMethod<"The scalar functions of the reference.",
      "const ::fusec::PointwiseReference &", "getReference">
  ];
}

#endif // FUSEC_INTERFACES_TD
