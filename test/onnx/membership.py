# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides which node tests of the pinned onnx version belong to the suite.

A test belongs if all its operators are listed and no excluded type occurs; a
model of it that declares opset 13 to 24 must exist too, since that is what the
importer reads. All others are refused, with a reason.
"""

import onnx
from onnx import TensorProto, helper

OPERATORS = frozenset("""
Abs Add And ArgMax ArgMin BatchNormalization Cast CastLike Ceil Celu Clip Concat Constant
ConstantOfShape Cos Cosh CumSum Div Dropout Elu Equal Erf Exp Expand Flatten Floor Gather GatherElements
GatherND Gelu Gemm Greater GreaterOrEqual GroupNormalization HardSigmoid HardSwish Identity
InstanceNormalization LayerNormalization
LeakyRelu Less LessOrEqual Log LogSoftmax MatMul Max Mean Min Mish Mod Mul Neg Not Or Pad PRelu Pow
Range Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin
ReduceProd ReduceSum ReduceSumSquare Relu Reshape RMSNormalization RotaryEmbedding Round Selu Shape
Shrink Sigmoid Sign Sin Sinh Size Slice Softmax Softplus Softsign Split Sqrt Squeeze Sub Sum Swish
Tan Tanh ThresholdedRelu Tile Transpose Trilu Unsqueeze Where Xor
""".split())

TYPES = frozenset(
    getattr(TensorProto, name)
    for name in ("BOOL INT8 INT16 INT32 INT64 UINT8 UINT16 UINT32 UINT64 "
                 "FLOAT16 BFLOAT16 FLOAT DOUBLE").split())
FLOATS = (TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.FLOAT,
          TensorProto.DOUBLE)

OLDEST_OPSET, NEWEST_OPSET = 13, 24

# Operands that determine a shape or a rank, or name dimensions: these must be
# constants after folding.
SHAPE_OPERANDS = {
    "ConstantOfShape": [0],
    "CumSum": [1],
    "Expand": [1],
    "Pad": [1, 3],
    "Range": [0, 1, 2],
    "Reshape": [1],
    "Slice": [1, 2, 3, 4],
    "Split": [1],
    "Squeeze": [1],
    "Tile": [1],
    "Unsqueeze": [1],
    **{op: [1] for op in OPERATORS if op.startswith("Reduce")},
}


class Refused(Exception):
    """The test does not belong; the message is the reason."""


def typeName(elementType):
    return TensorProto.DataType.Name(elementType).lower()


def checkOperators(model):
    if len(model.graph.node) == 0:
        raise Refused("no operator")
    for node in model.graph.node:
        if node.domain not in ("", "ai.onnx"):
            raise Refused(f"operator {node.domain}.{node.op_type} is not listed")
        if node.op_type not in OPERATORS:
            raise Refused(f"operator {node.op_type} is not listed")


def inferTypes(model):
    """Element types by value name, intermediate values included."""
    inferred = onnx.shape_inference.infer_shapes(model)
    types = {}
    graph = inferred.graph
    for value in [*graph.input, *graph.output, *graph.value_info]:
        kind = value.type.WhichOneof("value")
        if kind != "tensor_type":
            raise Refused(f"type {str(kind).replace('_type', '')} is excluded")
        types[value.name] = value.type.tensor_type.elem_type
    for tensor in graph.initializer:
        types[tensor.name] = tensor.data_type
    return types


def checkTypes(model, types):
    for elementType in types.values():
        if elementType not in TYPES:
            raise Refused(f"type {typeName(elementType)} is excluded")
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR:
                elementType = attribute.t.data_type
            elif node.op_type == "Cast" and attribute.name == "to":
                elementType = attribute.i
            elif attribute.name in ("value_string", "value_strings"):
                elementType = TensorProto.STRING
            else:
                continue
            if elementType not in TYPES:
                raise Refused(f"type {typeName(elementType)} is excluded")


def checkLegalAt(opset, model, types, declared):
    """Refuses what the operators' versions at an older opset do not allow."""
    for node in model.graph.node:
        schema = onnx.defs.get_schema(node.op_type, opset, "")
        need = f"needs opset {declared}: {node.op_type}"
        for attribute in node.attribute:
            if attribute.name not in schema.attributes:
                raise Refused(f"{need} with attribute {attribute.name}")
        if len(node.input) > schema.max_input:
            raise Refused(f"{need} with {len(node.input)} inputs")
        allowed = {c.type_param_str: c.allowed_type_strs
                   for c in schema.type_constraints}
        for index, name in enumerate(node.input):
            formal = schema.inputs[min(index, len(schema.inputs) - 1)]
            spelled = f"tensor({typeName(types[name])})" if name in types else ""
            if spelled and spelled not in allowed.get(formal.type_str, [spelled]):
                raise Refused(f"{need} of {typeName(types[name])}")
        # The schema leaves this rule of version 13 to its prose.
        if node.op_type == "Mod" and types.get(node.input[0]) in FLOATS:
            if not any(a.name == "fmod" and a.i == 1 for a in node.attribute):
                raise Refused(f"{need} of {typeName(types[node.input[0]])} "
                              "without fmod")


def moveOpset(model, types):
    """Gives the model an opset that the importer reads.

    The tests declare, per test, the newest version of their operators (1 to 28
    in this onnx version), although most of these versions mean the same as an
    older or newer one.
    Below 13: the declared opset is raised when no operator changed until 13.
    Above 24: it is lowered when the operators' versions at 24 allow the node as
    it stands. The revisions after 24 only add types (Cast, Celu, Constant,
    Identity, Range, Reshape, Shape, ...), the attribute `stash_type` (Range),
    floats with fmod = 0 (Mod), or another function body of the same meaning
    (ReduceLogSum, ReduceLogSumExp): a node that uses nothing of these has the
    same meaning at 24. One that does is refused.
    """
    entry = next(o for o in model.opset_import if o.domain in ("", "ai.onnx"))
    declared = entry.version
    if declared < OLDEST_OPSET:
        for node in model.graph.node:
            old = onnx.defs.get_schema(node.op_type, declared, "").since_version
            new = onnx.defs.get_schema(node.op_type, OLDEST_OPSET, "").since_version
            if old != new:
                raise Refused(f"opset {declared}: {node.op_type} changed before "
                              f"opset {OLDEST_OPSET}")
        entry.version = OLDEST_OPSET
    elif declared > NEWEST_OPSET:
        checkLegalAt(NEWEST_OPSET, model, types, declared)
        entry.version = NEWEST_OPSET
    if entry.version != declared:
        model.ir_version = helper.find_min_ir_version_for(model.opset_import)


def checkInference(model):
    for node in model.graph.node:
        if node.op_type == "Dropout" and len(node.input) > 2:
            raise Refused("Dropout in training")


def prepare(model):
    """The model as the suite runs it; raises Refused."""
    checkOperators(model)
    types = inferTypes(model)
    checkTypes(model, types)
    checkInference(model)
    moved = onnx.ModelProto()
    moved.CopyFrom(model)
    moveOpset(moved, types)
    return moved


def findConstants(model):
    """Names of the inputs that some shape operand is computed from.

    The walk stops at Shape and Size, whose results depend on sizes only.
    """
    producer = {out: node for node in model.graph.node for out in node.output}
    pending = [node.input[i] for node in model.graph.node
               for i in SHAPE_OPERANDS.get(node.op_type, ())
               if i < len(node.input)]
    seen = set()
    while pending:
        name = pending.pop()
        if not name or name in seen:
            continue
        seen.add(name)
        node = producer.get(name)
        if node is not None and node.op_type not in ("Shape", "Size"):
            pending.extend(node.input)
    return {value.name for value in model.graph.input if value.name in seen}
