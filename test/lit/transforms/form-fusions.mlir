// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --fusec-contractions --fusec-form-fusions --split-input-file %s | FileCheck %s
// RUN: fusec-opt --fusec-contractions --fusec-form-fusions=fuse=false --split-input-file %s | FileCheck %s --check-prefix=APART
// RUN: fusec-opt --fusec-contractions --fusec-form-fusions --remarks-filter=fusion --split-input-file %s 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// A chain of pointwise ops is one kernel; the bias is broadcast inside.
// CHECK-LABEL: fusec.model @chain
// CHECK: %[[R:.+]] = fusec.fusion pointwise "add_sigmoid"(%{{.+}}, %{{.+}}) : (tensor<10xf32>, tensor<8x10xf32>) -> tensor<8x10xf32>
// CHECK: fusec.broadcast
// CHECK: fusec.output %[[R]]
// APART-LABEL: fusec.model @chain
// APART-COUNT-2: fusec.fusion pointwise
fusec.model @chain inputs ["x", "b"] outputs ["y"] {
^bb0(%x: tensor<8x10xf32>, %b: tensor<10xf32>):
  %0 = fusec.broadcast %b [1] : tensor<10xf32> to tensor<8x10xf32>
  %1 = fusec.add %x, %0 : tensor<8x10xf32>
  %2 = fusec.sigmoid %1 : tensor<8x10xf32>
  fusec.output %2 : tensor<8x10xf32>
}

// -----

// Gating: one root, two accumulators, everything after it in the epilogue.
// CHECK-LABEL: fusec.model @gating
// CHECK: fusec.fusion gemm "matmul_sigmoid_mul"
// CHECK: %[[A:.+]]:2 = fusec.contraction
// CHECK-NOT: fusec.fusion
fusec.model @gating inputs ["x", "v", "w"] outputs ["y"] {
^bb0(%x: tensor<8x4xf32>, %v: tensor<4x6xf32>, %w: tensor<4x6xf32>):
  %0 = fusec.matmul %x, %v : tensor<8x4xf32>, tensor<4x6xf32> to tensor<8x6xf32>
  %1 = fusec.sigmoid %0 : tensor<8x6xf32>
  %2 = fusec.matmul %x, %w : tensor<8x4xf32>, tensor<4x6xf32> to tensor<8x6xf32>
  %3 = fusec.mul %1, %2 : tensor<8x6xf32>
  fusec.output %3 : tensor<8x6xf32>
}

// -----

// A softmax: two reductions over the same rows and what is stored at each point.
// CHECK-LABEL: fusec.model @softmax
// CHECK: fusec.fusion reduce "reduce_sub_exp_div"
// CHECK: fusec.reduce max
// CHECK: fusec.reduce sum
// CHECK-NOT: fusec.fusion
fusec.model @softmax inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<8x10xf32>):
  %0 = fusec.reduce max %x axes [1] : tensor<8x10xf32> to tensor<8xf32>
  %1 = fusec.broadcast %0 [0] : tensor<8xf32> to tensor<8x10xf32>
  %2 = fusec.sub %x, %1 : tensor<8x10xf32>
  %3 = fusec.exp %2 : tensor<8x10xf32>
  %4 = fusec.reduce sum %3 axes [1] : tensor<8x10xf32> to tensor<8xf32>
  %5 = fusec.broadcast %4 [0] : tensor<8xf32> to tensor<8x10xf32>
  %6 = fusec.div %3, %5 : tensor<8x10xf32>
  fusec.output %6 : tensor<8x10xf32>
}

// -----

// Two matmuls stay two kernels until fusec-form-chains.
// CHECK-LABEL: fusec.model @chained
// CHECK-COUNT-2: fusec.fusion gemm
// REMARK-NOT: each kernel has one matmul root
fusec.model @chained inputs ["x", "v", "w"] outputs ["y"] {
^bb0(%x: tensor<8x4xf32>, %v: tensor<4x6xf32>, %w: tensor<6x5xf32>):
  %0 = fusec.matmul %x, %v : tensor<8x4xf32>, tensor<4x6xf32> to tensor<8x6xf32>
  %1 = fusec.matmul %0, %w : tensor<8x6xf32>, tensor<6x5xf32> to tensor<8x5xf32>
  fusec.output %1 : tensor<8x5xf32>
}

// -----

// A concat of matmuls is assembled by them; its consumer reads the whole.
// CHECK-LABEL: fusec.model @assembled
// CHECK: %[[A:.+]] = fusec.fusion gemm
// CHECK: %[[B:.+]] = fusec.fusion gemm
// CHECK: %[[C:.+]] = fusec.concat %[[A]], %[[B]] axis 1
// CHECK: fusec.fusion pointwise "exp"(%[[C]])
fusec.model @assembled inputs ["x", "v", "w"] outputs ["y"] {
^bb0(%x: tensor<8x4xf32>, %v: tensor<4x6xf32>, %w: tensor<4x5xf32>):
  %0 = fusec.matmul %x, %v : tensor<8x4xf32>, tensor<4x6xf32> to tensor<8x6xf32>
  %1 = fusec.matmul %x, %w : tensor<8x4xf32>, tensor<4x5xf32> to tensor<8x5xf32>
  %2 = fusec.concat %0, %1 axis 1 : tensor<8x6xf32>, tensor<8x5xf32> to tensor<8x11xf32>
  %3 = fusec.exp %2 : tensor<8x11xf32>
  fusec.output %3 : tensor<8x11xf32>
}

// -----

// Not where an operand, here behind a regrouping, is an output of the model,
// which has a place of its own.
// CHECK-LABEL: fusec.model @output_too
// CHECK: %[[A:.+]]:2 = fusec.fusion gemm
// CHECK: fusec.fusion pointwise "concat"
// CHECK: fusec.output %[[A]]#{{[01]}}
fusec.model @output_too inputs ["x", "v", "w", "u"] outputs ["r", "y", "z"] {
^bb0(%x: tensor<8x4xf32>, %v: tensor<4x6xf32>, %w: tensor<4x5xf32>, %u: tensor<6x3xf32>):
  %0 = fusec.matmul %x, %v : tensor<8x4xf32>, tensor<4x6xf32> to tensor<8x6xf32>
  %r = fusec.expand %0 [[0, 1], [2]] : tensor<8x6xf32> to tensor<2x4x6xf32>
  %1 = fusec.matmul %x, %w : tensor<8x4xf32>, tensor<4x5xf32> to tensor<8x5xf32>
  %2 = fusec.expand %1 [[0, 1], [2]] : tensor<8x5xf32> to tensor<2x4x5xf32>
  %3 = fusec.concat %r, %2 axis 2 : tensor<2x4x6xf32>, tensor<2x4x5xf32> to tensor<2x4x11xf32>
  %4 = fusec.matmul %0, %u : tensor<8x6xf32>, tensor<6x3xf32> to tensor<8x3xf32>
  fusec.output %r, %3, %4 : tensor<2x4x6xf32>, tensor<2x4x11xf32>, tensor<8x3xf32>
}

// -----

// Nor where rows that an operand joins would not lie one after another.
// CHECK-LABEL: fusec.model @apart
// CHECK-COUNT-2: fusec.fusion gemm
// CHECK: fusec.fusion pointwise "concat_exp"
fusec.model @apart inputs ["x", "z", "v", "w"] outputs ["y"] {
^bb0(%x: tensor<16x4xf32>, %z: tensor<8x4xf32>, %v: tensor<4x6xf32>, %w: tensor<4x6xf32>):
  %0 = fusec.matmul %x, %v : tensor<16x4xf32>, tensor<4x6xf32> to tensor<16x6xf32>
  %1 = fusec.expand %0 [[0, 1], [2]] : tensor<16x6xf32> to tensor<8x2x6xf32>
  %2 = fusec.matmul %z, %w : tensor<8x4xf32>, tensor<4x6xf32> to tensor<8x6xf32>
  %3 = fusec.expand %2 [[0, 1], [2]] : tensor<8x6xf32> to tensor<8x1x6xf32>
  %4 = fusec.concat %1, %3 axis 1 : tensor<8x2x6xf32>, tensor<8x1x6xf32> to tensor<8x3x6xf32>
  %5 = fusec.exp %4 : tensor<8x3x6xf32>
  fusec.output %5 : tensor<8x3x6xf32>
}

// -----

// An output that is an input is a copy.
// CHECK-LABEL: fusec.model @copy
// CHECK: %[[R:.+]] = fusec.fusion pointwise "broadcast"
// CHECK: fusec.output %[[R]]
fusec.model @copy inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<8xf32>):
  fusec.output %x : tensor<8xf32>
}

// -----

// A matrix of equal elements is written to memory first: products read memory.
// CHECK-LABEL: fusec.model @splat_matrix
// CHECK: %[[W:.+]] = fusec.fusion pointwise
// CHECK: fusec.fusion gemm "matmul"(%{{.+}}, %[[W]])
fusec.model @splat_matrix inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<8x4xf32>):
  %w = fusec.splat 0.5 : f32 : tensor<4x6xf32>
  %y = fusec.contraction (%x) by (%w) : (tensor<8x4xf32>), (tensor<4x6xf32>) -> tensor<8x6xf32>
  fusec.output %y : tensor<8x6xf32>
}

// -----

// Each step reads its operand in three places of the text: five steps in one
// kernel would have the first one 81 times.
// CHECK-LABEL: fusec.model @steps
// CHECK-COUNT-2: fusec.fusion pointwise
// CHECK-NOT: fusec.fusion
// REMARK: an op would be computed in more than 32 places of one kernel
fusec.model @steps inputs ["x"] outputs ["y"] {
^bb0(%r0: tensor<8x100xf32>):
  %a0 = fusec.slice %r0 offsets [#fusec.expr<0>, #fusec.expr<3>] steps [1, 1] : tensor<8x100xf32> to tensor<8x97xf32>
  %b0 = fusec.slice %r0 offsets [#fusec.expr<0>, #fusec.expr<0>] steps [1, 1] : tensor<8x100xf32> to tensor<8x3xf32>
  %c0 = fusec.concat %a0, %b0 axis 1 : tensor<8x97xf32>, tensor<8x3xf32> to tensor<8x100xf32>
  %r1 = fusec.add %r0, %c0 : tensor<8x100xf32>
  %a1 = fusec.slice %r1 offsets [#fusec.expr<0>, #fusec.expr<7>] steps [1, 1] : tensor<8x100xf32> to tensor<8x93xf32>
  %b1 = fusec.slice %r1 offsets [#fusec.expr<0>, #fusec.expr<0>] steps [1, 1] : tensor<8x100xf32> to tensor<8x7xf32>
  %c1 = fusec.concat %a1, %b1 axis 1 : tensor<8x93xf32>, tensor<8x7xf32> to tensor<8x100xf32>
  %r2 = fusec.add %r1, %c1 : tensor<8x100xf32>
  %a2 = fusec.slice %r2 offsets [#fusec.expr<0>, #fusec.expr<11>] steps [1, 1] : tensor<8x100xf32> to tensor<8x89xf32>
  %b2 = fusec.slice %r2 offsets [#fusec.expr<0>, #fusec.expr<0>] steps [1, 1] : tensor<8x100xf32> to tensor<8x11xf32>
  %c2 = fusec.concat %a2, %b2 axis 1 : tensor<8x89xf32>, tensor<8x11xf32> to tensor<8x100xf32>
  %r3 = fusec.add %r2, %c2 : tensor<8x100xf32>
  %a3 = fusec.slice %r3 offsets [#fusec.expr<0>, #fusec.expr<20>] steps [1, 1] : tensor<8x100xf32> to tensor<8x80xf32>
  %b3 = fusec.slice %r3 offsets [#fusec.expr<0>, #fusec.expr<0>] steps [1, 1] : tensor<8x100xf32> to tensor<8x20xf32>
  %c3 = fusec.concat %a3, %b3 axis 1 : tensor<8x80xf32>, tensor<8x20xf32> to tensor<8x100xf32>
  %r4 = fusec.add %r3, %c3 : tensor<8x100xf32>
  %a4 = fusec.slice %r4 offsets [#fusec.expr<0>, #fusec.expr<40>] steps [1, 1] : tensor<8x100xf32> to tensor<8x60xf32>
  %b4 = fusec.slice %r4 offsets [#fusec.expr<0>, #fusec.expr<0>] steps [1, 1] : tensor<8x100xf32> to tensor<8x40xf32>
  %c4 = fusec.concat %a4, %b4 axis 1 : tensor<8x60xf32>, tensor<8x40xf32> to tensor<8x100xf32>
  %r5 = fusec.add %r4, %c4 : tensor<8x100xf32>
  fusec.output %r5 : tensor<8x100xf32>
}

// -----

// What one kernel's text may hold: of nine reductions in a row the last one, or
// the first, is a kernel of its own.
// CHECK-LABEL: fusec.model @many_reductions
// CHECK-COUNT-2: fusec.fusion reduce
// CHECK-NOT: fusec.fusion
// REMARK: a kernel has at most 8 reductions
fusec.model @many_reductions inputs ["x"] outputs ["y"] {
^bb0(%v0: tensor<64x32xf32>):
  %m0 = fusec.reduce max %v0 axes [1] : tensor<64x32xf32> to tensor<64xf32>
  %b0 = fusec.broadcast %m0 [0] : tensor<64xf32> to tensor<64x32xf32>
  %v1 = fusec.sub %v0, %b0 : tensor<64x32xf32>
  %m1 = fusec.reduce max %v1 axes [1] : tensor<64x32xf32> to tensor<64xf32>
  %b1 = fusec.broadcast %m1 [0] : tensor<64xf32> to tensor<64x32xf32>
  %v2 = fusec.sub %v1, %b1 : tensor<64x32xf32>
  %m2 = fusec.reduce max %v2 axes [1] : tensor<64x32xf32> to tensor<64xf32>
  %b2 = fusec.broadcast %m2 [0] : tensor<64xf32> to tensor<64x32xf32>
  %v3 = fusec.sub %v2, %b2 : tensor<64x32xf32>
  %m3 = fusec.reduce max %v3 axes [1] : tensor<64x32xf32> to tensor<64xf32>
  %b3 = fusec.broadcast %m3 [0] : tensor<64xf32> to tensor<64x32xf32>
  %v4 = fusec.sub %v3, %b3 : tensor<64x32xf32>
  %m4 = fusec.reduce max %v4 axes [1] : tensor<64x32xf32> to tensor<64xf32>
  %b4 = fusec.broadcast %m4 [0] : tensor<64xf32> to tensor<64x32xf32>
  %v5 = fusec.sub %v4, %b4 : tensor<64x32xf32>
  %m5 = fusec.reduce max %v5 axes [1] : tensor<64x32xf32> to tensor<64xf32>
  %b5 = fusec.broadcast %m5 [0] : tensor<64xf32> to tensor<64x32xf32>
  %v6 = fusec.sub %v5, %b5 : tensor<64x32xf32>
  %m6 = fusec.reduce max %v6 axes [1] : tensor<64x32xf32> to tensor<64xf32>
  %b6 = fusec.broadcast %m6 [0] : tensor<64xf32> to tensor<64x32xf32>
  %v7 = fusec.sub %v6, %b6 : tensor<64x32xf32>
  %m7 = fusec.reduce max %v7 axes [1] : tensor<64x32xf32> to tensor<64xf32>
  %b7 = fusec.broadcast %m7 [0] : tensor<64xf32> to tensor<64x32xf32>
  %v8 = fusec.sub %v7, %b7 : tensor<64x32xf32>
  %m8 = fusec.reduce max %v8 axes [1] : tensor<64x32xf32> to tensor<64xf32>
  %b8 = fusec.broadcast %m8 [0] : tensor<64xf32> to tensor<64x32xf32>
  %v9 = fusec.sub %v8, %b8 : tensor<64x32xf32>
  fusec.output %v9 : tensor<64x32xf32>
}

// -----

// Not where a matmul joins rows of an operand, which slices do not have.
// CHECK-LABEL: fusec.model @joined_rows
// CHECK: fusec.fusion reduce
// CHECK: fusec.fusion pointwise "concat"
// REMARK: {{assemble-concat|Missed}}{{.*}}a matmul computes or reads an operand in a form that a slice of the concat does not have
fusec.model @joined_rows inputs ["x", "w"] outputs ["y", "z"] {
^bb0(%x: tensor<2x8x8xf32>, %w: tensor<8x16xf32>):
  %0 = fusec.reduce sum %x axes [1] : tensor<2x8x8xf32> to tensor<2x8xf32>
  %1 = fusec.broadcast %0 [0, 2] : tensor<2x8xf32> to tensor<2x8x8xf32>
  %2 = fusec.sub %x, %1 : tensor<2x8x8xf32>
  %3 = fusec.reduce max %2 axes [1] : tensor<2x8x8xf32> to tensor<2x8xf32>
  %4 = fusec.expand %3 [[0, 1], [2]] : tensor<2x8xf32> to tensor<2x1x8xf32>
  %5 = fusec.concat %2, %4 axis 1 : tensor<2x8x8xf32>, tensor<2x1x8xf32> to tensor<2x9x8xf32>
  %6 = fusec.broadcast %w [1, 2] : tensor<8x16xf32> to tensor<2x8x16xf32>
  %7 = fusec.matmul %2, %6 : tensor<2x8x8xf32>, tensor<2x8x16xf32> to tensor<2x8x16xf32>
  fusec.output %5, %7 : tensor<2x9x8xf32>, tensor<2x8x16xf32>
}
