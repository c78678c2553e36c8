// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions over the rows of a product: phases of its epilogue, each of which
// sees the results of those before it, and results that are stored once a row.

// RUN: fusec-opt --pass-pipeline="builtin.module(fusec.model(fusec-contractions,fusec-form-fusions),fusec-build-plans{targets=sm_80},fusec.plan(fusec-form-row-epilogues{always},fusec-assign-storage,fusec-choose-schedules))" %s | fusec-translate --fusec-to-cuda | FileCheck %s

// CHECK: struct Epilogue {
// CHECK: typedef fusec::Pack<fusec::RowOperand<fusec::f16, {{.*}}>> Operands;
// CHECK-NEXT: typedef fusec::Pack<fusec::ColumnResult<fusec::i64, fusec::Stride, fusec::Unbatched>,
// CHECK-NEXT: fusec::FullResult<fusec::f16, {{.*}}>> Results;
// CHECK: struct Row {
// CHECK-NEXT: fusec::ArgMax<float>::Value arg_reduce;
// CHECK-NEXT: fusec::Max<float>::Value reduce;
// CHECK-NEXT: fusec::Sum<float>::Value reduce_2;
// CHECK-NEXT: };
// CHECK-NEXT: struct Phase {
// CHECK-NEXT: typedef float Accumulator;
// CHECK-NEXT: typedef fusec::ArgMax<float> Combiner;
// CHECK-NEXT: static Combiner::Value &of(Row &row) { return row.arg_reduce; }
// CHECK-NEXT: static void apply(const float (&acc)[1], const Row &row, float t_b_at, float &value) {
// CHECK: struct Phase_2 {
// CHECK: typedef fusec::Max<float> Combiner;
// CHECK: struct Phase_3 {
// CHECK: static void apply(const float (&acc)[1], const Row &row, float t_b_at, float &[[VALUE:value_[0-9]+]]) {
// CHECK: fusec::cast<float>(fusec::cast<fusec::f16>(row.reduce))
// CHECK: [[VALUE]] = exp_v;
// CHECK: typedef fusec::Phases<Phase, Phase_2, Phase_3> Phases;
// CHECK-NEXT: static void apply(const float (&acc)[1], const Row &row, float t_b_at, fusec::i64 &result,
// CHECK-NEXT: float &result_2) {
// CHECK-NEXT: result = row.arg_reduce.index;
// CHECK: / fusec::cast<float>(fusec::cast<fusec::f16>(row.reduce_2))
// CHECK: FUSEC_KERNEL
// CHECK: {t_i, {1}, {}},
fusec.model @place inputs ["x", "w", "b"] outputs ["y", "i"] {
^bb0(%x: tensor<500x24xf16>, %w: tensor<24x64xf16>, %b: tensor<64xf16>):
  %0 = fusec.matmul %x, %w : tensor<500x24xf16>, tensor<24x64xf16> to tensor<500x64xf16>
  %1 = fusec.broadcast %b [1] : tensor<64xf16> to tensor<500x64xf16>
  %2 = fusec.add %0, %1 : tensor<500x64xf16>
  %3 = fusec.reduce max %2 axes [1] : tensor<500x64xf16> to tensor<500xf16>
  %4 = fusec.arg_reduce max %2 axis 1 : tensor<500x64xf16> to tensor<500xi64>
  %5 = fusec.broadcast %3 [0] : tensor<500xf16> to tensor<500x64xf16>
  %6 = fusec.sub %2, %5 : tensor<500x64xf16>
  %7 = fusec.exp %6 : tensor<500x64xf16>
  %8 = fusec.reduce sum %7 axes [1] : tensor<500x64xf16> to tensor<500xf16>
  %9 = fusec.broadcast %8 [0] : tensor<500xf16> to tensor<500x64xf16>
  %10 = fusec.div %7, %9 : tensor<500x64xf16>
  fusec.output %10, %4 : tensor<500x64xf16>, tensor<500xi64>
}
