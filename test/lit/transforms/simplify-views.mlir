// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --fusec-simplify-views --split-input-file %s | FileCheck %s

// expand then collapse back is nothing.
// CHECK-LABEL: fusec.model @cancel
fusec.model @cancel inputs ["x"] outputs ["y"] {
// CHECK-NEXT: ^bb0(%[[X:.+]]: tensor<?x12xf32
^bb0(%x: tensor<?x12xf32, #fusec.sizes<[n, 12]>>):
  // CHECK-NEXT: fusec.output %[[X]]
  %0 = fusec.expand %x [[0], [1, 2]] : tensor<?x12xf32, #fusec.sizes<[n, 12]>> to tensor<?x3x4xf32, #fusec.sizes<[n, 3, 4]>>
  %1 = fusec.collapse %0 [[0, 1], [2]] : tensor<?x3x4xf32, #fusec.sizes<[n, 3, 4]>> to tensor<?x4xf32, #fusec.sizes<[n * 3, 4]>>
  %2 = fusec.expand %1 [[0, 1], [2]] : tensor<?x4xf32, #fusec.sizes<[n * 3, 4]>> to tensor<?x3x4xf32, #fusec.sizes<[n, 3, 4]>>
  %3 = fusec.collapse %2 [[0], [1, 2]] : tensor<?x3x4xf32, #fusec.sizes<[n, 3, 4]>> to tensor<?x12xf32, #fusec.sizes<[n, 12]>>
  fusec.output %3 : tensor<?x12xf32, #fusec.sizes<[n, 12]>>
}

// -----

// A chain that regroups is one collapse and one expand.
// CHECK-LABEL: fusec.model @regroup
fusec.model @regroup inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<6x4x5xf32>):
  // CHECK: %[[C:.+]] = fusec.collapse %{{.+}} {{\[\[}}0, 1], [2]] : tensor<6x4x5xf32> to tensor<24x5xf32>
  // CHECK-NEXT: %[[E:.+]] = fusec.expand %[[C]] {{\[\[}}0, 1], [2]] : tensor<24x5xf32> to tensor<2x12x5xf32>
  // CHECK-NEXT: fusec.output %[[E]]
  %0 = fusec.expand %x [[0, 1], [2], [3]] : tensor<6x4x5xf32> to tensor<2x3x4x5xf32>
  %1 = fusec.collapse %0 [[0], [1, 2], [3]] : tensor<2x3x4x5xf32> to tensor<2x12x5xf32>
  fusec.output %1 : tensor<2x12x5xf32>
}

// -----

// A chain through a scalar and through dimensions of size 1.
// CHECK-LABEL: fusec.model @units
fusec.model @units inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<1x1xf32>):
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: %[[E:.+]] = fusec.expand %{{.+}} {{\[\[}}0], [1, 2]] : tensor<1x1xf32> to tensor<1x1x1xf32>
  // CHECK-NEXT: fusec.output %[[E]]
  %0 = fusec.expand %x [[], []] : tensor<1x1xf32> to tensor<f32>
  %1 = fusec.collapse %0 [[], [], []] : tensor<f32> to tensor<1x1x1xf32>
  fusec.output %1 : tensor<1x1x1xf32>
}

// -----

// CHECK-LABEL: fusec.model @transposes
fusec.model @transposes inputs ["x"] outputs ["y", "z"] {
^bb0(%x: tensor<2x3x4xf32>):
  // CHECK: %[[T:.+]] = fusec.transpose %[[X:.+]] [2, 1, 0] : tensor<2x3x4xf32> to tensor<4x3x2xf32>
  // CHECK-NEXT: fusec.output %[[T]], %[[X]]
  %0 = fusec.transpose %x [1, 2, 0] : tensor<2x3x4xf32> to tensor<3x4x2xf32>
  %1 = fusec.transpose %0 [1, 0, 2] : tensor<3x4x2xf32> to tensor<4x3x2xf32>
  %2 = fusec.transpose %0 [2, 0, 1] : tensor<3x4x2xf32> to tensor<2x3x4xf32>
  fusec.output %1, %2 : tensor<4x3x2xf32>, tensor<2x3x4xf32>
}

// -----

// Unsqueeze, then transpose of the new dimension.
// CHECK-LABEL: fusec.model @unit_transpose
fusec.model @unit_transpose inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<?x8xf32, #fusec.sizes<[n, 8]>>):
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: %[[E:.+]] = fusec.expand %{{.+}} {{\[\[}}0], [1, 2]] : {{.*}} to tensor<?x1x8xf32, #fusec.sizes<[n, 1, 8]>>
  // CHECK-NEXT: fusec.output %[[E]]
  %0 = fusec.expand %x [[0], [1, 2]] : tensor<?x8xf32, #fusec.sizes<[n, 8]>> to tensor<?x8x1xf32, #fusec.sizes<[n, 8, 1]>>
  %1 = fusec.transpose %0 [0, 2, 1] : tensor<?x8x1xf32, #fusec.sizes<[n, 8, 1]>> to tensor<?x1x8xf32, #fusec.sizes<[n, 1, 8]>>
  fusec.output %1 : tensor<?x1x8xf32, #fusec.sizes<[n, 1, 8]>>
}

// -----

// CHECK-LABEL: fusec.model @broadcasts
fusec.model @broadcasts inputs ["x", "s"] outputs ["a", "b", "c", "d"] {
// CHECK-NEXT: ^bb0(%[[X:.+]]: tensor<4xf32>, %[[S:.+]]: tensor<4x5xf32>):
^bb0(%x: tensor<4xf32>, %s: tensor<4x5xf32>):
  // CHECK-DAG: %[[A:.+]] = fusec.broadcast %[[X]] [1] : tensor<4xf32> to tensor<3x4x5xf32>
  %0 = fusec.broadcast %x [0] : tensor<4xf32> to tensor<4x5xf32>
  %a = fusec.broadcast %0 [1, 2] : tensor<4x5xf32> to tensor<3x4x5xf32>
  // CHECK-DAG: %[[B:.+]] = fusec.broadcast %[[X]] [2] : tensor<4xf32> to tensor<3x6x4xf32>
  %1 = fusec.expand %x [[0, 1, 2]] : tensor<4xf32> to tensor<1x1x4xf32>
  %b = fusec.broadcast %1 [0, 1, 2] : tensor<1x1x4xf32> to tensor<3x6x4xf32>
  // CHECK-DAG: %[[T:.+]] = fusec.transpose %[[S]] [1, 0] : tensor<4x5xf32> to tensor<5x4xf32>
  // CHECK-DAG: %[[C:.+]] = fusec.broadcast %[[T]] [0, 2] : tensor<5x4xf32> to tensor<5x7x4xf32>
  %2 = fusec.broadcast %s [0, 2] : tensor<4x5xf32> to tensor<4x7x5xf32>
  %c = fusec.transpose %2 [2, 1, 0] : tensor<4x7x5xf32> to tensor<5x7x4xf32>
  // CHECK-DAG: %[[J:.+]] = fusec.collapse %[[S]] {{\[\[}}0, 1]] : tensor<4x5xf32> to tensor<20xf32>
  // CHECK-DAG: %[[D:.+]] = fusec.broadcast %[[J]] [1] : tensor<20xf32> to tensor<6x20xf32>
  %3 = fusec.broadcast %s [2, 3] : tensor<4x5xf32> to tensor<2x3x4x5xf32>
  %d = fusec.collapse %3 [[0, 1], [2, 3]] : tensor<2x3x4x5xf32> to tensor<6x20xf32>
  // CHECK: fusec.output %[[A]], %[[B]], %[[C]], %[[D]]
  fusec.output %a, %b, %c, %d : tensor<3x4x5xf32>, tensor<3x6x4xf32>, tensor<5x7x4xf32>, tensor<6x20xf32>
}

// -----

// CHECK-LABEL: fusec.model @splats
fusec.model @splats inputs [] outputs ["a"] {
  // CHECK-NEXT: %[[A:.+]] = fusec.splat 5.000000e-01 : f32 : tensor<?x4xf32, #fusec.sizes<[n, 4]>>
  // CHECK-NEXT: fusec.output %[[A]]
  %0 = fusec.constant dense<0.5> : tensor<1xf32>
  %1 = fusec.broadcast %0 [1] : tensor<1xf32> to tensor<?x4xf32, #fusec.sizes<[n, 4]>>
  fusec.output %1 : tensor<?x4xf32, #fusec.sizes<[n, 4]>>
}

// -----

// CHECK-LABEL: fusec.model @slices
fusec.model @slices inputs ["x", "y"] outputs ["a", "b", "c", "d"] {
// CHECK-NEXT: ^bb0(%[[X:.+]]: tensor<8x10xf32>, %[[Y:.+]]: tensor<8x6xf32>):
^bb0(%x: tensor<8x10xf32>, %y: tensor<8x6xf32>):
  // CHECK-DAG: %[[A:.+]] = fusec.slice %[[X]] offsets [#fusec.expr<0>, #fusec.expr<7>] steps [1, -4] : tensor<8x10xf32> to tensor<8x2xf32>
  %0 = fusec.slice %x offsets [#fusec.expr<0>, #fusec.expr<9>] steps [1, -2] : tensor<8x10xf32> to tensor<8x5xf32>
  %a = fusec.slice %0 offsets [#fusec.expr<0>, #fusec.expr<1>] steps [1, 2] : tensor<8x5xf32> to tensor<8x2xf32>
  // CHECK-DAG: %[[B:.+]] = fusec.slice %[[Y]] offsets [#fusec.expr<0>, #fusec.expr<1>] steps [1, 1] : tensor<8x6xf32> to tensor<8x4xf32>
  %1 = fusec.concat %x, %y axis 1 : tensor<8x10xf32>, tensor<8x6xf32> to tensor<8x16xf32>
  %b = fusec.slice %1 offsets [#fusec.expr<0>, #fusec.expr<11>] steps [1, 1] : tensor<8x16xf32> to tensor<8x4xf32>
  // CHECK-DAG: %[[S:.+]] = fusec.slice %[[Y]] offsets [#fusec.expr<2>, #fusec.expr<0>] steps [1, 1] : tensor<8x6xf32> to tensor<3x6xf32>
  // CHECK-DAG: %[[C:.+]] = fusec.broadcast %[[S]] [0, 2] : tensor<3x6xf32> to tensor<3x2x6xf32>
  %2 = fusec.broadcast %y [0, 2] : tensor<8x6xf32> to tensor<8x4x6xf32>
  %c = fusec.slice %2 offsets [#fusec.expr<2>, #fusec.expr<1>, #fusec.expr<0>] steps [1, 1, 1] : tensor<8x4x6xf32> to tensor<3x2x6xf32>
  // CHECK-DAG: %[[D:.+]] = fusec.slice %[[CONCAT:.+]] offsets [#fusec.expr<0>, #fusec.expr<9>] steps [1, 1] : tensor<8x16xf32> to tensor<8x2xf32>
  %d = fusec.slice %1 offsets [#fusec.expr<0>, #fusec.expr<9>] steps [1, 1] : tensor<8x16xf32> to tensor<8x2xf32>
  // CHECK: fusec.output %[[A]], %[[B]], %[[C]], %[[D]]
  fusec.output %a, %b, %c, %d : tensor<8x2xf32>, tensor<8x4xf32>, tensor<3x2x6xf32>, tensor<8x2xf32>
}

// -----

// A symbolic slice of a concat of symbolic sizes.
// CHECK-LABEL: fusec.model @symbolic_slice
fusec.model @symbolic_slice inputs ["x", "y"] outputs ["z"] {
// CHECK-NEXT: ^bb0(%{{.+}}: {{.*}}, %[[Y:.+]]: tensor<?xf32, #fusec.sizes<[m]>>):
^bb0(%x: tensor<?xf32, #fusec.sizes<[n]>>, %y: tensor<?xf32, #fusec.sizes<[m]>>):
  // CHECK-NEXT: fusec.output %[[Y]]
  %0 = fusec.concat %x, %y axis 0 : tensor<?xf32, #fusec.sizes<[n]>>, tensor<?xf32, #fusec.sizes<[m]>> to tensor<?xf32, #fusec.sizes<[m + n]>>
  %1 = fusec.slice %0 offsets [#fusec.expr<n>] steps [1] : tensor<?xf32, #fusec.sizes<[m + n]>> to tensor<?xf32, #fusec.sizes<[m]>>
  fusec.output %1 : tensor<?xf32, #fusec.sizes<[m]>>
}

// -----

// CHECK-LABEL: fusec.model @concats
fusec.model @concats inputs ["x", "y"] outputs ["a", "b"] {
// CHECK-NEXT: ^bb0(%[[X:.+]]: tensor<2x3xf32>, %[[Y:.+]]: tensor<2x4xf32>):
^bb0(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>):
  // CHECK-NEXT: %[[A:.+]] = fusec.concat %[[X]], %[[Y]], %[[X]] axis 1
  %0 = fusec.concat %x, %y axis 1 : tensor<2x3xf32>, tensor<2x4xf32> to tensor<2x7xf32>
  %a = fusec.concat %0, %x axis 1 : tensor<2x7xf32>, tensor<2x3xf32> to tensor<2x10xf32>
  // CHECK-NEXT: fusec.output %[[A]], %[[Y]]
  %1 = fusec.slice %y offsets [#fusec.expr<0>, #fusec.expr<0>] steps [1, 1] : tensor<2x4xf32> to tensor<2x1xf32>
  %2 = fusec.slice %y offsets [#fusec.expr<0>, #fusec.expr<1>] steps [1, 1] : tensor<2x4xf32> to tensor<2x3xf32>
  %b = fusec.concat %1, %2 axis 1 : tensor<2x1xf32>, tensor<2x3xf32> to tensor<2x4xf32>
  fusec.output %a, %b : tensor<2x10xf32>, tensor<2x4xf32>
}

// -----

// A column taken by a constant index.
// CHECK-LABEL: fusec.model @column
fusec.model @column inputs ["ids"] outputs ["a", "b"] {
^bb0(%ids: tensor<?x26xi64, #fusec.sizes<[n, 26]>>):
  // CHECK: %[[S:.+]] = fusec.slice %[[IDS:.+]] offsets [#fusec.expr<0>, #fusec.expr<25>] steps [1, 1] : {{.*}} to tensor<?x1xi64, #fusec.sizes<[n, 1]>>
  // CHECK-NEXT: %[[A:.+]] = fusec.collapse %[[S]] {{\[\[}}0, 1]] : {{.*}} to tensor<?xi64, #fusec.sizes<[n]>>
  %0 = fusec.constant dense<-1> : tensor<i64>
  %1 = fusec.broadcast %0 [] : tensor<i64> to tensor<?xi64, #fusec.sizes<[n]>>
  %a = fusec.gather %ids [0, -1] (%1) flag : (tensor<?x26xi64, #fusec.sizes<[n, 26]>>, tensor<?xi64, #fusec.sizes<[n]>>) -> tensor<?xi64, #fusec.sizes<[n]>>
  // An index out of range stays a gather.
  // CHECK: %[[B:.+]] = fusec.gather %[[IDS]]
  %2 = fusec.splat 26 : i64 : tensor<?xi64, #fusec.sizes<[n]>>
  %b = fusec.gather %ids [0, -1] (%2) flag : (tensor<?x26xi64, #fusec.sizes<[n, 26]>>, tensor<?xi64, #fusec.sizes<[n]>>) -> tensor<?xi64, #fusec.sizes<[n]>>
  // CHECK: fusec.output %[[A]], %[[B]]
  fusec.output %a, %b : tensor<?xi64, #fusec.sizes<[n]>>, tensor<?xi64, #fusec.sizes<[n]>>
}

// -----

// CHECK-LABEL: fusec.model @matmul
fusec.model @matmul inputs ["x", "w"] outputs ["y"] {
// CHECK-NEXT: ^bb0(%[[X:.+]]: tensor<4x8xf32>, %[[W:.+]]: tensor<6x4xf32>):
^bb0(%x: tensor<4x8xf32>, %w: tensor<6x4xf32>):
  // CHECK-NEXT: fusec.matmul %[[X]] transposed, %[[W]] transposed
  %0 = fusec.transpose %x [1, 0] : tensor<4x8xf32> to tensor<8x4xf32>
  %1 = fusec.transpose %w [1, 0] : tensor<6x4xf32> to tensor<4x6xf32>
  %2 = fusec.matmul %0, %1 : tensor<8x4xf32>, tensor<4x6xf32> to tensor<8x6xf32>
  fusec.output %2 : tensor<8x6xf32>
}

// -----

// The triangular gather of pairwise dots, as exporters write it: transposes
// around the gather, or around one of the joined dimensions.
// CHECK-LABEL: fusec.model @triangle
fusec.model @triangle inputs ["x", "i", "j"] outputs ["a", "b"] {
// CHECK-NEXT: ^bb0(%[[X:.+]]: tensor<2x9x9xf32>, %[[I:.+]]: tensor<5xi64>, %[[J:.+]]: tensor<5xi64>):
^bb0(%x: tensor<2x9x9xf32>, %i: tensor<5xi64>, %j: tensor<5xi64>):
  // CHECK-DAG: %[[BI:.+]] = fusec.broadcast %[[I]] [1] : tensor<5xi64> to tensor<2x5xi64>
  // CHECK-DAG: %[[BJ:.+]] = fusec.broadcast %[[J]] [1] : tensor<5xi64> to tensor<2x5xi64>
  // CHECK-DAG: %[[A:.+]] = fusec.gather %[[X]] [0, -1, -2](%[[BI]], %[[BJ]])
  %0 = fusec.transpose %x [1, 2, 0] : tensor<2x9x9xf32> to tensor<9x9x2xf32>
  %1 = fusec.broadcast %i [0] : tensor<5xi64> to tensor<5x2xi64>
  %2 = fusec.broadcast %j [0] : tensor<5xi64> to tensor<5x2xi64>
  %3 = fusec.gather %0 [-1, -2, 1] (%1, %2) flag : (tensor<9x9x2xf32>, tensor<5x2xi64>, tensor<5x2xi64>) -> tensor<5x2xf32>
  %a = fusec.transpose %3 [1, 0] : tensor<5x2xf32> to tensor<2x5xf32>
  // CHECK-DAG: %[[C:.+]] = fusec.collapse %[[X]] {{\[\[}}0], [1, 2]] : tensor<2x9x9xf32> to tensor<2x81xf32>
  // CHECK-DAG: %[[B:.+]] = fusec.gather %[[C]] [0, -1](%{{.+}})
  %4 = fusec.collapse %0 [[0, 1], [2]] : tensor<9x9x2xf32> to tensor<81x2xf32>
  %5 = fusec.gather %4 [-1, 1] (%1) flag : (tensor<81x2xf32>, tensor<5x2xi64>) -> tensor<5x2xf32>
  %b = fusec.transpose %5 [1, 0] : tensor<5x2xf32> to tensor<2x5xf32>
  // CHECK: fusec.output %[[A]], %[[B]]
  fusec.output %a, %b : tensor<2x5xf32>, tensor<2x5xf32>
}

// -----

// A transposed row is one transpose, not two reshapes.
// CHECK-LABEL: fusec.model @row
fusec.model @row inputs ["w"] outputs ["y"] {
^bb0(%w: tensor<1x32xf32>):
  // CHECK: fusec.transpose %{{.+}} [1, 0] : tensor<1x32xf32> to tensor<32x1xf32>
  %0 = fusec.transpose %w [1, 0] : tensor<1x32xf32> to tensor<32x1xf32>
  fusec.output %0 : tensor<32x1xf32>
}

// -----

// Sums over one element are that element; of halves that were widened for the
// sum, the halves.
// CHECK-LABEL: fusec.model @unit_sum
fusec.model @unit_sum inputs ["x"] outputs ["y", "z"] {
// CHECK-NEXT: ^bb0(%[[X:.+]]: tensor<8x1x4xf16>):
^bb0(%x: tensor<8x1x4xf16>):
  // CHECK-NEXT: %[[C:.+]] = fusec.collapse %[[X]] {{\[\[}}0, 1], [2]] : tensor<8x1x4xf16> to tensor<8x4xf16>
  // CHECK-NEXT: %[[D:.+]] = fusec.collapse %[[X]] {{\[\[}}0, 1], [2]]
  // CHECK-NEXT: %[[R:.+]] = fusec.reduce max %[[D]] axes [1] : tensor<8x4xf16> to tensor<8xf16>
  // CHECK-NEXT: fusec.output %[[C]], %[[R]]
  %0 = fusec.cast %x : tensor<8x1x4xf16> to tensor<8x1x4xf32>
  %1 = fusec.reduce sum %0 axes [1] : tensor<8x1x4xf32> to tensor<8x4xf32>
  %2 = fusec.cast %1 : tensor<8x4xf32> to tensor<8x4xf16>
  %3 = fusec.reduce max %x axes [2, 1] : tensor<8x1x4xf16> to tensor<8xf16>
  fusec.output %2, %3 : tensor<8x4xf16>, tensor<8xf16>
}
