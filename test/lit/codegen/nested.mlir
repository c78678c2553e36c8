// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-nest-reductions{always},fusec-assign-storage,fusec-choose-schedules,fusec-plan-launches))" %s | fusec-translate --split-input-file --fusec-to-cuda | FileCheck %s

// What threads find of their columns is kept, then reduced along the row; results
// at every column are stored by the first group, that of the row once.
// CHECK-LABEL: reduce_mul_reduce_rsqrt_mul_0(
// CHECK: typedef fusec::RowOfColumns<Columns, {{[0-9]+}}> Scope;
// CHECK: fusec::forEachRowOfColumns<Scope>(8192, [&](fusec::i64 group, bool isMine) {
// CHECK: const int stored = isMine && Columns::rank() == 0 ? length : 0;
// CHECK: fusec::forEachItems<Scope, [[V:[0-9]+]], [[K:[0-9]+]]>(length, [&](int step, int column) {
// CHECK: const int depth = 50;
// CHECK: const fusec::Passing<fusec::f16> [[ONCE:.*]](t_x);
// CHECK: fusec::reduceColumns<Columns, fusec::Sum<float>, [[V]]>(depth,
// CHECK: found[step][lane] =
// CHECK: fusec::reduceKept<Scope, fusec::Sum<float>, [[V]], [[K]]>(length, [&](int step, int k, auto add) {
// CHECK: fusec::forEachKept<Scope, [[V]], [[K]]>(stored, [&](int step, int k) {
fusec.model @pool_norm inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<8192x50x64xf16>):
  %0 = fusec.reduce sum %x axes [1] : tensor<8192x50x64xf16> to tensor<8192x64xf16>
  %1 = fusec.mul %0, %0 : tensor<8192x64xf16>
  %2 = fusec.reduce sum %1 axes [1] : tensor<8192x64xf16> to tensor<8192xf16>
  %3 = fusec.rsqrt %2 : tensor<8192xf16>
  %4 = fusec.broadcast %3 [0] : tensor<8192xf16> to tensor<8192x64xf16>
  %5 = fusec.mul %0, %4 : tensor<8192x64xf16>
  fusec.output %5 : tensor<8192x64xf16>
}

// -----

// Columns this short are loaded at once: five fields a thread of eight.
// CHECK-LABEL: FUSEC_KERNEL_RESIDENT(128, 8) reduce_mul_reduce_0(
// CHECK: typedef fusec::WarpColumnScope<128, 2, 8> Columns;
// CHECK: fusec::Vec<fusec::f16, 8> kept[fusec::keptSteps<Columns, 5>];
// CHECK: fusec::forEachKept<Columns, 1, 5, true>(depth, [&](int step, int k) {
// CHECK: kept[step] = fusec::load<8>(
// CHECK: fusec::reduceKeptColumns<Columns, fusec::Sum<float>, 8, 5, true>(depth,
fusec.model @fields inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<65536x39x16xf16>):
  %0 = fusec.reduce sum %x axes [1] : tensor<65536x39x16xf16> to tensor<65536x16xf16>
  %1 = fusec.mul %0, %0 : tensor<65536x16xf16>
  %2 = fusec.reduce sum %1 axes [1] : tensor<65536x16xf16> to tensor<65536xf16>
  fusec.output %2 : tensor<65536xf16>
}
