// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matmuls of sm_90a whose matrices have tensor maps.

// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-contractions,fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-assign-storage,fusec-choose-schedules))" %s | fusec-translate --split-input-file --fusec-to-cuda | FileCheck %s

// Large: wgmma; matrices, the residual and the result move through maps.
// CHECK-LABEL: #include "gemm_wgmma.h"
// CHECK: Segment<fusec::Mapped<fusec::Matrix<fusec::f16, fusec::Major::K, 16
// CHECK: Pack<fusec::Mapped<fusec::FullOperand<fusec::f16
// CHECK: Pack<fusec::Mapped<fusec::FullResult<fusec::f16
// CHECK: struct Tiling {
// CHECK-NEXT: tileM = 128, tileN = {{[0-9]+}}, tileK = 64, stages
// CHECK: const FUSEC_GRID_CONSTANT fusec::TensorMap t_x_map
// CHECK: typedef fusec::WgmmaConfig<Tiling> Config;
fusec.model @linear inputs ["x", "w", "r"] outputs ["y"] {
^bb0(%x: tensor<4096x4096xf16>, %w: tensor<4096x4096xf16>, %r: tensor<4096x4096xf16>):
  %0 = fusec.matmul %x, %w : tensor<4096x4096xf16>, tensor<4096x4096xf16> to tensor<4096x4096xf16>
  %1 = fusec.add %0, %r : tensor<4096x4096xf16>
  fusec.output %1 : tensor<4096x4096xf16>
}

// -----

// Rows of 4093 results begin anywhere: the copy engine cannot store them.
// CHECK-LABEL: #include "gemm_wgmma.h"
// CHECK-NOT: Mapped<fusec::FullResult
// CHECK: fusec::FullResult<fusec::f16
fusec.model @odd inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<4096x4096xf16>, %w: tensor<4093x4096xf16>):
  %0 = fusec.matmul %x, %w transposed : tensor<4096x4096xf16>, tensor<4093x4096xf16> to tensor<4096x4093xf16>
  fusec.output %0 : tensor<4096x4093xf16>
}

// -----

// 281 tokens lie along the columns of two tiles of the transposed product:
// its rows are the result's columns.
// CHECK-LABEL: #include "gemm_wgmma.h"
// CHECK: Pack<fusec::Mapped<fusec::FullOperand<fusec::f16, fusec::Contiguous, fusec::Stride
// CHECK: Pack<fusec::Mapped<fusec::FullResult<fusec::f16, fusec::Contiguous, fusec::Stride
// CHECK: tileM = 192, tileN = 144, tileK = 64, stages = {{[0-9]+}}, clusterM = 1, clusterN = 1, band = 16;
// CHECK-NEXT: pingPong = false, streamed = true, early = false, swapped = true;
// CHECK: gemmWgmma<Config>({12288, 281, 1}
fusec.model @tokens inputs ["x", "w", "r"] outputs ["y"] {
^bb0(%x: tensor<281x4096xf16>, %w: tensor<12288x4096xf16>, %r: tensor<281x12288xf16>):
  %0 = fusec.matmul %x, %w transposed : tensor<281x4096xf16>, tensor<12288x4096xf16> to tensor<281x12288xf16>
  %1 = fusec.add %0, %r : tensor<281x12288xf16>
  fusec.output %1 : tensor<281x12288xf16>
}

// -----

// A segment of 16 halves of K has boxes of 32 bytes.
// CHECK-LABEL: #include "gemm_wgmma.h"
// CHECK: Segment<fusec::Mapped<fusec::Matrix<fusec::f16, fusec::Major::K, 16, fusec::Unbatched>>,
// CHECK: Segment<fusec::Mapped<fusec::Matrix<fusec::f16, fusec::Major::K, 16, fusec::Unbatched>, 32>,
// CHECK-NEXT: fusec::Mapped<fusec::Matrix<fusec::f16, fusec::Major::Outer, 16, fusec::Unbatched>, 32>, 1> Segment1;
fusec.model @low_rank inputs ["x", "w", "t", "b"] outputs ["y"] {
^bb0(%x: tensor<4096x4096xf16>, %w: tensor<4096x4096xf16>, %t: tensor<4096x16xf16>, %b: tensor<16x4096xf16>):
  %0 = fusec.matmul %x, %w : tensor<4096x4096xf16>, tensor<4096x4096xf16> to tensor<4096x4096xf16>
  %1 = fusec.matmul %t, %b : tensor<4096x16xf16>, tensor<16x4096xf16> to tensor<4096x4096xf16>
  %2 = fusec.add %0, %1 : tensor<4096x4096xf16>
  fusec.output %2 : tensor<4096x4096xf16>
}

// -----

// Few rows: the weights' bytes bound, K is split over a cluster.
// CHECK-LABEL: #include "gemm_skinny.h"
// CHECK: tokens = 16, blocks = 1, tileK = 64
// CHECK: FUSEC_KERNEL_RESIDENT(160, 2)
// CHECK: SkinnyConfig<Tiling>
fusec.model @few_rows inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<16x4096xf16>, %w: tensor<4096x4096xf16>):
  %0 = fusec.matmul %x, %w : tensor<16x4096xf16>, tensor<4096x4096xf16> to tensor<16x4096xf16>
  fusec.output %0 : tensor<16x4096xf16>
}

// -----

// Tall and narrow: both weights stay in shared memory, and the blocks take the
// tiles in turn.
// CHECK-LABEL: #include "gemm_resident.h"
// CHECK: columns = 64, tileN = 64, consumers = 3, stages = 4;
// CHECK: fusec::u32 *flags) {
// CHECK: ResidentConfig<Tiling>
// CHECK: gemmResident<Config>(flags, {1048576, 64, 1}, epilogue
fusec.model @gating inputs ["x", "v", "w"] outputs ["y"] {
^bb0(%x: tensor<1048576x128xf16>, %v: tensor<128x64xf16>, %w: tensor<128x64xf16>):
  %0 = fusec.matmul %x, %v : tensor<1048576x128xf16>, tensor<128x64xf16> to tensor<1048576x64xf16>
  %1 = fusec.matmul %x, %w : tensor<1048576x128xf16>, tensor<128x64xf16> to tensor<1048576x64xf16>
  %2 = fusec.sigmoid %0 : tensor<1048576x64xf16>
  %3 = fusec.mul %2, %1 : tensor<1048576x64xf16>
  fusec.output %3 : tensor<1048576x64xf16>
}
