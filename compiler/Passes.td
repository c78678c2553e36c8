// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every pass, with its IR before and after. Types are shortened where they do
// not matter.

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

//===----------------------------------------------------------------------===//
// Tensor rewrites
//===----------------------------------------------------------------------===//

def FoldConstants : Pass<"fusec-fold-constants", "::fusec::ModelOp"> {
  let summary = "ops on constants become constants";
  let description = [{
    The reference computes them. What would take much more memory than its
    operands, or too long, stays; so do broadcasts, which are smaller than
    their values, and everything once a compilation has taken what the bytes of
    the model's own constants allow: a warning then says so.

    ```mlir
    %0 = fusec.constant dense<[4.0, 9.0]> : tensor<2xf32>
    %1 = fusec.sqrt %0 : tensor<2xf32>
    ```
    becomes
    ```mlir
    %1 = fusec.constant dense<[2.0, 3.0]> : tensor<2xf32>
    ```
  }];
}

def RecognizeActivations : Pass<"fusec-recognize-activations", "::fusec::ModelOp"> {
  let summary = "named activations from their expansions";
  let description = [{
    Values may change by rounding, and where an expansion overflows. Constants
    are compared within 1e-5 or one unit in the last place of a 16-bit float,
    since exporters round them.

    ```mlir
    x * sigmoid(x), x / (1 + exp(-x))                    ->  fusec.silu
    0.5 * x * (1 + erf(x / sqrt(2)))                     ->  fusec.gelu
    0.5 * x * (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))  ->  fusec.gelu_tanh
    1 / (1 + exp(-x))                                    ->  fusec.sigmoid
    1 / sqrt(x)                                          ->  fusec.rsqrt
    log(1 + exp(x)), log1p(exp(x))                       ->  fusec.softplus
    max(x, 0)                                            ->  fusec.relu
    ```
  }];
}

def FoldScales : Pass<"fusec-fold-scales", "::fusec::ModelOp"> {
  let summary = "constant scales and shifts around a product move into weights and bias";
  let description = [{
    Batch norm after a linear layer, the weight of a norm before one. New
    weights are computed in fp64 and rounded once, and are refused where they
    overflow. A scaled left operand is folded only if all its uses allow it.

    ```mlir
    %0 = fusec.matmul %x, %W
    %1 = fusec.add %0, %b               %0 = fusec.matmul %x, %Ws
    %2 = fusec.mul %1, %s         ->    %1 = fusec.add %0, %bs_plus_t
    %3 = fusec.add %2, %t
    ```
  }];
}

def SimplifyViews : Pass<"fusec-simplify-views", "::fusec::ModelOp"> {
  let summary = "canonical forms of views, so that few remain";
  let description = [{
    Any chain of reshapes is at most one collapse and one expand after it.
    Transposes, broadcasts and slices of their own kind merge; a transpose that
    moves only dimensions of size 1 is a reshape; a view of a splat is a splat.
    A slice within one operand of a concat reads that operand, neighbouring
    slices of one tensor are one slice, and a gather at constant indices is a
    slice. Transposed matrices become flags of their matmul.

    ```mlir
    %u = fusec.expand %x [[0], [1, 2]] : tensor<?x8xf32, ..> to tensor<?x8x1xf32, ..>
    %t = fusec.transpose %u [0, 2, 1] : .. to tensor<?x1x8xf32, ..>
    ```
    becomes
    ```mlir
    %t = fusec.expand %x [[0], [1, 2]] : tensor<?x8xf32, ..> to tensor<?x1x8xf32, ..>
    ```
  }];
}

def GroupLookups : Pass<"fusec-group-lookups", "::fusec::ModelOp"> {
  let summary = "gathers by columns of one index tensor become one lookup";
  let description = [{
    Neighbouring operands of a concat along dimension 1 that gather rows by
    columns of one tensor, ascending or descending by one step, from tables of
    one width. Other operands stay beside the lookup. Runs after
    `fusec-simplify-views`.

    ```mlir
    %0 = fusec.gather %t0 [-1, 1] (%column0) flag
    %1 = fusec.gather %t1 [-1, 1] (%column1) flag
    %r = fusec.concat %d, %0, %1 axis 1
    ```
    becomes
    ```mlir
    %l = fusec.lookup (%t0, %t1) at %ids flag   // [n, 2, width]
    %c = fusec.collapse %l [[0], [1, 2]]        // [n, 2 * width]
    %r = fusec.concat %d, %c axis 1
    ```
  }];
}

//===----------------------------------------------------------------------===//
// From the tensor to the fused level
//===----------------------------------------------------------------------===//

def SliceProducts : Pass<"fusec-slice-products", "::fusec::ModelOp"> {
  let summary = "parts of one product that are used apart and meet become products";
  let description = [{
    Gate and value of one projection lie side by side in its weights. Slices that
    take all uses of a product, are of one size and meet again through pointwise
    ops move before it, and before pointwise ops in between, so that the parts can
    be accumulators of one kernel.

    ```mlir
    %p = fusec.matmul %x, %W          %u = fusec.slice %W offsets [0, 0]
    %a = fusec.slice %p .. [0, 0]     %v = fusec.slice %W offsets [0, n]
    %b = fusec.slice %p .. [0, n] ->  %a = fusec.matmul %x, %u
    %g = fusec.sigmoid %a             %b = fusec.matmul %x, %v
    %r = fusec.mul %g, %b             %g = fusec.sigmoid %a
                                      %r = fusec.mul %g, %b
    ```
  }];
}

def FormContractions : Pass<"fusec-form-contractions", "::fusec::ModelOp"> {
  let summary = "matrix products become contractions, or pointwise where K is 1";
  let description = [{
    Transposes of a matmul become views. A right operand that all batches share
    makes the batches rows of M. Pointwise ops that follow run over those rows,
    where they can be the product's epilogue; the expand into batches comes last.

    ```mlir
    %y = fusec.matmul %x, %w transposed    ->  %t = fusec.transpose %w [1, 0]
                                               %y = fusec.contraction (%x) by (%t)

    %b = fusec.broadcast %w [1, 2]         ->  %c = fusec.collapse %x [[0, 1], [2]]
    %y = fusec.matmul %x, %b                   %p = fusec.contraction (%c) by (%w)
    %s = fusec.add %y, %r                      %d = fusec.collapse %r [[0, 1], [2]]
                                               %q = fusec.add %p, %d
                                               %s = fusec.expand %q [[0, 1], [2]]

    %y = fusec.matmul %column, %row        ->  %l = fusec.broadcast %column' [0]
                                               %r = fusec.broadcast %row' [1]
                                               %y = fusec.mul %l, %r
    ```
  }];
}

def SegmentConcats : Pass<"fusec-segment-concats", "::fusec::ModelOp"> {
  let summary = "a product of a concat along K has a segment for each of its values";
  let description = [{
    The values then need no copy. Those that would be computed into the concat's
    memory stay in it, and so do those too narrow to fill a tile's step.

    ```mlir
    %c = fusec.concat %a, %b axis 1        %u = fusec.slice %W offsets [0, 0]
    %p = fusec.contraction (%c) by (%W) -> %v = fusec.slice %W offsets [k, 0]
                                           %p = fusec.contraction (%a, %b) by (%u, %v)
    ```
  }];
}

def MergeSummedProducts : Pass<"fusec-merge-summed-products", "::fusec::ModelOp"> {
  let summary = "sums of products become segments along K of one contraction";
  let description = [{
    Whatever the order of additions. A constant scale moves onto the left operand
    of its segment, where the producer's epilogue applies it. The sum is rounded
    once instead of once a product.

    ```mlir
    %t = fusec.contraction (%x) by (%A)    %t = fusec.contraction (%x) by (%A)
    %u = fusec.contraction (%t) by (%B)    %s = fusec.mul %t, %half
    %s = fusec.mul %u, %half          ->   %p = fusec.contraction (%x, %s) by (%W, %B)
    %w = fusec.contraction (%x) by (%W)    %r = fusec.add %p, %bias
    %v = fusec.add %w, %bias
    %r = fusec.add %v, %s
    ```
  }];
}

def GroupMeetingProducts : Pass<"fusec-group-meeting-products", "::fusec::ModelOp"> {
  let summary = "products of one left operand that meet become accumulators of one contraction";
  let description = [{
    Where their results reach one op through pointwise ops. That always pays: the
    results need no memory. `fusec-group-products` joins others, by their times.

    ```mlir
    %a = fusec.contraction (%x) by (%W1)   %a, %b = fusec.contraction (%x) by (%W1, %W2)
    %b = fusec.contraction (%x) by (%W2)   %g = fusec.sigmoid %a
    %g = fusec.sigmoid %a             ->   %r = fusec.mul %g, %b
    %r = fusec.mul %g, %b
    ```
  }];
}

def MoveRowScales : Pass<"fusec-move-row-scales", "::fusec::ModelOp"> {
  let summary = "scales by rows of a left operand move behind the product";
  let description = [{
    As a norm before a linear layer has. The product's epilogue applies the scale,
    and the scaled operand is never stored. Of 16-bit operands the product is fp32
    until then.

    ```mlir
    %s = fusec.broadcast %r [0]            %p = fusec.contraction (%x) by (%W)
    %y = fusec.mul %x, %s             ->   %s = fusec.broadcast %r [0]
    %p = fusec.contraction (%y) by (%W)    %q = fusec.mul %p, %s
    ```
  }];
}

//===----------------------------------------------------------------------===//
// Fusion
//===----------------------------------------------------------------------===//

def FormFusions : Pass<"fusec-form-fusions", "::fusec::ModelOp"> {
  let summary = "groups of ops become kernels";
  let description = [{
    Every op that computes starts as a group of its own; the merge that saves
    the most bytes of memory traffic is made first, until no legal one is left.
    Views and generated values are copied into each group that reads them. A
    concat whose operands come from matmuls, reductions or lookups stays between
    the fusions: each of them stores into its slice.

    ```mlir
    %0 = fusec.add %x, %y             %1 = fusec.fusion pointwise "add_sigmoid" (%x, %y) {
    %1 = fusec.sigmoid %0      ->     ^bb0(%a, %b):
                                        %2 = fusec.add %a, %b
                                        %3 = fusec.sigmoid %2
                                        fusec.yield %3
                                      }
    ```
  }];
  let options = [
    Option<"fuse", "fuse", "bool", /*default=*/"true",
           "off: every op is a kernel of its own">];
}

def WidenPointwise : Pass<"fusec-widen-pointwise", "::fusec::ModelOp"> {
  let summary = "chains of 16-bit floats compute in fp32 inside a kernel";
  let description = [{
    The one pass that changes values beyond the tensor rewrites: a value is
    rounded where it is stored instead of after each op, and a matmul's sum is
    not rounded before its epilogue. Casts of the model stay.

    ```mlir
    %0 = fusec.add %a, %b : f16       %a32 = fusec.cast %a : f16 to f32
    %1 = fusec.exp %0 : f16     ->    %b32 = fusec.cast %b : f16 to f32
    fusec.yield %1                    %0 = fusec.add %a32, %b32 : f32
                                      %1 = fusec.exp %0 : f32
                                      %2 = fusec.cast %1 : f32 to f16
                                      fusec.yield %2
    ```
  }];
}

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

def BuildPlans : Pass<"fusec-build-plans", "::mlir::ModuleOp"> {
  let summary = "one plan per target: buffers for values, steps for fusions";
  let description = [{
    Every buffer is dense and has a slot of its own, except the operands of an
    assembled concat, which are slices of its buffer. Every step has the
    plainest schedule of its family. The model stays: it holds the interface.

    ```mlir
    fusec.model @main ... {           fusec.plan @sm_90a of @main slots [] {
    ^bb0(%x):                           fusec.buffer @x input 0 ...
      %0 = fusec.fusion ... (%x)   ->   fusec.buffer @y output 0 ...
      fusec.output %0                   fusec.step ... inputs [@x] outputs [@y] ...
    }                                 }
    ```
  }];
  let options = [ListOption<"targets", "targets", "std::string", "targets to plan for">];
}

def FormChains : Pass<"fusec-form-chains", "::fusec::PlanOp"> {
  let summary = "narrow products that follow one another become one kernel";
  let description = [{
    Two matmul steps, or a chain and one more, of the same rows join where the
    later one contracts over results of the earlier one, weights and activations
    fit into shared memory, and the cost model says that the one kernel is not
    slower at any size of the named dimensions. It runs on steps, since limits
    and costs are the target's.

    ```mlir
    fusec.step gemm "matmul_relu" inputs [@x, @w] outputs [@h] ...
    fusec.step gemm "matmul_add" inputs [@h, @v, @b] outputs [@y] ...
    ```
    becomes
    ```mlir
    fusec.step chain "chain_matmul_relu_add" inputs [@x, @w, @v, @b] outputs [@y] ...
    ```
  }];
  let options = [ProductsOption<>];
}

def FormRowEpilogues : Pass<"fusec-form-row-epilogues", "::fusec::PlanOp"> {
  let summary = "reductions over the rows of a product become part of its epilogue";
  let description = [{
    A matmul step and a reduce step that reads its results join where a tile
    holds whole rows, and the cost model says that the one kernel is faster over
    all sizes of the named dimensions, and at none much slower. It runs on steps,
    since tiles and costs are the target's.

    ```mlir
    fusec.step gemm "matmul_add" inputs [@x, @w, @b] outputs [@h] ...
    fusec.step reduce "reduce_sub_exp" inputs [@h] outputs [@y] ...
    ```
    becomes
    ```mlir
    fusec.step gemm "matmul_add_reduce_sub_exp" inputs [@x, @w, @b] outputs [@y] ...
    ```
  }];
  let options = [
    ProductsOption<>,
    Option<"always", "always", "bool", /*default=*/"false",
           "join wherever the target has a kernel, whatever its time: for tests">];
}

def GroupProducts : Pass<"fusec-group-products", "::fusec::PlanOp"> {
  let summary = "products of one left operand become accumulators of one kernel";
  let description = [{
    Products whose results meet are accumulators of one contraction already.
    Others, as those of queries, keys and values, join where the cost model says
    that one kernel is faster over all sizes of the named dimensions, and at none
    much slower.

    ```mlir
    fusec.step gemm "matmul_add" inputs [@x, @wq, @bq] outputs [@q] ...
    fusec.step gemm "matmul_add" inputs [@x, @wk, @bk] outputs [@k] ...
    fusec.step gemm "matmul_add" inputs [@x, @wv, @bv] outputs [@v] ...
    ```
    becomes
    ```mlir
    fusec.step gemm "matmul_add" inputs [@x, @wq, @bq, @wk, @bk, @wv, @bv] outputs [@q, @k, @v] ...
    ```
  }];
  let options = [
    ProductsOption<>,
    Option<"always", "always", "bool", /*default=*/"false",
           "group wherever the target has a kernel, whatever its time: for tests">];
}

def AssignStorage : Pass<"fusec-assign-storage", "::fusec::PlanOp"> {
  let summary = "buffers whose lifetimes do not meet share a slot";
  let description = [{
    Steps run in order, so that a buffer lives from the step that first writes
    it to the last one that touches it. The size of a shared slot is the `max`
    of its buffers' sizes.
  }];
}

def NarrowProducts : Pass<"fusec-narrow-products", "::fusec::ModelOp"> {
  let summary = "fp32 contractions multiply 16-bit operands";
  let description = [{
    For `--precision=fp16` and `bf16`. Sums and results stay fp32.

    ```mlir
    %r = fusec.contraction (%x) by (%w)        %x16 = fusec.cast %x
      : (tensor<8x4xf32>), ...            =>   %w16 = fusec.cast %w
                                               %r = fusec.contraction (%x16) by (%w16)
                                                 : (tensor<8x4xf16>), ... -> tensor<8x6xf32>
    ```
  }];
  let options = [
    Option<"type", "type", "::fusec::Precision", /*default=*/"::fusec::Precision::Fp16",
           "of the operands", [{::llvm::cl::values(
             clEnumValN(::fusec::Precision::Fp16, "f16", ""),
             clEnumValN(::fusec::Precision::Bf16, "bf16", ""))}]>];
}

def LayOutWeights : Pass<"fusec-lay-out-weights", "::fusec::ModelOp"> {
  let summary = "constant weights of matmuls lie along K";
  let description = [{
    The tensor cores of sm_90 read 32-bit elements from shared memory in no other
    way, and 16-bit ones in tiles of any width; vector kernels read whole rows. A
    constant that other ops use, too, stays as it is. It runs for every target, so
    that the plans of a bundle share the weights and none depends on the others.

    ```mlir
    %w = fusec.constant dense<...> : tensor<4x6xf32>
    %r = fusec.matmul %x, %w : tensor<8x4xf32>, tensor<4x6xf32> to tensor<8x6xf32>
    ```
    becomes
    ```mlir
    %w = fusec.constant dense<...> : tensor<6x4xf32>
    %r = fusec.matmul %x, %w transposed : tensor<8x4xf32>, tensor<6x4xf32> to tensor<8x6xf32>
    ```
  }];
  let options = [
    Option<"leastK", "least-k", "int64_t", /*default=*/"32",
           "shorter rows along K would fill no step of those kernels">];
}

def ChooseSchedules : Pass<"fusec-choose-schedules", "::fusec::PlanOp"> {
  let summary = "variants of each step: vector widths, tiles, index widths, and their guards";
  let options = [
    ProductsOption<>,
    Option<"candidates", "candidates", "unsigned", /*default=*/"5",
           "schedules that a variant keeps, the fastest first; 0: all">];
}

def LeadProducts : Pass<"fusec-lead-products", "::fusec::PlanOp"> {
  let summary = "narrow products are computed first by the kernel that needs them last";
  let description = [{
    Of y = x W + t B, t = x A, the kernel of y computes t under the first segment
    of its tiles, where that takes less than a launch, and reads it before their
    last one. Both remain steps: t's is launched where y's variant has no lead.
    Only for sm_90a.
  }];
  let options = [ProductsOption<>];
}

def PlanLaunches : Pass<"fusec-plan-launches", "::fusec::PlanOp"> {
  let summary = "how each variant's kernel is launched: grid, block, shared memory, cluster, early start, tensor maps";
  let description = [{
    What emitters print and the manifest says follows from the schedule, the
    step's place and its buffers; it is computed here, once.

    ```mlir
    #fusec.variant<[], #fusec.pointwise_schedule<threads = 128, vector = 4, indexBits = 32>>
    ```
    becomes
    ```mlir
    #fusec.variant<[], #fusec.pointwise_schedule<threads = 128, vector = 4, indexBits = 32>
                   launch <blocks = #fusec.expr<(n * 8) floordiv 512>, threads = 128, early = true>>
    ```
  }];
}

#endif // FUSEC_COMPILER_PASSES_TD
