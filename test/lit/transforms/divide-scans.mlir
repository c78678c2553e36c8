// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-divide-scans))" %s | FileCheck %s
// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-divide-scans))" --remarks-filter=fusion %s 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// Blocks tell one another sums in fp32.
// CHECK-LABEL: of @columns
// CHECK: fusec.buffer @sums slot {{.*}} : tensor<[[P:[0-9]+]]x512xf32>
// CHECK: fusec.step scan
// CHECK-SAME: inputs [@x] outputs [@y, @sums]
// CHECK: %[[S:.+]] = fusec.cumsum %[[X:.+]] axis 0
// CHECK: %[[N:.+]] = fusec.neg %[[S]]
// CHECK: %[[W:.+]] = fusec.cast %[[X]] : tensor<65536x512xf16> to tensor<65536x512xf32>
// CHECK: %[[P0:.+]] = fusec.reduce sum %[[W]] axes [0] parts [[P]]
// CHECK: fusec.yield %[[N]], %[[P0]]
// REMARK: [Passed] divide-scan
// REMARK-SAME: parts of the axis
fusec.model @columns inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<65536x512xf16>):
  %0 = fusec.cumsum %x axis 0 : tensor<65536x512xf16> to tensor<65536x512xf16>
  %1 = fusec.neg %0 : tensor<65536x512xf16>
  fusec.output %1 : tensor<65536x512xf16>
}

// -----

// Rows enough, an axis whose length is not known, bytes, and a short axis.
// CHECK-LABEL: of @others
// CHECK-NOT: parts
fusec.model @others inputs ["a", "b", "c", "d"] outputs ["p", "q", "r", "s"] {
^bb0(%a: tensor<8192x4096xf32>, %b: tensor<?x16xf32, #fusec.sizes<[batch, 16]>>, %c: tensor<1000000xi8>, %d: tensor<64x8xf32>):
  %0 = fusec.cumsum %a axis 1 : tensor<8192x4096xf32> to tensor<8192x4096xf32>
  %1 = fusec.cumsum %b axis 0 : tensor<?x16xf32, #fusec.sizes<[batch, 16]>> to tensor<?x16xf32, #fusec.sizes<[batch, 16]>>
  %2 = fusec.cumsum %c axis 0 : tensor<1000000xi8> to tensor<1000000xi8>
  %3 = fusec.cumsum %d axis 0 : tensor<64x8xf32> to tensor<64x8xf32>
  fusec.output %0, %1, %2, %3 : tensor<8192x4096xf32>, tensor<?x16xf32, #fusec.sizes<[batch, 16]>>, tensor<1000000xi8>, tensor<64x8xf32>
}

// -----

// A row of more items than 4096 blocks hold, and one whose length is prime, by vectors, too.
// CHECK-LABEL: of @long
// CHECK: fusec.reduce sum {{.*}} axes [0] parts 16384
// CHECK: fusec.reduce sum {{.*}} axes [0] parts 2049
fusec.model @long inputs ["a", "b"] outputs ["p", "q"] {
^bb0(%a: tensor<268435456xf32>, %b: tensor<33566777xf32>):
  %0 = fusec.cumsum %a axis 0 : tensor<268435456xf32> to tensor<268435456xf32>
  %1 = fusec.cumsum %b axis 0 : tensor<33566777xf32> to tensor<33566777xf32>
  fusec.output %0, %1 : tensor<268435456xf32>, tensor<33566777xf32>
}
