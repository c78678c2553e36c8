// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The planned level: buffers with places and layouts, steps with variants.

#ifndef FUSEC_PLAN_OPS_TD
#define FUSEC_PLAN_OPS_TD

include "ir/FusecTensorOpBase.td"
include "ir/FusecScheduleAttributes.td"
include "mlir/IR/SymbolInterfaces.td"

def Fusec_PlanOp : Op<Fusec_Dialect, "plan", [Symbol, SymbolTable, IsolatedFromAbove, NoTerminator,
    SingleBlock, Fusec_PlannedLevel]> {
  let summary = "a model planned for one target";
  let description = [{
    `slots` are sizes in bytes of the parts of the arena.

    ```mlir
    fusec.plan @sm_90a of @main slots [#fusec.expr<batch * 40>] {
      fusec.buffer @x input 0 at 0 strides [10, 1] : tensor<?x10xf32, ...>
      ...
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$model,
      TypedArrayAttrBase<Fusec_ExprAttr, "expressions">:$slots);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `of` $model `slots` $slots attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def Fusec_BufferKind : Fusec_Enum<"BufferKind", "where a buffer lives",
    ["Input", "Output", "Weight", "Slot"]>;
def Fusec_BufferKindAttr : Fusec_EnumAttr<Fusec_BufferKind, "buffer_kind">;

def Fusec_BufferOp : Op<Fusec_Dialect, "buffer", [Symbol, Fusec_PlannedLevel, HasParent<"PlanOp">]> {
  let summary = "a tensor in memory";
  let description = [{
    `index` is the number of the model's input or output, or of the slot.
    `offset` is in bytes, `strides` are in elements. A weight holds its value;
    of a replaceable one each session has a copy of its own.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Fusec_BufferKindAttr:$kind, I64Attr:$index,
      Fusec_ExprAttr:$offset, TypedArrayAttrBase<Fusec_ExprAttr, "expressions">:$strides,
      TypeAttrOf<Fusec_Tensor>:$type, OptionalAttr<ElementsAttr>:$value,
      OptionalAttr<Fusec_ReplaceableAttr>:$replaceable);
  let assemblyFormat = [{
    $sym_name $kind $index `at` $offset `strides` $strides `:` $type (`=` $value^)?
    (`replaceable` $replaceable^)? attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::SmallVector<::fusec::Expr> getStrideExprs();
    ::mlir::Type getElementType();
  }];
}

def Fusec_StepOp : Op<Fusec_Dialect, "step", [IsolatedFromAbove, SingleBlock, Fusec_PlannedLevel,
    HasParent<"PlanOp">, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a region and the variants of the kernel that computes it";
  let description = [{
    Steps run in order. The first variant whose guards hold is launched; the
    last has none. All variants read `inputs` and write `outputs`. `lead` is the
    input whose step this one's launch may compute first: that is then the
    leading step, and this one the led step. Nobody else reads the input.
  }];
  let arguments = (ins StrAttr:$name, Fusec_FamilyAttr:$family,
      TypedArrayAttrBase<FlatSymbolRefAttr, "buffers">:$inputs,
      TypedArrayAttrBase<FlatSymbolRefAttr, "buffers">:$outputs,
      TypedArrayAttrBase<Fusec_VariantAttr, "variants">:$variants,
      StrArrayAttr:$sources, OptionalAttr<FlatSymbolRefAttr>:$lead);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $family $name `inputs` $inputs `outputs` $outputs (`lead` $lead^)? `variants` $variants `sources` $sources
    attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The buffer behind an argument of the region, or behind an output. The
    /// plan is searched where no PlanBuffers of it lives.
    ::fusec::BufferOp getInputBuffer(::mlir::Value argument);
    ::fusec::BufferOp getOutputBuffer(unsigned output);
  }];
}

include "ir/FusecFusedOps.td"

#endif // FUSEC_PLAN_OPS_TD
