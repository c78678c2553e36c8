// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-form-transposes,fusec-join-siblings))" %s | FileCheck %s
// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-form-transposes,fusec-join-siblings))" --remarks-filter=fusion %s 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-join-siblings{reductions}))" %s | FileCheck %s --check-prefix=ROWS

// What both read is read once.
// CHECK-LABEL: of @both
// CHECK: fusec.step pointwise "sin_cos" inputs [@x] outputs [@s, @c]
// CHECK-NOT: fusec.step
// REMARK: join-siblings
// REMARK-SAME: Remark="'sin' and 'cos'", Remark=" are one kernel"
fusec.model @both inputs ["x"] outputs ["s", "c"] {
^bb0(%x: tensor<4096x4096xf32>):
  %0 = fusec.sin %x : tensor<4096x4096xf32>
  %1 = fusec.cos %x : tensor<4096x4096xf32>
  fusec.output %0, %1 : tensor<4096x4096xf32>, tensor<4096x4096xf32>
}

// -----

// Short ones of different sizes are one launch.
// CHECK-LABEL: of @short
// CHECK: fusec.step pointwise "neg_exp" inputs [@q, @k] outputs [@a, @b]
// CHECK-NOT: fusec.step
fusec.model @short inputs ["q", "k"] outputs ["a", "b"] {
^bb0(%q: tensor<8x32x128xf16>, %k: tensor<8x8x128xf16>):
  %0 = fusec.neg %q : tensor<8x32x128xf16>
  %1 = fusec.exp %k : tensor<8x8x128xf16>
  fusec.output %0, %1 : tensor<8x32x128xf16>, tensor<8x8x128xf16>
}

// -----

// Parts of one tensor that are long, too: they save a launch, which three show.
// CHECK-LABEL: of @thirds
// CHECK: fusec.step pointwise "slice_slice_slice" inputs [@x] outputs [@a, @b, @c]
// CHECK-NOT: fusec.step
fusec.model @thirds inputs ["x"] outputs ["a", "b", "c"] {
^bb0(%x: tensor<16384x3072xf16>):
  %0 = fusec.slice %x offsets [#fusec.expr<0>, #fusec.expr<0>] steps [1, 1] : tensor<16384x3072xf16> to tensor<16384x1024xf16>
  %1 = fusec.slice %x offsets [#fusec.expr<0>, #fusec.expr<1024>] steps [1, 1] : tensor<16384x3072xf16> to tensor<16384x1024xf16>
  %2 = fusec.slice %x offsets [#fusec.expr<0>, #fusec.expr<2048>] steps [1, 1] : tensor<16384x3072xf16> to tensor<16384x1024xf16>
  fusec.output %0, %1, %2 : tensor<16384x1024xf16>, tensor<16384x1024xf16>, tensor<16384x1024xf16>
}

// -----

// Long ones that read nothing in common, what goes by tiles, one that reads the
// other's result by way of a third, and widths that differ.
// CHECK-LABEL: of @apart
// CHECK-NOT: fusec.step pointwise {{.*}} outputs [@{{[a-z]+}}, @
fusec.model @apart inputs ["x", "y", "z", "u", "v"] outputs ["a", "b", "c", "d", "e", "f"] {
^bb0(%x: tensor<8192x8192xf32>, %y: tensor<8192x8192xf32>, %z: tensor<512x512xf32>, %u: tensor<64x64xf32>, %v: tensor<33x33xf32>):
  %0 = fusec.neg %x : tensor<8192x8192xf32>
  %1 = fusec.exp %y : tensor<8192x8192xf32>
  %2 = fusec.transpose %z [1, 0] : tensor<512x512xf32> to tensor<512x512xf32>
  %3 = fusec.neg %u : tensor<64x64xf32>
  %4 = fusec.reduce max %3 axes [0] : tensor<64x64xf32> to tensor<64xf32>
  %5 = fusec.broadcast %4 [1] : tensor<64xf32> to tensor<64x64xf32>
  %6 = fusec.sub %u, %5 : tensor<64x64xf32>
  %7 = fusec.exp %v : tensor<33x33xf32>
  fusec.output %0, %1, %2, %3, %6, %7 : tensor<8192x8192xf32>, tensor<8192x8192xf32>, tensor<512x512xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<33x33xf32>
}

// -----

// One that is joined where the earlier of the two stood is before those that read
// its results, and is no sibling of them.
// CHECK-LABEL: of @before
// CHECK: fusec.step pointwise "neg_exp" inputs [@x] outputs [@a, @d]
// CHECK: fusec.step pointwise "concat_relu" inputs [@y, @a] outputs [@c]
// REMARK-NOT: 'concat_relu' and 'neg_exp'
fusec.model @before inputs ["x", "y", "w"] outputs ["a", "b", "c", "d"] {
^bb0(%x: tensor<100x7xf32>, %y: tensor<100x32xf32>, %w: tensor<7x16xf32>):
  %0 = fusec.neg %x : tensor<100x7xf32>
  %1 = fusec.matmul %0, %w : tensor<100x7xf32>, tensor<7x16xf32> to tensor<100x16xf32>
  %2 = fusec.concat %y, %0 axis 1 : tensor<100x32xf32>, tensor<100x7xf32> to tensor<100x39xf32>
  %3 = fusec.relu %2 : tensor<100x39xf32>
  %4 = fusec.exp %x : tensor<100x7xf32>
  fusec.output %0, %1, %3, %4 : tensor<100x7xf32>, tensor<100x16xf32>, tensor<100x39xf32>, tensor<100x7xf32>
}

// -----

// Reductions of one tensor that one walk finds; a sum beside these, one over
// another axis, and one of another tensor stay apart, and pointwise steps are
// left to the other pass.
// ROWS-LABEL: of @both
// ROWS-NOT: outputs [@s, @c]
// ROWS-LABEL: of @reductions
// ROWS: fusec.step reduce "reduce_arg_reduce" inputs [@x] outputs [@a, @b]
// ROWS: fusec.step reduce "reduce" inputs [@x] outputs [@c]
// ROWS: fusec.step reduce "reduce" inputs [@x] outputs [@d]
// ROWS: fusec.step reduce "reduce" inputs [@y] outputs [@e]
// ROWS-NOT: fusec.step
fusec.model @reductions inputs ["x", "y"] outputs ["a", "b", "c", "d", "e"] {
^bb0(%x: tensor<8192x4096xf32>, %y: tensor<8192x4096xf32>):
  %0 = fusec.reduce max %x axes [1] : tensor<8192x4096xf32> to tensor<8192xf32>
  %1 = fusec.arg_reduce max %x axis 1 : tensor<8192x4096xf32> to tensor<8192xi64>
  %2 = fusec.reduce sum %x axes [1] : tensor<8192x4096xf32> to tensor<8192xf32>
  %3 = fusec.reduce sum %x axes [0] : tensor<8192x4096xf32> to tensor<4096xf32>
  %4 = fusec.reduce sum %y axes [1] : tensor<8192x4096xf32> to tensor<8192xf32>
  fusec.output %0, %1, %2, %3, %4 : tensor<8192xf32>, tensor<8192xi64>, tensor<8192xf32>, tensor<4096xf32>, tensor<8192xf32>
}
