// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Schedules of reductions that candidates measured on an H200 decide, where the
// bytes do not.

// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-contractions,fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-assign-storage,fusec-choose-schedules))" %s | FileCheck %s

// One group of threads would be 96 blocks of 132, of which each computes a GELU
// an item: 45 us. Two are 192, 34 us, four 27, and 26 where a block has all columns of
// a plane.
// CHECK-LABEL: fusec.plan @sm_90a of @expensive
// CHECK: #fusec.variant<[{{.*}}], #fusec.reduce_schedule<scope = columns, threads = 384, indexBits = 32, vector = 8, groups = 4>
fusec.model @expensive inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<256x197x768xf16>):
  %0 = fusec.gelu %x : tensor<256x197x768xf16>
  %1 = fusec.cast %0 : tensor<256x197x768xf16> to tensor<256x197x768xf32>
  %2 = fusec.reduce sum %1 axes [1] : tensor<256x197x768xf32> to tensor<256x768xf32>
  %3 = fusec.cast %2 : tensor<256x768xf32> to tensor<256x768xf16>
  fusec.output %3 : tensor<256x768xf16>
}

// -----

// Threads that keep 52 items have a multiprocessor for two blocks, those that
// keep 28 for four, one of which reads while others compute: 92 and 65 us.
// CHECK-LABEL: fusec.plan @sm_90a of @long
// CHECK: #fusec.variant<[{{.*}}], #fusec.reduce_schedule<scope = cluster, threads = 256, indexBits = 32, vector = 4, groups = 8, kept = 7>
fusec.model @long inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<1023x50257xf32>):
  %0 = fusec.reduce max %x axes [1] : tensor<1023x50257xf32> to tensor<1023xf32>
  %1 = fusec.broadcast %0 [0] : tensor<1023xf32> to tensor<1023x50257xf32>
  %2 = fusec.sub %x, %1 : tensor<1023x50257xf32>
  %3 = fusec.exp %2 : tensor<1023x50257xf32>
  %4 = fusec.reduce sum %3 axes [1] : tensor<1023x50257xf32> to tensor<1023xf32>
  %5 = fusec.log %4 : tensor<1023xf32>
  %6 = fusec.add %5, %0 : tensor<1023xf32>
  fusec.output %6 : tensor<1023xf32>
}

// -----

// Four blocks of a multiprocessor have as many tiles as its registers hold;
// 32 groups would be twice as many blocks.
// CHECK-LABEL: fusec.plan @sm_90a of @tiles
// CHECK: #fusec.variant<[{{.*}}], #fusec.reduce_schedule<scope = columns, threads = 256, indexBits = 32, vector = 4, groups = 16>
fusec.model @tiles inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<64x1024x512xf32>):
  %0 = fusec.cumsum %x axis 1 : tensor<64x1024x512xf32> to tensor<64x1024x512xf32>
  fusec.output %0 : tensor<64x1024x512xf32>
}

// -----

// Parts that follow one another begin a part's length behind each other.
// CHECK-LABEL: fusec.plan @sm_90a of @parts
// CHECK: fusec.step reduce
// CHECK: indexBits = 32
// CHECK: parts 16
fusec.model @parts inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<64x8192x512xf16>):
  %0 = fusec.reduce sum %x axes [1] parts 16 : tensor<64x8192x512xf16> to tensor<16x64x512xf16>
  fusec.output %0 : tensor<16x64x512xf16>
}

// -----

// 32 bits count 1.9 x 10^9 halves, but of 4097 items 16 parts have 320 each, so
// that the last row's begin is found from 2.3 x 10^9 less what that is too much.
// CHECK-LABEL: fusec.plan @sm_90a of @uneven
// CHECK: fusec.step reduce
// CHECK: indexBits = 64
// CHECK-NOT: indexBits = 32
// CHECK: parts 16
fusec.model @uneven inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<900x4097x512xf16>):
  %0 = fusec.reduce sum %x axes [1] parts 16 : tensor<900x4097x512xf16> to tensor<16x900x512xf16>
  fusec.output %0 : tensor<16x900x512xf16>
}

// -----

// Where the first axis is reduced the number of a part counts all of its rows:
// 32 bits count 2^30 halves, but not 16 x 2^19 rows, 2^10 halves apart.
// CHECK-LABEL: fusec.plan @sm_90a of @apart
// CHECK: fusec.step reduce
// CHECK: indexBits = 64
// CHECK-NOT: indexBits = 32
// CHECK: parts 16
fusec.model @apart inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<2x524288x1024xf16>):
  %0 = fusec.reduce sum %x axes [0, 2] parts 16 : tensor<2x524288x1024xf16> to tensor<16x524288xf16>
  fusec.output %0 : tensor<16x524288xf16>
}

// -----

// Of the sum of all a part's number alone says where it begins.
// CHECK-LABEL: fusec.plan @sm_90a of @all
// CHECK: fusec.step reduce
// CHECK: indexBits = 32
// CHECK: parts 2048
fusec.model @all inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<16384x16384xf16>):
  %0 = fusec.reduce sum %x axes [0, 1] parts 2048 : tensor<16384x16384xf16> to tensor<2048xf16>
  fusec.output %0 : tensor<2048xf16>
}

// -----

// A factor is on its way while a block that others follow reduces its row.
// CHECK-LABEL: fusec.plan @sm_90a of @factor
// CHECK: #fusec.reduce_schedule<scope = block, threads = 128, indexBits = 32, vector = 8, kept = 4, ahead = true>
fusec.model @factor inputs ["x", "s"] outputs ["y"] {
^bb0(%x: tensor<16384x4096xf16>, %s: tensor<4096xf16>):
  %0 = fusec.cast %x : tensor<16384x4096xf16> to tensor<16384x4096xf32>
  %1 = fusec.mul %0, %0 : tensor<16384x4096xf32>
  %2 = fusec.reduce sum %1 axes [1] : tensor<16384x4096xf32> to tensor<16384xf32>
  %3 = fusec.rsqrt %2 : tensor<16384xf32>
  %4 = fusec.broadcast %3 [0] : tensor<16384xf32> to tensor<16384x4096xf32>
  %5 = fusec.mul %0, %4 : tensor<16384x4096xf32>
  %6 = fusec.cast %5 : tensor<16384x4096xf32> to tensor<16384x4096xf16>
  %7 = fusec.broadcast %s [1] : tensor<4096xf16> to tensor<16384x4096xf16>
  %8 = fusec.mul %6, %7 : tensor<16384x4096xf16>
  fusec.output %8 : tensor<16384x4096xf16>
}

// -----

// Rows of halves that share a warp and load their factors ahead are compiled for
// as many blocks as the items leave registers for.
// CHECK-LABEL: fusec.plan @sm_90a of @shared
// CHECK: #fusec.reduce_schedule<scope = warp, threads = 128, indexBits = 32, vector = 8, groups = 8, kept = 3, ahead = true, resident = 7>
// CHECK: #fusec.reduce_schedule<scope = warp, threads = 128, indexBits = 32, vector = 8, groups = 8, kept = 3, ahead = true>
fusec.model @shared inputs ["x", "s", "b"] outputs ["y"] {
^bb0(%x: tensor<131072x96xf16>, %s: tensor<96xf16>, %b: tensor<96xf16>):
  %0 = fusec.cast %x : tensor<131072x96xf16> to tensor<131072x96xf32>
  %1 = fusec.reduce sum %0 axes [1] : tensor<131072x96xf32> to tensor<131072xf32>
  %2 = fusec.broadcast %1 [0] : tensor<131072xf32> to tensor<131072x96xf32>
  %3 = fusec.sub %0, %2 : tensor<131072x96xf32>
  %4 = fusec.mul %3, %3 : tensor<131072x96xf32>
  %5 = fusec.reduce sum %4 axes [1] : tensor<131072x96xf32> to tensor<131072xf32>
  %6 = fusec.rsqrt %5 : tensor<131072xf32>
  %7 = fusec.broadcast %6 [0] : tensor<131072xf32> to tensor<131072x96xf32>
  %8 = fusec.mul %3, %7 : tensor<131072x96xf32>
  %9 = fusec.cast %8 : tensor<131072x96xf32> to tensor<131072x96xf16>
  %10 = fusec.broadcast %s [1] : tensor<96xf16> to tensor<131072x96xf16>
  %11 = fusec.mul %9, %10 : tensor<131072x96xf16>
  %12 = fusec.broadcast %b [1] : tensor<96xf16> to tensor<131072x96xf16>
  %13 = fusec.add %11, %12 : tensor<131072x96xf16>
  fusec.output %13 : tensor<131072x96xf16>
}

// -----

// The lanes of a vector that begins anywhere would load the mask one by one:
// 9.4 us, by single items 7.7.
// CHECK-LABEL: fusec.plan @sm_90a of @masked
// CHECK: #fusec.variant<[], #fusec.reduce_schedule<scope = warp, threads = 128, indexBits = 32, kept = 7
fusec.model @masked inputs ["x", "m"] outputs ["y"] {
^bb0(%x: tensor<4x3152x197xf16>, %m: tensor<4x197xi1>):
  %1 = fusec.splat -10000.0 : f16 : tensor<4x3152x197xf16>
  %2 = fusec.broadcast %m [0, 2] : tensor<4x197xi1> to tensor<4x3152x197xi1>
  %3 = fusec.select %2, %x, %1 : tensor<4x3152x197xi1>, tensor<4x3152x197xf16>
  %4 = fusec.cast %3 : tensor<4x3152x197xf16> to tensor<4x3152x197xf32>
  %5 = fusec.reduce max %4 axes [2] : tensor<4x3152x197xf32> to tensor<4x3152xf32>
  %6 = fusec.broadcast %5 [0, 1] : tensor<4x3152xf32> to tensor<4x3152x197xf32>
  %7 = fusec.sub %4, %6 : tensor<4x3152x197xf32>
  %8 = fusec.exp %7 : tensor<4x3152x197xf32>
  %9 = fusec.reduce sum %8 axes [2] : tensor<4x3152x197xf32> to tensor<4x3152xf32>
  %10 = fusec.broadcast %9 [0, 1] : tensor<4x3152xf32> to tensor<4x3152x197xf32>
  %11 = fusec.div %8, %10 : tensor<4x3152x197xf32>
  %12 = fusec.cast %11 : tensor<4x3152x197xf32> to tensor<4x3152x197xf16>
  fusec.output %12 : tensor<4x3152x197xf16>
}

// -----

// The same without a mask loads nothing by lanes, and takes vectors.
// CHECK-LABEL: fusec.plan @sm_90a of @plain
// CHECK: #fusec.variant<[{{.+}}], #fusec.reduce_schedule<scope = warp, threads = 128, indexBits = 32, vector = 8, kept = 1
fusec.model @plain inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<12608x197xf16>):
  %4 = fusec.cast %x : tensor<12608x197xf16> to tensor<12608x197xf32>
  %5 = fusec.reduce max %4 axes [1] : tensor<12608x197xf32> to tensor<12608xf32>
  %6 = fusec.broadcast %5 [0] : tensor<12608xf32> to tensor<12608x197xf32>
  %7 = fusec.sub %4, %6 : tensor<12608x197xf32>
  %8 = fusec.exp %7 : tensor<12608x197xf32>
  %9 = fusec.reduce sum %8 axes [1] : tensor<12608x197xf32> to tensor<12608xf32>
  %10 = fusec.broadcast %9 [0] : tensor<12608xf32> to tensor<12608x197xf32>
  %11 = fusec.div %8, %10 : tensor<12608x197xf32>
  %12 = fusec.cast %11 : tensor<12608x197xf32> to tensor<12608x197xf16>
  fusec.output %12 : tensor<12608x197xf16>
}

// -----

// 128 blocks, one for each of 132 multiprocessors: 8.6 us, by 318 of 8 columns
// 9.4.
// CHECK-LABEL: fusec.plan @sm_90a of @even
// CHECK: #fusec.reduce_schedule<scope = columns, threads = 640, indexBits = 32, groups = 32, kept = 32, resident = 1>
fusec.model @even inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<33x1001x77xf32>):
  %0 = fusec.reduce sum %x axes [1] : tensor<33x1001x77xf32> to tensor<33x77xf32>
  fusec.output %0 : tensor<33x77xf32>
}

// -----

// A cluster's registers hold no such row, which would be read twice: 83 us, by
// teams 47.
// CHECK-LABEL: fusec.plan @sm_90a of @team
// CHECK: fusec.step reduce
// CHECK: #fusec.variant<[{{.+}}], #fusec.reduce_schedule<scope = team, threads = {{256|512}}, indexBits = 32, vector = 4
// CHECK-NOT: fusec.step reduce
fusec.model @team inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<16x1048576xf32>):
  %n = fusec.splat 1048576.0 : f32 : tensor<16xf32>
  %e = fusec.splat 1.0e-05 : f32 : tensor<16xf32>
  %0 = fusec.reduce sum %x axes [1] : tensor<16x1048576xf32> to tensor<16xf32>
  %1 = fusec.div %0, %n : tensor<16xf32>
  %2 = fusec.broadcast %1 [0] : tensor<16xf32> to tensor<16x1048576xf32>
  %3 = fusec.sub %x, %2 : tensor<16x1048576xf32>
  %4 = fusec.mul %3, %3 : tensor<16x1048576xf32>
  %5 = fusec.reduce sum %4 axes [1] : tensor<16x1048576xf32> to tensor<16xf32>
  %6 = fusec.div %5, %n : tensor<16xf32>
  %7 = fusec.add %6, %e : tensor<16xf32>
  %8 = fusec.rsqrt %7 : tensor<16xf32>
  %9 = fusec.broadcast %8 [0] : tensor<16xf32> to tensor<16x1048576xf32>
  %10 = fusec.mul %3, %9 : tensor<16x1048576xf32>
  fusec.output %10 : tensor<16x1048576xf32>
}

// -----

// Half as many blocks of twice the threads, which read pieces twice as wide: 23.5 us for
// 23.8. They are said to take a hundredth less than those in whose place they are, which
// are second.
// CHECK-LABEL: fusec.plan @sm_90a of @twin
// CHECK: #fusec.variant<[{{.*}}], #fusec.reduce_schedule<scope = columns, threads = 512, indexBits = 32, vector = 4, groups = 16, kept = 16, resident = 1>, takes <nanoseconds = 186{{..}},{{.*}}>, else[<#fusec.reduce_schedule<scope = columns, threads = 256, indexBits = 32, vector = 4, groups = 16, kept = 16, resident = 1>, <nanoseconds = 188{{..}},
fusec.model @twin inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<256x256x512xf16>):
  %0 = fusec.cast %x : tensor<256x256x512xf16> to tensor<256x256x512xf32>
  %1 = fusec.reduce sum %0 axes [1] : tensor<256x256x512xf32> to tensor<256x512xf32>
  fusec.output %1 : tensor<256x512xf32>
}

// -----

// Softmax by a team, whose powers stay in registers: 78 us, by teams 53.
// CHECK-LABEL: fusec.plan @sm_90a of @team_softmax
// CHECK: fusec.step reduce
// CHECK: #fusec.variant<[{{.+}}], #fusec.reduce_schedule<scope = team, threads = {{256|512}}, indexBits = 32, vector = 4
// CHECK-NOT: fusec.step reduce
fusec.model @team_softmax inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<32x524288xf32>):
  %0 = fusec.reduce max %x axes [1] : tensor<32x524288xf32> to tensor<32xf32>
  %1 = fusec.broadcast %0 [0] : tensor<32xf32> to tensor<32x524288xf32>
  %2 = fusec.sub %x, %1 : tensor<32x524288xf32>
  %3 = fusec.exp %2 : tensor<32x524288xf32>
  %4 = fusec.reduce sum %3 axes [1] : tensor<32x524288xf32> to tensor<32xf32>
  %5 = fusec.broadcast %4 [0] : tensor<32xf32> to tensor<32x524288xf32>
  %6 = fusec.div %3, %5 : tensor<32x524288xf32>
  fusec.output %6 : tensor<32x524288xf32>
}
