// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Schedules of rows that what a thread keeps in registers decides, by candidates
// measured on an H200.

// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-contractions,fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-assign-storage,fusec-choose-schedules))" %s | FileCheck %s

// Of threads that keep 64 floats each a multiprocessor has three blocks where
// the compiler is told so, and two else: 126 and 130 us.
// CHECK-LABEL: fusec.plan @sm_90a of @many
// CHECK: #fusec.variant<[{{.+}}], #fusec.reduce_schedule<scope = cluster, threads = 256, indexBits = 32, vector = 4, groups = 2, kept = 16, resident = 3>
fusec.model @many inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<4096x32000xf32>):
  %0 = fusec.reduce max %x axes [1] : tensor<4096x32000xf32> to tensor<4096xf32>
  %1 = fusec.broadcast %0 [0] : tensor<4096xf32> to tensor<4096x32000xf32>
  %2 = fusec.sub %x, %1 : tensor<4096x32000xf32>
  %3 = fusec.exp %2 : tensor<4096x32000xf32>
  %4 = fusec.reduce sum %3 axes [1] : tensor<4096x32000xf32> to tensor<4096xf32>
  %5 = fusec.log %4 : tensor<4096xf32>
  %6 = fusec.add %5, %0 : tensor<4096xf32>
  fusec.output %6 : tensor<4096xf32>
}

// -----

// A lane would have 128 halves of the two that are added, the factors and the
// summands, in 148 registers: 38.4 us, by blocks with 8 of each a thread 37.1.
// CHECK-LABEL: fusec.plan @sm_90a of @sum
// CHECK: #fusec.variant<[{{.+}}], #fusec.reduce_schedule<scope = block, threads = 128, indexBits = 32, vector = 8, kept = 1, resident = 12, fetched = {{[0-9]+}}>
fusec.model @sum inputs ["x", "y", "s", "b"] outputs ["z", "n"] {
^bb0(%x: tensor<16384x1024xf16>, %y: tensor<16384x1024xf16>, %s: tensor<1024xf16>, %b: tensor<1024xf16>):
  %z = fusec.add %x, %y : tensor<16384x1024xf16>
  %0 = fusec.cast %z : tensor<16384x1024xf16> to tensor<16384x1024xf32>
  %1 = fusec.reduce sum %0 axes [1] : tensor<16384x1024xf32> to tensor<16384xf32>
  %2 = fusec.broadcast %1 [0] : tensor<16384xf32> to tensor<16384x1024xf32>
  %3 = fusec.sub %0, %2 : tensor<16384x1024xf32>
  %4 = fusec.mul %3, %3 : tensor<16384x1024xf32>
  %5 = fusec.reduce sum %4 axes [1] : tensor<16384x1024xf32> to tensor<16384xf32>
  %6 = fusec.rsqrt %5 : tensor<16384xf32>
  %7 = fusec.broadcast %6 [0] : tensor<16384xf32> to tensor<16384x1024xf32>
  %8 = fusec.mul %3, %7 : tensor<16384x1024xf32>
  %9 = fusec.cast %8 : tensor<16384x1024xf32> to tensor<16384x1024xf16>
  %10 = fusec.broadcast %s [1] : tensor<1024xf16> to tensor<16384x1024xf16>
  %11 = fusec.mul %9, %10 : tensor<16384x1024xf16>
  %12 = fusec.broadcast %b [1] : tensor<1024xf16> to tensor<16384x1024xf16>
  %13 = fusec.add %11, %12 : tensor<16384x1024xf16>
  fusec.output %z, %13 : tensor<16384x1024xf16>, tensor<16384x1024xf16>
}
