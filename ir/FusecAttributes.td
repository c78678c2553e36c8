// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Size expressions, index policies and the enumerations of the tensor level.

#ifndef FUSEC_ATTRIBUTES_TD
#define FUSEC_ATTRIBUTES_TD

include "ir/FusecBase.td"

class Fusec_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Fusec_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def Fusec_ExprAttr : Fusec_Attr<"Expr", "expr"> {
  let summary = "An integer expression over named dimensions and indices";
  let description = [{
    See `ir/Expr.h`; only its canonical form is ever built.

    ```mlir
    #fusec.expr<batch * 13 + 4>
    #fusec.expr<(batch + 7) floordiv 8>
    ```
  }];
  let parameters = (ins "::fusec::ExprKind":$kind, "int64_t":$value,
      StringRefParameter<"name of a symbol">:$name,
      ArrayRefParameter<"::fusec::Expr">:$operands);
  let hasCustomAssemblyFormat = 1;
  // Built by Expr's operators alone.
  let skipDefaultBuilders = 0;
}

def Fusec_SizesAttr : Fusec_Attr<"Sizes", "sizes",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "The sizes of a tensor with named dimensions";
  let description = [{
    The encoding of every tensor type with a dynamic size, and of no other:
    `tensor<?x13xf32, #fusec.sizes<[batch, 13]>>`. Static sizes repeat the
    type's.
  }];
  let parameters = (ins ArrayRefParameter<"::fusec::Expr">:$sizes);
  let hasCustomAssemblyFormat = 1;
}

class Fusec_Enum<string name, string summary, list<string> cases>
    : I32EnumAttr<name, summary,
        !foreach(i, !range(!size(cases)),
          I32EnumAttrCase<cases[i], i, !tolower(cases[i])>)> {
  let cppNamespace = "::fusec";
  let genSpecializedAttr = 0;
}
class Fusec_EnumAttr<EnumAttrInfo info, string attrMnemonic>
    : EnumAttr<Fusec_Dialect, info, attrMnemonic>;

class Fusec_DefaultEnumParameter<EnumAttrInfo info, string value> : EnumParameter<info> {
  let defaultValue = value;
}

def Fusec_AdapterPart : Fusec_Enum<"AdapterPart",
    "a factor of a low-rank update x A B as it is stored: [k, r], [r, n], or their transposes; or a whole weight",
    ["A", "B", "ATransposed", "BTransposed", "Whole"]>;

def Fusec_ReplaceableAttr : Fusec_Attr<"Replaceable", "replaceable"> {
  let summary = "which factor of which update, or which weight, a replaceable constant is";
  let parameters = (ins StringRefParameter<"the adapter's or the weight's name">:$name,
      EnumParameter<Fusec_AdapterPart>:$part);
  let assemblyFormat = "`<` $name `,` $part `>`";
}

def Fusec_ReduceKind : Fusec_Enum<"ReduceKind", "what a reduction computes",
    ["Sum", "Prod", "Max", "Min"]>;
def Fusec_ReduceKindAttr : Fusec_EnumAttr<Fusec_ReduceKind, "reduce_kind">;

def Fusec_ArgKind : Fusec_Enum<"ArgKind", "which extreme an arg-reduction finds", ["Max", "Min"]>;
def Fusec_ArgKindAttr : Fusec_EnumAttr<Fusec_ArgKind, "arg_kind">;

def Fusec_BagMode : Fusec_Enum<"BagMode", "what becomes of the rows of a bag",
    ["Sum", "Mean", "Max"]>;
def Fusec_BagModeAttr : Fusec_EnumAttr<Fusec_BagMode, "bag_mode">;

def Fusec_PadsBy : Fusec_Enum<"PadsBy",
    "what tells the padding of bags: its row, its index, or all indices up to one",
    ["Row", "Index", "UpTo"]>;
def Fusec_PadsByAttr : Fusec_EnumAttr<Fusec_PadsBy, "pads_by">;

def Fusec_IndexPolicy : Fusec_Enum<"IndexPolicy", "what an out-of-range index reads",
    ["Flag", "Clamp", "Zero"]>;
def Fusec_IndexPolicyAttr : Fusec_EnumAttr<Fusec_IndexPolicy, "index_policy">;

#endif // FUSEC_ATTRIBUTES_TD
