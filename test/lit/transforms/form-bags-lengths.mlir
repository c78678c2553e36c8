// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --pass-pipeline="builtin.module(fusec.model(fusec-form-bags,cse,fusec-simplify-views))" --split-input-file %s | FileCheck %s
// RUN: fusec-opt --pass-pipeline="builtin.module(fusec.model(fusec-form-bags{exact=true}))" --split-input-file %s | FileCheck %s --check-prefix=EXACT

#n = #fusec.sizes<[n]>
#ids = #fusec.sizes<[n, 3]>
#one = #fusec.sizes<[n, 1]>
#sum = #fusec.sizes<[n, 4]>
#rows = #fusec.sizes<[n, 3, 4]>

// A mask of places below a length, arange(3) < length: the bag has its first rows
// alone. Over the number of ids that the mask leaves, over the length, or over at
// least 1, a sum is a mean.
// CHECK-LABEL: fusec.model @means
// EXACT-LABEL: fusec.model @means
fusec.model @means inputs ["ids", "lengths"] outputs ["a", "b", "c", "d"] {
^bb0(%ids: tensor<?x3xi64, #ids>, %lengths: tensor<?xi32, #n>):
  // CHECK: %[[L:.+]] = fusec.expand %{{.+}} {{.+}} : tensor<?xi32, {{.+}}> to tensor<?x1xi32
  // CHECK: fusec.bag mean(%{{.+}}) at(%{{.+}}) lengths(%[[L]]) of [0] flag scales [1.000000e+00] :
  // CHECK: fusec.bag mean(%{{.+}}) at(%{{.+}}) lengths(%[[L]]) of [0] least 0xFFF0000000000000 flag
  // CHECK: fusec.bag mean(%{{.+}}) at(%{{.+}}) lengths(%[[L]]) of [0] least 1.000000e+00 flag
  // CHECK: fusec.bag sum(%{{.+}}) at(%{{.+}}) by(%{{.+}}) lengths(%[[L]]) of [0] flag scales
  // EXACT: fusec.bag sum({{.+}}) of [0] flag scales [1.000000e+00] :
  // EXACT: fusec.div
  %t = fusec.constant dense<1.0> : tensor<7x4xf32>
  %w = fusec.constant dense<[2.0, 3.0, 5.0]> : tensor<3xf32>
  %p = fusec.constant dense<[0, 1, 2]> : tensor<3xi64>
  %long = fusec.cast %lengths : tensor<?xi32, #n> to tensor<?xi64, #n>
  %pb = fusec.broadcast %p [1] : tensor<3xi64> to tensor<?x3xi64, #ids>
  %lb = fusec.broadcast %long [0] : tensor<?xi64, #n> to tensor<?x3xi64, #ids>
  %less = fusec.less %pb, %lb : tensor<?x3xi64, #ids>
  %m = fusec.cast %less : tensor<?x3xi1, #ids> to tensor<?x3xf32, #ids>
  %mb = fusec.broadcast %m [0, 1] : tensor<?x3xf32, #ids> to tensor<?x3x4xf32, #rows>
  %b = fusec.broadcast %ids [0, 1] : tensor<?x3xi64, #ids> to tensor<?x3x4xi64, #rows>
  %one = fusec.splat 1.0 : f32 : tensor<?xf32, #n>
  %number = fusec.reduce sum %m axes [1] : tensor<?x3xf32, #ids> to tensor<?xf32, #n>
  %least = fusec.max %number, %one : tensor<?xf32, #n>
  %float = fusec.cast %long : tensor<?xi64, #n> to tensor<?xf32, #n>
  %clamped = fusec.max %float, %one : tensor<?xf32, #n>

  %0 = fusec.gather %t [-1, 2] (%b) flag : (tensor<7x4xf32>, tensor<?x3x4xi64, #rows>) -> tensor<?x3x4xf32, #rows>
  %1 = fusec.mul %0, %mb : tensor<?x3x4xf32, #rows>
  %2 = fusec.reduce sum %1 axes [1] : tensor<?x3x4xf32, #rows> to tensor<?x4xf32, #sum>
  %3 = fusec.broadcast %least [0] : tensor<?xf32, #n> to tensor<?x4xf32, #sum>
  %4 = fusec.div %2, %3 : tensor<?x4xf32, #sum>
  %5 = fusec.gather %t [-1, 2] (%b) flag : (tensor<7x4xf32>, tensor<?x3x4xi64, #rows>) -> tensor<?x3x4xf32, #rows>
  %6 = fusec.mul %5, %mb : tensor<?x3x4xf32, #rows>
  %7 = fusec.reduce sum %6 axes [1] : tensor<?x3x4xf32, #rows> to tensor<?x4xf32, #sum>
  %8 = fusec.broadcast %float [0] : tensor<?xf32, #n> to tensor<?x4xf32, #sum>
  %9 = fusec.div %7, %8 : tensor<?x4xf32, #sum>
  %10 = fusec.gather %t [-1, 2] (%b) flag : (tensor<7x4xf32>, tensor<?x3x4xi64, #rows>) -> tensor<?x3x4xf32, #rows>
  %11 = fusec.mul %mb, %10 : tensor<?x3x4xf32, #rows>
  %12 = fusec.reduce sum %11 axes [1] : tensor<?x3x4xf32, #rows> to tensor<?x4xf32, #sum>
  %13 = fusec.broadcast %clamped [0] : tensor<?xf32, #n> to tensor<?x4xf32, #sum>
  %14 = fusec.div %12, %13 : tensor<?x4xf32, #sum>
  %wb = fusec.broadcast %w [1] : tensor<3xf32> to tensor<?x3xf32, #ids>
  %wm = fusec.mul %wb, %m : tensor<?x3xf32, #ids>
  %wmb = fusec.broadcast %wm [0, 1] : tensor<?x3xf32, #ids> to tensor<?x3x4xf32, #rows>
  %15 = fusec.gather %t [-1, 2] (%b) flag : (tensor<7x4xf32>, tensor<?x3x4xi64, #rows>) -> tensor<?x3x4xf32, #rows>
  %16 = fusec.mul %15, %wmb : tensor<?x3x4xf32, #rows>
  %17 = fusec.reduce sum %16 axes [1] : tensor<?x3x4xf32, #rows> to tensor<?x4xf32, #sum>
  fusec.output %4, %9, %14, %17 : tensor<?x4xf32, #sum>, tensor<?x4xf32, #sum>, tensor<?x4xf32, #sum>, tensor<?x4xf32, #sum>
}

// -----

// A select leaves out whatever the row is; of a maximum it says what stands for
// rows beyond. Of rows that may be infinite a product with 0 is none, and no mask
// of lengths is one whose places begin at 1, or that has a place more.
// CHECK-LABEL: fusec.model @others
fusec.model @others inputs ["ids", "lengths"] outputs ["a", "b", "c", "d", "e"] {
^bb0(%ids: tensor<8x3xi64>, %lengths: tensor<8x5xi64>):
  // CHECK: fusec.bag max(%{{.+}}) at(%{{.+}}) lengths(%{{.+}}) of [0] fill 0xFFF0000000000000 flag
  // CHECK: fusec.bag sum(%{{.+}}) at(%{{.+}}) lengths(%{{.+}}) of [0] flag
  // CHECK: fusec.bag sum(%{{.+}}) at(%{{.+}}) by(%{{.+}}) flag
  // CHECK: fusec.bag sum(%{{.+}}) at(%{{.+}}) by(%{{.+}}) flag
  // CHECK: fusec.bag sum(%{{.+}}) at(%{{.+}}) by(%{{.+}}) flag
  %t = fusec.constant dense<[[1.0], [0x7F800000]]> : tensor<2x1xf32>
  %u = fusec.constant dense<1.0> : tensor<2x1xf32>
  %p = fusec.constant dense<[0, 1, 2]> : tensor<3xi64>
  %q = fusec.constant dense<[1, 2, 3]> : tensor<3xi64>
  %b = fusec.broadcast %ids [0, 1] : tensor<8x3xi64> to tensor<8x3x1xi64>
  // The lengths are a column of several.
  %l2 = fusec.slice %lengths offsets [#fusec.expr<0>, #fusec.expr<2>] steps [1, 1] : tensor<8x5xi64> to tensor<8x1xi64>
  %lb = fusec.broadcast %l2 [0, 1] : tensor<8x1xi64> to tensor<8x3xi64>
  %pb = fusec.broadcast %p [1] : tensor<3xi64> to tensor<8x3xi64>
  %qb = fusec.broadcast %q [1] : tensor<3xi64> to tensor<8x3xi64>
  %beyond = fusec.less_or_equal %lb, %pb : tensor<8x3xi64>
  %bb = fusec.broadcast %beyond [0, 1] : tensor<8x3xi1> to tensor<8x3x1xi1>
  %inf = fusec.splat 0xFF800000 : f32 : tensor<8x3x1xf32>
  %zero = fusec.splat 0.0 : f32 : tensor<8x3x1xf32>
  %0 = fusec.gather %t [-1, 2] (%b) flag : (tensor<2x1xf32>, tensor<8x3x1xi64>) -> tensor<8x3x1xf32>
  %1 = fusec.select %bb, %inf, %0 : tensor<8x3x1xi1>, tensor<8x3x1xf32>
  %2 = fusec.reduce max %1 axes [1] : tensor<8x3x1xf32> to tensor<8x1xf32>
  %within = fusec.not %bb : tensor<8x3x1xi1>
  %3 = fusec.gather %t [-1, 2] (%b) flag : (tensor<2x1xf32>, tensor<8x3x1xi64>) -> tensor<8x3x1xf32>
  %4 = fusec.select %within, %3, %zero : tensor<8x3x1xi1>, tensor<8x3x1xf32>
  %5 = fusec.reduce sum %4 axes [1] : tensor<8x3x1xf32> to tensor<8x1xf32>
  %kept = fusec.not %beyond : tensor<8x3xi1>
  %flat = fusec.cast %kept : tensor<8x3xi1> to tensor<8x3xf32>
  %m = fusec.broadcast %flat [0, 1] : tensor<8x3xf32> to tensor<8x3x1xf32>
  %6 = fusec.gather %t [-1, 2] (%b) flag : (tensor<2x1xf32>, tensor<8x3x1xi64>) -> tensor<8x3x1xf32>
  %7 = fusec.mul %6, %m : tensor<8x3x1xf32>
  %8 = fusec.reduce sum %7 axes [1] : tensor<8x3x1xf32> to tensor<8x1xf32>
  %later = fusec.less %qb, %lb : tensor<8x3xi64>
  %lm = fusec.cast %later : tensor<8x3xi1> to tensor<8x3xf32>
  %lmb = fusec.broadcast %lm [0, 1] : tensor<8x3xf32> to tensor<8x3x1xf32>
  %9 = fusec.gather %u [-1, 2] (%b) flag : (tensor<2x1xf32>, tensor<8x3x1xi64>) -> tensor<8x3x1xf32>
  %10 = fusec.mul %9, %lmb : tensor<8x3x1xf32>
  %11 = fusec.reduce sum %10 axes [1] : tensor<8x3x1xf32> to tensor<8x1xf32>
  %more = fusec.less_or_equal %pb, %lb : tensor<8x3xi64>
  %mm = fusec.cast %more : tensor<8x3xi1> to tensor<8x3xf32>
  %mmb = fusec.broadcast %mm [0, 1] : tensor<8x3xf32> to tensor<8x3x1xf32>
  %12 = fusec.gather %u [-1, 2] (%b) flag : (tensor<2x1xf32>, tensor<8x3x1xi64>) -> tensor<8x3x1xf32>
  %13 = fusec.mul %12, %mmb : tensor<8x3x1xf32>
  %14 = fusec.reduce sum %13 axes [1] : tensor<8x3x1xf32> to tensor<8x1xf32>
  fusec.output %2, %5, %8, %11, %14 : tensor<8x1xf32>, tensor<8x1xf32>, tensor<8x1xf32>, tensor<8x1xf32>, tensor<8x1xf32>
}

// -----

// Maxima, sums of lengths and lookups in one; lengths that are the same are one.
// CHECK-LABEL: fusec.model @joined
fusec.model @joined inputs ["ids", "lengths"] outputs ["y"] {
^bb0(%ids: tensor<8x3xi64>, %lengths: tensor<8xi64>):
  // CHECK: fusec.bag sum(%{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}) at({{.+}}) lengths(%{{[a-z0-9]+}}) of [0, -1, 0, -1] flag scales [1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00] maxima [1] :
  %t = fusec.constant dense<1.0> : tensor<7x4xf32>
  %u = fusec.constant dense<2.0> : tensor<9x4xf32>
  %p = fusec.constant dense<[0, 1, 2]> : tensor<3xi64>
  %pb = fusec.broadcast %p [1] : tensor<3xi64> to tensor<8x3xi64>
  %lb = fusec.broadcast %lengths [0] : tensor<8xi64> to tensor<8x3xi64>
  %less = fusec.less %pb, %lb : tensor<8x3xi64>
  %m = fusec.cast %less : tensor<8x3xi1> to tensor<8x3xf32>
  %mb = fusec.broadcast %m [0, 1] : tensor<8x3xf32> to tensor<8x3x4xf32>
  %b = fusec.broadcast %ids [0, 1] : tensor<8x3xi64> to tensor<8x3x4xi64>
  %0 = fusec.gather %t [-1, 2] (%b) flag : (tensor<7x4xf32>, tensor<8x3x4xi64>) -> tensor<8x3x4xf32>
  %1 = fusec.mul %0, %mb : tensor<8x3x4xf32>
  %2 = fusec.reduce sum %1 axes [1] : tensor<8x3x4xf32> to tensor<8x4xf32>
  %3 = fusec.gather %u [-1, 2] (%b) flag : (tensor<9x4xf32>, tensor<8x3x4xi64>) -> tensor<8x3x4xf32>
  %4 = fusec.reduce max %3 axes [1] : tensor<8x3x4xf32> to tensor<8x4xf32>
  %5 = fusec.gather %u [-1, 2] (%b) flag : (tensor<9x4xf32>, tensor<8x3x4xi64>) -> tensor<8x3x4xf32>
  %6 = fusec.mul %5, %mb : tensor<8x3x4xf32>
  %7 = fusec.reduce sum %6 axes [1] : tensor<8x3x4xf32> to tensor<8x4xf32>
  %first = fusec.slice %ids offsets [#fusec.expr<0>, #fusec.expr<0>] steps [1, 1] : tensor<8x3xi64> to tensor<8x1xi64>
  %fb = fusec.broadcast %first [0, 1] : tensor<8x1xi64> to tensor<8x4xi64>
  %8 = fusec.gather %t [-1, 1] (%fb) flag : (tensor<7x4xf32>, tensor<8x4xi64>) -> tensor<8x4xf32>
  %y = fusec.concat %2, %4, %7, %8 axis 1 : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32> to tensor<8x16xf32>
  fusec.output %y : tensor<8x16xf32>
}
