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
