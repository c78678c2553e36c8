// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-contractions,fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-assign-storage,fusec-choose-schedules))" %s | fusec-translate --split-input-file --fusec-to-cuda | FileCheck %s

// Halves are read once, vectors of four, and stored into both slices.
// CHECK-LABEL: FUSEC_KERNEL(128) sub_add_concat
// CHECK: forOwnVector<4>
// CHECK-COUNT-2: fusec::load<V>(t_x
// CHECK-NOT: fusec::load<V>(t_x
// CHECK-COUNT-2: fusec::store<V>(t_y
fusec.model @halves inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<6x8xf32>):
  %a = fusec.slice %x offsets [#fusec.expr<0>, #fusec.expr<0>] steps [1, 1] : tensor<6x8xf32> to tensor<6x4xf32>
  %b = fusec.slice %x offsets [#fusec.expr<0>, #fusec.expr<4>] steps [1, 1] : tensor<6x8xf32> to tensor<6x4xf32>
  %0 = fusec.sub %a, %b : tensor<6x4xf32>
  %1 = fusec.add %a, %b : tensor<6x4xf32>
  %2 = fusec.concat %0, %1 axis 1 : tensor<6x4xf32>, tensor<6x4xf32> to tensor<6x8xf32>
  fusec.output %2 : tensor<6x8xf32>
}

// -----

// Reshapes vanish: one linear index for all accesses.
// CHECK-LABEL: FUSEC_KERNEL(128) exp
// CHECK: fusec::load<V>(t_x + base)
// CHECK: fusec::store<V>(t_y + base
fusec.model @reshaped inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<?x4x8xf32, #fusec.sizes<[batch, 4, 8]>>):
  %0 = fusec.collapse %x [[0], [1, 2]] : tensor<?x4x8xf32, #fusec.sizes<[batch, 4, 8]>> to tensor<?x32xf32, #fusec.sizes<[batch, 32]>>
  %1 = fusec.exp %0 : tensor<?x32xf32, #fusec.sizes<[batch, 32]>>
  fusec.output %1 : tensor<?x32xf32, #fusec.sizes<[batch, 32]>>
}

// -----

// A store rounds what it stores. What another op reads is rounded before.
// CHECK-LABEL: FUSEC_KERNEL(128) exp_sqrt
// CHECK: const float [[EXP:.*]] = fusec::cast<float>(fusec::cast<fusec::f16>(fusec::exp({{.*}})));
// CHECK: = fusec::cast<fusec::f16>([[EXP]]);
// CHECK: const float [[ROOT:.*]] = fusec::sqrt([[EXP]]);
// CHECK: = fusec::cast<fusec::f16>([[ROOT]]);
fusec.model @rounding inputs ["x"] outputs ["y", "z"] {
^bb0(%x: tensor<6x8xf16>):
  %0 = fusec.exp %x : tensor<6x8xf16>
  %1 = fusec.sqrt %0 : tensor<6x8xf16>
  fusec.output %0, %1 : tensor<6x8xf16>, tensor<6x8xf16>
}

// -----

// Sines and cosines whose results are rounded to 16 bits are computed of all
// lanes at once, both of one angle together, when all loads are on their way.
// CHECK-LABEL: FUSEC_KERNEL(128) cast_sin_cos
// CHECK: fusec::load<V>(t_x
// CHECK: fusec::load<V>(t_z
// CHECK: fusec::Vec<float, V> [[ANGLES:.*]];
// CHECK: [[ANGLES]][lane] =
// CHECK: const auto [[BOTH:.*]] = fusec::fast::sinCos([[ANGLES]]);
// CHECK: const auto [[SINE:.*]] = [[BOTH]].sine;
// CHECK: const auto [[COSINE:.*]] = [[BOTH]].cosine;
// CHECK: [[SINE]][lane] * [[COSINE]][lane]
fusec.model @sines inputs ["x", "z"] outputs ["y"] {
^bb0(%x: tensor<6x8xf16>, %z: tensor<6x8xf16>):
  %0 = fusec.cast %x : tensor<6x8xf16> to tensor<6x8xf32>
  %1 = fusec.sin %0 : tensor<6x8xf32>
  %2 = fusec.cos %0 : tensor<6x8xf32>
  %3 = fusec.mul %1, %2 : tensor<6x8xf32>
  %4 = fusec.cast %z : tensor<6x8xf16> to tensor<6x8xf32>
  %5 = fusec.add %3, %4 : tensor<6x8xf32>
  %6 = fusec.cast %5 : tensor<6x8xf32> to tensor<6x8xf16>
  fusec.output %6 : tensor<6x8xf16>
}

// -----

// A softmax loads its row once, and keeps it and what does not vary along it.
// CHECK-LABEL: FUSEC_KERNEL(128) reduce_sub_exp_div
// CHECK: typedef fusec::WarpScope Scope;
// CHECK: fusec::forEachKept<Scope, 2, 1, true>
// CHECK: fusec::reduceKept<Scope, fusec::Max<float>, 2, 1, true>
// CHECK: fusec::reduceKept<Scope, fusec::Sum<float>, 2, 1, true>
// CHECK: fusec::forEachKept<Scope, 2, 1, true>
fusec.model @softmax inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<8x10xf32>):
  %0 = fusec.reduce max %x axes [1] : tensor<8x10xf32> to tensor<8xf32>
  %1 = fusec.broadcast %0 [0] : tensor<8xf32> to tensor<8x10xf32>
  %2 = fusec.sub %x, %1 : tensor<8x10xf32>
  %3 = fusec.exp %2 : tensor<8x10xf32>
  %4 = fusec.reduce sum %3 axes [1] : tensor<8x10xf32> to tensor<8xf32>
  %5 = fusec.broadcast %4 [0] : tensor<8xf32> to tensor<8x10xf32>
  %6 = fusec.div %3, %5 : tensor<8x10xf32>
  fusec.output %6 : tensor<8x10xf32>
}

// -----

// The epilogue is a pure function; bias is a row, the residual a tile.
// CHECK-LABEL: struct Epilogue
// CHECK: fusec::RowOperand<float
// CHECK: fusec::FullOperand<float
// CHECK: static void apply(const float (&acc)[1], float t_b_at, float t_r_at, float &result)
// CHECK: matmul_add
// CHECK: fusec::gemmSimt<Config>
fusec.model @linear inputs ["x", "w", "b", "r"] outputs ["y"] {
^bb0(%x: tensor<64x32xf32>, %w: tensor<32x48xf32>, %b: tensor<48xf32>, %r: tensor<64x48xf32>):
  %0 = fusec.matmul %x, %w : tensor<64x32xf32>, tensor<32x48xf32> to tensor<64x48xf32>
  %1 = fusec.broadcast %b [1] : tensor<48xf32> to tensor<64x48xf32>
  %2 = fusec.add %0, %1 : tensor<64x48xf32>
  %3 = fusec.add %2, %r : tensor<64x48xf32>
  fusec.output %3 : tensor<64x48xf32>
}

// -----

// Enough of K, and of tiles: fp32 as three products of tf32.
// CHECK-LABEL: #include "gemm_mma.h"
// CHECK: struct Tiling {
// CHECK-NEXT: static constexpr int tileM = 128, tileN = 128, tileK = 32, warpsM = 4, warpsN = 4, stages = 3;
// CHECK: FUSEC_KERNEL(512) matmul
// CHECK: typedef fusec::Tf32x3Config<Tiling> Config;
// CHECK: fusec::gemmMma<Config>
fusec.model @large inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<4096x4096xf32>, %w: tensor<4096x4096xf32>):
  %0 = fusec.matmul %x, %w : tensor<4096x4096xf32>, tensor<4096x4096xf32> to tensor<4096x4096xf32>
  fusec.output %0 : tensor<4096x4096xf32>
}

// -----

// A matrix of equal columns lies across K, one of equal elements is read
// through its strides.
// CHECK: fusec::Segment<fusec::Matrix<float, fusec::Major::Outer,
// CHECK: Segment0{{[{][{]}}t_x, 0, {{[{][}]}}},
// CHECK: fusec::Segment<fusec::Matrix<float, fusec::Major::Strided,
// CHECK: Segment0{{[{][{]}}t_s, 0, {{[{][}]}}, 0},
fusec.model @equal_columns inputs ["x", "s", "v"] outputs ["a", "b"] {
^bb0(%x: tensor<9xf32>, %s: tensor<f32>, %v: tensor<5x33xf32>):
  %0 = fusec.broadcast %x [0] : tensor<9xf32> to tensor<9x5xf32>
  %1 = fusec.matmul %0, %v : tensor<9x5xf32>, tensor<5x33xf32> to tensor<9x33xf32>
  %2 = fusec.broadcast %s [] : tensor<f32> to tensor<9x5xf32>
  %3 = fusec.matmul %2, %v : tensor<9x5xf32>, tensor<5x33xf32> to tensor<9x33xf32>
  fusec.output %1, %3 : tensor<9x33xf32>, tensor<9x33xf32>
}
