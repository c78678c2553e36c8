// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chains of products: what is read is copied first, phases hold their values.

// RUN: fusec-opt --pass-pipeline="builtin.module(fusec.model(fusec-form-contractions,fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-form-chains,fusec-assign-storage,fusec-choose-schedules))" %s | fusec-translate --fusec-to-cuda | FileCheck %s

// The hidden value is both held and stored; weights lie as their matrices do.
// CHECK: struct Shared {
// CHECK-DAG: fusec::ChainTile<float, [[R:[0-9]+]], 6> {{.*}};
// CHECK-DAG: fusec::ChainTile<float, [[R]], 12> x_tile;
// CHECK-DAG: fusec::ChainTile<float, 12, 6> v_tile;
// CHECK-DAG: fusec::ChainTile<float, 5, 6> w_tile;
// CHECK-DAG: fusec::ChainTile<float, 1, 5> b_tile;
// CHECK-DAG: fusec::ChainTile<float, [[R]], 5> r_tile;
// CHECK: struct Phase {
// CHECK: typedef fusec::Pack<fusec::FullResult<float>,
// CHECK-NEXT: fusec::FullResult<float>> Results;
// CHECK: struct Phase_2 {
// CHECK: typedef fusec::Pack<fusec::RowOperand<float>,
// CHECK-NEXT: fusec::FullOperand<float>> Operands;
// CHECK: static void apply(const float (&acc)[1], float b_at, float r_at,
// CHECK: FUSEC_KERNEL({{[0-9]+}}) chain_matmul_relu_matmul_add
// CHECK: Shared &shared = fusec::chainShared<Shared>();
// CHECK: fusec::stage<4>(shared.v_tile, v, 6, 0);
// CHECK: fusec::stage<4>(shared.w_tile, w, 6, 1);
// CHECK: fusec::forEachRowTile<[[R]]>(batch, [&](fusec::i64 first, int rows) {
// CHECK: fusec::stage<4>(shared.x_tile, x + first * 12, 12, 3, rows);
// CHECK: fusec::waitStaged();
// CHECK: fusec::chainPhase<{{[0-9]+}}, 6>(rows, phase,
// CHECK-NEXT: fusec::chainSegment<12>(fusec::alongK(shared.x_tile), fusec::acrossK(shared.v_tile)));
// CHECK: {shared.b_tile.at},
// CHECK: {y + first * 5, {5}}
// CHECK: fusec::chainPhase<{{[0-9]+}}, 5>(rows, phase_2,
// CHECK-NEXT: fusec::chainSegment<6>(fusec::alongK(shared.relu_tile), fusec::alongK(shared.w_tile)));
fusec.model @layers inputs ["x", "v", "w", "b", "r"] outputs ["h", "y"] {
^bb0(%x: tensor<?x12xf32, #fusec.sizes<[batch, 12]>>, %v: tensor<12x6xf32>, %w: tensor<5x6xf32>, %b: tensor<5xf32>, %r: tensor<?x5xf32, #fusec.sizes<[batch, 5]>>):
  %0 = fusec.matmul %x, %v : tensor<?x12xf32, #fusec.sizes<[batch, 12]>>, tensor<12x6xf32> to tensor<?x6xf32, #fusec.sizes<[batch, 6]>>
  %1 = fusec.relu %0 : tensor<?x6xf32, #fusec.sizes<[batch, 6]>>
  %2 = fusec.matmul %1, %w transposed : tensor<?x6xf32, #fusec.sizes<[batch, 6]>>, tensor<5x6xf32> to tensor<?x5xf32, #fusec.sizes<[batch, 5]>>
  %3 = fusec.broadcast %b [1] : tensor<5xf32> to tensor<?x5xf32, #fusec.sizes<[batch, 5]>>
  %4 = fusec.add %2, %3 : tensor<?x5xf32, #fusec.sizes<[batch, 5]>>
  %5 = fusec.add %4, %r : tensor<?x5xf32, #fusec.sizes<[batch, 5]>>
  fusec.output %1, %5 : tensor<?x6xf32, #fusec.sizes<[batch, 6]>>, tensor<?x5xf32, #fusec.sizes<[batch, 5]>>
}
