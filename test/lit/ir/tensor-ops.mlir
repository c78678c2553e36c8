// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every op of the tensor level besides pointwise ones survives a round trip.

// RUN: fusec-opt %s | fusec-opt | FileCheck %s
// RUN: fusec-opt --mlir-print-op-generic %s | fusec-opt | FileCheck %s

#sizes = #fusec.sizes<[batch, 10]>

// CHECK-LABEL: fusec.model @model inputs ["x", "y"] outputs ["z"]
// CHECK-SAME: where [#fusec.constraint<batch = rows, "'x' and 'y' are added">]
fusec.model @model inputs ["x", "y"] outputs ["z"]
    where [#fusec.constraint<batch = rows, "'x' and 'y' are added">] {
^bb0(%x: tensor<?x10xf32, #sizes>, %y: tensor<?x10xf32, #fusec.sizes<[rows, 10]>>):
  // CHECK: fusec.output %{{.*}} : tensor<?x10xf32, #fusec.sizes<[batch, 10]>>
  fusec.output %x : tensor<?x10xf32, #sizes>
}

// CHECK-LABEL: fusec.model @empty inputs [] outputs []
fusec.model @empty inputs [] outputs [] {
}

// CHECK-LABEL: fusec.model @generated
fusec.model @generated inputs [] outputs ["a", "b", "c", "d"] {
  // CHECK: fusec.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
  %a = fusec.constant dense<[1.0, 2.0]> : tensor<2xf32>
  // CHECK: fusec.splat 3 : i64 : tensor<?x10xi64, #fusec.sizes<[batch, 10]>>
  %b = fusec.splat 3 : i64 : tensor<?x10xi64, #sizes>
  // CHECK: fusec.iota 1 : tensor<2x3xi32>
  %c = fusec.iota 1 : tensor<2x3xi32>
  // CHECK: fusec.size_value <batch * 4 + 1> : tensor<i64>
  %d = fusec.size_value <batch * 4 + 1> : tensor<i64>
  fusec.output %a, %b, %c, %d : tensor<2xf32>, tensor<?x10xi64, #sizes>, tensor<2x3xi32>, tensor<i64>
}

// CHECK-LABEL: fusec.model @views
fusec.model @views inputs ["x"] outputs [] {
^bb0(%x: tensor<?x10xf32, #sizes>):
  // CHECK: fusec.expand %{{.*}} {{\[\[}}0], [1, 2]] : tensor<?x10xf32, #fusec.sizes<[batch, 10]>> to tensor<?x2x5xf32, #fusec.sizes<[batch, 2, 5]>>
  %0 = fusec.expand %x [[0], [1, 2]] : tensor<?x10xf32, #sizes> to tensor<?x2x5xf32, #fusec.sizes<[batch, 2, 5]>>
  // CHECK: fusec.collapse %{{.*}} {{\[\[}}0, 1], [2], []] : {{.*}} to tensor<?x5x1xf32, #fusec.sizes<[batch * 2, 5, 1]>>
  %1 = fusec.collapse %0 [[0, 1], [2], []] : tensor<?x2x5xf32, #fusec.sizes<[batch, 2, 5]>> to tensor<?x5x1xf32, #fusec.sizes<[batch * 2, 5, 1]>>
  // CHECK: fusec.transpose %{{.*}} [1, 0] : {{.*}} to tensor<10x?xf32, #fusec.sizes<[10, batch]>>
  %2 = fusec.transpose %x [1, 0] : tensor<?x10xf32, #sizes> to tensor<10x?xf32, #fusec.sizes<[10, batch]>>
  // CHECK: fusec.slice %{{.*}} offsets [#fusec.expr<0>, #fusec.expr<9>] steps [1, -2] : {{.*}} to tensor<?x5xf32, #fusec.sizes<[batch, 5]>>
  %3 = fusec.slice %x offsets [#fusec.expr<0>, #fusec.expr<9>] steps [1, -2]
    : tensor<?x10xf32, #sizes> to tensor<?x5xf32, #fusec.sizes<[batch, 5]>>
  // CHECK: fusec.broadcast %{{.*}} [1, 2] : {{.*}} to tensor<3x?x10xf32, #fusec.sizes<[3, batch, 10]>>
  %4 = fusec.broadcast %x [1, 2] : tensor<?x10xf32, #sizes> to tensor<3x?x10xf32, #fusec.sizes<[3, batch, 10]>>
  // CHECK: fusec.concat %{{.*}}, %{{.*}} axis 0 : {{.*}} to tensor<?x10xf32, #fusec.sizes<[batch * 2, 10]>>
  %5 = fusec.concat %x, %x axis 0 : tensor<?x10xf32, #sizes>, tensor<?x10xf32, #sizes> to tensor<?x10xf32, #fusec.sizes<[batch * 2, 10]>>
}

// CHECK-LABEL: fusec.model @indexed
fusec.model @indexed inputs ["t", "u", "i", "j", "n", "f"] outputs [] {
^bb0(%t: tensor<100x16xf32>, %u: tensor<50x16xf32>, %i: tensor<8x16xi64>, %j: tensor<8x2xi32>, %n: tensor<100x16xui8>, %f: tensor<100x1xf32>):
  // CHECK: fusec.gather %{{.*}} [-1, 1](%{{.*}}) flag : (tensor<100x16xf32>, tensor<8x16xi64>) -> tensor<8x16xf32>
  %0 = fusec.gather %t [-1, 1] (%i) flag : (tensor<100x16xf32>, tensor<8x16xi64>) -> tensor<8x16xf32>
  // CHECK: fusec.lookup(%{{.*}}, %{{.*}}) at %{{.*}} zero : (tensor<100x16xf32>, tensor<50x16xf32>, tensor<8x2xi32>) -> tensor<8x2x16xf32>
  %1 = fusec.lookup (%t, %u) at %j zero : (tensor<100x16xf32>, tensor<50x16xf32>, tensor<8x2xi32>) -> tensor<8x2x16xf32>
  // CHECK: fusec.reduce sum %{{.*}} axes [1] : tensor<100x16xf32> to tensor<100xf32>
  %2 = fusec.reduce sum %t axes [1] : tensor<100x16xf32> to tensor<100xf32>
  // CHECK: fusec.reduce max %{{.*}} axes [] : tensor<100x16xf32> to tensor<100x16xf32>
  %3 = fusec.reduce max %t axes [] : tensor<100x16xf32> to tensor<100x16xf32>
  // CHECK: fusec.reduce sum %{{.*}} axes [0] parts 3 : tensor<100x16xf32> to tensor<3x16xf32>
  %p = fusec.reduce sum %t axes [0] parts 3 : tensor<100x16xf32> to tensor<3x16xf32>
  // CHECK: fusec.bag sum(%{{.*}}, %{{.*}}) at(%{{.*}}, %{{.*}}) clamp scales [1.000000e+00, 5.000000e-01] : (tensor<100x16xf32>, tensor<50x16xf32>) at(tensor<8x2xi32>, tensor<8x2xi32>) -> tensor<8x32xf16>
  %q = fusec.bag sum (%t, %u) at (%j, %j) clamp scales [1.0, 0.5] : (tensor<100x16xf32>, tensor<50x16xf32>) at(tensor<8x2xi32>, tensor<8x2xi32>) -> tensor<8x32xf16>
  // CHECK: fusec.bag sum(%{{.*}}) at(%{{.*}}) factors(%{{.*}}) flag scales [1.000000e+00] packed [31] : (tensor<100x16xui8>) at(tensor<8x2xi32>) factors(tensor<100x1xf32>) -> tensor<8x31xf16>
  %q4 = fusec.bag sum (%n) at (%j) factors (%f) flag scales [1.0] packed [31] : (tensor<100x16xui8>) at(tensor<8x2xi32>) factors(tensor<100x1xf32>) -> tensor<8x31xf16>
  // CHECK: %[[LENGTHS:.+]] = fusec.slice
  %ln = fusec.slice %j offsets [#fusec.expr<0>, #fusec.expr<1>] steps [1, 1] : tensor<8x2xi32> to tensor<8x1xi32>
  // CHECK: fusec.bag mean(%{{.*}}, %{{.*}}) at(%{{.*}}, %{{.*}}) lengths(%[[LENGTHS]]) of [-1, 0] least 1.000000e+00 fill -2.000000e+00 flag scales [1.000000e+00, 1.000000e+00] maxima [1] : (tensor<100x16xf32>, tensor<50x16xf32>) at(tensor<8x2xi32>, tensor<8x2xi32>) lengths(tensor<8x1xi32>) -> tensor<8x32xf32>
  %ql = fusec.bag mean (%t, %u) at (%j, %j) lengths (%ln) of [-1, 0] least 1.0 fill -2.0 flag scales [1.0, 1.0] maxima [1] : (tensor<100x16xf32>, tensor<50x16xf32>) at(tensor<8x2xi32>, tensor<8x2xi32>) lengths(tensor<8x1xi32>) -> tensor<8x32xf32>
  // CHECK: fusec.bag mean(%{{.*}}) at(%{{.*}}) flag scales [1.000000e+00] padding row [3] :
  %qp = fusec.bag mean (%t) at (%j) flag scales [1.0] padding row [3] : (tensor<100x16xf32>) at(tensor<8x2xi32>) -> tensor<8x16xf32>
  // CHECK: fusec.bag mean(%{{.*}}) at(%{{.*}}) flag scales [1.000000e+00] padding index [3] :
  %qi = fusec.bag mean (%t) at (%j) flag scales [1.0] padding index [3] : (tensor<100x16xf32>) at(tensor<8x2xi32>) -> tensor<8x16xf32>
  // CHECK: fusec.bag sum(%{{.*}}) at(%{{.*}}) flag scales [1.000000e+00] padding upto [3] :
  %qu = fusec.bag sum (%t) at (%j) flag scales [1.0] padding upto [3] : (tensor<100x16xf32>) at(tensor<8x2xi32>) -> tensor<8x16xf32>
  // CHECK: fusec.arg_reduce min %{{.*}} axis 0 last : tensor<100x16xf32> to tensor<16xi64>
  %4 = fusec.arg_reduce min %t axis 0 last : tensor<100x16xf32> to tensor<16xi64>
  // CHECK: fusec.arg_reduce max %{{.*}} axis 0 parts 2 : tensor<100x16xf32> to tensor<2x16xi64>
  %pa = fusec.arg_reduce max %t axis 0 parts 2 : tensor<100x16xf32> to tensor<2x16xi64>
  // CHECK: fusec.matmul %{{.*}}, %{{.*}} transposed : tensor<100x16xf32>, tensor<50x16xf32> to tensor<100x50xf32>
  %5 = fusec.matmul %t, %u transposed : tensor<100x16xf32>, tensor<50x16xf32> to tensor<100x50xf32>
  // CHECK: fusec.matmul %{{.*}} transposed, %{{.*}} : tensor<100x16xf32>, tensor<100x50xf32> to tensor<16x50xf32>
  %6 = fusec.matmul %t transposed, %5 : tensor<100x16xf32>, tensor<100x50xf32> to tensor<16x50xf32>
}
