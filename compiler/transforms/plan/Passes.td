// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes that plan for a target. Part of compiler/Passes.td.

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

def FormBagEpilogues : Pass<"fusec-form-bag-epilogues", "::fusec::PlanOp"> {
  let summary = "what follows embedding bags becomes part of their kernel";
  let description = [{
    A step of bags and a pointwise or reduce step that reads its results join
    where this computes at the points of the bags, or reduces their rows, and
    the cost model says that the one kernel is faster: a cast, a scale, a
    position's row that is added, a norm. Rows that are reduced have one width
    in all tables, which a warp holds in registers.

    ```mlir
    fusec.step bag "bag" inputs [@t, @i] outputs [@h] ...
    fusec.step reduce "reduce_sub" inputs [@h, @gain] outputs [@y] ...
    ```
    becomes
    ```mlir
    fusec.step bag "bag_reduce_sub" inputs [@t, @i, @gain] outputs [@y] ...
    ```
  }];
  let options = [
    Option<"always", "always", "bool", /*default=*/"false",
           "join wherever the target has a kernel, whatever its time: for tests">];
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

def FormPrologues : Pass<"fusec-form-prologues", "::fusec::PlanOp"> {
  let summary = "what is computed of a product's operand becomes part of the product";
  let description = [{
    A pointwise step and the matmul step that alone multiplies its result join
    where the target has a kernel that makes operands, and the cost model says
    that the one kernel is faster over all sizes of the named dimensions: casts,
    scales of elements, activations, and weights of fewer bits. Of one matrix in
    memory; what else is read are scalars, rows and columns.

    ```mlir
    fusec.step pointwise "cast" inputs [@x] outputs [@a] ...
    fusec.step gemm "matmul" inputs [@a, @w] outputs [@y] ...
    ```
    becomes
    ```mlir
    fusec.step gemm "cast_matmul" inputs [@x, @w] outputs [@y] ...
    ```
  }];
  let options = [
    ProductsOption<>,
    Option<"always", "always", "bool", /*default=*/"false",
           "join wherever the target has a kernel, whatever its time: for tests">];
}

def FoldSteps : Pass<"fusec-fold-steps", "::fusec::PlanOp"> {
  let summary = "what is computed of weights alone is a weight";
  let description = [{
    Weights of 8 bits are dequantised by the products that read them, where the
    target has a kernel for it that pays. What no product took is computed when
    compiling, within a budget as of fusec-fold-constants.

    ```mlir
    fusec.buffer @w weight 0 ... : tensor<64x32xi8> = ...
    fusec.buffer @cast slot 0 ... : tensor<64x32xf16>     =>  fusec.buffer @cast weight 0 ... = ...
    fusec.step pointwise "cast" inputs [@w] outputs [@cast] ...
    ```
  }];
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

def SplitLongProducts : Pass<"fusec-split-long-products", "::fusec::PlanOp"> {
  let summary = "products of few tiles and a long K become the sum of products of its ranges";
  let description = [{
    A matmul step becomes two where the cost model says that both are faster over
    all sizes of the named dimensions, and at none much slower: large tiles of
    ranges of K, which are a batch, and the sum of their fp32 results in order,
    which has the epilogue. The last range is what remains of K. It runs on
    steps, since what fills a device is the target's.

    ```mlir
    fusec.step gemm "matmul_add_relu" inputs [@x, @w, @b] outputs [@y] ...
      %0 = fusec.contraction(%x) by(%w)
        : (tensor<2048x65536xf16>), (tensor<65536x512xf16>) -> tensor<2048x512xf32>
      ...
    ```
    becomes
    ```mlir
    fusec.step gemm "matmul_ranges" inputs [@x, @w] outputs [@ranges] ...
      %0 = fusec.contraction(%x) by(%w) ranges [16384]
        : (tensor<2048x65536xf16>), (tensor<65536x512xf16>) -> tensor<4x2048x512xf32>
    fusec.step reduce "sum_add_relu" inputs [@ranges, @b] outputs [@y] ...
      %0 = fusec.reduce sum %ranges axes [0] : tensor<4x2048x512xf32> to tensor<2048x512xf32>
      ...
    ```
  }];
  let options = [
    ProductsOption<>,
    Option<"always", "always", "bool", /*default=*/"false",
           "split wherever the target has a kernel, whatever its time: for tests">];
}

def SplitReductions : Pass<"fusec-split-reductions", "::fusec::PlanOp"> {
  let summary = "reductions of few and long rows are those of parts, then of what these gave";
  let description = [{
    A reduce step becomes two where the cost model says that both are faster over
    all sizes of the named dimensions: the first reduces parts of the rows, the
    second what they gave, in order, and has what follows the reductions. Where
    that is stored at every point, rows are such that no block's registers hold.

    ```mlir
    fusec.step reduce "mul_reduce_sqrt" inputs [@x] outputs [@y] ...
      %0 = fusec.mul %x, %x : tensor<8192x8192xf16>
      %1 = fusec.reduce sum %0 axes [0, 1] : tensor<8192x8192xf16> to tensor<f16>
      %2 = fusec.sqrt %1 : tensor<f16>
    ```
    becomes
    ```mlir
    fusec.step reduce "mul_reduce_sqrt_parts" inputs [@x] outputs [@parts] ...
      %0 = fusec.mul %x, %x : tensor<8192x8192xf16>
      %1 = fusec.cast %0 : tensor<8192x8192xf16> to tensor<8192x8192xf32>
      %2 = fusec.reduce sum %1 axes [0, 1] parts 512 : tensor<8192x8192xf32> to tensor<512xf32>
    fusec.step reduce "mul_reduce_sqrt" inputs [@parts] outputs [@y] ...
      %0 = fusec.reduce sum %parts axes [0] : tensor<512xf32> to tensor<f32>
      %1 = fusec.cast %0 : tensor<f32> to tensor<f16>
      %2 = fusec.sqrt %1 : tensor<f16>
    ```

    So does one that finds the largest item of rows and sums exponentials below
    it, and stores results of rows, or of all points of rows along memory. A
    part has a largest item of its own, and exponentials below that; the second
    step puts their sums below the row's. Its blocks store a part of a row each.
    Of rows that are summed, as the squares of what is apart from their mean, a
    part has the squares of what is apart from its own mean.

    What is stored at every point of rows that do not lie along memory becomes a
    pointwise step, if that is faster: it reads what the reductions gave of rows,
    and these may have parts.
  }];
  let options = [
    Option<"always", "always", "bool", /*default=*/"false",
           "split wherever rows are long enough, whatever the time: for tests">];
}

def DivideScans : Pass<"fusec-divide-scans", "::fusec::PlanOp"> {
  let summary = "cumulative sums along a long axis of few rows store sums of its parts, too";
  let description = [{
    Where the cost model says that it is faster over all sizes of the named
    dimensions. Blocks of the kernel then take a part each, of which they tell
    the sum to those that come behind it.

    ```mlir
    fusec.step scan "cumsum" inputs [@x] outputs [@y] ...
      %0 = fusec.cumsum %x axis 0 : tensor<65536x512xf16> to tensor<65536x512xf16>
    ```
    becomes
    ```mlir
    fusec.step scan "cumsum" inputs [@x] outputs [@y, @sums] ...
      %0 = fusec.cumsum %x axis 0 : tensor<65536x512xf16> to tensor<65536x512xf16>
      %1 = fusec.cast %x : tensor<65536x512xf16> to tensor<65536x512xf32>
      %2 = fusec.reduce sum %1 axes [0] parts 128 : tensor<65536x512xf32> to tensor<128x512xf32>
    ```
  }];
  let options = [
    Option<"always", "always", "bool", /*default=*/"false",
           "divide wherever parts are long enough, whatever the time: for tests">];
}

def NestReductions : Pass<"fusec-nest-reductions", "::fusec::PlanOp"> {
  let summary = "reductions of what others give along an inner axis join them";
  let description = [{
    A reduce step that reduces results of another one along their last
    dimensions joins it where a block finds whole rows of those results, and the
    cost model says that the one kernel is faster over all sizes of the named
    dimensions, and at none much slower.

    ```mlir
    fusec.step reduce "reduce_mul" inputs [@x] outputs [@squares] ...
      %0 = fusec.reduce sum %x axes [1] : tensor<512x39x16xf32> to tensor<512x16xf32>
      %1 = fusec.mul %0, %0 : tensor<512x16xf32>
    fusec.step reduce "reduce" inputs [@squares] outputs [@y] ...
      %0 = fusec.reduce sum %squares axes [1] : tensor<512x16xf32> to tensor<512xf32>
    ```
    becomes
    ```mlir
    fusec.step reduce "reduce_mul_reduce" inputs [@x] outputs [@y] ...
      %0 = fusec.reduce sum %x axes [1] : tensor<512x39x16xf32> to tensor<512x16xf32>
      %1 = fusec.mul %0, %0 : tensor<512x16xf32>
      %2 = fusec.reduce sum %1 axes [1] : tensor<512x16xf32> to tensor<512xf32>
    ```
  }];
  let options = [
    Option<"always", "always", "bool", /*default=*/"false",
           "join wherever there is a kernel, whatever its time: for tests">];
}

def JoinSiblings : Pass<"fusec-join-siblings", "::fusec::PlanOp"> {
  let summary = "steps that read the same, but not one another, become one";
  let description = [{
    Pointwise steps, or reductions that one walk along the same rows finds, where
    the cost model says that one kernel gains enough at all sizes of the named
    dimensions. Pointwise results of other numbers of elements are computed by
    other blocks of it.

    ```mlir
    fusec.step pointwise "sin" inputs [@x] outputs [@s] ...
    fusec.step pointwise "cos" inputs [@x] outputs [@c] ...
    ```
    becomes
    ```mlir
    fusec.step pointwise "sin_cos" inputs [@x] outputs [@s, @c] ...
    ```
  }];
  let options = [
    Option<"reductions", "reductions", "bool", /*default=*/"false",
           "join reductions, not pointwise steps">,
    Option<"always", "always", "bool", /*default=*/"false",
           "join wherever there is a kernel, whatever its time: for tests">];
}

def FormTransposes : Pass<"fusec-form-transposes", "::fusec::PlanOp"> {
  let summary = "pointwise steps whose loads lie along another dimension than their stores go through tiles";
  let description = [{
    ```mlir
    fusec.step pointwise "transpose" inputs [@x] outputs [@y] ...
      %0 = fusec.transpose %x [1, 0] : tensor<512x1000xf32> to tensor<1000x512xf32>
    ```
    becomes
    ```mlir
    fusec.step transpose "transpose" inputs [@x] outputs [@y] ...
      %0 = fusec.transpose %x [1, 0] : tensor<512x1000xf32> to tensor<1000x512xf32>
    ```
  }];
}

def FindLeads : Pass<"fusec-find-leads", "::fusec::PlanOp"> {
  let summary = "names the products that another product's launch may compute first";
  let description = [{
    The A of a matmul's last segment, where a step computes it for nobody else.

    ```mlir
    fusec.step gemm "matmul" inputs [@x, @t, @w, @b] outputs [@y] ...
    ```
    becomes
    ```mlir
    fusec.step gemm "matmul" inputs [@x, @t, @w, @b] outputs [@y] lead @t ...
    ```
  }];
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
    Of y = x W + t B, t = x A, the kernel of y computes its lead t under the
    first segment of its tiles, where that takes less than a launch, and reads it
    before their last one. Both remain steps: t's is launched where y's variant
    has no lead. Only for sm_90a.
  }];
  let options = [ProductsOption<>];
}

def PlanLaunches : Pass<"fusec-plan-launches", "::fusec::PlanOp"> {
  let summary = "how each variant's kernel is launched: grid, block, shared memory, cluster, early start, tensor maps, widths of accesses";
  let description = [{
    What emitters print and the manifest says follows from the schedule, the
    step's place and its buffers; it is computed here, once.

    ```mlir
    #fusec.variant<[], #fusec.pointwise_schedule<threads = 128, vector = 4, indexBits = 32>>
    ```
    becomes
    ```mlir
    #fusec.variant<[], #fusec.pointwise_schedule<threads = 128, vector = 4, indexBits = 32>
                   launch <blocks = #fusec.expr<(n * 8) floordiv 512>, threads = 128, early = true,
                           accesses = [#fusec.accesses<width = 4, loads = [4], stores = [4]>]>>
    ```
  }];
}
