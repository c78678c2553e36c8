// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --fusec-fold-constants --split-input-file %s | FileCheck %s
// RUN: fusec-opt --fusec-fold-constants --remarks-filter=rewrite --split-input-file %s 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// A chain, through a broadcast that itself stays small.
// CHECK-LABEL: fusec.model @chain
// REMARK: 'fusec.sqrt' of constants is a constant
fusec.model @chain inputs [] outputs ["a"] {
  // CHECK-NEXT: %[[A:.+]] = fusec.constant dense<[2.500000e+00, 3.500000e+00]> : tensor<2xf32>
  // CHECK-NEXT: fusec.output %[[A]]
  %0 = fusec.constant dense<[4.0, 9.0]> : tensor<2xf32>
  %1 = fusec.sqrt %0 : tensor<2xf32>
  %2 = fusec.constant dense<0.5> : tensor<f32>
  %3 = fusec.broadcast %2 [] : tensor<f32> to tensor<2xf32>
  %4 = fusec.add %1, %3 : tensor<2xf32>
  fusec.output %4 : tensor<2xf32>
}

// -----

// What depends on an input stays; integer division by zero does not trap.
// CHECK-LABEL: fusec.model @input
fusec.model @input inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<2xi32>):
  // CHECK: %[[C:.+]] = fusec.constant dense<[0, -2147483648]> : tensor<2xi32>
  // CHECK-NEXT: fusec.add %{{.+}}, %[[C]]
  %0 = fusec.constant dense<[4, -2147483648]> : tensor<2xi32>
  %1 = fusec.constant dense<[0, -1]> : tensor<2xi32>
  %2 = fusec.div %0, %1 : tensor<2xi32>
  %3 = fusec.add %x, %2 : tensor<2xi32>
  fusec.output %3 : tensor<2xi32>
}

// -----

// An outer product of constants would only be more to load.
// CHECK-LABEL: fusec.model @large
// REMARK: fold-constants
fusec.model @large inputs [] outputs ["y"] {
  // CHECK: fusec.matmul
  %0 = fusec.constant dense<1.0> : tensor<4096x1xf32>
  %1 = fusec.constant dense<1.0> : tensor<1x4096xf32>
  %2 = fusec.matmul %0, %1 : tensor<4096x1xf32>, tensor<1x4096xf32> to tensor<4096x4096xf32>
  fusec.output %2 : tensor<4096x4096xf32>
}

// -----

// Weights of bytes stay bytes for the product that may make its operand of
// them: a cast would double them. What another op reads, too, is folded.
// CHECK-LABEL: fusec.model @quantised
fusec.model @quantised inputs ["x"] outputs ["y", "z"] {
^bb0(%x: tensor<4x512xf16>):
  // CHECK: %[[Q:.+]] = fusec.constant dense<3> : tensor<256x512xi8>
  // CHECK: %[[C:.+]] = fusec.cast %[[Q]] : tensor<256x512xi8> to tensor<256x512xf16>
  // CHECK: %[[M:.+]] = fusec.mul %[[C]]
  // CHECK: %[[T:.+]] = fusec.transpose %[[M]]
  // CHECK: fusec.matmul %{{.+}}, %[[T]]
  // CHECK-NOT: fusec.cast
  // CHECK: %[[F:.+]] = fusec.constant dense<4.000000e+00> : tensor<256x512xf16>
  // CHECK: fusec.output %{{.+}}, %[[F]]
  %q = fusec.constant dense<3> : tensor<256x512xi8>
  %s = fusec.constant dense<0.5> : tensor<256xf16>
  %b = fusec.broadcast %s [0] : tensor<256xf16> to tensor<256x512xf16>
  %c = fusec.cast %q : tensor<256x512xi8> to tensor<256x512xf16>
  %m = fusec.mul %c, %b : tensor<256x512xf16>
  %t = fusec.transpose %m [1, 0] : tensor<256x512xf16> to tensor<512x256xf16>
  %y = fusec.matmul %x, %t : tensor<4x512xf16>, tensor<512x256xf16> to tensor<4x256xf16>
  %r = fusec.constant dense<4> : tensor<256x512xi8>
  %z = fusec.cast %r : tensor<256x512xi8> to tensor<256x512xf16>
  fusec.output %y, %z : tensor<4x256xf16>, tensor<256x512xf16>
}

// -----

// With many rows no kernel gains by bytes, and other patterns look into
// constants.
// CHECK-LABEL: fusec.model @rows
fusec.model @rows inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<4096x512xf16>):
  // CHECK: fusec.constant dense<3.000000e+00> : tensor<512x256xf16>
  // CHECK-NOT: fusec.cast
  // CHECK: fusec.matmul
  %q = fusec.constant dense<3> : tensor<512x256xi8>
  %c = fusec.cast %q : tensor<512x256xi8> to tensor<512x256xf16>
  %y = fusec.matmul %x, %c : tensor<4096x512xf16>, tensor<512x256xf16> to tensor<4096x256xf16>
  fusec.output %y : tensor<4096x256xf16>
}
