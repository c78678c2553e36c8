// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --fusec-form-contractions --fusec-group-meeting-products --split-input-file %s | FileCheck %s
// RUN: fusec-opt --fusec-form-contractions --fusec-group-meeting-products --remarks-filter=rewrite --split-input-file %s 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// Gating: the results meet in a product.
// CHECK-LABEL: fusec.model @gating
// REMARK: group-meeting-products
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
