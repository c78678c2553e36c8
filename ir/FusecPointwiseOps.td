// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pointwise ops. Each record holds the CUDA spelling and the reference of each
// type class (docs/semantics.md says what they compute); a new op is one record
// and one test.

#ifndef FUSEC_POINTWISE_OPS_TD
#define FUSEC_POINTWISE_OPS_TD

include "ir/FusecTensorOpBase.td"

// CUDA texts are expressions over {0}, {1}, {2}; the functions they call are in
// compiler/device/prelude.h. Reference texts are C++ expressions over x[0],
// x[1], x[2] of type T; their functions are in ir/ReferenceScalars.h.
class Fusec_PointwiseOp<string mnemonic, list<Trait> traits = []>
    : Fusec_TensorOp<mnemonic, !listconcat(traits, [
        DeclareOpInterfaceMethods<Fusec_IndexedOpInterface>,
        DeclareOpInterfaceMethods<Fusec_PointwiseOpInterface>, Fusec_PointwiseShape])> {
  string cudaFloat = "";
  // For an fp32 value that is going to be rounded to 16 bits: its error is a
  // few units of fp32.
  string cudaFast = cudaFloat;
  bit isFasterOfVectors = 0;
  string cudaSigned = "";
  string cudaUnsigned = cudaSigned;
  string cudaBool = "";
  string refFloat = "";
  string refSigned = "";
  string refUnsigned = refSigned;
  string refBool = "";
  // Whether the result is bool whatever the operands are.
  bit isTest = 0;

  let extraClassDefinition = !strconcat([{
    ::fusec::FusionKind $cppClass::getFusionKind() { return ::fusec::FusionKind::Pointwise; }
    ::llvm::SmallVector<::fusec::Expr> $cppClass::getIterationSizes() {
      return ::fusec::getSizes(getOperation()->getResult(0));
    }
    ::fusec::IndexMap $cppClass::getOperandMap(unsigned index) {
      return ::fusec::IndexMap::identity(getContext(), ::fusec::getRank(getOperation()->getResult(0)));
    }
    ::llvm::StringRef $cppClass::getCudaSpelling(::fusec::TypeClass typeClass) {
      switch (typeClass) {
      case ::fusec::TypeClass::Float: return "}], cudaFloat, [{";
      case ::fusec::TypeClass::Signed: return "}], cudaSigned, [{";
      case ::fusec::TypeClass::Unsigned: return "}], cudaUnsigned, [{";
      case ::fusec::TypeClass::Bool: return "}], cudaBool, [{";
      }
      return "";
    }
    ::llvm::StringRef $cppClass::getFastCudaSpelling() { return "}], cudaFast, [{"; }
    bool $cppClass::isFasterOfVectors() { return }], !if(isFasterOfVectors, "true", "false"), [{; }
    const ::fusec::PointwiseReference &$cppClass::getReference() {
      using namespace ::fusec::reference;
      static const ::fusec::PointwiseReference table = [] {
        ::fusec::PointwiseReference r;
    }],
    !if(!empty(refFloat), "", !if(isTest,
      "r.testF32 = [](const float *x) -> bool { using T = float; (void)T(); return " # refFloat # "; };"
      # "r.testF64 = [](const double *x) -> bool { using T = double; (void)T(); return " # refFloat # "; };",
      "r.f32 = [](const float *x) -> float { using T = float; (void)T(); return " # refFloat # "; };"
      # "r.f64 = [](const double *x) -> double { using T = double; (void)T(); return " # refFloat # "; };")),
    !if(!empty(refSigned), "", !if(isTest,
      "r.testI64 = [](const int64_t *x) -> bool { return " # refSigned # "; };",
      "r.i64 = [](const int64_t *x) -> int64_t { return " # refSigned # "; };")),
    !if(!empty(refUnsigned), "", !if(isTest,
      "r.testU64 = [](const uint64_t *x) -> bool { return " # refUnsigned # "; };",
      "r.u64 = [](const uint64_t *x) -> uint64_t { return " # refUnsigned # "; };")),
    !if(!empty(refBool), "", !if(isTest,
      "r.testBool = [](const bool *x) -> bool { return " # refBool # "; };",
      "r.boolean = [](const bool *x) -> bool { return " # refBool # "; };")),
    [{
        return r;
      }();
      return table;
    }
  }]);
}

class Fusec_UnaryOp<string mnemonic, Type type = Fusec_FloatTensor, list<Trait> traits = []>
    : Fusec_PointwiseOp<mnemonic, !listconcat(traits, [SameOperandsAndResultType])> {
  let arguments = (ins type:$operand);
  let results = (outs type:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}

class Fusec_BinaryOp<string mnemonic, Type type = Fusec_NumberTensor, list<Trait> traits = []>
    : Fusec_PointwiseOp<mnemonic, !listconcat(traits, [SameOperandsAndResultType])> {
  let arguments = (ins type:$lhs, type:$rhs);
  let results = (outs type:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
}

class Fusec_FloatFunction<string mnemonic, string function, string reference, string text>
    : Fusec_UnaryOp<mnemonic> {
  let summary = text;
  let cudaFloat = function # "({0})";
  let refFloat = reference;
}

// Arithmetic.

def Fusec_AddOp : Fusec_BinaryOp<"add", Fusec_NumberTensor, [Commutative]> {
  let summary = "sum; integers wrap";
  let cudaFloat = "{0} + {1}";
  let cudaSigned = "fusec::intAdd({0}, {1})";
  let cudaUnsigned = "{0} + {1}";
  let refFloat = "x[0] + x[1]";
  let refSigned = "int64_t(uint64_t(x[0]) + uint64_t(x[1]))";
  let refUnsigned = "x[0] + x[1]";
}
def Fusec_SubOp : Fusec_BinaryOp<"sub"> {
  let summary = "difference; integers wrap";
  let cudaFloat = "{0} - {1}";
  let cudaSigned = "fusec::intSub({0}, {1})";
  let cudaUnsigned = "{0} - {1}";
  let refFloat = "x[0] - x[1]";
  let refSigned = "int64_t(uint64_t(x[0]) - uint64_t(x[1]))";
  let refUnsigned = "x[0] - x[1]";
}
def Fusec_MulOp : Fusec_BinaryOp<"mul", Fusec_NumberTensor, [Commutative]> {
  let summary = "product; integers wrap";
  let cudaFloat = "{0} * {1}";
  let cudaSigned = "fusec::intMul({0}, {1})";
  let cudaUnsigned = "{0} * {1}";
  let refFloat = "x[0] * x[1]";
  let refSigned = "int64_t(uint64_t(x[0]) * uint64_t(x[1]))";
  let refUnsigned = "x[0] * x[1]";
  let hasFolder = 1;
}
def Fusec_DivOp : Fusec_BinaryOp<"div"> {
  let summary = "quotient; integers truncate, x / 0 = 0, INT_MIN / -1 = INT_MIN";
  let cudaFloat = "{0} / {1}";
  let cudaFast = "fusec::fast::divide({0}, {1})";
  let cudaSigned = "fusec::intDiv({0}, {1})";
  let refFloat = "x[0] / x[1]";
  let refSigned = "intDiv(x[0], x[1])";
  let refUnsigned = "x[1] == 0 ? 0 : x[0] / x[1]";
  let hasFolder = 1;
}
def Fusec_RemainderOp : Fusec_BinaryOp<"remainder"> {
  let summary = "remainder with the dividend's sign (C's fmod); integer x mod 0 = 0";
  let cudaFloat = "fusec::fmod({0}, {1})";
  let cudaSigned = "fusec::intFmod({0}, {1})";
  let refFloat = "std::fmod(x[0], x[1])";
  let refSigned = "intRemainder(x[0], x[1])";
  let refUnsigned = "x[1] == 0 ? 0 : x[0] % x[1]";
}
def Fusec_ModOp : Fusec_BinaryOp<"mod"> {
  let summary = "remainder with the divisor's sign (Python's %); integer x mod 0 = 0";
  let cudaFloat = "fusec::floorMod({0}, {1})";
  let cudaSigned = "fusec::intMod({0}, {1})";
  let refFloat = "floorMod(x[0], x[1])";
  let refSigned = "intFloorMod(x[0], x[1])";
  let refUnsigned = "x[1] == 0 ? 0 : x[0] % x[1]";
}
def Fusec_PowOp : Fusec_BinaryOp<"pow"> {
  let summary = "power; integers wrap";
  let cudaFloat = "fusec::pow({0}, {1})";
  let cudaSigned = "fusec::intPow({0}, {1})";
  let refFloat = "std::pow(x[0], x[1])";
  let refSigned = "intPow(x[0], x[1])";
  let refUnsigned = "uintPow(x[0], x[1])";
}
def Fusec_MaxOp : Fusec_BinaryOp<"max", Fusec_NumberTensor, [Commutative]> {
  let summary = "larger of both; NaN propagates";
  let cudaFloat = "fusec::maxNan({0}, {1})";
  let cudaSigned = "fusec::max({0}, {1})";
  let refFloat = "x[0] != x[0] || x[1] != x[1] ? x[0] + x[1] : x[0] < x[1] ? x[1] : x[0]";
  let refSigned = "x[0] < x[1] ? x[1] : x[0]";
}
def Fusec_MinOp : Fusec_BinaryOp<"min", Fusec_NumberTensor, [Commutative]> {
  let summary = "smaller of both; NaN propagates";
  let cudaFloat = "fusec::minNan({0}, {1})";
  let cudaSigned = "fusec::min({0}, {1})";
  let refFloat = "x[0] != x[0] || x[1] != x[1] ? x[0] + x[1] : x[1] < x[0] ? x[1] : x[0]";
  let refSigned = "x[1] < x[0] ? x[1] : x[0]";
}
def Fusec_NegOp : Fusec_UnaryOp<"neg", Fusec_NumberTensor> {
  let summary = "negation; integers wrap";
  let cudaFloat = "-{0}";
  let cudaSigned = "fusec::intNeg({0})";
  let cudaUnsigned = "0 - {0}";
  let refFloat = "-x[0]";
  let refSigned = "int64_t(-uint64_t(x[0]))";
  let refUnsigned = "-x[0]";
}
def Fusec_AbsOp : Fusec_UnaryOp<"abs", Fusec_NumberTensor> {
  let summary = "absolute value; abs(INT_MIN) = INT_MIN";
  let cudaFloat = "fusec::absolute({0})";
  let cudaSigned = "fusec::absolute({0})";
  let cudaUnsigned = "{0}";
  let refFloat = "std::fabs(x[0])";
  let refSigned = "x[0] < 0 ? int64_t(-uint64_t(x[0])) : x[0]";
  let refUnsigned = "x[0]";
}
def Fusec_SignOp : Fusec_UnaryOp<"sign", Fusec_NumberTensor> {
  let summary = "-1, 0 or 1; NaN stays";
  let cudaFloat = "fusec::sign({0})";
  let cudaSigned = "fusec::sign({0})";
  let cudaUnsigned = "{0} != 0";
  let refFloat = "x[0] != x[0] ? x[0] : T((x[0] > 0) - (x[0] < 0))";
  let refSigned = "(x[0] > 0) - (x[0] < 0)";
  let refUnsigned = "x[0] != 0";
}
def Fusec_ReluOp : Fusec_UnaryOp<"relu", Fusec_NumberTensor> {
  let summary = "max(x, 0); NaN propagates";
  let cudaFloat = "fusec::relu({0})";
  let cudaSigned = "fusec::relu({0})";
  let cudaUnsigned = "{0}";
  let refFloat = "x[0] != x[0] ? x[0] : x[0] > 0 ? x[0] : T(0)";
  let refSigned = "x[0] > 0 ? x[0] : 0";
  let refUnsigned = "x[0]";
}

// Rounding.

def Fusec_CeilOp : Fusec_FloatFunction<"ceil", "fusec::ceil", "std::ceil(x[0])", "round up">;
def Fusec_FloorOp : Fusec_FloatFunction<"floor", "fusec::floor", "std::floor(x[0])", "round down">;
def Fusec_RoundOp : Fusec_FloatFunction<"round", "fusec::roundEven", "std::nearbyint(x[0])", "round half to even">;

// Powers, exponentials and logarithms.

def Fusec_SqrtOp : Fusec_FloatFunction<"sqrt", "fusec::sqrt", "std::sqrt(x[0])", "square root">;
def Fusec_RsqrtOp : Fusec_FloatFunction<"rsqrt", "fusec::rsqrt", "T(1) / std::sqrt(x[0])", "reciprocal square root">;
def Fusec_ReciprocalOp : Fusec_FloatFunction<"reciprocal", "fusec::reciprocal", "T(1) / x[0]", "1 / x">;
def Fusec_ExpOp : Fusec_FloatFunction<"exp", "fusec::exp", "std::exp(x[0])", "exponential"> {
  let cudaFast = "fusec::fast::exp({0})";
}
def Fusec_Expm1Op : Fusec_FloatFunction<"expm1", "fusec::expm1", "std::expm1(x[0])", "exp(x) - 1, exact near 0">;
def Fusec_LogOp : Fusec_FloatFunction<"log", "fusec::log", "std::log(x[0])", "natural logarithm">;
def Fusec_Log1pOp : Fusec_FloatFunction<"log1p", "fusec::log1p", "std::log1p(x[0])", "log(1 + x), exact near 0">;
def Fusec_ErfOp : Fusec_FloatFunction<"erf", "fusec::erf", "std::erf(x[0])", "error function">;

// Trigonometric and hyperbolic functions.

def Fusec_SinOp : Fusec_FloatFunction<"sin", "fusec::sin", "std::sin(x[0])", "sine of radians"> {
  let cudaFast = "fusec::fast::sin({0})";
  let isFasterOfVectors = 1;
}
def Fusec_CosOp : Fusec_FloatFunction<"cos", "fusec::cos", "std::cos(x[0])", "cosine of radians"> {
  let cudaFast = "fusec::fast::cos({0})";
  let isFasterOfVectors = 1;
}
def Fusec_TanOp : Fusec_FloatFunction<"tan", "fusec::tan", "std::tan(x[0])", "tangent of radians">;
def Fusec_SinhOp : Fusec_FloatFunction<"sinh", "fusec::sinh", "std::sinh(x[0])", "hyperbolic sine">;
def Fusec_CoshOp : Fusec_FloatFunction<"cosh", "fusec::cosh", "std::cosh(x[0])", "hyperbolic cosine">;
def Fusec_TanhOp : Fusec_FloatFunction<"tanh", "fusec::tanh", "std::tanh(x[0])", "hyperbolic tangent">;

// Activations that have a better form than their expansion.

def Fusec_SigmoidOp : Fusec_FloatFunction<"sigmoid", "fusec::sigmoid",
    "T(1) / (T(1) + std::exp(-x[0]))", "1 / (1 + exp(-x))"> {
  let cudaFast = "fusec::fast::sigmoid({0})";
}
def Fusec_SiluOp : Fusec_UnaryOp<"silu"> {
  let summary = "x sigmoid(x)";
  let cudaFloat = "{0} * fusec::sigmoid({0})";
  let cudaFast = "{0} * fusec::fast::sigmoid({0})";
  let refFloat = "x[0] / (T(1) + std::exp(-x[0]))";
}
def Fusec_SoftplusOp : Fusec_FloatFunction<"softplus", "fusec::softplus",
    "x[0] != x[0] ? x[0] : (x[0] > 0 ? x[0] : T(0)) + std::log1p(std::exp(-std::fabs(x[0])))",
    "log(1 + exp(x)), without overflow"> {
  let cudaFast = "fusec::fast::softplus({0})";
}
def Fusec_GeluOp : Fusec_FloatFunction<"gelu", "fusec::gelu",
    "T(0.5) * x[0] * (T(1) + std::erf(x[0] * T(0.70710678118654752440)))", "x Phi(x), by erf"> {
  let cudaFast = "fusec::fast::gelu({0})";
}
def Fusec_GeluTanhOp : Fusec_FloatFunction<"gelu_tanh", "fusec::geluTanh",
    "T(0.5) * x[0] * (T(1) + std::tanh(T(0.79788456080286535588) * (x[0] + T(0.044715) * x[0] * x[0] * x[0])))",
    "x Phi(x), by the tanh approximation"> {
  let cudaFast = "fusec::fast::geluTanh({0})";
}

// Logic.

class Fusec_LogicOp<string mnemonic, string operator, string text>
    : Fusec_BinaryOp<mnemonic, Fusec_BoolTensor, [Commutative]> {
  let summary = text;
  let cudaBool = "{0} " # operator # " {1}";
  let refBool = "x[0] " # operator # " x[1]";
}
def Fusec_AndOp : Fusec_LogicOp<"and", "&&", "logical and">;
def Fusec_OrOp : Fusec_LogicOp<"or", "||", "logical or">;
def Fusec_XorOp : Fusec_LogicOp<"xor", "!=", "logical exclusive or">;
def Fusec_NotOp : Fusec_UnaryOp<"not", Fusec_BoolTensor> {
  let summary = "logical not";
  let cudaBool = "!{0}";
  let refBool = "!x[0]";
}

// Comparisons; comparisons with NaN are false.

class Fusec_CompareOp<string mnemonic, string operator, string text>
    : Fusec_PointwiseOp<mnemonic, [DeclareOpInterfaceMethods<InferTypeOpInterface>,
                                   AllTypesMatch<["lhs", "rhs"]>]> {
  let summary = text;
  let arguments = (ins Fusec_Tensor:$lhs, Fusec_Tensor:$rhs);
  let results = (outs Fusec_BoolTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs)";
  let isTest = 1;
  let cudaFloat = "{0} " # operator # " {1}";
  let cudaSigned = cudaFloat;
  let cudaBool = cudaFloat;
  let refFloat = "x[0] " # operator # " x[1]";
  let refSigned = refFloat;
  let refBool = refFloat;
}
def Fusec_EqualOp : Fusec_CompareOp<"equal", "==", "whether both are equal">;
def Fusec_LessOp : Fusec_CompareOp<"less", "<", "whether the first is smaller">;
def Fusec_LessOrEqualOp : Fusec_CompareOp<"less_or_equal", "<=", "whether the first is not larger">;

// Selection and conversion: their operands have other types than their result,
// so that the reference and the emitter treat them apart.

def Fusec_SelectOp : Fusec_PointwiseOp<"select",
    [AllTypesMatch<["trueValue", "falseValue", "result"]>]> {
  let summary = "where the condition holds the second operand, else the third";
  let description = [{
    ```mlir
    %r = fusec.select %c, %a, %b : tensor<8xi1>, tensor<8xf32>
    ```
  }];
  let arguments = (ins Fusec_BoolTensor:$condition, Fusec_Tensor:$trueValue, Fusec_Tensor:$falseValue);
  let results = (outs Fusec_Tensor:$result);
  let assemblyFormat = "$condition `,` $trueValue `,` $falseValue attr-dict `:` type($condition) `,` type($result)";
  let cudaFloat = "{0} ? {1} : {2}";
  let cudaSigned = cudaFloat;
  let cudaBool = cudaFloat;
}

def Fusec_CastOp : Fusec_PointwiseOp<"cast"> {
  let summary = "conversion of the element type";
  let description = [{
    Float to integer truncates and saturates, NaN gives 0; integer to integer
    wraps; anything to bool is `!= 0`; floats round to nearest even.

    ```mlir
    %r = fusec.cast %a : tensor<8xf32> to tensor<8xf16>
    ```
  }];
  let arguments = (ins Fusec_Tensor:$operand);
  let results = (outs Fusec_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `to` type($result)";
  let hasFolder = 1;
}

#endif // FUSEC_POINTWISE_OPS_TD
