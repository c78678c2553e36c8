// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-form-bag-epilogues{always},fusec-assign-storage,fusec-choose-schedules,fusec-plan-launches))" %s > %t
// RUN: FileCheck %s < %t
// RUN: fusec-opt --split-input-file %t | FileCheck %s
// RUN: fusec-translate --split-input-file --fusec-to-cuda %t | FileCheck %s --check-prefix=CUDA
// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-form-bag-epilogues{always}))" --remarks-filter=fusion %s 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// RMSNorm of sums: eight lanes hold a row, and both sums are nowhere in memory.
// CHECK-LABEL: fusec.plan @sm_90a of @norm slots []
// CHECK-NOT: fusec.buffer @{{.+}} slot
// CHECK: fusec.step bag "bag_mul_reduce_rsqrt" inputs [@t, @i, @g] outputs [@y]
// CHECK-SAME: bag_schedule<threads = 64, vector = 8>
// CHECK-NOT: fusec.step
// CUDA-LABEL: // bag_mul_reduce_rsqrt
// CUDA: struct Epilogue {
// CUDA: typedef fusec::Pack<fusec::RowOperand<fusec::f16, fusec::Contiguous, 16, fusec::Unbatched>> Operands;
// CUDA: typedef fusec::Phases<Phase> Phases;
// CUDA: fusec::sumAllBags<
// CUDA: fusec::BagEpilogue<Epilogue, 64,
// REMARK: 'bag' and 'mul_reduce_rsqrt'{{.*}} are one kernel
fusec.model @norm inputs ["t", "i", "g"] outputs ["y"] {
^bb0(%t: tensor<1000x64xf16>, %i: tensor<256x10xi64>, %g: tensor<64xf16>):
  %b = fusec.bag sum (%t) at (%i) flag scales [1.0] : (tensor<1000x64xf16>) at (tensor<256x10xi64>) -> tensor<256x64xf16>
  %s = fusec.mul %b, %b : tensor<256x64xf16>
  %r = fusec.reduce sum %s axes [1] : tensor<256x64xf16> to tensor<256xf16>
  %q = fusec.rsqrt %r : tensor<256xf16>
  %w = fusec.broadcast %q [0] : tensor<256xf16> to tensor<256x64xf16>
  %n = fusec.mul %b, %w : tensor<256x64xf16>
  %h = fusec.broadcast %g [1] : tensor<64xf16> to tensor<256x64xf16>
  %y = fusec.mul %n, %h : tensor<256x64xf16>
  fusec.output %y : tensor<256x64xf16>
}

// -----

// Tables beside one another, whose rows are reduced each: a row is a table's. What
// else reads the bags gets them.
// CHECK-LABEL: fusec.plan @sm_90a of @apart
// CHECK: fusec.step bag "bag_reduce_sub" inputs [@t, @u, @i, @j] outputs [@b, @y]
// CHECK-NOT: fusec.step
// CUDA-LABEL: // bag_reduce_sub
// CUDA: fusec::BagEpilogue<Epilogue, 8, true>
fusec.model @apart inputs ["t", "u", "i", "j"] outputs ["b", "y"] {
^bb0(%t: tensor<90x8xf32>, %u: tensor<70x8xf32>, %i: tensor<33x3xi64>, %j: tensor<33x2xi64>):
  %b = fusec.bag sum (%t, %u) at (%i, %j) flag scales [1.0, 1.0] : (tensor<90x8xf32>, tensor<70x8xf32>) at (tensor<33x3xi64>, tensor<33x2xi64>) -> tensor<33x16xf32>
  %e = fusec.expand %b [[0], [1, 2]] : tensor<33x16xf32> to tensor<33x2x8xf32>
  %m = fusec.reduce max %e axes [2] : tensor<33x2x8xf32> to tensor<33x2xf32>
  %w = fusec.broadcast %m [0, 1] : tensor<33x2xf32> to tensor<33x2x8xf32>
  %y = fusec.sub %e, %w : tensor<33x2x8xf32>
  fusec.output %b, %y : tensor<33x16xf32>, tensor<33x2x8xf32>
}

// -----

// Point by point any widths will do, and rows of any.
// CHECK-LABEL: fusec.plan @sm_90a of @points
// CHECK: fusec.step bag "bag_add" inputs [@t, @u, @i, @x] outputs [@y]
// CHECK-NOT: fusec.step
fusec.model @points inputs ["t", "u", "i", "x"] outputs ["y"] {
^bb0(%t: tensor<90x1000xf32>, %u: tensor<70x8xf32>, %i: tensor<33x3xi64>, %x: tensor<33x1008xf32>):
  %b = fusec.bag sum (%t, %u) at (%i, %i) flag scales [1.0, 1.0] : (tensor<90x1000xf32>, tensor<70x8xf32>) at (tensor<33x3xi64>, tensor<33x3xi64>) -> tensor<33x1008xf32>
  %y = fusec.add %b, %x : tensor<33x1008xf32>
  fusec.output %y : tensor<33x1008xf32>
}

// -----

// A warp holds no such row.
// CHECK-LABEL: fusec.plan @sm_90a of @wide
// CHECK: fusec.step bag
// CHECK: fusec.step reduce
// REMARK: 'bag' and 'reduce'{{.*}}a warp holds rows of at most 512 columns, these have 520
fusec.model @wide inputs ["t", "i"] outputs ["y"] {
^bb0(%t: tensor<90x520xf32>, %i: tensor<33x3xi64>):
  %b = fusec.bag sum (%t) at (%i) flag scales [1.0] : (tensor<90x520xf32>) at (tensor<33x3xi64>) -> tensor<33x520xf32>
  %y = fusec.reduce max %b axes [1] : tensor<33x520xf32> to tensor<33xf32>
  fusec.output %y : tensor<33xf32>
}

// -----

// A row of two tables is in no warp, nor are rows of two widths in one text.
// CHECK-LABEL: fusec.plan @sm_90a of @across
// CHECK: fusec.step bag
// CHECK: fusec.step reduce
// REMARK: 'bag' and 'reduce'{{.*}}it is computed at other points than the bags
fusec.model @across inputs ["t", "i"] outputs ["y"] {
^bb0(%t: tensor<90x8xf32>, %i: tensor<33x3xi64>):
  %b = fusec.bag sum (%t, %t) at (%i, %i) flag scales [1.0, 1.0] : (tensor<90x8xf32>, tensor<90x8xf32>) at (tensor<33x3xi64>, tensor<33x3xi64>) -> tensor<33x16xf32>
  %y = fusec.reduce max %b axes [1] : tensor<33x16xf32> to tensor<33xf32>
  fusec.output %y : tensor<33xf32>
}

// -----

// CHECK-LABEL: fusec.plan @sm_90a of @widths
// CHECK: fusec.step bag
// CHECK: fusec.step reduce
// REMARK: 'bag' and 'reduce'{{.*}}rows that are reduced have one width in all tables
fusec.model @widths inputs ["t", "u", "i"] outputs ["y"] {
^bb0(%t: tensor<90x8xf32>, %u: tensor<90x16xf32>, %i: tensor<33x3xi64>):
  %b = fusec.bag sum (%t, %u) at (%i, %i) flag scales [1.0, 1.0] : (tensor<90x8xf32>, tensor<90x16xf32>) at (tensor<33x3xi64>, tensor<33x3xi64>) -> tensor<33x24xf32>
  %y = fusec.reduce max %b axes [1] : tensor<33x24xf32> to tensor<33xf32>
  fusec.output %y : tensor<33xf32>
}

// -----

// Seven operands are as many as a lane has registers for.
// CHECK-LABEL: fusec.plan @sm_90a of @many
// CHECK: fusec.step bag
// CHECK: fusec.step pointwise
// REMARK: 'bag' and '{{.*}}'{{.*}}a lane holds at most 64 values, of a row and of what is read beside it
fusec.model @many inputs ["t", "i", "a", "b", "c", "d", "e", "f", "g", "h"] outputs ["y"] {
^bb0(%t: tensor<90x8xf32>, %i: tensor<33x3xi64>, %a: tensor<33x8xf32>, %b: tensor<33x8xf32>, %c: tensor<33x8xf32>, %d: tensor<33x8xf32>, %e: tensor<33x8xf32>, %f: tensor<33x8xf32>, %g: tensor<33x8xf32>, %h: tensor<33x8xf32>):
  %0 = fusec.bag sum (%t) at (%i) flag scales [1.0] : (tensor<90x8xf32>) at (tensor<33x3xi64>) -> tensor<33x8xf32>
  %1 = fusec.add %0, %a : tensor<33x8xf32>
  %2 = fusec.add %1, %b : tensor<33x8xf32>
  %3 = fusec.add %2, %c : tensor<33x8xf32>
  %4 = fusec.add %3, %d : tensor<33x8xf32>
  %5 = fusec.add %4, %e : tensor<33x8xf32>
  %6 = fusec.add %5, %f : tensor<33x8xf32>
  %7 = fusec.add %6, %g : tensor<33x8xf32>
  %8 = fusec.add %7, %h : tensor<33x8xf32>
  fusec.output %8 : tensor<33x8xf32>
}
