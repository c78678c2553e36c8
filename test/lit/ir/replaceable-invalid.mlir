// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: fusec-opt %s -split-input-file -verify-diagnostics

fusec.model @main inputs [] outputs ["y"] {
  // expected-error @+1 {{expected a name, got ''}}
  %a = fusec.replaceable <"", a> dense<1.0> : tensor<8x8xf32>
  fusec.output %a : tensor<8x8xf32>
}

// -----

fusec.model @main inputs [] outputs ["y"] {
  // expected-error @+1 {{expected a matrix, got rank 1}}
  %a = fusec.replaceable <"up", btransposed> dense<1.0> : tensor<8xf32>
  fusec.output %a : tensor<8xf32>
}
