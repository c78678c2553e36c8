// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-contractions,fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-split-long-products{products=tf32}))" %s | FileCheck %s
// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-contractions,fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-split-long-products{products=tf32}))" --remarks-filter=fusion %s 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-contractions,fusec-form-fusions),fusec-build-plans{targets=sm_80},fusec.plan(fusec-split-long-products))" %s | FileCheck %s --check-prefix=MMA

// Equal ranges; the sum has the epilogue.
// CHECK-LABEL: fusec.plan @sm_90a of @equal slots [#fusec.expr<8388608>]
// CHECK: fusec.buffer @ranges slot 0 {{.*}} : tensor<8x512x512xf32>
// CHECK: fusec.step gemm "matmul_ranges" inputs [@w, @x] outputs [@ranges]
// CHECK: %[[P:.+]] = fusec.contraction({{.+}}) by({{.+}}) ranges [8192] : (tensor<512x65536xf16>), (tensor<65536x512xf16>) -> tensor<8x512x512xf32>
// CHECK: fusec.yield %[[P]]
// CHECK: fusec.step reduce "sum_relu" inputs [@ranges] outputs [@y]
// CHECK: %[[S:.+]] = fusec.reduce sum {{.+}} axes [0] : tensor<8x512x512xf32> to tensor<512x512xf32>
// CHECK: %[[C:.+]] = fusec.cast %[[S]] : tensor<512x512xf32> to tensor<512x512xf16>
// CHECK: fusec.relu %[[C]]
// REMARK: 'matmul_relu' sums 8 ranges of K
// MMA-LABEL: of @equal
// MMA: fusec.contraction({{.+}}) by({{.+}}) ranges [{{[0-9]+}}]
fusec.model @equal inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<512x65536xf16>, %w: tensor<65536x512xf16>):
  %0 = fusec.matmul %x, %w : tensor<512x65536xf16>, tensor<65536x512xf16> to tensor<512x512xf16>
  %1 = fusec.relu %0 : tensor<512x512xf16>
  fusec.output %1 : tensor<512x512xf16>
}

// -----

// Twelve tiles of 128 x 256, eleven times, are a tile a multiprocessor: 40008
// has but three for a divisor. The last range is the rest.
// CHECK-LABEL: of @rest
// CHECK: ranges [3648] : (tensor<512x40008xf16>), (tensor<40008x768xf16>) -> tensor<11x512x768xf32>
// CHECK: fusec.reduce sum {{.+}} axes [0] : tensor<11x512x768xf32> to tensor<512x768xf32>
// REMARK: 'matmul' sums 11 ranges of K
fusec.model @rest inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<512x40008xf16>, %w: tensor<40008x768xf16>):
  %0 = fusec.matmul %x, %w : tensor<512x40008xf16>, tensor<40008x768xf16> to tensor<512x768xf16>
  fusec.output %0 : tensor<512x768xf16>
}

// -----

// Of fp32 a range is of 32s. The weight is read as it lies.
// CHECK-LABEL: of @tf32
// CHECK: %[[T:.+]] = fusec.transpose
// CHECK: fusec.contraction({{.+}}) by(%[[T]]) ranges [{{[0-9]+}}] : (tensor<512x40004xf32>), (tensor<40004x768xf32>) -> tensor<{{[0-9]+}}x512x768xf32>
// CHECK-NOT: fusec.cast
fusec.model @tf32 inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<512x40004xf32>, %w: tensor<768x40004xf32>):
  %t = fusec.transpose %w [1, 0] : tensor<768x40004xf32> to tensor<40004x768xf32>
  %0 = fusec.matmul %x, %t : tensor<512x40004xf32>, tensor<40004x768xf32> to tensor<512x768xf32>
  fusec.output %0 : tensor<512x768xf32>
}

// -----

// Accumulators are summed by one step, which evaluates what joins them.
// CHECK-LABEL: of @gate
// CHECK: fusec.contraction({{.+}}) by({{.+}}, {{.+}}) ranges [2048] : {{.*}} -> tensor<8x256x512xf32>, tensor<8x256x512xf32>
// CHECK: fusec.step reduce "sum_relu_mul" inputs [@ranges, @ranges_0] outputs [@y]
// CHECK-COUNT-2: fusec.reduce sum
fusec.model @gate inputs ["x", "v", "w"] outputs ["y"] {
^bb0(%x: tensor<256x16384xf16>, %v: tensor<16384x512xf16>, %w: tensor<16384x512xf16>):
  %0 = fusec.matmul %x, %v : tensor<256x16384xf16>, tensor<16384x512xf16> to tensor<256x512xf16>
  %1 = fusec.matmul %x, %w : tensor<256x16384xf16>, tensor<16384x512xf16> to tensor<256x512xf16>
  %2 = fusec.relu %0 : tensor<256x512xf16>
  %3 = fusec.mul %2, %1 : tensor<256x512xf16>
  fusec.output %3 : tensor<256x512xf16>
}

// -----

// A segment that is shorter than a range lies in the first.
// CHECK-LABEL: of @update
// CHECK: fusec.contraction({{.+}}, {{.+}}) by({{.+}}, {{.+}}) ranges [2048, 64] : {{.*}} -> tensor<8x256x512xf32>
fusec.model @update inputs ["x", "w", "t", "u"] outputs ["y"] {
^bb0(%x: tensor<256x16384xf16>, %w: tensor<16384x512xf16>, %t: tensor<256x32xf16>, %u: tensor<32x512xf16>):
  %0 = fusec.matmul %x, %w : tensor<256x16384xf16>, tensor<16384x512xf16> to tensor<256x512xf16>
  %1 = fusec.matmul %t, %u : tensor<256x32xf16>, tensor<32x512xf16> to tensor<256x512xf16>
  %2 = fusec.add %0, %1 : tensor<256x512xf16>
  fusec.output %2 : tensor<256x512xf16>
}

// -----

// Rows that begin at no whole unit of 16 bytes have no tensor map, and are
// split all the same.
// CHECK-LABEL: of @odd
// CHECK: ranges [{{[0-9]+}}] : (tensor<127x100003xf16>)
// MMA-LABEL: of @odd
// MMA: ranges [{{[0-9]+}}] : (tensor<127x100003xf16>)
fusec.model @odd inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<127x100003xf16>, %w: tensor<100003x256xf16>):
  %0 = fusec.matmul %x, %w : tensor<127x100003xf16>, tensor<100003x256xf16> to tensor<127x256xf16>
  fusec.output %0 : tensor<127x256xf16>
}

// -----

// It would be over before a second launch begins.
// CHECK-LABEL: of @short
// CHECK-NOT: ranges
// CHECK: fusec.step gemm "matmul"
fusec.model @short inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<256x4032xf16>, %w: tensor<4032x512xf16>):
  %0 = fusec.matmul %x, %w : tensor<256x4032xf16>, tensor<4032x512xf16> to tensor<256x512xf16>
  fusec.output %0 : tensor<256x512xf16>
}

// -----

// Its tiles fill the device.
// CHECK-LABEL: of @many
// CHECK-NOT: ranges
// CHECK: fusec.step gemm "matmul"
fusec.model @many inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<4096x8192xf16>, %w: tensor<8192x4096xf16>):
  %0 = fusec.matmul %x, %w : tensor<4096x8192xf16>, tensor<8192x4096xf16> to tensor<4096x4096xf16>
  fusec.output %0 : tensor<4096x4096xf16>
}

// -----

// CHECK-LABEL: of @batch
// CHECK-NOT: ranges
// CHECK: fusec.step gemm "matmul"
fusec.model @batch inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<2x256x16384xf16>, %w: tensor<2x16384x512xf16>):
  %0 = fusec.matmul %x, %w : tensor<2x256x16384xf16>, tensor<2x16384x512xf16> to tensor<2x256x512xf16>
  fusec.output %0 : tensor<2x256x512xf16>
}

// -----

// CHECK-LABEL: of @named
// CHECK-NOT: ranges
// CHECK: fusec.step gemm "matmul"
fusec.model @named inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<256x?xf16, #fusec.sizes<[256, k]>>, %w: tensor<?x512xf16, #fusec.sizes<[k, 512]>>):
  %0 = fusec.matmul %x, %w : tensor<256x?xf16, #fusec.sizes<[256, k]>>, tensor<?x512xf16, #fusec.sizes<[k, 512]>> to tensor<256x512xf16>
  fusec.output %0 : tensor<256x512xf16>
}

// -----

// What integers sum is not kept in fp32.
// CHECK-LABEL: of @integers
// CHECK-NOT: ranges
// CHECK: fusec.step gemm "matmul"
fusec.model @integers inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<256x16384xi32>, %w: tensor<16384x512xi32>):
  %0 = fusec.matmul %x, %w : tensor<256x16384xi32>, tensor<16384x512xi32> to tensor<256x512xi32>
  fusec.output %0 : tensor<256x512xi32>
}

// -----

// Rows whose number is only named may be many: all sizes have to gain. On sm_80
// they do, where blocks of one tile are more than the rows have.
// CHECK-LABEL: of @rows
// CHECK-NOT: ranges
// CHECK: fusec.step gemm "matmul"
// MMA-LABEL: of @rows
// MMA: ranges [{{[0-9]+}}] : {{.*}} -> tensor<{{[0-9]+}}x?x512xf32, #fusec.sizes<[{{[0-9]+}}, m, 512]>>
fusec.model @rows inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<?x65536xf16, #fusec.sizes<[m, 65536]>>, %w: tensor<65536x512xf16>):
  %0 = fusec.matmul %x, %w : tensor<?x65536xf16, #fusec.sizes<[m, 65536]>>, tensor<65536x512xf16> to tensor<?x512xf16, #fusec.sizes<[m, 512]>>
  fusec.output %0 : tensor<?x512xf16, #fusec.sizes<[m, 512]>>
}

// -----

// The memory bounds them whatever the ranges: all multiprocessors have one, of
// tiles that read little through L2.
// CHECK-LABEL: of @memory
// CHECK: ranges [8192] : (tensor<128x131072xf16>), (tensor<131072x512xf16>) -> tensor<16x128x512xf32>
// REMARK: 'matmul' sums 16 ranges of K
fusec.model @memory inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<128x131072xf16>, %w: tensor<512x131072xf16>):
  %0 = fusec.matmul %x, %w transposed : tensor<128x131072xf16>, tensor<512x131072xf16> to tensor<128x512xf16>
  fusec.output %0 : tensor<128x512xf16>
}

// -----

// Rows in pages of their own: each is read once.
// CHECK-LABEL: of @far
// CHECK: ranges [15904] : (tensor<128x1048576xf32>), (tensor<1048576x256xf32>) -> tensor<66x128x256xf32>
// REMARK: 'matmul' sums 66 ranges of K
fusec.model @far inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<128x1048576xf32>, %w: tensor<256x1048576xf32>):
  %0 = fusec.matmul %x, %w transposed : tensor<128x1048576xf32>, tensor<256x1048576xf32> to tensor<128x256xf32>
  fusec.output %0 : tensor<128x256xf32>
}
