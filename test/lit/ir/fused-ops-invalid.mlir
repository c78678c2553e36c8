// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --split-input-file --verify-diagnostics %s

fusec.model @count inputs ["x", "w"] outputs [] {
^bb0(%x: tensor<8x4xf32>, %w: tensor<4x6xf32>):
  // expected-error @+1 {{expected a right operand for each of 2 segments and 1 accumulators, got 1}}
  %0 = fusec.contraction (%x, %x) by (%w) : (tensor<8x4xf32>, tensor<8x4xf32>), (tensor<4x6xf32>) -> tensor<8x6xf32>
}

// -----

fusec.model @inner inputs ["x", "w"] outputs [] {
^bb0(%x: tensor<8x4xf32>, %w: tensor<5x6xf32>):
  // expected-error @+1 {{expected equal inner sizes, got 4 and 5 (segment 0, accumulator 0)}}
  %0 = fusec.contraction (%x) by (%w) : (tensor<8x4xf32>), (tensor<5x6xf32>) -> tensor<8x6xf32>
}

// -----

fusec.model @result inputs ["x", "w"] outputs [] {
^bb0(%x: tensor<8x4xf32>, %w: tensor<4x6xf32>):
  // expected-error @+1 {{expected operands of one element type and accumulators of type 'tensor<8x6xf32>'}}
  %0 = fusec.contraction (%x) by (%w) : (tensor<8x4xf32>), (tensor<4x6xf32>) -> tensor<8x6xf16>
}

// -----

fusec.model @uncovered inputs ["x", "w"] outputs [] {
^bb0(%x: tensor<8x100xf32>, %w: tensor<100x6xf32>):
  // expected-error @+1 {{expected 3 ranges of 32 to cover a K of 100}}
  %0 = fusec.contraction (%x) by (%w) ranges [32] : (tensor<8x100xf32>), (tensor<100x6xf32>) -> tensor<3x8x6xf32>
}

// -----

fusec.model @ranges inputs ["x", "w"] outputs [] {
^bb0(%x: tensor<2x8x100xf32>, %w: tensor<2x100x6xf32>):
  // expected-error @+1 {{expected ranges of the constant K of each segment, of matrices without a batch}}
  %0 = fusec.contraction (%x) by (%w) ranges [64] : (tensor<2x8x100xf32>), (tensor<2x100x6xf32>) -> tensor<2x8x6xf32>
}

// -----

fusec.model @arguments inputs ["x"] outputs [] {
^bb0(%x: tensor<8xf32>):
  // expected-error @+1 {{expected block arguments of the inputs' types}}
  %0 = fusec.fusion pointwise "f" (%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<9xf32>):
    fusec.yield %a : tensor<9xf32>
  }
}

// -----

fusec.model @no_yield inputs ["x"] outputs [] {
^bb0(%x: tensor<8xf32>):
  // expected-error @+1 {{expected 'fusec.yield' at the end of the region}}
  %0 = fusec.fusion pointwise "f" (%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %1 = fusec.neg %a : tensor<8xf32>
  }
}

// -----

fusec.model @yield inputs ["x"] outputs [] {
^bb0(%x: tensor<8xf32>):
  // expected-error @+1 {{expected 'fusec.yield' of the outputs' types}}
  %0 = fusec.fusion pointwise "f" (%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    fusec.yield %a, %a : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

fusec.model @nested inputs ["x"] outputs [] {
^bb0(%x: tensor<8xf32>):
  // expected-error @+1 {{holds an op that no kernel can compute}}
  %0 = fusec.fusion pointwise "f" (%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    // expected-note @+1 {{this op}}
    %1 = fusec.fusion pointwise "g" (%a) : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%b: tensor<8xf32>):
      fusec.yield %b : tensor<8xf32>
    }
    fusec.yield %1 : tensor<8xf32>
  }
}

// -----

fusec.model @pairs_type inputs ["x", "w"] outputs [] {
^bb0(%x: tensor<8x48xf32>, %w: tensor<24x8x64xbf16>):
  // expected-error @+1 {{expected weights of 'f16', got 'bf16'}}
  %0 = fusec.pair_product %x, %w : tensor<8x48xf32>, tensor<24x8x64xbf16> to tensor<6x8x8xf32>
}

// -----

fusec.model @exact_pairs inputs ["x", "w"] outputs [] {
^bb0(%x: tensor<8x48xf32>, %w: tensor<24x8x64xf32>):
  // expected-error @+1 {{expected weights of 24 x 64 x 8, as 48 features and 8 columns have}}
  %0 = fusec.pair_product %x, %w : tensor<8x48xf32>, tensor<24x8x64xf32> to tensor<6x8x8xf32>
}

// -----

fusec.model @pairs_weights inputs ["x", "w"] outputs [] {
^bb0(%x: tensor<8x48xf16>, %w: tensor<24x12x64xf16>):
  // expected-error @+1 {{expected weights of 24 x 16 x 64, as 48 features and 12 columns have}}
  %0 = fusec.pair_product %x, %w : tensor<8x48xf16>, tensor<24x12x64xf16> to tensor<6x8x12xf32>
}

// -----

fusec.model @pairs_rows inputs ["x", "w"] outputs [] {
^bb0(%x: tensor<8x48xf16>, %w: tensor<24x8x64xf16>):
  // expected-error @+1 {{expected sums of 8 rows, got 9}}
  %0 = fusec.pair_product %x, %w : tensor<8x48xf16>, tensor<24x8x64xf16> to tensor<6x9x8xf32>
}

// -----

fusec.model @pairs_features inputs ["x", "w"] outputs [] {
^bb0(%x: tensor<8x40000xf16>, %w: tensor<24x8x64xf16>):
  // expected-error @+1 {{expected constant numbers of features and columns, which 32 bits count}}
  %0 = fusec.pair_product %x, %w : tensor<8x40000xf16>, tensor<24x8x64xf16> to tensor<6x8x8xf32>
}
