// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --split-input-file --verify-diagnostics %s

// expected-error @+1 {{expected buffers and steps only}}
fusec.plan @p of @main slots [] {
  // expected-note @+1 {{found this op}}
  %0 = fusec.splat 1.0 : f32 : tensor<8xf32>
}

// -----

fusec.plan @p of @main slots [] {
  // expected-error @+1 {{expected 1 strides, got 2}}
  fusec.buffer @x input 0 at <0> strides [#fusec.expr<1>, #fusec.expr<1>] : tensor<8xf32>
}

// -----

fusec.plan @p of @main slots [] {
  // expected-error @+1 {{expected a value on weights and on nothing else}}
  fusec.buffer @w weight 0 at <0> strides [#fusec.expr<1>] : tensor<8xf32>
}

// -----

fusec.plan @p of @main slots [#fusec.expr<256>] {
  // expected-error @+1 {{expected a slot below 1, got 1}}
  fusec.buffer @t slot 1 at <0> strides [#fusec.expr<1>] : tensor<8xf32>
}

// -----

fusec.plan @p of @main slots [] {
  // expected-error @+1 {{refers to @x, which is no buffer of the plan}}
  fusec.step pointwise "f" inputs [@x] outputs []
    variants [#fusec.variant<[], #fusec.pointwise_schedule<threads = 256, vector = 1, indexBits = 32>>] sources [] {
  ^bb0(%a: tensor<8xf32>):
    fusec.yield
  }
}

// -----

fusec.plan @p of @main slots [] {
  // expected-error @+1 {{expected a last variant without guards}}
  fusec.step pointwise "f" inputs [] outputs [] variants [] sources [] {
    fusec.yield
  }
}

// -----

fusec.plan @p of @main slots [] {
  fusec.buffer @y output 0 at <0> strides [#fusec.expr<1>] : tensor<8xf32>
  // expected-error @+1 {{expected a lead among the inputs, found @y}}
  fusec.step pointwise "f" inputs [] outputs [@y] lead @y
    variants [#fusec.variant<[], #fusec.pointwise_schedule<threads = 256, vector = 1, indexBits = 32>>] sources [] {
    %0 = fusec.splat 1.0 : f32 : tensor<8xf32>
    fusec.yield %0 : tensor<8xf32>
  }
}
