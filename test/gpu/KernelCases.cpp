// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/KernelCases.h"

using namespace fusec;

static const KernelCase cases[] = {
    {"pointwise",
     floats,
     {{"m", "n", "T"}, {"m", "n", "T"}, {"n", "T"}},
     R"(inputs ["x", "y", "b"] outputs ["r", "t"])",
     R"(
  %a = fusec.mul %x, %y : $(m n T)
  %b = fusec.broadcast %z [1] : $(n T) to $(m n T)
  %c = fusec.add %a, %b : $(m n T)
  %d = fusec.sigmoid %c : $(m n T)
  %e = fusec.transpose %d [1, 0] : $(m n T) to $(n m T)
  fusec.output %d, %e : $(m n T), $(n m T))"},
    // Angles of which some vectors hold some beyond 65536.
    {"sines",
     {"f16", "bf16"},
     {{"m", "n", "T"}},
     R"(inputs ["x"] outputs ["r", "t"])",
     R"(
  %a = fusec.cast %x : $(m n T) to $(m n f32)
  %b = fusec.splat 5.000000e+04 : f32 : $(m n f32)
  %c = fusec.mul %a, %b : $(m n f32)
  %d = fusec.sin %c : $(m n f32)
  %e = fusec.cos %c : $(m n f32)
  %f = fusec.cast %d : $(m n f32) to $(m n T)
  %g = fusec.mul %d, %e : $(m n f32)
  %h = fusec.cast %g : $(m n f32) to $(m n T)
  fusec.output %f, %h : $(m n T), $(m n T))"},
    {"integers",
     {"i32", "i64", "i8", "ui8"},
     {{"m", "n", "T"}, {"m", "n", "T"}},
     R"(inputs ["x", "y"] outputs ["r"])",
     R"(
  %a = fusec.mul %x, %y : $(m n T)
  %b = fusec.max %a, %y : $(m n T)
  fusec.output %b : $(m n T))"},
    {"concat",
     {"f32", "f16", "i64"},
     {{"m", "n", "T"}, {"m", "k", "T"}},
     R"(inputs ["x", "y"] outputs ["r"])",
     R"(
  %a = fusec.concat %x, %y axis 1 : $(m n T), $(m k T) to $(m n+k T)
  %b = fusec.add %a, %a : $(m n+k T)
  fusec.output %b : $(m n+k T))"},
    // More results at once than a kernel computes together.
    {"pieces",
     {"f32", "f16"},
     {{"m", "4", "T"}, {"m", "4", "T"}},
     R"(inputs ["x", "y"] outputs ["r"])",
     R"(
  %a = fusec.sigmoid %x : $(m 4 T)
  %b = fusec.relu %y : $(m 4 T)
  %c = fusec.mul %a, %b : $(m 4 T)
  %d = fusec.concat %a, %b, %c, %a, %b, %c, %a, %b, %c, %a, %b, %c,
      %a, %b, %c, %a, %b, %c, %a, %b, %c, %a, %b, %c,
      %a, %b, %c, %a, %b, %c, %a, %b, %c, %a, %b, %c,
      %a, %b, %c
      axis 1 : $(m 4 T), $(m 4 T), $(m 4 T), $(m 4 T), $(m 4 T), $(m 4 T),
      $(m 4 T), $(m 4 T), $(m 4 T), $(m 4 T), $(m 4 T), $(m 4 T),
      $(m 4 T), $(m 4 T), $(m 4 T), $(m 4 T), $(m 4 T), $(m 4 T),
      $(m 4 T), $(m 4 T), $(m 4 T), $(m 4 T), $(m 4 T), $(m 4 T),
      $(m 4 T), $(m 4 T), $(m 4 T), $(m 4 T), $(m 4 T), $(m 4 T),
      $(m 4 T), $(m 4 T), $(m 4 T), $(m 4 T), $(m 4 T), $(m 4 T),
      $(m 4 T), $(m 4 T), $(m 4 T) to $(m 156 T)
  fusec.output %d : $(m 156 T))"},
    {"gather",
     {"f32", "f16", "i8"},
     {{"n", "24", "T"}, {"m", "i64"}},
     R"(inputs ["table", "ids"] outputs ["r"])",
     R"(
  %a = fusec.broadcast %y [0] : $(m i64) to $(m 24 i64)
  %b = fusec.gather %x [-1, 1] (%a) flag : ($(n 24 T), $(m 24 i64)) -> $(m 24 T)
  fusec.output %b : $(m 24 T))"},
    {"softmax", floats, {{"m", "n", "T"}}, R"(inputs ["x"] outputs ["r"])", R"(
  %a = fusec.reduce max %x axes [1] : $(m n T) to $(m T)
  %b = fusec.broadcast %a [0] : $(m T) to $(m n T)
  %c = fusec.sub %x, %b : $(m n T)
  %d = fusec.exp %c : $(m n T)
  %e = fusec.reduce sum %d axes [1] : $(m n T) to $(m T)
  %f = fusec.broadcast %e [0] : $(m T) to $(m n T)
  %g = fusec.div %d, %f : $(m n T)
  fusec.output %g : $(m n T))"},
    // Of which each cluster has several, one after another.
    {"rows-of-clusters",
     {"f16"},
     {{"20000", "96", "T"}},
     R"(inputs ["x"] outputs ["r"])",
     R"(
  %a = fusec.reduce max %x axes [1] : $(20000 96 T) to $(20000 T)
  %b = fusec.broadcast %a [0] : $(20000 T) to $(20000 96 T)
  %c = fusec.sub %x, %b : $(20000 96 T)
  %d = fusec.exp %c : $(20000 96 T)
  %e = fusec.reduce sum %d axes [1] : $(20000 96 T) to $(20000 T)
  %f = fusec.broadcast %e [0] : $(20000 T) to $(20000 96 T)
  %g = fusec.div %d, %f : $(20000 96 T)
  fusec.output %g : $(20000 96 T))",
     1,
     1,
     "scope = cluster"},
    {"columns",
     {"f32", "f64", "i32"},
     {{"m", "n", "T"}},
     R"(inputs ["x"] outputs ["sum", "least"])",
     R"(
  %a = fusec.reduce sum %x axes [0] : $(m n T) to $(n T)
  %b = fusec.reduce min %x axes [0, 1] : $(m n T) to $(T)
  fusec.output %a, %b : $(n T), $(T))"},
    // Vectors of columns, that few or many threads share, and odd ones.
    {"columns-epilogue",
     {"f32", "f16", "f64"},
     {{"m", "n", "64", "T"}, {"64", "T"}},
     R"(inputs ["x", "b"] outputs ["r", "s"])",
     R"(
  %a = fusec.reduce sum %x axes [0] : $(m n 64 T) to $(n 64 T)
  %b = fusec.broadcast %y [1] : $(64 T) to $(n 64 T)
  %c = fusec.add %a, %b : $(n 64 T)
  %d = fusec.relu %c : $(n 64 T)
  %e = fusec.arg_reduce max %x axis 0 : $(m n 64 T) to $(n 64 i64)
  fusec.output %d, %e : $(n 64 T), $(n 64 i64))"},
    {"columns-middle",
     {"f32", "bf16", "i32"},
     {{"m", "n", "13", "T"}},
     R"(inputs ["x"] outputs ["r"])",
     R"(
  %a = fusec.reduce max %x axes [1] : $(m n 13 T) to $(m 13 T)
  %b = fusec.broadcast %a [0, 2] : $(m 13 T) to $(m n 13 T)
  %c = fusec.sub %x, %b : $(m n 13 T)
  %d = fusec.reduce sum %c axes [1] : $(m n 13 T) to $(m 13 T)
  %e = fusec.broadcast %d [0, 2] : $(m 13 T) to $(m n 13 T)
  %f = fusec.add %c, %e : $(m n 13 T)
  fusec.output %f : $(m n 13 T))"},
    {"argmax",
     {"f32", "i64"},
     {{"m", "n", "T"}},
     R"(inputs ["x"] outputs ["r"])",
     R"(
  %a = fusec.arg_reduce max %x axis 1 : $(m n T) to $(m i64)
  fusec.output %a : $(m i64))"},
    {"chain",
     {"f32", "f16", "bf16", "f64", "i32"},
     {{"m", "19", "T"}, {"19", "12", "T"}, {"12", "12", "T"}},
     R"(inputs ["x", "v", "w"] outputs ["r", "s"])",
     R"(
  %a = fusec.matmul %x, %y : $(m 19 T), $(19 12 T) to $(m 12 T)
  %b = fusec.relu %a : $(m 12 T)
  %c = fusec.matmul %b, %z : $(m 12 T), $(12 12 T) to $(m 12 T)
  %d = fusec.matmul %b, %z transposed : $(m 12 T), $(12 12 T) to $(m 12 T)
  %e = fusec.matmul %c, %z : $(m 12 T), $(12 12 T) to $(m 12 T)
  %f = fusec.add %d, %e : $(m 12 T)
  %g = fusec.add %f, %b : $(m 12 T)
  fusec.output %g, %c : $(m 12 T), $(m 12 T))",
     4},
};

llvm::ArrayRef<KernelCase> fusec::getKernelCases() {
  static const std::vector<KernelCase> all = [] {
    std::vector<KernelCase> joined(std::begin(cases), std::end(cases));
    llvm::ArrayRef<KernelCase> products = getProductCases();
    joined.insert(joined.end(), products.begin(), products.end());
    return joined;
  }();
  return all;
}
