// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel's accesses are those that its launch lists, or it is not printed.

// RUN: fusec-translate --fusec-to-cuda --split-input-file --verify-diagnostics %s -o %t

fusec.plan @sm_90a of @main slots [] {
  fusec.buffer @x input 0 at <0> strides [#fusec.expr<8>, #fusec.expr<1>] : tensor<4x8xf32>
  fusec.buffer @y output 0 at <0> strides [#fusec.expr<8>, #fusec.expr<1>] : tensor<4x8xf32>
  // expected-error @+1 {{'fusec.step' op has a launch with accesses of 0 loops, expected 1}}
  fusec.step pointwise "relu" inputs [@x] outputs [@y]
    variants [#fusec.variant<[], #fusec.pointwise_schedule<threads = 128, vector = 1, indexBits = 32> launch <blocks = <1>, threads = 128>>]
    sources [] {
  ^bb0(%x: tensor<4x8xf32>):
    %0 = fusec.relu %x : tensor<4x8xf32>
    fusec.yield %0 : tensor<4x8xf32>
  }
}

// -----

fusec.plan @sm_90a of @main slots [] {
  fusec.buffer @x input 0 at <0> strides [#fusec.expr<8>, #fusec.expr<1>] : tensor<4x8xf32>
  fusec.buffer @y output 0 at <0> strides [#fusec.expr<8>, #fusec.expr<1>] : tensor<4x8xf32>
  // expected-error @+1 {{'fusec.step' op has a launch that lists 2 loads of loop 0, expected 1}}
  fusec.step pointwise "relu" inputs [@x] outputs [@y]
    variants [#fusec.variant<[], #fusec.pointwise_schedule<threads = 128, vector = 4, indexBits = 32>
      launch <blocks = <1>, threads = 128, accesses = [#fusec.accesses<width = 4, loads = [4, 4], stores = [4]>]>>]
    sources [] {
  ^bb0(%x: tensor<4x8xf32>):
    %0 = fusec.relu %x : tensor<4x8xf32>
    fusec.yield %0 : tensor<4x8xf32>
  }
}

// -----

fusec.plan @sm_90a of @main slots [] {
  fusec.buffer @x input 0 at <0> strides [#fusec.expr<8>, #fusec.expr<1>] : tensor<4x8xf32>
  fusec.buffer @y output 0 at <0> strides [#fusec.expr<8>, #fusec.expr<1>] : tensor<4x8xf32>
  // expected-error @+1 {{'fusec.step' op has a launch with 8 lanes in loop 0, expected 4}}
  fusec.step pointwise "relu" inputs [@x] outputs [@y]
    variants [#fusec.variant<[], #fusec.pointwise_schedule<threads = 128, vector = 4, indexBits = 32>
      launch <blocks = <1>, threads = 128, accesses = [#fusec.accesses<width = 8, loads = [8], stores = [8]>]>>]
    sources [] {
  ^bb0(%x: tensor<4x8xf32>):
    %0 = fusec.relu %x : tensor<4x8xf32>
    fusec.yield %0 : tensor<4x8xf32>
  }
}

// -----

fusec.plan @sm_90a of @main slots [] {
  fusec.buffer @x input 0 at <0> strides [#fusec.expr<8>, #fusec.expr<1>] : tensor<4x8xf32>
  fusec.buffer @y output 0 at <0> strides [#fusec.expr<8>, #fusec.expr<1>] : tensor<4x8xf32>
  // expected-error @+1 {{'fusec.step' op has a launch in which store 0 of loop 0 moves 8 elements at once, which 4 lanes of it do not fill}}
  fusec.step pointwise "relu" inputs [@x] outputs [@y]
    variants [#fusec.variant<[], #fusec.pointwise_schedule<threads = 128, vector = 4, indexBits = 32>
      launch <blocks = <1>, threads = 128, accesses = [#fusec.accesses<width = 4, loads = [4], stores = [8]>]>>]
    sources [] {
  ^bb0(%x: tensor<4x8xf32>):
    %0 = fusec.relu %x : tensor<4x8xf32>
    fusec.yield %0 : tensor<4x8xf32>
  }
}

// -----

fusec.plan @sm_90a of @main slots [] {
  fusec.buffer @x input 0 at <0> strides [#fusec.expr<8>, #fusec.expr<1>] : tensor<4x8xf32>
  fusec.buffer @y output 0 at <0> strides [#fusec.expr<1>] : tensor<8xf32>
  // expected-error @+1 {{'fusec.step' op has a launch that walks rows along memory, which have no pitch there}}
  fusec.step reduce "sum" inputs [@x] outputs [@y]
    variants [#fusec.variant<[], #fusec.reduce_schedule<scope = columns, threads = 256, indexBits = 32>
      launch <blocks = <1>, threads = 256, accesses = [#fusec.accesses<walk = memory, loads = [1], stores = [1]>]>>]
    sources [] {
  ^bb0(%x: tensor<4x8xf32>):
    %0 = fusec.reduce sum %x axes [0] : tensor<4x8xf32> to tensor<8xf32>
    fusec.yield %0 : tensor<8xf32>
  }
}

// -----

fusec.plan @sm_90a of @main slots [] {
  fusec.buffer @x input 0 at <0> strides [#fusec.expr<8>, #fusec.expr<1>] : tensor<4x8xf32>
  fusec.buffer @w input 1 at <0> strides [#fusec.expr<4>, #fusec.expr<1>] : tensor<8x4xf32>
  fusec.buffer @y output 0 at <0> strides [#fusec.expr<4>, #fusec.expr<1>] : tensor<4x4xf32>
  // expected-error @+1 {{'fusec.step' op has a launch that lists 1 loads of loop 0, expected 2}}
  fusec.step gemm "matmul" inputs [@x, @w] outputs [@y]
    variants [#fusec.variant<[], #fusec.simt_schedule<tileM = 32, tileN = 32, tileK = 16, threadM = 2, threadN = 2>
      launch <blocks = <1>, threads = 256, accesses = [#fusec.accesses<loads = [4], stores = [4]>]>>]
    sources [] {
  ^bb0(%x: tensor<4x8xf32>, %w: tensor<8x4xf32>):
    %0 = fusec.contraction (%x) by (%w) : (tensor<4x8xf32>), (tensor<8x4xf32>) -> tensor<4x4xf32>
    fusec.yield %0 : tensor<4x4xf32>
  }
}

// -----

fusec.plan @sm_90a of @main slots [] {
  fusec.buffer @x input 0 at <0> strides [#fusec.expr<8>, #fusec.expr<1>] : tensor<4x8xf32>
  fusec.buffer @y output 0 at <0> strides [#fusec.expr<8>, #fusec.expr<1>] : tensor<4x8xf32>
  // expected-error @+1 {{'fusec.step' op has a schedule that holds rows, but no points that pick elements of one}}
  fusec.step pointwise "relu" inputs [@x] outputs [@y]
    variants [#fusec.variant<[], #fusec.pointwise_schedule<threads = 128, vector = 4, indexBits = 32, holds = 1>
      launch <blocks = <1>, threads = 128, accesses = [#fusec.accesses<width = 4, loads = [4], stores = [4]>]>>]
    sources [] {
  ^bb0(%x: tensor<4x8xf32>):
    %0 = fusec.relu %x : tensor<4x8xf32>
    fusec.yield %0 : tensor<4x8xf32>
  }
}

// -----

// No guard says that what is around is there.
fusec.plan @sm_90a of @main slots [] {
  fusec.buffer @x input 0 at <0> strides [#fusec.expr<8>, #fusec.expr<1>] : tensor<4x8xf32>
  fusec.buffer @y output 0 at <0> strides [#fusec.expr<8>, #fusec.expr<1>] : tensor<4x8xf32>
  // expected-error @+1 {{'fusec.step' op has a launch in which load 0 of loop 0 is shifted, but its lanes are no neighbours, or its buffer is not aligned}}
  fusec.step pointwise "relu" inputs [@x] outputs [@y]
    variants [#fusec.variant<[], #fusec.pointwise_schedule<threads = 128, vector = 4, indexBits = 32>
      launch <blocks = <1>, threads = 128, accesses = [#fusec.accesses<width = 4, loads = [4], stores = [4], shifted = [0]>]>>]
    sources [] {
  ^bb0(%x: tensor<4x8xf32>):
    %0 = fusec.relu %x : tensor<4x8xf32>
    fusec.yield %0 : tensor<4x8xf32>
  }
}

// -----

fusec.plan @sm_90a of @main slots [] {
  fusec.buffer @x input 0 at <0> strides [#fusec.expr<8>, #fusec.expr<1>] : tensor<4x8xf32>
  fusec.buffer @y output 0 at <0> strides [#fusec.expr<8>, #fusec.expr<1>] : tensor<4x8xf32>
  // expected-error @+1 {{'fusec.step' op has a schedule that puts rows together, but stores no parts of rows that are aligned}}
  fusec.step pointwise "relu" inputs [@x] outputs [@y]
    variants [#fusec.variant<[], #fusec.pointwise_schedule<threads = 128, vector = 4, indexBits = 32, rows = 16>
      launch <blocks = <1>, threads = 128, accesses = [#fusec.accesses<walk = linear, width = 4, loads = [4]>]>>]
    sources [] {
  ^bb0(%x: tensor<4x8xf32>):
    %0 = fusec.relu %x : tensor<4x8xf32>
    fusec.yield %0 : tensor<4x8xf32>
  }
}

// -----

fusec.plan @sm_90a of @main slots [] {
  fusec.buffer @x input 0 at <0> strides [#fusec.expr<3>, #fusec.expr<1>] : tensor<4x3xf32>
  fusec.buffer @y input 1 at <0> strides [#fusec.expr<8>, #fusec.expr<1>] : tensor<4x8xf32>
  fusec.buffer @z output 0 at <0> strides [#fusec.expr<11>, #fusec.expr<1>] : tensor<4x11xf32>
  // expected-error @+1 {{'fusec.step' op has a schedule that puts rows together, but a block does not hold so many}}
  fusec.step pointwise "concat" inputs [@x, @y] outputs [@z]
    variants [#fusec.variant<[<kind = aligned, lhs = <0>, rhs = <16>, buffer = @z>], #fusec.pointwise_schedule<threads = 128, vector = 4, indexBits = 32, rows = 4096>
      launch <blocks = <1>, threads = 128, accesses = [#fusec.accesses<walk = linear, width = 1, loads = [1]>]>>,
      #fusec.variant<[], #fusec.pointwise_schedule<threads = 128, vector = 1, indexBits = 32> launch <blocks = <1>, threads = 128>>]
    sources [] {
  ^bb0(%x: tensor<4x3xf32>, %y: tensor<4x8xf32>):
    %0 = fusec.concat %x, %y axis 1 : tensor<4x3xf32>, tensor<4x8xf32> to tensor<4x11xf32>
    fusec.yield %0 : tensor<4x11xf32>
  }
}
