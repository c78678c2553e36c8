// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-join-siblings{reductions},fusec-split-reductions))" %s | FileCheck %s
// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-join-siblings{reductions},fusec-split-reductions))" --remarks-filter=fusion %s 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// Sums of halves pass in fp32; two reductions of one reading split together.
// CHECK-LABEL: of @all
// CHECK: fusec.buffer @parts slot {{.*}} : tensor<[[P:[0-9]+]]xf32>
// CHECK: fusec.step reduce "mul_reduce_sqrt_add_parts" inputs [@x] outputs [@parts, @parts_0]
// CHECK: %[[M:.+]] = fusec.mul
// CHECK: %[[W:.+]] = fusec.cast %[[M]] : tensor<8192x8192xf16> to tensor<8192x8192xf32>
// CHECK: fusec.reduce sum %[[W]] axes [0, 1] parts [[P]] : tensor<8192x8192xf32> to tensor<[[P]]xf32>
// CHECK: fusec.step reduce "mul_reduce_sqrt_add" inputs [@parts, @parts_0] outputs [@y]
// CHECK: %[[S:.+]] = fusec.reduce sum %{{.+}} axes [0] : tensor<[[P]]xf32> to tensor<f32>
// CHECK: %[[C:.+]] = fusec.cast %[[S]] : tensor<f32> to tensor<f16>
// CHECK: fusec.sqrt %[[C]]
// REMARK: 'mul_reduce_sqrt_add' reduces {{[0-9]+}} parts of each row
fusec.model @all inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<8192x8192xf16>):
  %0 = fusec.mul %x, %x : tensor<8192x8192xf16>
  %1 = fusec.reduce sum %0 axes [0, 1] : tensor<8192x8192xf16> to tensor<f16>
  %2 = fusec.sqrt %1 : tensor<f16>
  %3 = fusec.reduce max %x axes [0, 1] : tensor<8192x8192xf16> to tensor<f16>
  %4 = fusec.add %2, %3 : tensor<f16>
  fusec.output %4 : tensor<f16>
}

// -----

// Rows enough for all multiprocessors, a softmax, and a place in how many items
// nobody knows.
// CHECK-LABEL: of @others
// CHECK-NOT: parts
fusec.model @others inputs ["x", "s", "i"] outputs ["a", "b", "c"] {
^bb0(%x: tensor<65536x512xf32>, %s: tensor<2x65536xf32>, %i: tensor<?xf32, #fusec.sizes<[n]>>):
  %0 = fusec.reduce sum %x axes [1] : tensor<65536x512xf32> to tensor<65536xf32>
  %1 = fusec.reduce max %s axes [1] : tensor<2x65536xf32> to tensor<2xf32>
  %2 = fusec.broadcast %1 [0] : tensor<2xf32> to tensor<2x65536xf32>
  %3 = fusec.sub %s, %2 : tensor<2x65536xf32>
  %4 = fusec.arg_reduce max %i axis 0 : tensor<?xf32, #fusec.sizes<[n]>> to tensor<i64>
  fusec.output %0, %3, %4 : tensor<65536xf32>, tensor<2x65536xf32>, tensor<i64>
}

// -----

// A row of which parts have their own largest item and the exponentials below
// it: the second step puts these below the row's, and divides.
// CHECK-LABEL: of @softmax
// CHECK: fusec.step reduce "reduce_sub_exp_div_parts" inputs [@x] outputs [@mosts, @sums]
// CHECK: %[[M:.+]] = fusec.reduce max %[[X:.+]] axes [1] parts [[P:[0-9]+]] : tensor<1x262144xf32> to tensor<[[P]]x1xf32>
// CHECK: %[[F:.+]] = fusec.select %{{.+}}, %[[M]], %{{.+}}
// CHECK: %[[T:.+]] = fusec.transpose %[[F]] [1, 0]
// CHECK: %[[B:.+]] = fusec.broadcast %[[T]] [0, 1]
// CHECK: %[[S:.+]] = fusec.collapse %[[B]] {{.*}} to tensor<1x262144xf32>
// CHECK: %[[D:.+]] = fusec.sub %[[X]], %[[S]]
// CHECK: %[[E:.+]] = fusec.exp %[[D]]
// CHECK: fusec.reduce sum %[[E]] axes [1] parts [[P]]
// CHECK: fusec.step reduce "reduce_sub_exp_div" inputs [@mosts, @sums, @x] outputs [@y]
// CHECK: %[[R:.+]] = fusec.reduce max %{{.+}} axes [0] : tensor<[[P]]x1xf32> to tensor<1xf32>
// CHECK: %[[W:.+]] = fusec.mul
// CHECK: %[[A:.+]] = fusec.reduce sum %[[W]] axes [0]
// CHECK: %[[N:.+]] = fusec.sub %[[R]], %[[R]]
// CHECK: fusec.add %[[A]], %[[N]]
// CHECK: fusec.div
fusec.model @softmax inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<1x262144xf32>):
  %0 = fusec.reduce max %x axes [1] : tensor<1x262144xf32> to tensor<1xf32>
  %1 = fusec.broadcast %0 [0] : tensor<1xf32> to tensor<1x262144xf32>
  %2 = fusec.sub %x, %1 : tensor<1x262144xf32>
  %3 = fusec.exp %2 : tensor<1x262144xf32>
  %4 = fusec.reduce sum %3 axes [1] : tensor<1x262144xf32> to tensor<1xf32>
  %5 = fusec.broadcast %4 [0] : tensor<1xf32> to tensor<1x262144xf32>
  %6 = fusec.div %3, %5 : tensor<1x262144xf32>
  fusec.output %6 : tensor<1x262144xf32>
}

// -----

// Rows that a cluster holds and of which there are enough, and a maximum that
// is subtracted from something else.
// CHECK-LABEL: of @whole
// CHECK-NOT: parts
fusec.model @whole inputs ["x", "z"] outputs ["y", "a"] {
^bb0(%x: tensor<256x65536xf32>, %z: tensor<1x262144xf32>):
  %0 = fusec.reduce max %x axes [1] : tensor<256x65536xf32> to tensor<256xf32>
  %1 = fusec.broadcast %0 [0] : tensor<256xf32> to tensor<256x65536xf32>
  %2 = fusec.sub %x, %1 : tensor<256x65536xf32>
  %3 = fusec.exp %2 : tensor<256x65536xf32>
  %4 = fusec.reduce sum %3 axes [1] : tensor<256x65536xf32> to tensor<256xf32>
  %5 = fusec.broadcast %4 [0] : tensor<256xf32> to tensor<256x65536xf32>
  %6 = fusec.div %3, %5 : tensor<256x65536xf32>
  %7 = fusec.reduce max %z axes [1] : tensor<1x262144xf32> to tensor<1xf32>
  %8 = fusec.broadcast %7 [0] : tensor<1xf32> to tensor<1x262144xf32>
  %9 = fusec.mul %z, %z : tensor<1x262144xf32>
  %10 = fusec.sub %9, %8 : tensor<1x262144xf32>
  %11 = fusec.exp %10 : tensor<1x262144xf32>
  %12 = fusec.reduce sum %11 axes [1] : tensor<1x262144xf32> to tensor<1xf32>
  fusec.output %6, %12 : tensor<256x65536xf32>, tensor<1xf32>
}

// -----

// A part tells its extreme and the place in it, and the first part that has the
// row's extreme where that is.
// CHECK-LABEL: of @places
// CHECK: fusec.step reduce "arg_reduce_parts"
// CHECK: fusec.reduce max %{{.*}} axes [1] parts [[P:[0-9]+]] : tensor<1x16777216xf16>
// CHECK: fusec.arg_reduce max %{{.*}} axis 1 last parts [[P]] : tensor<1x16777216xf16>
// CHECK: fusec.step reduce "arg_reduce"
// CHECK: %[[I:.+]] = fusec.arg_reduce max %{{.*}} axis 0 last
// CHECK: fusec.equal
// CHECK: fusec.select
// CHECK: fusec.reduce sum
// CHECK: fusec.add
fusec.model @places inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<1x16777216xf16>):
  %0 = fusec.arg_reduce max %x axis 1 last : tensor<1x16777216xf16> to tensor<1xi64>
  fusec.output %0 : tensor<1xi64>
}

// -----

// A part has the squares of what is apart from its own mean; the row has those,
// and what the means of parts are apart from its own, for each of their items.
// The last part of one has fewer.
// CHECK-LABEL: of @norm
// CHECK: fusec.step reduce "{{.+}}_parts" inputs [@x] outputs [@sums, @squares]
// CHECK: %[[S:.+]] = fusec.reduce sum %[[X:.+]] axes [1] parts [[P:[0-9]+]] : tensor<1x1000003xf32> to tensor<[[P]]x1xf32>
// CHECK: %[[L:.+]] = fusec.equal
// CHECK: %[[I:.+]] = fusec.select %[[L]], %{{.+}}, %{{.+}} : {{.*}}tensor<[[P]]x1xf32>
// CHECK: %[[M:.+]] = fusec.mul %[[S]], %[[I]]
// CHECK: %[[A:.+]] = fusec.sub %[[X]], %{{.+}} : tensor<1x1000003xf32>
// CHECK: %[[Q:.+]] = fusec.mul %[[A]], %[[A]]
// CHECK: fusec.reduce sum %[[Q]] axes [1] parts [[P]]
// CHECK: fusec.step reduce "{{.+}}" inputs [@sums, @squares, @x] outputs [@y]
// CHECK: fusec.reduce sum %{{.+}} axes [0] : tensor<[[P]]x1xf32> to tensor<1xf32>
// CHECK: fusec.reduce sum %{{.+}} axes [0] : tensor<[[P]]x1xf32> to tensor<1xf32>
// REMARK: parts of each row
fusec.model @norm inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<1x1000003xf32>):
  %n = fusec.splat 1000003.0 : f32 : tensor<1xf32>
  %0 = fusec.reduce sum %x axes [1] : tensor<1x1000003xf32> to tensor<1xf32>
  %1 = fusec.div %0, %n : tensor<1xf32>
  %2 = fusec.broadcast %1 [0] : tensor<1xf32> to tensor<1x1000003xf32>
  %3 = fusec.sub %x, %2 : tensor<1x1000003xf32>
  %4 = fusec.mul %3, %3 : tensor<1x1000003xf32>
  %5 = fusec.reduce sum %4 axes [1] : tensor<1x1000003xf32> to tensor<1xf32>
  %6 = fusec.div %5, %n : tensor<1xf32>
  %7 = fusec.rsqrt %6 : tensor<1xf32>
  %8 = fusec.broadcast %7 [0] : tensor<1xf32> to tensor<1x1000003xf32>
  %9 = fusec.mul %3, %8 : tensor<1x1000003xf32>
  fusec.output %9 : tensor<1x1000003xf32>
}

// -----

// What follows at every point from extremes, stored in another shape, and the
// place of one of them, for which the extremes of parts pass once.
// CHECK-LABEL: of @ranges
// CHECK: fusec.step reduce "{{.+}}_parts" inputs [@x] outputs [@parts, @parts_0]
// CHECK: fusec.step reduce "{{.+}}" inputs [@parts, @parts_0, @x] outputs [@y]
// CHECK: fusec.step reduce "{{.+}}_parts" inputs [@z] outputs [@parts_1, @parts_2]
// CHECK: fusec.reduce max %{{.+}} axes [1] parts [[P:[0-9]+]] : tensor<2x1048576xf16> to tensor<[[P]]x2xf16>
// CHECK: fusec.arg_reduce max %{{.+}} axis 1 parts [[P]]
// CHECK: fusec.step reduce "{{.+}}" inputs [@parts_1, @parts_2] outputs [@m, @p]
fusec.model @ranges inputs ["x", "z"] outputs ["y", "m", "p"] {
^bb0(%x: tensor<2x2097152xf32>, %z: tensor<2x1048576xf16>):
  %0 = fusec.reduce min %x axes [1] : tensor<2x2097152xf32> to tensor<2xf32>
  %1 = fusec.reduce max %x axes [1] : tensor<2x2097152xf32> to tensor<2xf32>
  %2 = fusec.sub %1, %0 : tensor<2xf32>
  %3 = fusec.broadcast %2 [0] : tensor<2xf32> to tensor<2x2097152xf32>
  %4 = fusec.div %x, %3 : tensor<2x2097152xf32>
  %5 = fusec.expand %4 [[0], [1, 2]] : tensor<2x2097152xf32> to tensor<2x2048x1024xf32>
  %6 = fusec.cast %z : tensor<2x1048576xf16> to tensor<2x1048576xf32>
  %7 = fusec.reduce max %6 axes [1] : tensor<2x1048576xf32> to tensor<2xf32>
  %8 = fusec.arg_reduce max %z axis 1 : tensor<2x1048576xf16> to tensor<2xi64>
  fusec.output %5, %7, %8 : tensor<2x2048x1024xf32>, tensor<2xf32>, tensor<2xi64>
}

// -----

// What is stored at every point of long columns is a step of its own, which
// reads what the others gave of rows. A result of rows stays with these.
// CHECK-LABEL: of @columns
// CHECK: fusec.buffer @rows slot {{.*}} : tensor<64xf32>
// CHECK: fusec.step reduce "reduce_sub_neg_rows_parts" inputs [@x] outputs [@parts]
// CHECK: fusec.reduce max %{{.+}} axes [0] parts [[P:[0-9]+]]
// CHECK: fusec.step reduce "reduce_sub_neg_rows" inputs [@parts] outputs [@z, @rows]
// CHECK: fusec.reduce max %{{.+}} axes [0] : tensor<[[P]]x64xf32>
// CHECK: fusec.neg
// CHECK: fusec.step pointwise "reduce_sub_neg" inputs [@rows, @x] outputs [@y]
// CHECK-NOT: fusec.reduce
// CHECK: fusec.sub
// REMARK: 'reduce_sub_neg' stores apart from what it reduces, of which each row has {{[0-9]+}} parts
fusec.model @columns inputs ["x"] outputs ["y", "z"] {
^bb0(%x: tensor<65536x64xf32>):
  %0 = fusec.reduce max %x axes [0] : tensor<65536x64xf32> to tensor<64xf32>
  %1 = fusec.expand %0 [[0, 1]] : tensor<64xf32> to tensor<1x64xf32>
  %2 = fusec.broadcast %0 [1] : tensor<64xf32> to tensor<65536x64xf32>
  %3 = fusec.sub %x, %2 : tensor<65536x64xf32>
  %4 = fusec.neg %1 : tensor<1x64xf32>
  fusec.output %3, %4 : tensor<65536x64xf32>, tensor<1x64xf32>
}
