// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --fusec-form-contractions --split-input-file %s | FileCheck %s
// RUN: fusec-opt --fusec-form-contractions --remarks-filter=rewrite --split-input-file %s 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

#rows = #fusec.sizes<[batch, 4]>
#columns = #fusec.sizes<[batch, 6]>

// Transposes become views.
// CHECK-LABEL: fusec.model @transposed
fusec.model @transposed inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<?x4xf32, #rows>, %w: tensor<6x4xf32>):
  // CHECK: %[[T:.+]] = fusec.transpose %[[W:.+]] [1, 0] : tensor<6x4xf32> to tensor<4x6xf32>
  // CHECK: %[[Y:.+]] = fusec.contraction(%{{.+}}) by(%[[T]]) : (tensor<?x4xf32, #fusec.sizes<[batch, 4]>>), (tensor<4x6xf32>) -> tensor<?x6xf32, #fusec.sizes<[batch, 6]>>
  // CHECK: fusec.output %[[Y]]
  %y = fusec.matmul %x, %w transposed : tensor<?x4xf32, #rows>, tensor<6x4xf32> to tensor<?x6xf32, #columns>
  fusec.output %y : tensor<?x6xf32, #columns>
}

// -----

// x x^T of columns is pointwise.
// CHECK-LABEL: fusec.model @outer
// REMARK: outer-product-to-mul
fusec.model @outer inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<?x8x1xf32, #fusec.sizes<[batch, 8, 1]>>):
  // CHECK-DAG: fusec.broadcast %{{.+}} [0, 1] : tensor<?x8xf32, #fusec.sizes<[batch, 8]>> to tensor<?x8x8xf32, #fusec.sizes<[batch, 8, 8]>>
  // CHECK-DAG: fusec.broadcast %{{.+}} [0, 2] : tensor<?x8xf32, #fusec.sizes<[batch, 8]>> to tensor<?x8x8xf32, #fusec.sizes<[batch, 8, 8]>>
  // CHECK: %[[Y:.+]] = fusec.mul
  // CHECK: fusec.output %[[Y]]
  %y = fusec.matmul %x, %x transposed : tensor<?x8x1xf32, #fusec.sizes<[batch, 8, 1]>>, tensor<?x8x1xf32, #fusec.sizes<[batch, 8, 1]>>
    to tensor<?x8x8xf32, #fusec.sizes<[batch, 8, 8]>>
  fusec.output %y : tensor<?x8x8xf32, #fusec.sizes<[batch, 8, 8]>>
}

// -----

// A matrix that all batches share.
// CHECK-LABEL: fusec.model @shared
fusec.model @shared inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<2x3x4xf32>, %w: tensor<4x6xf32>):
  // CHECK: %[[X:.+]] = fusec.collapse %{{.+}} {{\[\[}}0, 1], [2]] : tensor<2x3x4xf32> to tensor<6x4xf32>
  // CHECK: %[[P:.+]] = fusec.contraction(%[[X]]) by(%{{.+}}) : (tensor<6x4xf32>), (tensor<4x6xf32>) -> tensor<6x6xf32>
  // CHECK: fusec.expand %[[P]] {{\[\[}}0, 1], [2]] : tensor<6x6xf32> to tensor<2x3x6xf32>
  %b = fusec.broadcast %w [1, 2] : tensor<4x6xf32> to tensor<2x4x6xf32>
  %y = fusec.matmul %x, %b : tensor<2x3x4xf32>, tensor<2x4x6xf32> to tensor<2x3x6xf32>
  fusec.output %y : tensor<2x3x6xf32>
}

// -----

// A batch of matrices stays one.
// CHECK-LABEL: fusec.model @batched
fusec.model @batched inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<2x3x4xf32>, %w: tensor<2x4x6xf32>):
  // CHECK: fusec.contraction(%{{.+}}) by(%{{.+}}) : (tensor<2x3x4xf32>), (tensor<2x4x6xf32>) -> tensor<2x3x6xf32>
  %y = fusec.matmul %x, %w : tensor<2x3x4xf32>, tensor<2x4x6xf32> to tensor<2x3x6xf32>
  fusec.output %y : tensor<2x3x6xf32>
}

// -----

// A low-rank update: x W + b + 0.5 (x A) B.
// CHECK-LABEL: fusec.model @lora
// REMARK: merge-summed-products
fusec.model @lora inputs ["x", "w", "a", "b", "bias"] outputs ["y"] {
// CHECK-NEXT: ^bb0(%[[X:.+]]: tensor<7x16xf32>, %[[W:.+]]: tensor<16x8xf32>, %[[A:.+]]: tensor<16x5xf32>, %[[B:.+]]: tensor<5x8xf32>, %[[BIAS:.+]]: tensor<8xf32>):
^bb0(%x: tensor<7x16xf32>, %w: tensor<16x8xf32>, %a: tensor<16x5xf32>, %b: tensor<5x8xf32>, %bias: tensor<8xf32>):
  // CHECK-DAG: %[[T:.+]] = fusec.contraction(%[[X]]) by(%[[A]])
  // CHECK-DAG: %[[HALF:.+]] = fusec.splat 5.000000e-01 : f32 : tensor<7x5xf32>
  // CHECK: %[[S:.+]] = fusec.mul %[[T]], %[[HALF]] : tensor<7x5xf32>
  // CHECK: %[[P:.+]] = fusec.contraction(%[[X]], %[[S]]) by(%[[W]], %[[B]]) : (tensor<7x16xf32>, tensor<7x5xf32>), (tensor<16x8xf32>, tensor<5x8xf32>) -> tensor<7x8xf32>
  // CHECK: %[[Y:.+]] = fusec.add %[[P]], %{{.+}} : tensor<7x8xf32>
  // CHECK-NEXT: fusec.output %[[Y]]
  %0 = fusec.matmul %x, %a : tensor<7x16xf32>, tensor<16x5xf32> to tensor<7x5xf32>
  %1 = fusec.matmul %0, %b : tensor<7x5xf32>, tensor<5x8xf32> to tensor<7x8xf32>
  %2 = fusec.constant dense<0.5> : tensor<f32>
  %3 = fusec.broadcast %2 [] : tensor<f32> to tensor<7x8xf32>
  %4 = fusec.mul %1, %3 : tensor<7x8xf32>
  %5 = fusec.matmul %x, %w : tensor<7x16xf32>, tensor<16x8xf32> to tensor<7x8xf32>
  %6 = fusec.broadcast %bias [1] : tensor<8xf32> to tensor<7x8xf32>
  %7 = fusec.add %5, %6 : tensor<7x8xf32>
  %8 = fusec.add %7, %4 : tensor<7x8xf32>
  fusec.output %8 : tensor<7x8xf32>
}

// -----

// A product that is needed by itself stays; so does one whose scale would need
// a kernel of its own.
// CHECK-LABEL: fusec.model @not_merged
fusec.model @not_merged inputs ["x", "w", "v"] outputs ["y", "z"] {
^bb0(%x: tensor<7x4xf32>, %w: tensor<4x8xf32>, %v: tensor<4x8xf32>):
  // CHECK-COUNT-2: fusec.contraction(%{{.+}}) by(%{{[a-z0-9]+}}) :
  %0 = fusec.matmul %x, %w : tensor<7x4xf32>, tensor<4x8xf32> to tensor<7x8xf32>
  %1 = fusec.matmul %x, %v : tensor<7x4xf32>, tensor<4x8xf32> to tensor<7x8xf32>
  %2 = fusec.transpose %1 [1, 0] : tensor<7x8xf32> to tensor<8x7xf32>
  fusec.output %0, %2 : tensor<7x8xf32>, tensor<8x7xf32>
}

// -----

// Gating: the results meet in a product.
// CHECK-LABEL: fusec.model @gating
// REMARK: group-products
fusec.model @gating inputs ["x", "w1", "b1", "w2"] outputs ["y"] {
// CHECK-NEXT: ^bb0(%[[X:.+]]: tensor<16x4xf32>, %[[W1:.+]]: tensor<4x8xf32>, %{{.+}}: tensor<8xf32>, %[[W2:.+]]: tensor<4x8xf32>):
^bb0(%x: tensor<16x4xf32>, %w1: tensor<4x8xf32>, %b1: tensor<8xf32>, %w2: tensor<4x8xf32>):
  // CHECK: %[[P:.+]]:2 = fusec.contraction(%[[X]]) by(%[[W1]], %[[W2]])
  // CHECK: %[[A:.+]] = fusec.add %[[P]]#0
  // CHECK: %[[G:.+]] = fusec.sigmoid %[[A]]
  // CHECK: fusec.mul %[[G]], %[[P]]#1
  %0 = fusec.matmul %x, %w1 : tensor<16x4xf32>, tensor<4x8xf32> to tensor<16x8xf32>
  %1 = fusec.broadcast %b1 [1] : tensor<8xf32> to tensor<16x8xf32>
  %2 = fusec.add %0, %1 : tensor<16x8xf32>
  %3 = fusec.sigmoid %2 : tensor<16x8xf32>
  %4 = fusec.matmul %x, %w2 : tensor<16x4xf32>, tensor<4x8xf32> to tensor<16x8xf32>
  %5 = fusec.mul %3, %4 : tensor<16x8xf32>
  fusec.output %5 : tensor<16x8xf32>
}

// -----

// The second product needs the first one's result: they cannot be one kernel.
// CHECK-LABEL: fusec.model @dependent
fusec.model @dependent inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>):
  // CHECK: %[[A:.+]] = fusec.contraction(%[[X:.+]]) by(%{{.+}})
  // CHECK: %[[B:.+]] = fusec.contraction(%[[X]]) by(%[[A]])
  // REMARK: depends on the other's result
  %0 = fusec.matmul %x, %w : tensor<4x4xf32>, tensor<4x4xf32> to tensor<4x4xf32>
  %1 = fusec.matmul %x, %0 : tensor<4x4xf32>, tensor<4x4xf32> to tensor<4x4xf32>
  %2 = fusec.mul %0, %1 : tensor<4x4xf32>
  fusec.output %2 : tensor<4x4xf32>
}

// -----

// Two views of one operand are one left operand.
// CHECK-LABEL: fusec.model @transposed_gating
fusec.model @transposed_gating inputs ["x", "w", "v"] outputs ["y"] {
^bb0(%x: tensor<4x3xf32>, %w: tensor<4x6xf32>, %v: tensor<4x6xf32>):
  // CHECK: %[[X:.+]] = fusec.transpose
  // CHECK-NEXT: %{{.+}}:2 = fusec.contraction(%[[X]]) by(%{{.+}}, %{{.+}}) : (tensor<3x4xf32>)
  %0 = fusec.matmul %x transposed, %w : tensor<4x3xf32>, tensor<4x6xf32> to tensor<3x6xf32>
  %1 = fusec.matmul %x transposed, %v : tensor<4x3xf32>, tensor<4x6xf32> to tensor<3x6xf32>
  %2 = fusec.mul %0, %1 : tensor<3x6xf32>
  fusec.output %2 : tensor<3x6xf32>
}

// -----

// Batches that share matrices: bias, gate and residual run over the joined rows.
// CHECK-LABEL: fusec.model @batched_gating
fusec.model @batched_gating inputs ["x", "w", "v", "b", "r"] outputs ["y"] {
// CHECK-NEXT: ^bb0(%[[X:.+]]: tensor<?x3x4xf32, {{.*}}>, %[[W:.+]]: tensor<4x6xf32>, %[[V:.+]]: tensor<4x6xf32>, %[[B:.+]]: tensor<6xf32>, %[[R:.+]]: tensor<?x3x6xf32, {{.*}}>):
^bb0(%x: tensor<?x3x4xf32, #fusec.sizes<[n, 3, 4]>>, %w: tensor<4x6xf32>, %v: tensor<4x6xf32>, %b: tensor<6xf32>, %r: tensor<?x3x6xf32, #fusec.sizes<[n, 3, 6]>>):
  // CHECK-DAG: %[[ROWS:[0-9]+]] = fusec.collapse %[[X]] {{\[\[}}0, 1], [2]]
  // CHECK-DAG: %[[BIAS:[0-9]+]] = fusec.broadcast %[[B]] [1] : tensor<6xf32> to tensor<?x6xf32, #fusec.sizes<[n * 3, 6]>>
  // CHECK-DAG: %[[P:[0-9]+]]:2 = fusec.contraction(%[[ROWS]]) by(%[[W]], %[[V]])
  // CHECK-DAG: %[[A:[0-9]+]] = fusec.add %[[P]]#0, %[[BIAS]]
  // CHECK-DAG: %[[G:[0-9]+]] = fusec.mul %[[A]], %[[P]]#1
  // CHECK-DAG: %[[RES:[0-9]+]] = fusec.collapse %[[R]] {{\[\[}}0, 1], [2]]
  // CHECK-DAG: %[[S:[0-9]+]] = fusec.add %[[RES]], %[[G]] : tensor<?x6xf32
  // CHECK: %[[Y:[0-9]+]] = fusec.expand %[[S]] {{\[\[}}0, 1], [2]]
  // CHECK-NEXT: fusec.output %[[Y]]
  %bw = fusec.broadcast %w [1, 2] : tensor<4x6xf32> to tensor<?x4x6xf32, #fusec.sizes<[n, 4, 6]>>
  %bv = fusec.broadcast %v [1, 2] : tensor<4x6xf32> to tensor<?x4x6xf32, #fusec.sizes<[n, 4, 6]>>
  %0 = fusec.matmul %x, %bw : tensor<?x3x4xf32, #fusec.sizes<[n, 3, 4]>>, tensor<?x4x6xf32, #fusec.sizes<[n, 4, 6]>> to tensor<?x3x6xf32, #fusec.sizes<[n, 3, 6]>>
  %1 = fusec.matmul %x, %bv : tensor<?x3x4xf32, #fusec.sizes<[n, 3, 4]>>, tensor<?x4x6xf32, #fusec.sizes<[n, 4, 6]>> to tensor<?x3x6xf32, #fusec.sizes<[n, 3, 6]>>
  %2 = fusec.broadcast %b [2] : tensor<6xf32> to tensor<?x3x6xf32, #fusec.sizes<[n, 3, 6]>>
  %3 = fusec.add %0, %2 : tensor<?x3x6xf32, #fusec.sizes<[n, 3, 6]>>
  %4 = fusec.mul %3, %1 : tensor<?x3x6xf32, #fusec.sizes<[n, 3, 6]>>
  %5 = fusec.add %r, %4 : tensor<?x3x6xf32, #fusec.sizes<[n, 3, 6]>>
  fusec.output %5 : tensor<?x3x6xf32, #fusec.sizes<[n, 3, 6]>>
}

// -----

// A norm's scale by rows moves behind the product, in fp32.
// CHECK-LABEL: fusec.model @row_scale
// REMARK: move-row-scale
fusec.model @row_scale inputs ["x", "r", "w"] outputs ["y"] {
^bb0(%x: tensor<8x4xf16>, %r: tensor<8x1xf16>, %w: tensor<4x6xf16>):
  // CHECK: %[[P:.+]] = fusec.contraction(%[[X:.+]]) by(%{{.+}}) : (tensor<8x4xf16>), (tensor<4x6xf16>) -> tensor<8x6xf32>
  // CHECK: %[[R:.+]] = fusec.cast %{{.+}} : tensor<8x1xf16> to tensor<8x1xf32>
  // CHECK: %[[S:.+]] = fusec.broadcast %[[R]] [0, 1] : tensor<8x1xf32> to tensor<8x6xf32>
  // CHECK: %[[Q:.+]] = fusec.mul %[[P]], %[[S]] : tensor<8x6xf32>
  // CHECK: fusec.cast %[[Q]] : tensor<8x6xf32> to tensor<8x6xf16>
  %s = fusec.broadcast %r [0, 1] : tensor<8x1xf16> to tensor<8x4xf16>
  %n = fusec.mul %x, %s : tensor<8x4xf16>
  %y = fusec.matmul %n, %w : tensor<8x4xf16>, tensor<4x6xf16> to tensor<8x6xf16>
  fusec.output %y : tensor<8x6xf16>
}

// -----

// More products than a kernel has accumulators for.
// CHECK-LABEL: fusec.model @experts
// CHECK: fusec.contraction(%{{.+}}) by(%{{[^,]+}}, %{{[^,]+}}, %{{[^,]+}}, %{{[^,]+}}) :
// CHECK: fusec.contraction(%{{.+}}) by(%{{[^,]+}}, %{{[^,]+}}) :
fusec.model @experts inputs ["x", "a", "b", "c", "d", "e", "f"] outputs ["y"] {
^bb0(%x: tensor<8x4xf32>, %a: tensor<4x6xf32>, %b: tensor<4x6xf32>, %c: tensor<4x6xf32>, %d: tensor<4x6xf32>, %e: tensor<4x6xf32>, %f: tensor<4x6xf32>):
  %a0 = fusec.matmul %x, %a : tensor<8x4xf32>, tensor<4x6xf32> to tensor<8x6xf32>
  %a1 = fusec.relu %a0 : tensor<8x6xf32>
  %b0 = fusec.matmul %x, %b : tensor<8x4xf32>, tensor<4x6xf32> to tensor<8x6xf32>
  %b1 = fusec.relu %b0 : tensor<8x6xf32>
  %c0 = fusec.matmul %x, %c : tensor<8x4xf32>, tensor<4x6xf32> to tensor<8x6xf32>
  %c1 = fusec.relu %c0 : tensor<8x6xf32>
  %d0 = fusec.matmul %x, %d : tensor<8x4xf32>, tensor<4x6xf32> to tensor<8x6xf32>
  %d1 = fusec.relu %d0 : tensor<8x6xf32>
  %e0 = fusec.matmul %x, %e : tensor<8x4xf32>, tensor<4x6xf32> to tensor<8x6xf32>
  %e1 = fusec.relu %e0 : tensor<8x6xf32>
  %f0 = fusec.matmul %x, %f : tensor<8x4xf32>, tensor<4x6xf32> to tensor<8x6xf32>
  %f1 = fusec.relu %f0 : tensor<8x6xf32>
  %b2 = fusec.add %a1, %b1 : tensor<8x6xf32>
  %c2 = fusec.add %b2, %c1 : tensor<8x6xf32>
  %d2 = fusec.add %c2, %d1 : tensor<8x6xf32>
  %e2 = fusec.add %d2, %e1 : tensor<8x6xf32>
  %f2 = fusec.add %e2, %f1 : tensor<8x6xf32>
  fusec.output %f2 : tensor<8x6xf32>
}

// -----

// Gate and value of one projection, between them every second column, with
// their bias and behind an expand: slices of the weights.
// CHECK-LABEL: fusec.model @parts_that_meet
// CHECK-DAG: %[[GATE:.*]] = fusec.slice %arg1 offsets [#fusec.expr<0>, #fusec.expr<0>] steps [1, 2] : tensor<8x12xf32> to tensor<8x6xf32>
// CHECK-DAG: %[[VALUE:.*]] = fusec.slice %arg1 offsets [#fusec.expr<0>, #fusec.expr<1>] steps [1, 2] : tensor<8x12xf32> to tensor<8x6xf32>
// CHECK: fusec.contraction(%arg0) by(%[[GATE]], %[[VALUE]]) :
// CHECK: fusec.mul
// CHECK-NEXT: fusec.expand
fusec.model @parts_that_meet inputs ["x", "w", "b"] outputs ["y"] {
^bb0(%x: tensor<10x8xf32>, %w: tensor<8x12xf32>, %b: tensor<12xf32>):
  %0 = fusec.matmul %x, %w : tensor<10x8xf32>, tensor<8x12xf32> to tensor<10x12xf32>
  %1 = fusec.expand %0 [[0, 1], [2]] : tensor<10x12xf32> to tensor<2x5x12xf32>
  %2 = fusec.broadcast %b [2] : tensor<12xf32> to tensor<2x5x12xf32>
  %3 = fusec.add %1, %2 : tensor<2x5x12xf32>
  %4 = fusec.slice %3 offsets [#fusec.expr<0>, #fusec.expr<0>, #fusec.expr<0>] steps [1, 1, 2] : tensor<2x5x12xf32> to tensor<2x5x6xf32>
  %5 = fusec.slice %3 offsets [#fusec.expr<0>, #fusec.expr<0>, #fusec.expr<1>] steps [1, 1, 2] : tensor<2x5x12xf32> to tensor<2x5x6xf32>
  %6 = fusec.sigmoid %4 : tensor<2x5x6xf32>
  %7 = fusec.mul %6, %5 : tensor<2x5x6xf32>
  fusec.output %7 : tensor<2x5x6xf32>
}

// -----

// A third part goes elsewhere: one product of all columns is less work than two.
// CHECK-LABEL: fusec.model @parts_that_do_not_all_meet
// CHECK: fusec.contraction(%arg0) by(%arg1)
fusec.model @parts_that_do_not_all_meet inputs ["x", "w"] outputs ["y", "z"] {
^bb0(%x: tensor<10x8xf32>, %w: tensor<8x12xf32>):
  %0 = fusec.matmul %x, %w : tensor<10x8xf32>, tensor<8x12xf32> to tensor<10x12xf32>
  %1 = fusec.slice %0 offsets [#fusec.expr<0>, #fusec.expr<0>] steps [1, 1] : tensor<10x12xf32> to tensor<10x4xf32>
  %2 = fusec.slice %0 offsets [#fusec.expr<0>, #fusec.expr<4>] steps [1, 1] : tensor<10x12xf32> to tensor<10x4xf32>
  %3 = fusec.slice %0 offsets [#fusec.expr<0>, #fusec.expr<8>] steps [1, 1] : tensor<10x12xf32> to tensor<10x4xf32>
  %4 = fusec.sigmoid %1 : tensor<10x4xf32>
  %5 = fusec.mul %4, %2 : tensor<10x4xf32>
  fusec.output %5, %3 : tensor<10x4xf32>, tensor<10x4xf32>
}

// -----

// A concat along K, behind the collapse that a batch has.
// CHECK-LABEL: fusec.model @concat_along_k
// CHECK: %[[U:.*]] = fusec.slice %arg2 offsets [#fusec.expr<0>, #fusec.expr<0>]
// CHECK: %[[V:.*]] = fusec.slice %arg2 offsets [#fusec.expr<64>, #fusec.expr<0>]
// CHECK: fusec.contraction(%{{.*}}, %{{.*}}) by(%[[U]], %[[V]])
// CHECK-NOT: fusec.concat
fusec.model @concat_along_k inputs ["a", "b", "w"] outputs ["y"] {
^bb0(%a: tensor<2x5x64xf16>, %b: tensor<2x5x72xf16>, %w: tensor<136x12xf16>):
  %0 = fusec.concat %a, %b axis 2 : tensor<2x5x64xf16>, tensor<2x5x72xf16> to tensor<2x5x136xf16>
  %1 = fusec.collapse %0 [[0, 1], [2]] : tensor<2x5x136xf16> to tensor<10x136xf16>
  %2 = fusec.matmul %1, %w : tensor<10x136xf16>, tensor<136x12xf16> to tensor<10x12xf16>
  fusec.output %2 : tensor<10x12xf16>
}

// -----

// What is written to the concat's memory as it is computed, needs no other, and
// rows of an odd length have no tensor map.
// CHECK-LABEL: fusec.model @concat_that_stays
// CHECK: fusec.concat
// CHECK: fusec.concat
fusec.model @concat_that_stays inputs ["a", "b", "c", "w"] outputs ["y", "z"] {
^bb0(%a: tensor<10x64xf16>, %b: tensor<10x64xf16>, %c: tensor<10x65xf16>, %w: tensor<129x12xf16>):
  %v = fusec.slice %w offsets [#fusec.expr<0>, #fusec.expr<0>] steps [1, 1] : tensor<129x12xf16> to tensor<128x12xf16>
  %0 = fusec.relu %a : tensor<10x64xf16>
  %1 = fusec.concat %0, %b axis 1 : tensor<10x64xf16>, tensor<10x64xf16> to tensor<10x128xf16>
  %2 = fusec.matmul %1, %v : tensor<10x128xf16>, tensor<128x12xf16> to tensor<10x12xf16>
  %3 = fusec.concat %b, %c axis 1 : tensor<10x64xf16>, tensor<10x65xf16> to tensor<10x129xf16>
  %4 = fusec.matmul %3, %w : tensor<10x129xf16>, tensor<129x12xf16> to tensor<10x12xf16>
  fusec.output %2, %4 : tensor<10x12xf16>, tensor<10x12xf16>
}
