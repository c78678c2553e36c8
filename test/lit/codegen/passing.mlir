// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-contractions,fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-assign-storage,fusec-choose-schedules))" %s | fusec-translate --split-input-file --fusec-to-cuda | FileCheck %s

// What is read once leaves L2 first, not what all rows share.
// CHECK-LABEL: FUSEC_KERNEL(128) add
// CHECK: const fusec::Passing<float> t_x_once(t_x);
// CHECK-NOT: Passing
// CHECK: fusec::load<V>(t_x_once + base)
// CHECK: fusec::load<V>(t_b +
fusec.model @once inputs ["x", "b"] outputs ["y"] {
^bb0(%x: tensor<2048x1024xf32>, %b: tensor<1024xf32>):
  %0 = fusec.broadcast %b [1] : tensor<1024xf32> to tensor<2048x1024xf32>
  %1 = fusec.add %x, %0 : tensor<2048x1024xf32>
  fusec.output %1 : tensor<2048x1024xf32>
}

// -----

// Of 64 and of 1024 MB it stays, so that what is stored is written back soon; of 25 MB, too,
// of which what a next kernel stores has room beside it, and not of 38 MB.
// CHECK-LABEL: FUSEC_KERNEL(128) exp
// CHECK: const fusec::Staying<float> t_x_once(t_x);
// CHECK: fusec::load<V>(t_x_once + base)
fusec.model @large inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<8192x1024xf32>):
  %0 = fusec.exp %x : tensor<8192x1024xf32>
  fusec.output %0 : tensor<8192x1024xf32>
}

// -----

// CHECK-LABEL: FUSEC_KERNEL({{[0-9]+}}) exp
// CHECK: const fusec::Staying<float> t_x_once(t_x);
fusec.model @huge inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<16384x8192xf32>):
  %0 = fusec.exp %x : tensor<16384x8192xf32>
  fusec.output %0 : tensor<16384x8192xf32>
}

// -----

// CHECK-LABEL: FUSEC_KERNEL(128) exp
// CHECK: const fusec::Staying<float> t_x_once(t_x);
fusec.model @medium inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<3072x1024xf32>):
  %0 = fusec.exp %x : tensor<3072x1024xf32>
  fusec.output %0 : tensor<3072x1024xf32>
}

// -----

// CHECK-LABEL: FUSEC_KERNEL(128) exp
// CHECK: const fusec::Passing<float> t_x_once(t_x);
fusec.model @held inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<4600x1024xf32>):
  %0 = fusec.exp %x : tensor<4600x1024xf32>
  fusec.output %0 : tensor<4600x1024xf32>
}

// -----

// Three megabytes that two images share are read twice, also where one
// dimension is all that is left of three.
// CHECK-LABEL: // add
// CHECK-NOT: Passing<float> t_p_once
// CHECK: Passing<float> t_x_once
// CHECK-NOT: Passing<float> t_p_once
// CHECK: t_p
fusec.model @shared inputs ["x", "p"] outputs ["y"] {
^bb0(%x: tensor<2x1023x777xf32>, %p: tensor<1023x777xf32>):
  %0 = fusec.broadcast %p [1, 2] : tensor<1023x777xf32> to tensor<2x1023x777xf32>
  %1 = fusec.add %x, %0 : tensor<2x1023x777xf32>
  fusec.output %1 : tensor<2x1023x777xf32>
}

// -----

// Rows that indices name may be asked for again: they do not leave first, but may
// stay.
// CHECK-LABEL: gather_0(
// CHECK-NOT: Passing
fusec.model @named inputs ["t", "i"] outputs ["y"] {
^bb0(%t: tensor<65536x64xf32>, %i: tensor<32768xi64>):
  %j = fusec.broadcast %i [0] : tensor<32768xi64> to tensor<32768x64xi64>
  %0 = fusec.gather %t [-1, 1](%j) flag : (tensor<65536x64xf32>, tensor<32768x64xi64>) -> tensor<32768x64xf32>
  fusec.output %0 : tensor<32768x64xf32>
}

// -----

// CHECK-LABEL: gather_0(
// CHECK: const fusec::Staying<float> t_t_once(t_t);
fusec.model @named_large inputs ["t", "i"] outputs ["y"] {
^bb0(%t: tensor<65536x256xf32>, %i: tensor<32768xi64>):
  %j = fusec.broadcast %i [0] : tensor<32768xi64> to tensor<32768x256xi64>
  %0 = fusec.gather %t [-1, 1](%j) flag : (tensor<65536x256xf32>, tensor<32768x256xi64>) -> tensor<32768x256xf32>
  fusec.output %0 : tensor<32768x256xf32>
}

// -----

// What is shifted stays, backwards, too.
// CHECK-LABEL: FUSEC_KERNEL(256) slice_0(
// CHECK: const fusec::Staying<fusec::f16> t_x_once(t_x);
// CHECK: const auto t_x_once_around = fusec::loadAround<V>(t_x_once + row * 4097 - column + 4096 - (V - 1));
// CHECK-NEXT: const auto t_x_once_at = fusec::reverse(fusec::shift(t_x_once_around));
fusec.model @backwards inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<4096x4097xf16>):
  %0 = fusec.slice %x offsets [#fusec.expr<0>, #fusec.expr<4096>] steps [1, -1] : tensor<4096x4097xf16> to tensor<4096x4097xf16>
  fusec.output %0 : tensor<4096x4097xf16>
}
