// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The ops and attributes of the planned level survive a round trip.

// RUN: fusec-opt --allow-unregistered-dialect %s | fusec-opt --allow-unregistered-dialect | FileCheck %s
// RUN: fusec-opt --allow-unregistered-dialect --mlir-print-op-generic %s | fusec-opt --allow-unregistered-dialect | FileCheck %s

#sizes = #fusec.sizes<[batch, 10]>

// CHECK-LABEL: fusec.plan @sm_90a of @main slots [#fusec.expr<batch * 40>, #fusec.expr<256>] {
fusec.plan @sm_90a of @main slots [#fusec.expr<batch * 40>, #fusec.expr<256>] {
  // CHECK: fusec.buffer @x input 0 at <0> strides [#fusec.expr<10>, #fusec.expr<1>] : tensor<?x10xf32, #fusec.sizes<[batch, 10]>>
  fusec.buffer @x input 0 at <0> strides [#fusec.expr<10>, #fusec.expr<1>] : tensor<?x10xf32, #sizes>
  // CHECK: fusec.buffer @w weight 0 at <0> strides [#fusec.expr<1>] : tensor<2xf32> = dense<1.000000e+00> : tensor<2xf32>
  fusec.buffer @w weight 0 at <0> strides [#fusec.expr<1>] : tensor<2xf32> = dense<1.0> : tensor<2xf32>
  // CHECK: fusec.buffer @t slot 1 at <batch * 4> strides
  fusec.buffer @t slot 1 at <batch * 4> strides [#fusec.expr<10>, #fusec.expr<1>] : tensor<?x10xf32, #sizes>
  // CHECK: fusec.buffer @y output 0 at <0> strides
  fusec.buffer @y output 0 at <0> strides [#fusec.expr<10>, #fusec.expr<1>] : tensor<?x10xf32, #sizes>
  // CHECK: fusec.step pointwise "relu" inputs [@x] outputs [@t]
  // CHECK-SAME: variants [#fusec.variant<[<kind = aligned, lhs = <0>, rhs = <16>, buffer = @x>, <kind = le, lhs = <batch>, rhs = <64>>], #fusec.pointwise_schedule<threads = 256, vector = 4, indexBits = 32, blocks = 264, holds = 2>>,
  // CHECK-SAME: #fusec.variant<[], #fusec.pointwise_schedule<threads = 256, vector = 1, indexBits = 64>>]
  // CHECK-SAME: sources ["/Relu"] {
  fusec.step pointwise "relu" inputs [@x] outputs [@t]
    variants [
      #fusec.variant<[<kind = aligned, lhs = <0>, rhs = <16>, buffer = @x>, <kind = le, lhs = <batch>, rhs = <64>>],
        #fusec.pointwise_schedule<threads = 256, vector = 4, indexBits = 32, blocks = 264, holds = 2>>,
      #fusec.variant<[], #fusec.pointwise_schedule<threads = 256, vector = 1, indexBits = 64>>]
    sources ["/Relu"] {
  ^bb0(%x: tensor<?x10xf32, #sizes>):
    %0 = fusec.relu %x : tensor<?x10xf32, #sizes>
    fusec.yield %0 : tensor<?x10xf32, #sizes>
  }
}

// CHECK: "test.schedules"() {
// CHECK-SAME: gemm = #fusec.mma_schedule<tileM = 128, tileN = 64, tileK = 32, warpsM = 2, warpsN = 2, stages = 3>
// CHECK-SAME: launch = #fusec.launch<blocks = <batch>, threads = 128, accesses = [#fusec.accesses<walk = linear, width = 4, loads = [4, 1], stores = [8, 8], passing = [1]>, #fusec.accesses<loads = [1], stores = [1]>]>
// CHECK-SAME: reduce = #fusec.reduce_schedule<scope = warp, threads = 128, indexBits = 32>
"test.schedules"() {
  launch = #fusec.launch<blocks = <batch>, threads = 128, accesses = [#fusec.accesses<walk = linear, width = 4, loads = [4, 1], stores = [8, 8], passing = [1]>, #fusec.accesses<walk = dimension, width = 1, loads = [1], stores = [1]>]>,
  gemm = #fusec.mma_schedule<tileM = 128, tileN = 64, tileK = 32, warpsM = 2, warpsN = 2, stages = 3>,
  reduce = #fusec.reduce_schedule<scope = warp, threads = 128, indexBits = 32>
} : () -> ()
