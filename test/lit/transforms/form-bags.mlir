// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --pass-pipeline="builtin.module(fusec.model(fusec-form-bags,cse,fusec-simplify-views))" --split-input-file %s | FileCheck %s
// RUN: fusec-opt --pass-pipeline="builtin.module(fusec.model(fusec-form-bags{exact=true}))" --split-input-file %s | FileCheck %s --check-prefix=EXACT

#ids = #fusec.sizes<[n, 3]>
#rows = #fusec.sizes<[n, 3, 4]>
#sum = #fusec.sizes<[n, 4]>
#one = #fusec.sizes<[n, 1]>
#row = #fusec.sizes<[n, 1, 4]>

// As PyTorch exports a sum of halves, and a mean; beside them a lookup. What is
// dense stays.
// CHECK-LABEL: fusec.model @concat
fusec.model @concat inputs ["d", "ids", "t", "u", "v"] outputs ["y"] {
// CHECK-NEXT: ^bb0(%[[D:.+]]: tensor<?x4xf16, {{.*}}>, %[[IDS:.+]]: tensor<?x3xi64, {{.*}}>, %[[T:.+]]: tensor<7x4xf16>, %[[U:.+]]: tensor<9x4xf16>, %[[V:.+]]: tensor<5x4xf16>):
^bb0(%d: tensor<?x4xf16, #sum>, %ids: tensor<?x3xi64, #ids>, %t: tensor<7x4xf16>, %u: tensor<9x4xf16>, %v: tensor<5x4xf16>):
  // CHECK: %[[FIRST:.+]] = fusec.slice %[[IDS]] {{.*}} to tensor<?x1xi64, {{.*}}>
  // CHECK: %[[B:.+]] = fusec.bag sum(%[[T]], %[[U]], %[[V]]) at(%[[IDS]], %[[IDS]], %[[FIRST]]) flag scales [1.000000e+00, 3.333333e-01, 1.000000e+00] : {{.*}} -> tensor<?x12xf16, #fusec.sizes<[n, 12]>>
  // CHECK: fusec.concat %[[D]], %[[B]] axis 1
  // EXACT: fusec.bag sum(%{{.+}}) at(%{{.+}}) flag scales [1.000000e+00]
  // EXACT: fusec.bag sum(%{{.+}}) at(%{{.+}}) flag scales [1.000000e+00]
  // EXACT: fusec.div
  %b = fusec.broadcast %ids [0, 1] : tensor<?x3xi64, #ids> to tensor<?x3x4xi64, #rows>
  %0 = fusec.gather %t [-1, 2] (%b) flag : (tensor<7x4xf16>, tensor<?x3x4xi64, #rows>) -> tensor<?x3x4xf16, #rows>
  %1 = fusec.cast %0 : tensor<?x3x4xf16, #rows> to tensor<?x3x4xf32, #rows>
  %2 = fusec.reduce sum %1 axes [1] : tensor<?x3x4xf32, #rows> to tensor<?x4xf32, #sum>
  %3 = fusec.cast %2 : tensor<?x4xf32, #sum> to tensor<?x4xf16, #sum>
  %4 = fusec.gather %u [-1, 2] (%b) flag : (tensor<9x4xf16>, tensor<?x3x4xi64, #rows>) -> tensor<?x3x4xf16, #rows>
  %5 = fusec.cast %4 : tensor<?x3x4xf16, #rows> to tensor<?x3x4xf32, #rows>
  %6 = fusec.reduce sum %5 axes [1] : tensor<?x3x4xf32, #rows> to tensor<?x4xf32, #sum>
  %three = fusec.splat 3.0 : f32 : tensor<?x4xf32, #sum>
  %7 = fusec.div %6, %three : tensor<?x4xf32, #sum>
  %8 = fusec.cast %7 : tensor<?x4xf32, #sum> to tensor<?x4xf16, #sum>
  %i = fusec.slice %ids offsets [#fusec.expr<0>, #fusec.expr<0>] steps [1, 1] : tensor<?x3xi64, #ids> to tensor<?x1xi64, #one>
  %c = fusec.broadcast %i [0, 1] : tensor<?x1xi64, #one> to tensor<?x1x4xi64, #row>
  %9 = fusec.gather %v [-1, 2] (%c) flag : (tensor<5x4xf16>, tensor<?x1x4xi64, #row>) -> tensor<?x1x4xf16, #row>
  %10 = fusec.collapse %9 [[0, 1], [2]] : tensor<?x1x4xf16, #row> to tensor<?x4xf16, #sum>
  %11 = fusec.concat %d, %3, %8, %10 axis 1 : tensor<?x4xf16, #sum>, tensor<?x4xf16, #sum>, tensor<?x4xf16, #sum>, tensor<?x4xf16, #sum> to tensor<?x16xf16, #fusec.sizes<[n, 16]>>
  fusec.output %11 : tensor<?x16xf16, #fusec.sizes<[n, 16]>>
}

// -----

// As many rows as a name says are a bag. Not: a minimum, and indices that differ
// along a row.
// CHECK-LABEL: fusec.model @others
// CHECK-NOT: fusec.bag
// CHECK: fusec.reduce min
// CHECK: fusec.bag sum(%{{.*}}) at(%{{.*}}) flag {{.*}} at(tensor<8x?xi64, #fusec.sizes<[8, k]>>)
// CHECK-NOT: fusec.bag
fusec.model @others inputs ["ids", "named", "wide", "t"] outputs ["a", "b", "c"] {
^bb0(%ids: tensor<8x3xi64>, %named: tensor<8x?xi64, #fusec.sizes<[8, k]>>, %wide: tensor<8x3x4xi64>, %t: tensor<7x4xf32>):
  %b = fusec.broadcast %ids [0, 1] : tensor<8x3xi64> to tensor<8x3x4xi64>
  %0 = fusec.gather %t [-1, 2] (%b) flag : (tensor<7x4xf32>, tensor<8x3x4xi64>) -> tensor<8x3x4xf32>
  %1 = fusec.reduce min %0 axes [1] : tensor<8x3x4xf32> to tensor<8x4xf32>
  %c = fusec.broadcast %named [0, 1] : tensor<8x?xi64, #fusec.sizes<[8, k]>> to tensor<8x?x4xi64, #fusec.sizes<[8, k, 4]>>
  %2 = fusec.gather %t [-1, 2] (%c) flag : (tensor<7x4xf32>, tensor<8x?x4xi64, #fusec.sizes<[8, k, 4]>>) -> tensor<8x?x4xf32, #fusec.sizes<[8, k, 4]>>
  %3 = fusec.reduce sum %2 axes [1] : tensor<8x?x4xf32, #fusec.sizes<[8, k, 4]>> to tensor<8x4xf32>
  %4 = fusec.gather %t [-1, 2] (%wide) flag : (tensor<7x4xf32>, tensor<8x3x4xi64>) -> tensor<8x3x4xf32>
  %5 = fusec.reduce sum %4 axes [1] : tensor<8x3x4xf32> to tensor<8x4xf32>
  fusec.output %1, %3, %5 : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

// Rows times weights, which may be on either side, and maxima. A scale of bags may
// be, too. Bags of one kind become one.
// CHECK-LABEL: fusec.model @weights
fusec.model @weights inputs ["ids", "w", "t", "u"] outputs ["y", "m"] {
// CHECK-NEXT: ^bb0(%[[IDS:.+]]: tensor<8x3xi64>, %[[W:.+]]: tensor<8x3xf32>, %[[T:.+]]: tensor<7x4xf32>, %[[U:.+]]: tensor<9x4xf32>):
^bb0(%ids: tensor<8x3xi64>, %w: tensor<8x3xf32>, %t: tensor<7x4xf32>, %u: tensor<9x4xf32>):
  // CHECK-DAG: fusec.bag sum(%[[T]], %[[U]]) at(%[[IDS]], %[[IDS]]) by(%[[W]], %[[W]]) flag scales [1.000000e+00, 2.000000e+00] : {{.*}} -> tensor<8x8xf32>
  // CHECK-DAG: fusec.bag max(%[[T]]) at(%[[IDS]]) flag scales [1.000000e+00]
  // EXACT: fusec.bag sum({{.*}} by({{.*}} scales [1.000000e+00] :
  // EXACT: fusec.bag sum({{.*}} by({{.*}} scales [1.000000e+00] :
  // EXACT: fusec.mul
  %b = fusec.broadcast %ids [0, 1] : tensor<8x3xi64> to tensor<8x3x4xi64>
  %f = fusec.broadcast %w [0, 1] : tensor<8x3xf32> to tensor<8x3x4xf32>
  %0 = fusec.gather %t [-1, 2] (%b) flag : (tensor<7x4xf32>, tensor<8x3x4xi64>) -> tensor<8x3x4xf32>
  %1 = fusec.mul %f, %0 : tensor<8x3x4xf32>
  %2 = fusec.reduce sum %1 axes [1] : tensor<8x3x4xf32> to tensor<8x4xf32>
  %3 = fusec.gather %u [-1, 2] (%b) flag : (tensor<9x4xf32>, tensor<8x3x4xi64>) -> tensor<8x3x4xf32>
  %4 = fusec.mul %3, %f : tensor<8x3x4xf32>
  %5 = fusec.reduce sum %4 axes [1] : tensor<8x3x4xf32> to tensor<8x4xf32>
  %two = fusec.splat 2.0 : f32 : tensor<8x4xf32>
  %6 = fusec.mul %two, %5 : tensor<8x4xf32>
  %7 = fusec.concat %2, %6 axis 1 : tensor<8x4xf32>, tensor<8x4xf32> to tensor<8x8xf32>
  %8 = fusec.gather %t [-1, 2] (%b) flag : (tensor<7x4xf32>, tensor<8x3x4xi64>) -> tensor<8x3x4xf32>
  %9 = fusec.reduce max %8 axes [1] : tensor<8x3x4xf32> to tensor<8x4xf32>
  fusec.output %7, %9 : tensor<8x8xf32>, tensor<8x4xf32>
}

// -----

// Offsets that are multiples of a number say that bags have as many rows; a mean
// of those is a sum.
// CHECK-LABEL: fusec.model @steps
fusec.model @steps inputs ["ids", "t"] outputs ["y"] {
^bb0(%ids: tensor<?x2xi64, #fusec.sizes<[n, 2]>>, %t: tensor<7x4xf32>):
  // CHECK: fusec.bag sum(%{{.+}}) at(%{{.+}}) flag scales [5.000000e-01] : (tensor<7x4xf32>) at(tensor<?x2xi64, {{.*}}>) -> tensor<?x4xf32, {{.*}}>
  %all = fusec.collapse %ids [[0, 1]] : tensor<?x2xi64, #fusec.sizes<[n, 2]>> to tensor<?xi64, #fusec.sizes<[n * 2]>>
  %row = fusec.expand %all [[0, 1]] : tensor<?xi64, #fusec.sizes<[n * 2]>> to tensor<1x?xi64, #fusec.sizes<[1, n * 2]>>
  %i = fusec.iota 0 : tensor<?xi64, #fusec.sizes<[n]>>
  %two = fusec.splat 2 : i64 : tensor<?xi64, #fusec.sizes<[n]>>
  %o = fusec.mul %i, %two : tensor<?xi64, #fusec.sizes<[n]>>
  %p = fusec.expand %o [[0, 1]] : tensor<?xi64, #fusec.sizes<[n]>> to tensor<1x?xi64, #fusec.sizes<[1, n]>>
  %y = fusec.bag mean (%t) at (%row) from (%p) flag scales [1.0] : (tensor<7x4xf32>) at (tensor<1x?xi64, #fusec.sizes<[1, n * 2]>>) from (tensor<1x?xi64, #fusec.sizes<[1, n]>>) -> tensor<?x4xf32, #fusec.sizes<[n, 4]>>
  fusec.output %y : tensor<?x4xf32, #fusec.sizes<[n, 4]>>
}

// -----

// What a mask of a bag's own ids leaves out is its padding, in products and in
// selects; over the number of those that are left it is a mean, beside which sums
// and lookups are means, too. What is not finite is not left out of a product.
// CHECK-LABEL: fusec.model @masks
fusec.model @masks inputs ["ids", "one"] outputs ["y", "z"] {
// CHECK-NEXT: ^bb0(%[[IDS:.+]]: tensor<8x3xi64>, %[[ONE:.+]]: tensor<8xi64>):
^bb0(%ids: tensor<8x3xi64>, %one: tensor<8xi64>):
  // CHECK-DAG: %[[T:.+]] = fusec.constant dense<1.000000e+00>
  // CHECK-DAG: %[[U:.+]] = fusec.constant dense<0x7F800000>
  // CHECK: %[[I:.+]] = fusec.expand %[[ONE]]
  // CHECK: fusec.bag mean(%[[T]], %[[T]], %[[T]]) at(%[[IDS]], %[[IDS]], %[[I]]) flag scales [1.000000e+00, 3.000000e+00, 1.000000e+00] padding index [2, -1, -1]
  // CHECK: fusec.bag sum(%[[U]]) at(%[[IDS]]) flag scales [1.000000e+00] padding index [2]
  // CHECK: fusec.bag sum(%[[U]]) at(%[[IDS]]) by(%{{.+}}) flag scales [1.000000e+00] :
  // EXACT: fusec.bag sum({{.*}} padding index [2]
  // EXACT: fusec.div
  %t = fusec.constant dense<1.0> : tensor<7x4xf32>
  %u = fusec.constant dense<0x7F800000> : tensor<7x4xf32>
  %b = fusec.broadcast %ids [0, 1] : tensor<8x3xi64> to tensor<8x3x4xi64>
  %two = fusec.splat 2 : i64 : tensor<8x3xi64>
  %is = fusec.equal %ids, %two : tensor<8x3xi64>
  %not = fusec.not %is : tensor<8x3xi1>
  %m = fusec.cast %not : tensor<8x3xi1> to tensor<8x3xf32>
  %w = fusec.broadcast %m [0, 1] : tensor<8x3xf32> to tensor<8x3x4xf32>
  %0 = fusec.gather %t [-1, 2] (%b) flag : (tensor<7x4xf32>, tensor<8x3x4xi64>) -> tensor<8x3x4xf32>
  %1 = fusec.mul %0, %w : tensor<8x3x4xf32>
  %2 = fusec.reduce sum %1 axes [1] : tensor<8x3x4xf32> to tensor<8x4xf32>
  %3 = fusec.reduce sum %m axes [1] : tensor<8x3xf32> to tensor<8xf32>
  %least = fusec.splat 1.0 : f32 : tensor<8xf32>
  %4 = fusec.max %3, %least : tensor<8xf32>
  %5 = fusec.broadcast %4 [0] : tensor<8xf32> to tensor<8x4xf32>
  %6 = fusec.div %2, %5 : tensor<8x4xf32>
  %7 = fusec.gather %t [-1, 2] (%b) flag : (tensor<7x4xf32>, tensor<8x3x4xi64>) -> tensor<8x3x4xf32>
  %8 = fusec.reduce sum %7 axes [1] : tensor<8x3x4xf32> to tensor<8x4xf32>
  %o = fusec.broadcast %one [0] : tensor<8xi64> to tensor<8x4xi64>
  %9 = fusec.gather %t [-1, 1] (%o) flag : (tensor<7x4xf32>, tensor<8x4xi64>) -> tensor<8x4xf32>
  %10 = fusec.concat %6, %8, %9 axis 1 : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32> to tensor<8x12xf32>
  %zero = fusec.splat 0.0 : f32 : tensor<8x3x4xf32>
  %c = fusec.broadcast %is [0, 1] : tensor<8x3xi1> to tensor<8x3x4xi1>
  %11 = fusec.gather %u [-1, 2] (%b) flag : (tensor<7x4xf32>, tensor<8x3x4xi64>) -> tensor<8x3x4xf32>
  %12 = fusec.select %c, %zero, %11 : tensor<8x3x4xi1>, tensor<8x3x4xf32>
  %13 = fusec.reduce sum %12 axes [1] : tensor<8x3x4xf32> to tensor<8x4xf32>
  %14 = fusec.gather %u [-1, 2] (%b) flag : (tensor<7x4xf32>, tensor<8x3x4xi64>) -> tensor<8x3x4xf32>
  %15 = fusec.mul %w, %14 : tensor<8x3x4xf32>
  %16 = fusec.reduce sum %15 axes [1] : tensor<8x3x4xf32> to tensor<8x4xf32>
  %17 = fusec.add %13, %16 : tensor<8x4xf32>
  fusec.output %10, %17 : tensor<8x12xf32>, tensor<8x4xf32>
}

// -----

// A mask of the ids above a number leaves out that number and all below, which
// may name any row: where one is not finite, products are not left out.
// CHECK-LABEL: fusec.model @above
fusec.model @above inputs ["ids"] outputs ["y", "z", "u"] {
^bb0(%ids: tensor<8x3xi64>):
  // CHECK: fusec.bag mean({{.+}}) at(%{{.+}}) flag scales [1.000000e+00] padding upto [2]
  // CHECK: fusec.bag sum({{.+}}) at(%{{.+}}) flag scales [1.000000e+00] padding upto [1]
  // CHECK: fusec.bag sum({{.+}}) at(%{{.+}}) by(%{{.+}}) flag scales [1.000000e+00] :
  %t = fusec.constant dense<1.0> : tensor<7x4xf32>
  %inf = fusec.constant dense<[[1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [0x7F800000]]> : tensor<7x1xf32>
  %b = fusec.broadcast %ids [0, 1] : tensor<8x3xi64> to tensor<8x3x4xi64>
  %one = fusec.broadcast %ids [0, 1] : tensor<8x3xi64> to tensor<8x3x1xi64>
  %two = fusec.splat 2 : i64 : tensor<8x3xi64>
  %above = fusec.less %two, %ids : tensor<8x3xi64>
  %m = fusec.cast %above : tensor<8x3xi1> to tensor<8x3xf32>
  %w = fusec.broadcast %m [0, 1] : tensor<8x3xf32> to tensor<8x3x4xf32>
  %0 = fusec.gather %t [-1, 2] (%b) flag : (tensor<7x4xf32>, tensor<8x3x4xi64>) -> tensor<8x3x4xf32>
  %1 = fusec.mul %0, %w : tensor<8x3x4xf32>
  %2 = fusec.reduce sum %1 axes [1] : tensor<8x3x4xf32> to tensor<8x4xf32>
  %3 = fusec.reduce sum %m axes [1] : tensor<8x3xf32> to tensor<8xf32>
  %least = fusec.splat 1.0 : f32 : tensor<8xf32>
  %4 = fusec.max %3, %least : tensor<8xf32>
  %5 = fusec.broadcast %4 [0] : tensor<8xf32> to tensor<8x4xf32>
  %6 = fusec.div %2, %5 : tensor<8x4xf32>
  %below = fusec.less %ids, %two : tensor<8x3xi64>
  %c = fusec.broadcast %below [0, 1] : tensor<8x3xi1> to tensor<8x3x4xi1>
  %zero = fusec.splat 0.0 : f32 : tensor<8x3x4xf32>
  %7 = fusec.gather %t [-1, 2] (%b) flag : (tensor<7x4xf32>, tensor<8x3x4xi64>) -> tensor<8x3x4xf32>
  %8 = fusec.select %c, %zero, %7 : tensor<8x3x4xi1>, tensor<8x3x4xf32>
  %9 = fusec.reduce sum %8 axes [1] : tensor<8x3x4xf32> to tensor<8x4xf32>
  %10 = fusec.gather %inf [-1, 2] (%one) flag : (tensor<7x1xf32>, tensor<8x3x1xi64>) -> tensor<8x3x1xf32>
  %v = fusec.broadcast %m [0, 1] : tensor<8x3xf32> to tensor<8x3x1xf32>
  %11 = fusec.mul %10, %v : tensor<8x3x1xf32>
  %12 = fusec.reduce sum %11 axes [1] : tensor<8x3x1xf32> to tensor<8x1xf32>
  fusec.output %6, %9, %12 : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x1xf32>
}

// -----

// Bags that are added are one, whose columns are added in the same order. What
// something else reads stays apart.
// CHECK-LABEL: fusec.model @added
fusec.model @added inputs ["t", "u", "i", "x"] outputs ["y", "z"] {
^bb0(%t: tensor<9x4xf32>, %u: tensor<8x4xf32>, %i: tensor<5x3xi64>, %x: tensor<5x4xf32>):
  // CHECK: %[[Z:.+]] = fusec.bag sum(%arg1) at(%arg2)
  // CHECK: %[[B:.+]] = fusec.bag sum(%arg0, %arg1, %arg1) at(%arg2, %arg2, %arg2) flag scales [1.000000e+00, 5.000000e-01, 2.000000e+00]
  // CHECK: %[[A:.+]] = fusec.slice %[[B]] offsets [#fusec.expr<0>, #fusec.expr<0>]
  // CHECK: %[[C:.+]] = fusec.slice %[[B]] offsets [#fusec.expr<0>, #fusec.expr<4>]
  // CHECK: %[[D:.+]] = fusec.slice %[[B]] offsets [#fusec.expr<0>, #fusec.expr<8>]
  // CHECK: %[[S:.+]] = fusec.add %[[A]], %[[C]]
  // CHECK: %[[R:.+]] = fusec.add %[[S]], %arg3
  // CHECK: %[[Q:.+]] = fusec.add %[[R]], %[[Z]]
  // CHECK: fusec.add %[[Q]], %[[D]]
  %0 = fusec.bag sum (%t) at (%i) flag scales [1.0] : (tensor<9x4xf32>) at (tensor<5x3xi64>) -> tensor<5x4xf32>
  %1 = fusec.bag sum (%u) at (%i) flag scales [0.5] : (tensor<8x4xf32>) at (tensor<5x3xi64>) -> tensor<5x4xf32>
  %2 = fusec.bag sum (%u) at (%i) flag scales [2.0] : (tensor<8x4xf32>) at (tensor<5x3xi64>) -> tensor<5x4xf32>
  %3 = fusec.bag sum (%u) at (%i) flag scales [3.0] : (tensor<8x4xf32>) at (tensor<5x3xi64>) -> tensor<5x4xf32>
  %4 = fusec.add %0, %1 : tensor<5x4xf32>
  %5 = fusec.add %4, %x : tensor<5x4xf32>
  %6 = fusec.add %5, %3 : tensor<5x4xf32>
  %7 = fusec.add %6, %2 : tensor<5x4xf32>
  fusec.output %7, %3 : tensor<5x4xf32>, tensor<5x4xf32>
}
