// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chains of products: what is read is copied first, phases hold their values.

// RUN: fusec-opt --pass-pipeline="builtin.module(fusec.model(fusec-contractions,fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-form-chains,fusec-assign-storage,fusec-choose-schedules))" %s | fusec-translate --fusec-to-cuda | FileCheck %s

// The hidden value is both held and stored; weights lie as their matrices do.
// CHECK: struct Shared {
// CHECK-DAG: fusec::ChainTile<float, [[R:[0-9]+]], 6> {{.*}};
// CHECK-DAG: fusec::ChainTile<float, [[R]], 12> t_x_tile;
// CHECK-DAG: fusec::ChainTile<float, 12, 6> t_v_tile;
// CHECK-DAG: fusec::ChainTile<float, 5, 6> t_w_tile;
// CHECK-DAG: fusec::ChainTile<float, 1, 5> t_b_tile;
// CHECK-DAG: fusec::ChainTile<float, [[R]], 5> t_r_tile;
// CHECK: struct Phase {
// CHECK: typedef fusec::Pack<fusec::FullResult<float>,
// CHECK-NEXT: fusec::FullResult<float>> Results;
// CHECK: struct Phase_2 {
// CHECK: typedef fusec::Pack<fusec::RowOperand<float>,
// CHECK-NEXT: fusec::FullOperand<float>> Operands;
// CHECK: static void apply(const float (&acc)[1], float t_b_at, float t_r_at,
// CHECK: FUSEC_KERNEL({{[0-9]+}}) chain_matmul_relu_matmul_add
// CHECK: Shared &shared = fusec::chainShared<Shared>();
// CHECK: fusec::stage<4>(shared.t_v_tile, t_v, 6, 0);
// CHECK: fusec::stage<4>(shared.t_w_tile, t_w, 6, 1);
// CHECK: fusec::forEachRowTile<[[R]]>(n_batch, [&](fusec::i64 first, int rows) {
// CHECK: fusec::stage<4>(shared.t_x_tile, t_x + first * 12, 12, 3, rows);
// CHECK: fusec::waitStaged();
// CHECK: fusec::chainPhase<{{[0-9]+}}, 6>(rows, phase,
// CHECK-NEXT: fusec::chainSegment<12>(fusec::alongK(shared.t_x_tile), fusec::acrossK(shared.t_v_tile)));
// CHECK: {shared.t_b_tile.at},
// CHECK: {t_y + first * 5, {5}}
// CHECK: fusec::chainPhase<{{[0-9]+}}, 5>(rows, phase_2,
// CHECK-NEXT: fusec::chainSegment<6>(fusec::alongK(shared.relu_tile), fusec::alongK(shared.t_w_tile)));
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
