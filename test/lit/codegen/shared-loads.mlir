// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is the same for all lanes of a vector along a row, such as the scale of
// a channel, keeps none from having vectors, and is loaded once for them.

// RUN: fusec-opt --pass-pipeline="builtin.module(fusec.model(fusec-contractions,fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-assign-storage,fusec-choose-schedules,fusec-plan-launches))" %s | fusec-translate --fusec-to-cuda | FileCheck %s

// CHECK: fusec::load<8>(t_x
// CHECK: constexpr int V = 8;
// CHECK: constexpr int V = 8;
// CHECK-NEXT: const float [[SCALE:t_scale_at]] = fusec::cast<float>(t_scale[{{.*}}k / 256]);
// CHECK: for (int lane = 0; lane < V; ++lane) {
// CHECK-NOT: t_scale[
// CHECK: * [[SCALE]]
// CHECK: fusec::store<V>(t_y
fusec.model @channels inputs ["x", "scale"] outputs ["y"] {
^bb0(%x: tensor<64x8x16x16xf16>, %scale: tensor<8xf16>):
  %0 = fusec.collapse %x [[0], [1, 2, 3]] : tensor<64x8x16x16xf16> to tensor<64x2048xf16>
  %1 = fusec.expand %0 [[0], [1, 2]] : tensor<64x2048xf16> to tensor<64x2x1024xf16>
  %2 = fusec.cast %1 : tensor<64x2x1024xf16> to tensor<64x2x1024xf32>
  %3 = fusec.reduce sum %2 axes [2] : tensor<64x2x1024xf32> to tensor<64x2xf32>
  %4 = fusec.broadcast %3 [0, 1] : tensor<64x2xf32> to tensor<64x2x1024xf32>
  %5 = fusec.sub %2, %4 : tensor<64x2x1024xf32>
  %6 = fusec.cast %5 : tensor<64x2x1024xf32> to tensor<64x2x1024xf16>
  %7 = fusec.collapse %6 [[0], [1, 2]] : tensor<64x2x1024xf16> to tensor<64x2048xf16>
  %8 = fusec.expand %7 [[0], [1, 2, 3]] : tensor<64x2048xf16> to tensor<64x8x16x16xf16>
  %9 = fusec.broadcast %scale [1] : tensor<8xf16> to tensor<64x8x16x16xf16>
  %10 = fusec.mul %8, %9 : tensor<64x8x16x16xf16>
  fusec.output %10 : tensor<64x8x16x16xf16>
}
