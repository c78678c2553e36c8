// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every pointwise op survives a round trip, for each type class it knows.

// RUN: fusec-opt %s | fusec-opt | FileCheck %s
// RUN: fusec-opt --mlir-print-op-generic %s | fusec-opt | FileCheck %s

// CHECK-LABEL: fusec.model @numbers
fusec.model @numbers inputs ["x", "y", "i", "j", "u"] outputs [] {
^bb0(%x: tensor<8xbf16>, %y: tensor<8xbf16>, %i: tensor<8xi32>, %j: tensor<8xi32>, %u: tensor<8xui8>):
  // CHECK: fusec.add %{{.*}}, %{{.*}} : tensor<8xbf16>
  %0 = fusec.add %x, %y : tensor<8xbf16>
  // CHECK: fusec.add %{{.*}}, %{{.*}} : tensor<8xi32>
  %1 = fusec.add %i, %j : tensor<8xi32>
  // CHECK: fusec.add %{{.*}}, %{{.*}} : tensor<8xui8>
  %2 = fusec.add %u, %u : tensor<8xui8>
  // CHECK: fusec.sub %{{.*}}, %{{.*}} : tensor<8xbf16>
  %3 = fusec.sub %x, %y : tensor<8xbf16>
  // CHECK: fusec.sub %{{.*}}, %{{.*}} : tensor<8xi32>
  %4 = fusec.sub %i, %j : tensor<8xi32>
  // CHECK: fusec.sub %{{.*}}, %{{.*}} : tensor<8xui8>
  %5 = fusec.sub %u, %u : tensor<8xui8>
  // CHECK: fusec.mul %{{.*}}, %{{.*}} : tensor<8xbf16>
  %6 = fusec.mul %x, %y : tensor<8xbf16>
  // CHECK: fusec.mul %{{.*}}, %{{.*}} : tensor<8xi32>
  %7 = fusec.mul %i, %j : tensor<8xi32>
  // CHECK: fusec.mul %{{.*}}, %{{.*}} : tensor<8xui8>
  %8 = fusec.mul %u, %u : tensor<8xui8>
  // CHECK: fusec.div %{{.*}}, %{{.*}} : tensor<8xbf16>
  %9 = fusec.div %x, %y : tensor<8xbf16>
  // CHECK: fusec.div %{{.*}}, %{{.*}} : tensor<8xi32>
  %10 = fusec.div %i, %j : tensor<8xi32>
  // CHECK: fusec.div %{{.*}}, %{{.*}} : tensor<8xui8>
  %11 = fusec.div %u, %u : tensor<8xui8>
  // CHECK: fusec.remainder %{{.*}}, %{{.*}} : tensor<8xbf16>
  %12 = fusec.remainder %x, %y : tensor<8xbf16>
  // CHECK: fusec.remainder %{{.*}}, %{{.*}} : tensor<8xi32>
  %13 = fusec.remainder %i, %j : tensor<8xi32>
  // CHECK: fusec.remainder %{{.*}}, %{{.*}} : tensor<8xui8>
  %14 = fusec.remainder %u, %u : tensor<8xui8>
  // CHECK: fusec.mod %{{.*}}, %{{.*}} : tensor<8xbf16>
  %15 = fusec.mod %x, %y : tensor<8xbf16>
  // CHECK: fusec.mod %{{.*}}, %{{.*}} : tensor<8xi32>
  %16 = fusec.mod %i, %j : tensor<8xi32>
  // CHECK: fusec.mod %{{.*}}, %{{.*}} : tensor<8xui8>
  %17 = fusec.mod %u, %u : tensor<8xui8>
  // CHECK: fusec.pow %{{.*}}, %{{.*}} : tensor<8xbf16>
  %18 = fusec.pow %x, %y : tensor<8xbf16>
  // CHECK: fusec.pow %{{.*}}, %{{.*}} : tensor<8xi32>
  %19 = fusec.pow %i, %j : tensor<8xi32>
  // CHECK: fusec.pow %{{.*}}, %{{.*}} : tensor<8xui8>
  %20 = fusec.pow %u, %u : tensor<8xui8>
  // CHECK: fusec.max %{{.*}}, %{{.*}} : tensor<8xbf16>
  %21 = fusec.max %x, %y : tensor<8xbf16>
  // CHECK: fusec.max %{{.*}}, %{{.*}} : tensor<8xi32>
  %22 = fusec.max %i, %j : tensor<8xi32>
  // CHECK: fusec.max %{{.*}}, %{{.*}} : tensor<8xui8>
  %23 = fusec.max %u, %u : tensor<8xui8>
  // CHECK: fusec.min %{{.*}}, %{{.*}} : tensor<8xbf16>
  %24 = fusec.min %x, %y : tensor<8xbf16>
  // CHECK: fusec.min %{{.*}}, %{{.*}} : tensor<8xi32>
  %25 = fusec.min %i, %j : tensor<8xi32>
  // CHECK: fusec.min %{{.*}}, %{{.*}} : tensor<8xui8>
  %26 = fusec.min %u, %u : tensor<8xui8>
  // CHECK: fusec.neg %{{.*}} : tensor<8xbf16>
  %27 = fusec.neg %x : tensor<8xbf16>
  // CHECK: fusec.neg %{{.*}} : tensor<8xi32>
  %28 = fusec.neg %i : tensor<8xi32>
  // CHECK: fusec.neg %{{.*}} : tensor<8xui8>
  %29 = fusec.neg %u : tensor<8xui8>
  // CHECK: fusec.abs %{{.*}} : tensor<8xbf16>
  %30 = fusec.abs %x : tensor<8xbf16>
  // CHECK: fusec.abs %{{.*}} : tensor<8xi32>
  %31 = fusec.abs %i : tensor<8xi32>
  // CHECK: fusec.abs %{{.*}} : tensor<8xui8>
  %32 = fusec.abs %u : tensor<8xui8>
  // CHECK: fusec.sign %{{.*}} : tensor<8xbf16>
  %33 = fusec.sign %x : tensor<8xbf16>
  // CHECK: fusec.sign %{{.*}} : tensor<8xi32>
  %34 = fusec.sign %i : tensor<8xi32>
  // CHECK: fusec.sign %{{.*}} : tensor<8xui8>
  %35 = fusec.sign %u : tensor<8xui8>
  // CHECK: fusec.relu %{{.*}} : tensor<8xbf16>
  %36 = fusec.relu %x : tensor<8xbf16>
  // CHECK: fusec.relu %{{.*}} : tensor<8xi32>
  %37 = fusec.relu %i : tensor<8xi32>
  // CHECK: fusec.relu %{{.*}} : tensor<8xui8>
  %38 = fusec.relu %u : tensor<8xui8>
}

// CHECK-LABEL: fusec.model @floats
fusec.model @floats inputs ["x"] outputs [] {
^bb0(%x: tensor<?x3xf32, #fusec.sizes<[n, 3]>>):
  // CHECK: fusec.ceil %{{.*}} : tensor<?x3xf32, #fusec.sizes<[n, 3]>>
  %39 = fusec.ceil %x : tensor<?x3xf32, #fusec.sizes<[n, 3]>>
  // CHECK: fusec.floor %{{.*}} : tensor<?x3xf32, #fusec.sizes<[n, 3]>>
  %40 = fusec.floor %x : tensor<?x3xf32, #fusec.sizes<[n, 3]>>
  // CHECK: fusec.round %{{.*}} : tensor<?x3xf32, #fusec.sizes<[n, 3]>>
  %41 = fusec.round %x : tensor<?x3xf32, #fusec.sizes<[n, 3]>>
  // CHECK: fusec.sqrt %{{.*}} : tensor<?x3xf32, #fusec.sizes<[n, 3]>>
  %42 = fusec.sqrt %x : tensor<?x3xf32, #fusec.sizes<[n, 3]>>
  // CHECK: fusec.rsqrt %{{.*}} : tensor<?x3xf32, #fusec.sizes<[n, 3]>>
  %43 = fusec.rsqrt %x : tensor<?x3xf32, #fusec.sizes<[n, 3]>>
  // CHECK: fusec.reciprocal %{{.*}} : tensor<?x3xf32, #fusec.sizes<[n, 3]>>
  %44 = fusec.reciprocal %x : tensor<?x3xf32, #fusec.sizes<[n, 3]>>
  // CHECK: fusec.exp %{{.*}} : tensor<?x3xf32, #fusec.sizes<[n, 3]>>
  %45 = fusec.exp %x : tensor<?x3xf32, #fusec.sizes<[n, 3]>>
  // CHECK: fusec.expm1 %{{.*}} : tensor<?x3xf32, #fusec.sizes<[n, 3]>>
  %46 = fusec.expm1 %x : tensor<?x3xf32, #fusec.sizes<[n, 3]>>
  // CHECK: fusec.log %{{.*}} : tensor<?x3xf32, #fusec.sizes<[n, 3]>>
  %47 = fusec.log %x : tensor<?x3xf32, #fusec.sizes<[n, 3]>>
  // CHECK: fusec.log1p %{{.*}} : tensor<?x3xf32, #fusec.sizes<[n, 3]>>
  %48 = fusec.log1p %x : tensor<?x3xf32, #fusec.sizes<[n, 3]>>
  // CHECK: fusec.erf %{{.*}} : tensor<?x3xf32, #fusec.sizes<[n, 3]>>
  %49 = fusec.erf %x : tensor<?x3xf32, #fusec.sizes<[n, 3]>>
  // CHECK: fusec.sin %{{.*}} : tensor<?x3xf32, #fusec.sizes<[n, 3]>>
  %50 = fusec.sin %x : tensor<?x3xf32, #fusec.sizes<[n, 3]>>
  // CHECK: fusec.cos %{{.*}} : tensor<?x3xf32, #fusec.sizes<[n, 3]>>
  %51 = fusec.cos %x : tensor<?x3xf32, #fusec.sizes<[n, 3]>>
  // CHECK: fusec.tan %{{.*}} : tensor<?x3xf32, #fusec.sizes<[n, 3]>>
  %52 = fusec.tan %x : tensor<?x3xf32, #fusec.sizes<[n, 3]>>
  // CHECK: fusec.sinh %{{.*}} : tensor<?x3xf32, #fusec.sizes<[n, 3]>>
  %53 = fusec.sinh %x : tensor<?x3xf32, #fusec.sizes<[n, 3]>>
  // CHECK: fusec.cosh %{{.*}} : tensor<?x3xf32, #fusec.sizes<[n, 3]>>
  %54 = fusec.cosh %x : tensor<?x3xf32, #fusec.sizes<[n, 3]>>
  // CHECK: fusec.tanh %{{.*}} : tensor<?x3xf32, #fusec.sizes<[n, 3]>>
  %55 = fusec.tanh %x : tensor<?x3xf32, #fusec.sizes<[n, 3]>>
  // CHECK: fusec.sigmoid %{{.*}} : tensor<?x3xf32, #fusec.sizes<[n, 3]>>
  %56 = fusec.sigmoid %x : tensor<?x3xf32, #fusec.sizes<[n, 3]>>
  // CHECK: fusec.softplus %{{.*}} : tensor<?x3xf32, #fusec.sizes<[n, 3]>>
  %57 = fusec.softplus %x : tensor<?x3xf32, #fusec.sizes<[n, 3]>>
  // CHECK: fusec.gelu %{{.*}} : tensor<?x3xf32, #fusec.sizes<[n, 3]>>
  %58 = fusec.gelu %x : tensor<?x3xf32, #fusec.sizes<[n, 3]>>
  // CHECK: fusec.gelu_tanh %{{.*}} : tensor<?x3xf32, #fusec.sizes<[n, 3]>>
  %59 = fusec.gelu_tanh %x : tensor<?x3xf32, #fusec.sizes<[n, 3]>>
  // CHECK: fusec.silu %{{.*}} : tensor<?x3xf32, #fusec.sizes<[n, 3]>>
  %60 = fusec.silu %x : tensor<?x3xf32, #fusec.sizes<[n, 3]>>
}

// CHECK-LABEL: fusec.model @logic
fusec.model @logic inputs ["a", "b", "x", "u"] outputs [] {
^bb0(%a: tensor<8xi1>, %b: tensor<8xi1>, %x: tensor<8xf16>, %u: tensor<8xui64>):
  // CHECK: fusec.and %{{.*}}, %{{.*}} : tensor<8xi1>
  %61 = fusec.and %a, %b : tensor<8xi1>
  // CHECK: fusec.or %{{.*}}, %{{.*}} : tensor<8xi1>
  %62 = fusec.or %a, %b : tensor<8xi1>
  // CHECK: fusec.xor %{{.*}}, %{{.*}} : tensor<8xi1>
  %63 = fusec.xor %a, %b : tensor<8xi1>
  // CHECK: fusec.not %{{.*}} : tensor<8xi1>
  %64 = fusec.not %a : tensor<8xi1>
  // CHECK: fusec.equal %{{.*}}, %{{.*}} : tensor<8xf16>
  %65 = fusec.equal %x, %x : tensor<8xf16>
  // CHECK: fusec.equal %{{.*}}, %{{.*}} : tensor<8xui64>
  %66 = fusec.equal %u, %u : tensor<8xui64>
  // CHECK: fusec.equal %{{.*}}, %{{.*}} : tensor<8xi1>
  %67 = fusec.equal %b, %b : tensor<8xi1>
  // CHECK: fusec.less %{{.*}}, %{{.*}} : tensor<8xf16>
  %68 = fusec.less %x, %x : tensor<8xf16>
  // CHECK: fusec.less %{{.*}}, %{{.*}} : tensor<8xui64>
  %69 = fusec.less %u, %u : tensor<8xui64>
  // CHECK: fusec.less %{{.*}}, %{{.*}} : tensor<8xi1>
  %70 = fusec.less %b, %b : tensor<8xi1>
  // CHECK: fusec.less_or_equal %{{.*}}, %{{.*}} : tensor<8xf16>
  %71 = fusec.less_or_equal %x, %x : tensor<8xf16>
  // CHECK: fusec.less_or_equal %{{.*}}, %{{.*}} : tensor<8xui64>
  %72 = fusec.less_or_equal %u, %u : tensor<8xui64>
  // CHECK: fusec.less_or_equal %{{.*}}, %{{.*}} : tensor<8xi1>
  %73 = fusec.less_or_equal %b, %b : tensor<8xi1>
  // CHECK: fusec.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<8xi1>, tensor<8xf16>
  %74 = fusec.select %a, %x, %x : tensor<8xi1>, tensor<8xf16>
  // CHECK: fusec.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<8xi1>, tensor<8xi1>
  %75 = fusec.select %a, %a, %b : tensor<8xi1>, tensor<8xi1>
  // CHECK: fusec.cast %{{.*}} : tensor<8xf16> to tensor<8xi1>
  %76 = fusec.cast %x : tensor<8xf16> to tensor<8xi1>
  // CHECK: fusec.cast %{{.*}} : tensor<8xi1> to tensor<8xui64>
  %77 = fusec.cast %a : tensor<8xi1> to tensor<8xui64>
}
