// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-assign-storage,fusec-choose-schedules,fusec-plan-launches))" %s | FileCheck %s

// Lines of what nobody reads again leave L2 before others.
// CHECK: fusec.plan @sm_90a of @passing
// CHECK: fusec.step reduce
// CHECK: accesses = [#fusec.accesses<width = 8, loads = [8], stores = [1], passing = [0]>]
fusec.model @passing inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<16384x2048xf16>):
  %0 = fusec.reduce max %x axes [1] : tensor<16384x2048xf16> to tensor<16384xf16>
  fusec.output %0 : tensor<16384xf16>
}

// -----

// A vector that is stored at every point is one access; a thread takes several
// instead.
// CHECK: fusec.plan @sm_90a of @widening
// CHECK: pointwise_schedule<threads = 128, vector = 8, {{[^>]*}}> launch <{{.*}}, accesses = [#fusec.accesses<width = 4, loads = [4], stores = [4], passing = [0]>]>
fusec.model @widening inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<8192x8192xf16>):
  %0 = fusec.cast %x : tensor<8192x8192xf16> to tensor<8192x8192xf32>
  fusec.output %0 : tensor<8192x8192xf32>
}

// -----

// Of sums of columns it may be two: what is loaded decides.
// CHECK: fusec.plan @sm_90a of @sums
// CHECK: fusec.step reduce
// CHECK: accesses = [#fusec.accesses<width = 8, loads = [8], stores = [8]
fusec.model @sums inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<4096x8192xf16>):
  %0 = fusec.cast %x : tensor<4096x8192xf16> to tensor<4096x8192xf32>
  %1 = fusec.reduce sum %0 axes [0] : tensor<4096x8192xf32> to tensor<8192xf32>
  fusec.output %1 : tensor<8192xf32>
}

// -----

// Rows that begin anywhere are walked from where what they store is aligned, and
// what they load from a tensor of the same shape is aligned there, too.
// CHECK: fusec.plan @sm_90a of @beside
// CHECK: accesses = [#fusec.accesses<walk = memory, width = 8, loads = [8, 1, 1], stores = [8], passing = [0]>]
fusec.model @beside inputs ["x", "s", "b"] outputs ["y"] {
^bb0(%x: tensor<32x1024x333xf16>, %s: tensor<1024xf16>, %b: tensor<1024xf16>):
  %0 = fusec.broadcast %s [1] : tensor<1024xf16> to tensor<32x1024x333xf16>
  %1 = fusec.mul %x, %0 : tensor<32x1024x333xf16>
  %2 = fusec.broadcast %b [1] : tensor<1024xf16> to tensor<32x1024x333xf16>
  %3 = fusec.add %1, %2 : tensor<32x1024x333xf16>
  fusec.output %3 : tensor<32x1024x333xf16>
}

// -----

// Loads of neighbours that begin anywhere are vectors, too: of each lane, or of
// those that ask for a piece. What is around them is there, by a guard. Between
// them they ask for each element once.
// CHECK: fusec.plan @sm_90a of @halves
// CHECK: buffer = @x>]
// CHECK-SAME: accesses = [#fusec.accesses<walk = memory, width = 8, loads = [8, 8], stores = [8], passing = [0, 1], shifted = [0, 1]>]
// CHECK: accesses = [#fusec.accesses<loads = [1, 1], stores = [1], passing = [0, 1]>]
fusec.model @halves inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<7777x2730xbf16>):
  %0 = fusec.slice %x offsets [#fusec.expr<0>, #fusec.expr<0>] steps [1, 1] : tensor<7777x2730xbf16> to tensor<7777x1365xbf16>
  %1 = fusec.slice %x offsets [#fusec.expr<0>, #fusec.expr<1365>] steps [1, 1] : tensor<7777x2730xbf16> to tensor<7777x1365xbf16>
  %2 = fusec.mul %0, %1 : tensor<7777x1365xbf16>
  fusec.output %2 : tensor<7777x1365xbf16>
}

// -----

// Few single elements have a thread each at once.
// CHECK: fusec.plan @sm_90a of @few
// CHECK: variants [#fusec.variant<[], #fusec.pointwise_schedule<threads = 128, vector = 1, indexBits = 32>
// CHECK-SAME: accesses = [#fusec.accesses<loads = [1, 1], stores = [1]>]
fusec.model @few inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<77x2730xbf16>):
  %0 = fusec.slice %x offsets [#fusec.expr<0>, #fusec.expr<0>] steps [1, 1] : tensor<77x2730xbf16> to tensor<77x1365xbf16>
  %1 = fusec.slice %x offsets [#fusec.expr<0>, #fusec.expr<1365>] steps [1, 1] : tensor<77x2730xbf16> to tensor<77x1365xbf16>
  %2 = fusec.mul %0, %1 : tensor<77x1365xbf16>
  fusec.output %2 : tensor<77x1365xbf16>
}

// -----

// Columns of halves, of which no row begins where the one before does.
// CHECK: fusec.plan @sm_90a of @columns
// CHECK: kind = aligned, lhs = <0>, rhs = <16>, buffer = @x>]
// CHECK-SAME: scope = columns, threads = {{[0-9]+}}, indexBits = 32, vector = 8,
// CHECK-SAME: accesses = [#fusec.accesses<walk = memory, width = 8, loads = [8], stores = [1], passing = [0]>]
fusec.model @columns inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<4095x4097xf16>):
  %0 = fusec.reduce max %x axes [0] : tensor<4095x4097xf16> to tensor<4097xf16>
  fusec.output %0 : tensor<4097xf16>
}

// -----

// What is read twice is shifted into place each time.
// CHECK: fusec.plan @sm_90a of @twice
// CHECK: kind = aligned, lhs = <0>, rhs = <16>, buffer = @x>]
// CHECK-SAME: scope = columns, threads = {{[0-9]+}}, indexBits = 32, vector = 4,
// CHECK-SAME: accesses = [#fusec.accesses<walk = memory, width = 4, loads = [4], stores = [1], shifted = [0]>]
fusec.model @twice inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<4095x4097xf16>):
  %0 = fusec.reduce max %x axes [0] : tensor<4095x4097xf16> to tensor<4097xf16>
  %1 = fusec.broadcast %0 [1] : tensor<4097xf16> to tensor<4095x4097xf16>
  %2 = fusec.sub %x, %1 : tensor<4095x4097xf16>
  %3 = fusec.exp %2 : tensor<4095x4097xf16>
  %4 = fusec.reduce sum %3 axes [0] : tensor<4095x4097xf16> to tensor<4097xf16>
  fusec.output %4 : tensor<4097xf16>
}

// -----

// A few columns of many rows are read singly: by vectors they would be a few
// multiprocessors' work.
// CHECK: fusec.plan @sm_90a of @few_columns
// CHECK: variants [#fusec.variant<[{{.*}}], #fusec.reduce_schedule<scope = columns, threads = {{[0-9]+}}, indexBits = 32, groups =
fusec.model @few_columns inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<4099x257xf16>):
  %0 = fusec.reduce max %x axes [0] : tensor<4099x257xf16> to tensor<257xf16>
  fusec.output %0 : tensor<257xf16>
}

// -----

// CHECK: fusec.plan @sm_90a of @padded
// CHECK: accesses = [#fusec.accesses<width = 4, loads = [4, 4], stores = [4], passing = [0, 1], shifted = [0]>]
fusec.model @padded inputs ["x", "z"] outputs ["y"] {
^bb0(%x: tensor<8192x4095xf32>, %z: tensor<8192x4096xf32>):
  %0 = fusec.splat 0.0 : f32 : tensor<8192x1xf32>
  %1 = fusec.concat %x, %0 axis 1 : tensor<8192x4095xf32>, tensor<8192x1xf32> to tensor<8192x4096xf32>
  %2 = fusec.add %1, %z : tensor<8192x4096xf32>
  fusec.output %2 : tensor<8192x4096xf32>
}

// -----

// Not of so many pieces that most of what is shifted is for few lanes, nor of
// vectors of less than 8 bytes.
// CHECK: fusec.plan @sm_90a of @many_pieces
// CHECK-NOT: shifted
// CHECK: fusec.plan @sm_90a of @narrow
// CHECK-NOT: shifted
fusec.model @many_pieces inputs ["a", "b", "c", "d"] outputs ["y"] {
^bb0(%a: tensor<2048x3xf32>, %b: tensor<2048x5xf32>, %c: tensor<2048x7xf32>, %d: tensor<2048x9xf32>):
  %0 = fusec.concat %a, %b, %c, %d axis 1 : tensor<2048x3xf32>, tensor<2048x5xf32>, tensor<2048x7xf32>, tensor<2048x9xf32> to tensor<2048x24xf32>
  fusec.output %0 : tensor<2048x24xf32>
}

// -----

fusec.model @narrow inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<128x129xf16>):
  %0 = fusec.slice %x offsets [#fusec.expr<0>, #fusec.expr<1>] steps [1, 1] : tensor<128x129xf16> to tensor<128x2xf16>
  fusec.output %0 : tensor<128x2xf16>
}
