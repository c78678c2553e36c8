// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of a reduction that share an index: all threads of a row look it up
// before the loop, where one of them counts the fault.

// RUN: fusec-opt --pass-pipeline="builtin.module(fusec.model(fusec-form-fusions),fusec-build-plans{targets=sm_80},fusec.plan(fusec-assign-storage,fusec-choose-schedules))" %s | fusec-translate --fusec-to-cuda | FileCheck %s

// CHECK: gatherRowShared<
// CHECK: isMine && Scope::rank() == 0);
// CHECK: fusec::reduceRow{{.*}}Sum<float>
// CHECK: if (isMine && Scope::rank() == 0) {
// CHECK: gatherRowShared<
// CHECK: Scope::rank() == 0);
fusec.model @scaled_rows inputs ["x", "t", "i", "j"] outputs ["y"] {
^bb0(%x: tensor<9x16xf32>, %t: tensor<50xf32>, %i: tensor<9xi64>, %j: tensor<9xi64>):
  %0 = fusec.gather %t [-1](%i) flag : (tensor<50xf32>, tensor<9xi64>) -> tensor<9xf32>
  %1 = fusec.broadcast %0 [0] : tensor<9xf32> to tensor<9x16xf32>
  %2 = fusec.mul %x, %1 : tensor<9x16xf32>
  %3 = fusec.reduce sum %2 axes [1] : tensor<9x16xf32> to tensor<9xf32>
  %4 = fusec.gather %t [-1](%j) flag : (tensor<50xf32>, tensor<9xi64>) -> tensor<9xf32>
  %5 = fusec.add %3, %4 : tensor<9xf32>
  fusec.output %5 : tensor<9xf32>
}
