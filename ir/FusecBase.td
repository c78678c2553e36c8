// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The dialect, its levels, and the constraints shared by all of its ops.

#ifndef FUSEC_BASE_TD
#define FUSEC_BASE_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/TensorEncoding.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Fusec_Dialect : Dialect {
  let name = "fusec";
  let cppNamespace = "::fusec";
  let summary = "A tensor program on its way to fused CUDA kernels";
  let description = [{
    A frontend produces the *tensor* level: a `fusec.model` of value-semantic
    ops, one for each mathematical operation, with shapes that may depend on
    named dimensions. Fusion groups them into `fusec.fusion` regions (the
    *fused* level); planning clones the model into one `fusec.plan` per target,
    where every value has a buffer and every region is a kernel with a schedule
    (the *planned* level). After it comes CUDA C text.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
    void registerTensorOps();
  }];
}

// Levels, as traits; `fusec-verify-level` checks them between stages.
def Fusec_TensorLevel : NativeOpTrait<"TensorLevel"> { let cppNamespace = "::fusec"; }
def Fusec_FusedLevel : NativeOpTrait<"FusedLevel"> { let cppNamespace = "::fusec"; }
def Fusec_PlannedLevel : NativeOpTrait<"PlannedLevel"> { let cppNamespace = "::fusec"; }

// Operands have the result's sizes and an element type the op is defined for.
def Fusec_PointwiseShape : NativeOpTrait<"PointwiseShape"> { let cppNamespace = "::fusec"; }

def Fusec_Bool : I<1>;
def Fusec_Integer : AnyTypeOf<[I8, I16, I32, I64,
    UI8, UI16, UI32, UI64], "signless (signed) or unsigned 8 to 64-bit integer">;
def Fusec_Float : AnyTypeOf<[F16, BF16, F32, F64], "fp16, bf16, fp32 or fp64">;
def Fusec_Element : AnyTypeOf<[Fusec_Bool, Fusec_Integer, Fusec_Float]>;
def Fusec_Number : AnyTypeOf<[Fusec_Integer, Fusec_Float]>;

def Fusec_Tensor : RankedTensorOf<[Fusec_Element]>;
def Fusec_FloatTensor : RankedTensorOf<[Fusec_Float]>;
def Fusec_NumberTensor : RankedTensorOf<[Fusec_Number]>;
def Fusec_IndexTensor : RankedTensorOf<[I32, I64]>;
def Fusec_BoolTensor : RankedTensorOf<[Fusec_Bool]>;

#endif // FUSEC_BASE_TD
