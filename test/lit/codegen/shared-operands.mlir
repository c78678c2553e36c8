// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-contractions,fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-assign-storage,fusec-choose-schedules))" %s | fusec-translate --split-input-file --fusec-to-cuda | FileCheck %s

// To the first operand lead 2^32 paths, each value is visited once.

// CHECK-LABEL: FUSEC_KERNEL(128) mul_0(
// CHECK-COUNT-32: const float mul_v
fusec.model @points inputs ["x"] outputs ["y"] {
^bb0(%0: tensor<6x8xf32>):
  %1 = fusec.mul %0, %0 : tensor<6x8xf32>
  %2 = fusec.mul %1, %1 : tensor<6x8xf32>
  %3 = fusec.mul %2, %2 : tensor<6x8xf32>
  %4 = fusec.mul %3, %3 : tensor<6x8xf32>
  %5 = fusec.mul %4, %4 : tensor<6x8xf32>
  %6 = fusec.mul %5, %5 : tensor<6x8xf32>
  %7 = fusec.mul %6, %6 : tensor<6x8xf32>
  %8 = fusec.mul %7, %7 : tensor<6x8xf32>
  %9 = fusec.mul %8, %8 : tensor<6x8xf32>
  %10 = fusec.mul %9, %9 : tensor<6x8xf32>
  %11 = fusec.mul %10, %10 : tensor<6x8xf32>
  %12 = fusec.mul %11, %11 : tensor<6x8xf32>
  %13 = fusec.mul %12, %12 : tensor<6x8xf32>
  %14 = fusec.mul %13, %13 : tensor<6x8xf32>
  %15 = fusec.mul %14, %14 : tensor<6x8xf32>
  %16 = fusec.mul %15, %15 : tensor<6x8xf32>
  %17 = fusec.mul %16, %16 : tensor<6x8xf32>
  %18 = fusec.mul %17, %17 : tensor<6x8xf32>
  %19 = fusec.mul %18, %18 : tensor<6x8xf32>
  %20 = fusec.mul %19, %19 : tensor<6x8xf32>
  %21 = fusec.mul %20, %20 : tensor<6x8xf32>
  %22 = fusec.mul %21, %21 : tensor<6x8xf32>
  %23 = fusec.mul %22, %22 : tensor<6x8xf32>
  %24 = fusec.mul %23, %23 : tensor<6x8xf32>
  %25 = fusec.mul %24, %24 : tensor<6x8xf32>
  %26 = fusec.mul %25, %25 : tensor<6x8xf32>
  %27 = fusec.mul %26, %26 : tensor<6x8xf32>
  %28 = fusec.mul %27, %27 : tensor<6x8xf32>
  %29 = fusec.mul %28, %28 : tensor<6x8xf32>
  %30 = fusec.mul %29, %29 : tensor<6x8xf32>
  %31 = fusec.mul %30, %30 : tensor<6x8xf32>
  %32 = fusec.mul %31, %31 : tensor<6x8xf32>
  fusec.output %32 : tensor<6x8xf32>
}

// -----

// CHECK-LABEL: FUSEC_KERNEL(128) mul_reduce_0(
// CHECK: fusec::reduceRow
// CHECK-COUNT-64: const float mul_v
fusec.model @rows inputs ["x"] outputs ["y"] {
^bb0(%0: tensor<6x8xf32>):
  %1 = fusec.mul %0, %0 : tensor<6x8xf32>
  %2 = fusec.mul %1, %1 : tensor<6x8xf32>
  %3 = fusec.mul %2, %2 : tensor<6x8xf32>
  %4 = fusec.mul %3, %3 : tensor<6x8xf32>
  %5 = fusec.mul %4, %4 : tensor<6x8xf32>
  %6 = fusec.mul %5, %5 : tensor<6x8xf32>
  %7 = fusec.mul %6, %6 : tensor<6x8xf32>
  %8 = fusec.mul %7, %7 : tensor<6x8xf32>
  %9 = fusec.mul %8, %8 : tensor<6x8xf32>
  %10 = fusec.mul %9, %9 : tensor<6x8xf32>
  %11 = fusec.mul %10, %10 : tensor<6x8xf32>
  %12 = fusec.mul %11, %11 : tensor<6x8xf32>
  %13 = fusec.mul %12, %12 : tensor<6x8xf32>
  %14 = fusec.mul %13, %13 : tensor<6x8xf32>
  %15 = fusec.mul %14, %14 : tensor<6x8xf32>
  %16 = fusec.mul %15, %15 : tensor<6x8xf32>
  %17 = fusec.mul %16, %16 : tensor<6x8xf32>
  %18 = fusec.mul %17, %17 : tensor<6x8xf32>
  %19 = fusec.mul %18, %18 : tensor<6x8xf32>
  %20 = fusec.mul %19, %19 : tensor<6x8xf32>
  %21 = fusec.mul %20, %20 : tensor<6x8xf32>
  %22 = fusec.mul %21, %21 : tensor<6x8xf32>
  %23 = fusec.mul %22, %22 : tensor<6x8xf32>
  %24 = fusec.mul %23, %23 : tensor<6x8xf32>
  %25 = fusec.mul %24, %24 : tensor<6x8xf32>
  %26 = fusec.mul %25, %25 : tensor<6x8xf32>
  %27 = fusec.mul %26, %26 : tensor<6x8xf32>
  %28 = fusec.mul %27, %27 : tensor<6x8xf32>
  %29 = fusec.mul %28, %28 : tensor<6x8xf32>
  %30 = fusec.mul %29, %29 : tensor<6x8xf32>
  %31 = fusec.mul %30, %30 : tensor<6x8xf32>
  %32 = fusec.mul %31, %31 : tensor<6x8xf32>
  %33 = fusec.reduce sum %32 axes [1] : tensor<6x8xf32> to tensor<6xf32>
  %34 = fusec.mul %33, %33 : tensor<6xf32>
  %35 = fusec.mul %34, %34 : tensor<6xf32>
  %36 = fusec.mul %35, %35 : tensor<6xf32>
  %37 = fusec.mul %36, %36 : tensor<6xf32>
  %38 = fusec.mul %37, %37 : tensor<6xf32>
  %39 = fusec.mul %38, %38 : tensor<6xf32>
  %40 = fusec.mul %39, %39 : tensor<6xf32>
  %41 = fusec.mul %40, %40 : tensor<6xf32>
  %42 = fusec.mul %41, %41 : tensor<6xf32>
  %43 = fusec.mul %42, %42 : tensor<6xf32>
  %44 = fusec.mul %43, %43 : tensor<6xf32>
  %45 = fusec.mul %44, %44 : tensor<6xf32>
  %46 = fusec.mul %45, %45 : tensor<6xf32>
  %47 = fusec.mul %46, %46 : tensor<6xf32>
  %48 = fusec.mul %47, %47 : tensor<6xf32>
  %49 = fusec.mul %48, %48 : tensor<6xf32>
  %50 = fusec.mul %49, %49 : tensor<6xf32>
  %51 = fusec.mul %50, %50 : tensor<6xf32>
  %52 = fusec.mul %51, %51 : tensor<6xf32>
  %53 = fusec.mul %52, %52 : tensor<6xf32>
  %54 = fusec.mul %53, %53 : tensor<6xf32>
  %55 = fusec.mul %54, %54 : tensor<6xf32>
  %56 = fusec.mul %55, %55 : tensor<6xf32>
  %57 = fusec.mul %56, %56 : tensor<6xf32>
  %58 = fusec.mul %57, %57 : tensor<6xf32>
  %59 = fusec.mul %58, %58 : tensor<6xf32>
  %60 = fusec.mul %59, %59 : tensor<6xf32>
  %61 = fusec.mul %60, %60 : tensor<6xf32>
  %62 = fusec.mul %61, %61 : tensor<6xf32>
  %63 = fusec.mul %62, %62 : tensor<6xf32>
  %64 = fusec.mul %63, %63 : tensor<6xf32>
  %65 = fusec.mul %64, %64 : tensor<6xf32>
  fusec.output %65 : tensor<6xf32>
}
