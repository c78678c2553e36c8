// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --allow-unregistered-dialect --split-input-file --verify-diagnostics %s

// expected-error @+1 {{expected an integer, a dimension's name or '('}}
"test.op"() {e = #fusec.expr<n + >} : () -> ()

// -----

// expected-error @+1 {{expected ','}}
"test.op"() {e = #fusec.expr<min(n)>} : () -> ()

// -----

// expected-error @+1 {{expected ','}}
"test.op"() {e = #fusec.constraint<n = m>} : () -> ()

// -----

// expected-error @+1 {{size 1 is 9, which does not agree with the type's shape}}
"test.op"() {t = tensor<?x8xf32, #fusec.sizes<[n, 9]>>} : () -> ()

// -----

// expected-error @+1 {{size 0 is 4, which does not agree with the type's shape}}
"test.op"() {t = tensor<?x8xf32, #fusec.sizes<[4, 8]>>} : () -> ()

// -----

// expected-error @+1 {{expected one size a dimension, got 1 for rank 2}}
"test.op"() {t = tensor<?x8xf32, #fusec.sizes<[n]>>} : () -> ()

// -----

// expected-error @+1 {{expected a dynamic size; a static type has no sizes}}
"test.op"() {t = tensor<8xf32, #fusec.sizes<[8]>>} : () -> ()

// -----

// expected-error @+1 {{expression nests deeper than 64}}
"test.op"() {e = #fusec.expr<((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((n))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))>} : () -> ()

// -----

// expected-error @+1 {{expected a dimension's name, got ""}}
"test.op"() {e = #fusec.expr<n + "">} : () -> ()

// -----

// expected-error @+1 {{expression has more than 4096 operands and operators when it is written out}}
"test.op"() {e = #fusec.expr<n mod a mod b mod c mod d mod e mod f mod g mod h mod i mod j mod k mod l mod m>} : () -> ()

// -----

// expected-error @+1 {{expected a power of two of elements a load, or three times 4 lanes, got 3}}
"test.op"() {a = #fusec.accesses<width = 4, loads = [4, 12, 3]>} : () -> ()

// -----

// expected-error @+1 {{expected a power of two of elements an access, got 12}}
"test.op"() {a = #fusec.accesses<width = 4, loads = [12], stores = [12]>} : () -> ()

// -----

// expected-error @+1 {{expected the place of one of 2 loads, got passing 2}}
"test.op"() {a = #fusec.accesses<width = 4, loads = [4, 1], passing = [0, 2]>} : () -> ()

// -----

// expected-error @+1 {{expected accesses of a loop, got 4 : i64}}
"test.op"() {l = #fusec.launch<blocks = <1>, threads = 128, accesses = [4]>} : () -> ()

// -----

// expected-error @+1 {{expected the place of one of 1 loads, got shifted 1}}
"test.op"() {a = #fusec.accesses<width = 4, loads = [4], shifted = [1]>} : () -> ()
