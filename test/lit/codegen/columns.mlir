// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions whose rows lie beside each other: threads take vectors of columns.

// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-assign-storage,fusec-choose-schedules,fusec-plan-launches))" %s | fusec-translate --split-input-file --fusec-to-cuda | FileCheck %s

// Parts of a split product and its bias, which is read by vectors, too.
// CHECK-LABEL: FUSEC_KERNEL(256) reduce_add
// CHECK: typedef fusec::ColumnScope<256, [[GROUPS:[0-9]+]]> Scope;
// CHECK: constexpr int V = 4;
// CHECK: fusec::forEachColumns<Scope>(262144,
// CHECK: const auto reduce = fusec::reduceColumns<Scope, fusec::Sum<float>, 4>(length, [&](int k, auto add) {
// CHECK: fusec::load<V>(t_p_once + row * 512 + k * 1048576 + column)
// CHECK: add(lane, t_p_once_at[lane]);
// CHECK: if (isMine && Scope::rank() == 0) {
// CHECK: fusec::load<V>(t_b + column)
// CHECK: fusec::store<V>(t_y + row * 512 + column,
fusec.model @parts inputs ["p", "b"] outputs ["y"] {
^bb0(%p: tensor<6x2048x512xf32>, %b: tensor<512xf32>):
  %0 = fusec.reduce sum %p axes [0] : tensor<6x2048x512xf32> to tensor<2048x512xf32>
  %1 = fusec.broadcast %b [1] : tensor<512xf32> to tensor<2048x512xf32>
  %2 = fusec.add %0, %1 : tensor<2048x512xf32>
  fusec.output %2 : tensor<2048x512xf32>
}

// -----

// Over a middle axis: every point is stored by who read it.
// CHECK-LABEL: FUSEC_KERNEL(256) reduce_sub
// CHECK: fusec::reduceColumns<Scope, fusec::Max<float>, 8>
// CHECK: fusec::load<V>(t_x + row * 8192 + k * 64 + column)
// CHECK: fusec::forEachIn<Scope>(length, [&](int k) {
// CHECK: fusec::store<V>(t_y + row * 8192 + k * 64 + column,
fusec.model @middle inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<512x128x64xf16>):
  %0 = fusec.reduce max %x axes [1] : tensor<512x128x64xf16> to tensor<512x64xf16>
  %1 = fusec.broadcast %0 [0, 2] : tensor<512x64xf16> to tensor<512x128x64xf16>
  %2 = fusec.sub %x, %1 : tensor<512x128x64xf16>
  fusec.output %2 : tensor<512x128x64xf16>
}

// -----

// Of a transposed matrix the rows lie beside each other.
// CHECK-LABEL: FUSEC_KERNEL(256) reduce
// CHECK: fusec::load<V>(t_x + k * 64 + column)
fusec.model @transposed inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<1024x64xf32>):
  %0 = fusec.transpose %x [1, 0] : tensor<1024x64xf32> to tensor<64x1024xf32>
  %1 = fusec.reduce sum %0 axes [1] : tensor<64x1024xf32> to tensor<64xf32>
  fusec.output %1 : tensor<64xf32>
}

// -----

// Weights that all columns share lie along rows, beside which they are little.
// CHECK-LABEL: FUSEC_KERNEL(256) mul_reduce
// CHECK: constexpr int V = 4;
// CHECK: const float [[WEIGHT:.*]] = t_w[row * 100 + k];
// CHECK: fusec::load<V>(t_x_once + row * 6400 + k * 64 + column)
// CHECK: fusec::store<V>(t_y + row * 64 + column,
fusec.model @weighted inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<4096x100x64xf32>, %w: tensor<4096x100xf32>):
  %0 = fusec.broadcast %w [0, 1] : tensor<4096x100xf32> to tensor<4096x100x64xf32>
  %1 = fusec.mul %x, %0 : tensor<4096x100x64xf32>
  %2 = fusec.reduce sum %1 axes [1] : tensor<4096x100x64xf32> to tensor<4096x64xf32>
  fusec.output %2 : tensor<4096x64xf32>
}

// -----

// Few columns, of no whole vectors, take all threads of a multiprocessor.
// CHECK-LABEL: FUSEC_KERNEL(1024) arg_reduce
// CHECK: typedef fusec::ColumnScope<1024, 128> Scope;
fusec.model @few inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<4096x1001xf32>):
  %0 = fusec.arg_reduce min %x axis 0 : tensor<4096x1001xf32> to tensor<1001xi64>
  fusec.output %0 : tensor<1001xi64>
}
