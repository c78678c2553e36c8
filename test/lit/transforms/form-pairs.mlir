// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-form-pairs{precision=tf32}))" %s | FileCheck %s
// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-form-pairs{precision=tf32}))" --remarks-filter=rewrite %s 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-form-pairs))" --remarks-filter=rewrite %s 2>&1 >/dev/null | FileCheck %s --check-prefix=IEEE

// A column times a row, as torch.bmm is exported.
// CHECK-LABEL: @bmm
// CHECK: %[[W:.+]] = fusec.constant {{.*}} : tensor<24x8x64xf16>
// CHECK: %[[P:.+]] = fusec.pair_product %{{.+}}, %[[W]] : tensor<64x48xf16>, tensor<24x8x64xf16> to tensor<6x64x8xf32>
// CHECK: %[[S:.+]] = fusec.reduce sum %[[P]] axes [0] : tensor<6x64x8xf32> to tensor<64x8xf32>
// CHECK: %[[C:.+]] = fusec.cast %[[S]] : tensor<64x8xf32> to tensor<64x8xf16>
// CHECK: fusec.output %[[C]]
// CHECK-NOT: fusec.matmul
// REMARK: 48 features' pairs are multiplied as they are made, by the 1536 of 2304 weights that symmetry leaves
fusec.model @bmm inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<64x48xf16>):
  %w = fusec.constant dense<0.25> : tensor<2304x8xf16>
  %0 = fusec.expand %x [[0], [1, 2]] : tensor<64x48xf16> to tensor<64x48x1xf16>
  %1 = fusec.matmul %0, %0 transposed : tensor<64x48x1xf16>, tensor<64x48x1xf16> to tensor<64x48x48xf16>
  %2 = fusec.collapse %1 [[0], [1, 2]] : tensor<64x48x48xf16> to tensor<64x2304xf16>
  %3 = fusec.matmul %2, %w : tensor<64x2304xf16>, tensor<2304x8xf16> to tensor<64x8xf16>
  fusec.output %3 : tensor<64x8xf16>
}

// -----

// Two broadcasts, of fp32: each column's sums are multiplied by its scale. A
// named batch has parts by its size.
// CHECK-LABEL: @mul
// CHECK: fusec.pair_product {{.*}} to tensor<?x?x8xf32, #fusec.sizes<[max(1, min(6, 132 floordiv (max(1, (batch + 127) floordiv 128)))), batch, 8]>>
// CHECK: %[[S:.+]] = fusec.reduce sum
// CHECK: %[[B:.+]] = fusec.broadcast %{{.+}} [1] : tensor<8xf32>
// CHECK: %[[M:.+]] = fusec.mul %[[S]], %[[B]]
// CHECK: fusec.output %[[M]]
// IEEE: the outer product is stored: its products are exact (--precision=ieee)
fusec.model @mul inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<?x48xf32, #fusec.sizes<[batch, 48]>>):
  %w = fusec.constant dense<0.25> : tensor<8x2304xf32>
  %0 = fusec.broadcast %x [0, 1] : tensor<?x48xf32, #fusec.sizes<[batch, 48]>> to tensor<?x48x48xf32, #fusec.sizes<[batch, 48, 48]>>
  %1 = fusec.broadcast %x [0, 2] : tensor<?x48xf32, #fusec.sizes<[batch, 48]>> to tensor<?x48x48xf32, #fusec.sizes<[batch, 48, 48]>>
  %2 = fusec.mul %0, %1 : tensor<?x48x48xf32, #fusec.sizes<[batch, 48, 48]>>
  %3 = fusec.collapse %2 [[0], [1, 2]] : tensor<?x48x48xf32, #fusec.sizes<[batch, 48, 48]>> to tensor<?x2304xf32, #fusec.sizes<[batch, 2304]>>
  %4 = fusec.matmul %3, %w transposed : tensor<?x2304xf32, #fusec.sizes<[batch, 2304]>>, tensor<8x2304xf32> to tensor<?x8xf32, #fusec.sizes<[batch, 8]>>
  fusec.output %4 : tensor<?x8xf32, #fusec.sizes<[batch, 8]>>
}

// -----

// What others read is stored anyway.
// CHECK-LABEL: @read
// CHECK-NOT: fusec.pair_product
fusec.model @read inputs ["x"] outputs ["y", "p"] {
^bb0(%x: tensor<64x48xf16>):
  %w = fusec.constant dense<0.25> : tensor<2304x8xf16>
  %0 = fusec.expand %x [[0], [1, 2]] : tensor<64x48xf16> to tensor<64x48x1xf16>
  %1 = fusec.matmul %0, %0 transposed : tensor<64x48x1xf16>, tensor<64x48x1xf16> to tensor<64x48x48xf16>
  %2 = fusec.collapse %1 [[0], [1, 2]] : tensor<64x48x48xf16> to tensor<64x2304xf16>
  %3 = fusec.matmul %2, %w : tensor<64x2304xf16>, tensor<2304x8xf16> to tensor<64x8xf16>
  fusec.output %3, %2 : tensor<64x8xf16>, tensor<64x2304xf16>
}

// -----

// Of two values nothing is symmetric.
// CHECK-LABEL: @two
// CHECK-NOT: fusec.pair_product
fusec.model @two inputs ["x", "z"] outputs ["y"] {
^bb0(%x: tensor<64x48xf16>, %z: tensor<64x48xf16>):
  %w = fusec.constant dense<0.25> : tensor<2304x8xf16>
  %0 = fusec.expand %x [[0], [1, 2]] : tensor<64x48xf16> to tensor<64x48x1xf16>
  %5 = fusec.expand %z [[0], [1, 2]] : tensor<64x48xf16> to tensor<64x48x1xf16>
  %1 = fusec.matmul %0, %5 transposed : tensor<64x48x1xf16>, tensor<64x48x1xf16> to tensor<64x48x48xf16>
  %2 = fusec.collapse %1 [[0], [1, 2]] : tensor<64x48x48xf16> to tensor<64x2304xf16>
  %3 = fusec.matmul %2, %w : tensor<64x2304xf16>, tensor<2304x8xf16> to tensor<64x8xf16>
  fusec.output %3 : tensor<64x8xf16>
}

// -----

// Rows of x with themselves are another square.
// CHECK-LABEL: @squares
// CHECK-NOT: fusec.pair_product
fusec.model @squares inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<64x48xf16>):
  %w = fusec.constant dense<0.25> : tensor<2304x8xf16>
  %0 = fusec.broadcast %x [0, 1] : tensor<64x48xf16> to tensor<64x48x48xf16>
  %1 = fusec.mul %0, %0 : tensor<64x48x48xf16>
  %2 = fusec.collapse %1 [[0], [1, 2]] : tensor<64x48x48xf16> to tensor<64x2304xf16>
  %3 = fusec.matmul %2, %w : tensor<64x2304xf16>, tensor<2304x8xf16> to tensor<64x8xf16>
  fusec.output %3 : tensor<64x8xf16>
}

// -----

// CHECK-LABEL: @few
// CHECK-NOT: fusec.pair_product
// REMARK: the outer product is stored: it has 16 features, products of pairs have 48 or more
fusec.model @few inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<64x16xf16>):
  %w = fusec.constant dense<0.25> : tensor<256x8xf16>
  %0 = fusec.expand %x [[0], [1, 2]] : tensor<64x16xf16> to tensor<64x16x1xf16>
  %1 = fusec.matmul %0, %0 transposed : tensor<64x16x1xf16>, tensor<64x16x1xf16> to tensor<64x16x16xf16>
  %2 = fusec.collapse %1 [[0], [1, 2]] : tensor<64x16x16xf16> to tensor<64x256xf16>
  %3 = fusec.matmul %2, %w : tensor<64x256xf16>, tensor<256x8xf16> to tensor<64x8xf16>
  fusec.output %3 : tensor<64x8xf16>
}

// -----

// CHECK-LABEL: @replaced
// CHECK-NOT: fusec.pair_product
// REMARK: the outer product is stored: its weights are no constants of the model
fusec.model @replaced inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<64x48xf16>, %w: tensor<2304x8xf16>):
  %0 = fusec.expand %x [[0], [1, 2]] : tensor<64x48xf16> to tensor<64x48x1xf16>
  %1 = fusec.matmul %0, %0 transposed : tensor<64x48x1xf16>, tensor<64x48x1xf16> to tensor<64x48x48xf16>
  %2 = fusec.collapse %1 [[0], [1, 2]] : tensor<64x48x48xf16> to tensor<64x2304xf16>
  %3 = fusec.matmul %2, %w : tensor<64x2304xf16>, tensor<2304x8xf16> to tensor<64x8xf16>
  fusec.output %3 : tensor<64x8xf16>
}

// -----

// CHECK-LABEL: @empty
// CHECK-NOT: fusec.pair_product
// REMARK: the outer product is stored: it has no columns, or more of them or of features than kernels count
fusec.model @empty inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<64x48xf16>):
  %w = fusec.constant dense<> : tensor<2304x0xf16>
  %0 = fusec.expand %x [[0], [1, 2]] : tensor<64x48xf16> to tensor<64x48x1xf16>
  %1 = fusec.matmul %0, %0 transposed : tensor<64x48x1xf16>, tensor<64x48x1xf16> to tensor<64x48x48xf16>
  %2 = fusec.collapse %1 [[0], [1, 2]] : tensor<64x48x48xf16> to tensor<64x2304xf16>
  %3 = fusec.matmul %2, %w : tensor<64x2304xf16>, tensor<2304x0xf16> to tensor<64x0xf16>
  fusec.output %3 : tensor<64x0xf16>
}

// -----

// CHECK-LABEL: @large
// CHECK-NOT: fusec.pair_product
// REMARK: the outer product is stored: a sum of two of its weights is larger than f16 holds, or no number
fusec.model @large inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<64x48xf16>):
  %w = fusec.constant dense<4.0e+04> : tensor<2304x8xf16>
  %0 = fusec.expand %x [[0], [1, 2]] : tensor<64x48xf16> to tensor<64x48x1xf16>
  %1 = fusec.matmul %0, %0 transposed : tensor<64x48x1xf16>, tensor<64x48x1xf16> to tensor<64x48x48xf16>
  %2 = fusec.collapse %1 [[0], [1, 2]] : tensor<64x48x48xf16> to tensor<64x2304xf16>
  %3 = fusec.matmul %2, %w : tensor<64x2304xf16>, tensor<2304x8xf16> to tensor<64x8xf16>
  fusec.output %3 : tensor<64x8xf16>
}
