// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --fusec-simplify-views --fusec-group-lookups --split-input-file %s | FileCheck %s

#ids = #fusec.sizes<[n, 3]>
#one = #fusec.sizes<[n]>
#row = #fusec.sizes<[n, 4]>

// Three columns beside a dense operand. Indices are taken by gathers, as
// exporters write them.
// CHECK-LABEL: fusec.model @concat
fusec.model @concat inputs ["d", "ids", "t0", "t1", "t2"] outputs ["y"] {
// CHECK-NEXT: ^bb0(%[[D:.+]]: tensor<?x4xf32, {{.*}}>, %[[IDS:.+]]: tensor<?x3xi64, {{.*}}>, %[[T0:.+]]: tensor<7x4xf32>, %[[T1:.+]]: tensor<3x4xf32>, %[[T2:.+]]: tensor<9x4xf32>):
^bb0(%d: tensor<?x4xf32, #row>, %ids: tensor<?x3xi64, #ids>, %t0: tensor<7x4xf32>, %t1: tensor<3x4xf32>, %t2: tensor<9x4xf32>):
  // CHECK-NEXT: %[[L:.+]] = fusec.lookup(%[[T0]], %[[T1]], %[[T2]]) at %[[IDS]] flag : {{.*}} -> tensor<?x3x4xf32, #fusec.sizes<[n, 3, 4]>>
  // CHECK-NEXT: %[[C:.+]] = fusec.collapse %[[L]] {{\[\[}}0], [1, 2]] : {{.*}} to tensor<?x12xf32, #fusec.sizes<[n, 12]>>
  // CHECK-NEXT: %[[Y:.+]] = fusec.concat %[[D]], %[[C]] axis 1
  // CHECK-NEXT: fusec.output %[[Y]]
  %c0 = fusec.splat 0 : i64 : tensor<?xi64, #one>
  %i0 = fusec.gather %ids [0, -1] (%c0) flag : (tensor<?x3xi64, #ids>, tensor<?xi64, #one>) -> tensor<?xi64, #one>
  %b0 = fusec.broadcast %i0 [0] : tensor<?xi64, #one> to tensor<?x4xi64, #row>
  %r0 = fusec.gather %t0 [-1, 1] (%b0) flag : (tensor<7x4xf32>, tensor<?x4xi64, #row>) -> tensor<?x4xf32, #row>
  %c1 = fusec.splat 1 : i64 : tensor<?xi64, #one>
  %i1 = fusec.gather %ids [0, -1] (%c1) flag : (tensor<?x3xi64, #ids>, tensor<?xi64, #one>) -> tensor<?xi64, #one>
  %b1 = fusec.broadcast %i1 [0] : tensor<?xi64, #one> to tensor<?x4xi64, #row>
  %r1 = fusec.gather %t1 [-1, 1] (%b1) flag : (tensor<3x4xf32>, tensor<?x4xi64, #row>) -> tensor<?x4xf32, #row>
  %c2 = fusec.splat 2 : i64 : tensor<?xi64, #one>
  %i2 = fusec.gather %ids [0, -1] (%c2) flag : (tensor<?x3xi64, #ids>, tensor<?xi64, #one>) -> tensor<?xi64, #one>
  %b2 = fusec.broadcast %i2 [0] : tensor<?xi64, #one> to tensor<?x4xi64, #row>
  %r2 = fusec.gather %t2 [-1, 1] (%b2) flag : (tensor<9x4xf32>, tensor<?x4xi64, #row>) -> tensor<?x4xf32, #row>
  %y = fusec.concat %d, %r0, %r1, %r2 axis 1
    : tensor<?x4xf32, #row>, tensor<?x4xf32, #row>, tensor<?x4xf32, #row>, tensor<?x4xf32, #row> to tensor<?x16xf32, #fusec.sizes<[n, 16]>>
  fusec.output %y : tensor<?x16xf32, #fusec.sizes<[n, 16]>>
}

// -----

// A stack, and columns in descending order.
// CHECK-LABEL: fusec.model @stack
fusec.model @stack inputs ["ids", "t0", "t1"] outputs ["y"] {
// CHECK-NEXT: ^bb0(%[[IDS:.+]]: tensor<8x5xi32>, %[[T0:.+]]: tensor<7x4xf32>, %[[T1:.+]]: tensor<3x4xf32>):
^bb0(%ids: tensor<8x5xi32>, %t0: tensor<7x4xf32>, %t1: tensor<3x4xf32>):
  // CHECK-NEXT: %[[S:.+]] = fusec.slice %[[IDS]] offsets [#fusec.expr<0>, #fusec.expr<4>] steps [1, -3] : tensor<8x5xi32> to tensor<8x2xi32>
  // CHECK-NEXT: %[[L:.+]] = fusec.lookup(%[[T0]], %[[T1]]) at %[[S]] zero
  // CHECK-NEXT: fusec.output %[[L]]
  %i0 = fusec.slice %ids offsets [#fusec.expr<0>, #fusec.expr<4>] steps [1, 1] : tensor<8x5xi32> to tensor<8x1xi32>
  %b0 = fusec.broadcast %i0 [0, 1] : tensor<8x1xi32> to tensor<8x4xi32>
  %r0 = fusec.gather %t0 [-1, 1] (%b0) zero : (tensor<7x4xf32>, tensor<8x4xi32>) -> tensor<8x4xf32>
  %e0 = fusec.expand %r0 [[0], [1, 2]] : tensor<8x4xf32> to tensor<8x1x4xf32>
  %i1 = fusec.slice %ids offsets [#fusec.expr<0>, #fusec.expr<1>] steps [1, 1] : tensor<8x5xi32> to tensor<8x1xi32>
  %b1 = fusec.broadcast %i1 [0, 1] : tensor<8x1xi32> to tensor<8x4xi32>
  %r1 = fusec.gather %t1 [-1, 1] (%b1) zero : (tensor<3x4xf32>, tensor<8x4xi32>) -> tensor<8x4xf32>
  %e1 = fusec.expand %r1 [[0], [1, 2]] : tensor<8x4xf32> to tensor<8x1x4xf32>
  %y = fusec.concat %e0, %e1 axis 1 : tensor<8x1x4xf32>, tensor<8x1x4xf32> to tensor<8x2x4xf32>
  fusec.output %y : tensor<8x2x4xf32>
}

// -----

// Different widths, policies or index tensors, and rows used elsewhere, stay
// gathers.
// CHECK-LABEL: fusec.model @different
fusec.model @different inputs ["ids", "t0", "t1", "t2"] outputs ["y", "z"] {
^bb0(%ids: tensor<8x2xi64>, %t0: tensor<7x4xf32>, %t1: tensor<3x2xf32>, %t2: tensor<3x4xf32>):
  // CHECK-NOT: fusec.lookup
  %i0 = fusec.slice %ids offsets [#fusec.expr<0>, #fusec.expr<0>] steps [1, 1] : tensor<8x2xi64> to tensor<8x1xi64>
  %i1 = fusec.slice %ids offsets [#fusec.expr<0>, #fusec.expr<1>] steps [1, 1] : tensor<8x2xi64> to tensor<8x1xi64>
  %b0 = fusec.broadcast %i0 [0, 1] : tensor<8x1xi64> to tensor<8x4xi64>
  %b1 = fusec.broadcast %i1 [0, 1] : tensor<8x1xi64> to tensor<8x2xi64>
  %b2 = fusec.broadcast %i1 [0, 1] : tensor<8x1xi64> to tensor<8x4xi64>
  %r0 = fusec.gather %t0 [-1, 1] (%b0) flag : (tensor<7x4xf32>, tensor<8x4xi64>) -> tensor<8x4xf32>
  %r1 = fusec.gather %t1 [-1, 1] (%b1) flag : (tensor<3x2xf32>, tensor<8x2xi64>) -> tensor<8x2xf32>
  %r2 = fusec.gather %t2 [-1, 1] (%b2) clamp : (tensor<3x4xf32>, tensor<8x4xi64>) -> tensor<8x4xf32>
  %y = fusec.concat %r1, %r0, %r2, %r0 axis 1
    : tensor<8x2xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32> to tensor<8x14xf32>
  fusec.output %y, %r0 : tensor<8x14xf32>, tensor<8x4xf32>
}

// -----

// Sums of one row each are rows.
// CHECK-LABEL: fusec.model @bags_of_one
fusec.model @bags_of_one inputs ["ids", "t0", "t1"] outputs ["y"] {
// CHECK-NEXT: ^bb0(%[[IDS:.+]]: tensor<8x2xi32>, %[[T0:.+]]: tensor<7x4xf32>, %[[T1:.+]]: tensor<3x4xf32>):
^bb0(%ids: tensor<8x2xi32>, %t0: tensor<7x4xf32>, %t1: tensor<3x4xf32>):
  // CHECK-NEXT: %[[L:.+]] = fusec.lookup(%[[T0]], %[[T1]]) at %[[IDS]] flag
  // CHECK-NEXT: fusec.collapse %[[L]]
  %i0 = fusec.slice %ids offsets [#fusec.expr<0>, #fusec.expr<0>] steps [1, 1] : tensor<8x2xi32> to tensor<8x1xi32>
  %b0 = fusec.broadcast %i0 [0, 1] : tensor<8x1xi32> to tensor<8x1x4xi32>
  %r0 = fusec.gather %t0 [-1, 2] (%b0) flag : (tensor<7x4xf32>, tensor<8x1x4xi32>) -> tensor<8x1x4xf32>
  %e0 = fusec.collapse %r0 [[0, 1], [2]] : tensor<8x1x4xf32> to tensor<8x4xf32>
  %i1 = fusec.slice %ids offsets [#fusec.expr<0>, #fusec.expr<1>] steps [1, 1] : tensor<8x2xi32> to tensor<8x1xi32>
  %b1 = fusec.broadcast %i1 [0, 1] : tensor<8x1xi32> to tensor<8x1x4xi32>
  %r1 = fusec.gather %t1 [-1, 2] (%b1) flag : (tensor<3x4xf32>, tensor<8x1x4xi32>) -> tensor<8x1x4xf32>
  %e1 = fusec.collapse %r1 [[0, 1], [2]] : tensor<8x1x4xf32> to tensor<8x4xf32>
  %y = fusec.concat %e0, %e1 axis 1 : tensor<8x4xf32>, tensor<8x4xf32> to tensor<8x8xf32>
  fusec.output %y : tensor<8x8xf32>
}
