// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rewrites of the tensor level, and from there to the fused one. Part of compiler/Passes.td.

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

def ExpandPowers : Pass<"fusec-expand-powers", "::fusec::ModelOp"> {
  let summary = "powers of small constant exponents become products and roots";
  let description = [{
    As PyTorch computes them. A cube rounds twice, and a root of minus infinity is
    NaN, where the power is infinity; `exact` leaves both.

    ```mlir
    x ^ 2, x ^ -1            ->  x * x, fusec.reciprocal
    x ^ 3                    ->  x * x * x
    x ^ 0.5, x ^ -0.5        ->  fusec.sqrt, fusec.rsqrt
    ```
  }];
  let options = [
    Option<"exact", "exact", "bool", /*default=*/"false",
           "only what gives what the power does, rounded once">
  ];
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

def FormPairs : Pass<"fusec-form-pairs", "::fusec::ModelOp"> {
  let summary = "products of all pairs of a row's features by weights become products of pairs";
  let description = [{
    flatten(x x^T) W with constant weights: the outer product is never stored,
    and the weights of (i, j) and (j, i) are one. So does a part of it that
    constant indices choose, as a triangle. Left alone where others read the
    outer product, and where there are few features or pairs. Weights of fp32
    become f16 times a power of two a column, which their sums are divided by;
    where `precision` is ieee they and the products stay in fp32.

    ```mlir
    %0 = fusec.matmul %x_as_column, %x_as_row : .. to tensor<64x48x48xf16>
    %1 = fusec.collapse %0 [[0], [1, 2]] : .. to tensor<64x2304xf16>
    %2 = fusec.matmul %1, %W : .. to tensor<64x32xf16>
    ```
    becomes
    ```mlir
    %0 = fusec.pair_product %x, %folded : .. to tensor<6x64x32xf32>
    %1 = fusec.reduce sum %0 [0] : .. to tensor<64x32xf32>
    %2 = fusec.cast %1 : .. to tensor<64x32xf16>
    ```
  }];
  let options = [
    Option<"precision", "precision", "::fusec::Precision", "::fusec::Precision::Ieee",
           "how fp32 products multiply", [{::llvm::cl::values(
             clEnumValN(::fusec::Precision::Ieee, "ieee", "exact"),
             clEnumValN(::fusec::Precision::Tf32, "tf32", "as tf32"),
             clEnumValN(::fusec::Precision::Fp16, "fp16", "of 16 bits"),
             clEnumValN(::fusec::Precision::Bf16, "bf16", "of 16 bits"))}]>
  ];
}

def LayOutWeights : Pass<"fusec-lay-out-weights", "::fusec::ModelOp"> {
  let summary = "constant weights of matmuls lie along K";
  let description = [{
    The tensor cores of sm_90 read 32-bit elements from shared memory in no other
    way, and 16-bit ones in tiles of any width; vector kernels read whole rows. A
    constant that other ops use, too, stays as it is; one of bytes is transposed
    together with what dequantises it. It runs for every target, so that the plans
    of a bundle share the weights and none depends on the others.

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

def GatherQuantized : Pass<"fusec-gather-quantized", "::fusec::ModelOp"> {
  let summary = "rows are gathered before they are dequantised, so that tables stay narrow";
  let description = [{
    ```mlir
    %w = fusec.cast %table : tensor<1000x64xi8> to tensor<1000x64xf32>
    %d = fusec.mul %w, %scales : tensor<1000x64xf32>
    %g = fusec.gather %d [-1, 1] (%i) flag : ... -> tensor<8x64xf32>
    ```
    becomes
    ```mlir
    %g = fusec.gather %table [-1, 1] (%i) flag : ... -> tensor<8x64xi8>
    %w = fusec.cast %g : tensor<8x64xi8> to tensor<8x64xf32>
    %d = fusec.mul %w, %scalesOfRows : tensor<8x64xf32>
    ```
  }];
}

def QuantizeTables : Pass<"fusec-quantize-tables", "::fusec::ModelOp"> {
  let summary = "constant tables that only lookups and bags read become integers, with a factor a row";
  let options = [
    Option<"bits", "bits", "unsigned", /*default=*/"8", "of an integer: 8, or 4 in a byte that PackTables halves">];
}

def RecognizeRanges : Pass<"fusec-recognize-ranges", "::fusec::ModelOp"> {
  let summary = "integer constants that are the index along an axis are not loaded";
  let description = [{
    Where they are computed with; those that say which rows are gathered stay.

    ```mlir
    %0 = fusec.constant dense<[0, 1, 2, ..]> : tensor<1000xi64>
    ```
    becomes
    ```mlir
    %0 = fusec.iota 0 : tensor<1000xi64>
    ```
  }];
}

def FormBags : Pass<"fusec-form-bags", "::fusec::ModelOp"> {
  let summary = "sums of gathered rows become embedding bags, neighbours in a concat one";
  let description = [{
    ```mlir
    %g = fusec.gather %table [-1, 2] at %i flag : ... -> tensor<8x10x64xf16>
    %s = fusec.reduce sum %g axes [1] : tensor<8x10x64xf16> to tensor<8x64xf16>
    %r = fusec.concat %s, %other axis 1 : ...
    ```
    becomes
    ```mlir
    %r = fusec.bag (%table, %table2) at (%ids, %ids2) flag scales [1.0, 1.0] : ...
    ```
    Rows that are gathered beside bags are bags of one, and so are those of
    tables whose integers take 4 bits.
  }];
  let options = [
    Option<"exact", "exact", "bool", /*default=*/"false",
           "results are rounded as each operation would: a mean's sum is not scaled before it is">];
}

def PackTables : Pass<"fusec-pack-tables", "::fusec::ModelOp"> {
  let summary = "constant tables of bags whose bytes are small integers take 4 bits an element";
  let description = [{
    ```mlir
    %t = fusec.constant dense<[[-8, 7, 1], [0, 2, 3]]> : tensor<2x3xi8>
    %r = fusec.bag sum (%t) at (%i) factors (%f) flag scales [1.0] : ...
    ```
    becomes
    ```mlir
    %t = fusec.constant dense<[[120, 1], [32, 3]]> : tensor<2x2xi8>
    %r = fusec.bag sum (%t) at (%i) factors (%f) flag scales [1.0] packed [3] : ...
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
  let summary = "scales by rows, and of quantised weights by columns, move behind the product";
  let description = [{
    As a norm before a linear layer has. The product's epilogue applies the scale,
    and the scaled operand is never stored. Of 16-bit operands the product is fp32
    until then. Of weights that are whole numbers, which their type holds exactly,
    scales of columns move likewise.

    ```mlir
    %s = fusec.broadcast %r [0]            %p = fusec.contraction (%x) by (%W)
    %y = fusec.mul %x, %s             ->   %s = fusec.broadcast %r [0]
    %p = fusec.contraction (%y) by (%W)    %q = fusec.mul %p, %s

    %f = fusec.cast %bytes                 %w = fusec.cast %bytes
    %s = fusec.broadcast %c [1]            %p = fusec.contraction (%x) by (%w)
    %m = fusec.mul %f, %s             ->   %s = fusec.broadcast %c [1]
    %w = fusec.cast %m                     %q = fusec.mul %p, %s
    %p = fusec.contraction (%x) by (%w)
    ```
  }];
}
