// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Those of matmul roots.

#include "test/gpu/KernelCases.h"

using namespace fusec;

/// A product, and what reduces its rows: widths that fill a tile, and not. The
/// scale of a softmax's results does not have in it what sums before it lose:
/// 1000 products added one after another change it by 131 roundings.
#define SOFTMAX_OF_PRODUCT(N)                                                  \
  {                                                                            \
    "rows-softmax" #N, {"f32", "f16"},                                         \
        {{"m", "k", "T"}, {"k", #N, "T"}, {#N, "T"}},                          \
        "inputs [\"x\", \"w\", \"b\"] outputs [\"r\"]",                        \
        "  %a = fusec.matmul %x, %y : $(m k T), $(k " #N " T) to $(m " #N      \
        " T)\n"                                                                \
        "  %b = fusec.broadcast %z [1] : $(" #N " T) to $(m " #N " T)\n"       \
        "  %c = fusec.add %a, %b : $(m " #N " T)\n"                            \
        "  %d = fusec.sigmoid %c : $(m " #N " T)\n"                            \
        "  %e = fusec.reduce max %d axes [1] : $(m " #N " T) to $(m T)\n"      \
        "  %f = fusec.broadcast %e [0] : $(m T) to $(m " #N " T)\n"            \
        "  %g = fusec.sub %d, %f : $(m " #N " T)\n"                            \
        "  %h = fusec.exp %g : $(m " #N " T)\n"                                \
        "  %i = fusec.reduce sum %h axes [1] : $(m " #N " T) to $(m T)\n"      \
        "  %j = fusec.broadcast %i [0] : $(m T) to $(m " #N " T)\n"            \
        "  %k = fusec.div %h, %j : $(m " #N " T)\n"                            \
        "  fusec.output %k : $(m " #N " T)",                                   \
        2, 4                                                                   \
  }
/// A transposed right operand, a residual that is stored as well, the root of
/// the mean square.
#define NORM_OF_PRODUCT(N)                                                     \
  {                                                                            \
    "rows-norm" #N, {"f32", "bf16"},                                           \
        {{"m", "k", "T"}, {#N, "k", "T"}, {"m", #N, "T"}},                     \
        "inputs [\"x\", \"w\", \"z\"] outputs [\"r\", \"s\"]",                 \
        "  %a = fusec.matmul %x, %y transposed : $(m k T), $(" #N              \
        " k T) to $(m " #N " T)\n"                                             \
        "  %b = fusec.add %a, %z : $(m " #N " T)\n"                            \
        "  %c = fusec.mul %b, %b : $(m " #N " T)\n"                            \
        "  %d = fusec.reduce sum %c axes [1] : $(m " #N " T) to $(m T)\n"      \
        "  %e = fusec.sqrt %d : $(m T)\n"                                      \
        "  %f = fusec.broadcast %e [0] : $(m T) to $(m " #N " T)\n"            \
        "  %g = fusec.div %b, %f : $(m " #N " T)\n"                            \
        "  fusec.output %b, %g : $(m " #N " T), $(m " #N " T)",                \
        2                                                                      \
  }

/// Few rows of many weights, of whose K each block of a cluster takes a part:
/// as many columns as make clusters of one, two and four blocks.
#define NARROW_PRODUCT(M, N, K)                                                \
  {                                                                            \
    "narrow" #N, {"f16"}, {{#M, #K, "T"}, {#N, #K, "T"}, {#N, "T"}},           \
        "inputs [\"x\", \"w\", \"b\"] outputs [\"r\"]",                        \
        "  %a = fusec.matmul %x, %y transposed : $(" #M " " #K " T), $(" #N    \
        " " #K " T) to $(" #M " " #N " T)\n"                                   \
        "  %b = fusec.broadcast %z [1] : $(" #N " T) to $(" #M " " #N " T)\n"  \
        "  %c = fusec.add %a, %b : $(" #M " " #N " T)\n"                       \
        "  fusec.output %c : $(" #M " " #N " T)",                              \
        1, 1, "skinny_schedule"                                                \
  }

/// K is split: a bias and an activation behind the sum of its ranges.
#define LONG_PRODUCT(M, N, K)                                                  \
  {                                                                            \
    "long-" #M "x" #K, {"f16", "f32"},                                         \
        {{#M, #K, "T"}, {#N, #K, "T"}, {#N, "T"}},                             \
        "inputs [\"x\", \"w\", \"b\"] outputs [\"r\"]",                        \
        "  %a = fusec.matmul %x, %y transposed : $(" #M " " #K " T), $(" #N    \
        " " #K " T) to $(" #M " " #N " T)\n"                                   \
        "  %b = fusec.broadcast %z [1] : $(" #N " T) to $(" #M " " #N " T)\n"  \
        "  %c = fusec.add %a, %b : $(" #M " " #N " T)\n"                       \
        "  %d = fusec.relu %c : $(" #M " " #N " T)\n"                          \
        "  fusec.output %d : $(" #M " " #N " T)",                              \
        1, 4                                                                   \
  }

// What varies by row is multiplied, what varies by both added.
#define SWAPPED_PRODUCT(NAME, TYPE, M, N, K)                                   \
  {                                                                            \
    NAME, {TYPE}, {{#M, #K, "T"}, {#N, #K, "T"}, {#M, #N, "T"}, {#M, "T"}},    \
        "inputs [\"x\", \"v\", \"z\", \"s\"] outputs [\"r\", \"t\"]",          \
        "  %a = fusec.matmul %x, %y transposed : $(" #M " " #K " T), $(" #N    \
        " " #K " T) to $(" #M " " #N " T)\n"                                   \
        "  %b = fusec.broadcast %w [0] : $(" #M " T) to $(" #M " " #N " T)\n"  \
        "  %c = fusec.mul %a, %b : $(" #M " " #N " T)\n"                       \
        "  %d = fusec.add %c, %z : $(" #M " " #N " T)\n"                       \
        "  fusec.output %c, %d : $(" #M " " #N " T), $(" #M " " #N " T)",      \
        1, 1, "swapped = true"                                                 \
  }

// x v + (x a) b, M x K x N with R columns in between, of a kernel that computes
// x a itself; its schedules are run at POINTS of the mapped sizes.
#define LEAD_PRODUCT(NAME, TYPE, M, K, N, R, POINTS, SCHEDULE)                 \
  {                                                                            \
    NAME, {TYPE},                                                              \
        {{#M, #K, "T"}, {#K, #N, "T"}, {#K, #R, "T"}, {#R, #N, "T"}},          \
        "inputs [\"x\", \"v\", \"a\", \"b\"] outputs [\"r\"]",                 \
        "  %a = fusec.matmul %x, %y : $(" #M " " #K " T), $(" #K " " #N        \
        " T) to $(" #M " " #N " T)\n"                                          \
        "  %b = fusec.matmul %x, %z : $(" #M " " #K " T), $(" #K " " #R        \
        " T) to $(" #M " " #R " T)\n"                                          \
        "  %c = fusec.matmul %b, %w : $(" #M " " #R " T), $(" #R " " #N        \
        " T) to $(" #M " " #N " T)\n"                                          \
        "  %d = fusec.add %a, %c : $(" #M " " #N " T)\n"                       \
        "  fusec.output %d : $(" #M " " #N " T)",                              \
        POINTS, 1, SCHEDULE                                                    \
  }

static const KernelCase productCases[] = {
    {"gemm",
     {"f32", "f16", "bf16", "f64", "i32", "i64"},
     {{"m", "k", "T"}, {"k", "n", "T"}, {"n", "T"}},
     R"(inputs ["x", "w", "b"] outputs ["r"])",
     R"(
  %a = fusec.matmul %x, %y : $(m k T), $(k n T) to $(m n T)
  %b = fusec.broadcast %z [1] : $(n T) to $(m n T)
  %c = fusec.add %a, %b : $(m n T)
  %d = fusec.relu %c : $(m n T)
  fusec.output %d : $(m n T))",
     4},
    {"transposed",
     {"f32", "f16", "bf16"},
     {{"k", "m", "T"}, {"n", "k", "T"}},
     R"(inputs ["x", "w"] outputs ["r"])",
     R"(
  %a = fusec.matmul %x transposed, %y transposed : $(k m T), $(n k T) to $(m n T)
  fusec.output %a : $(m n T))",
     4},
    {"batched",
     {"f32", "f16", "i32"},
     {{"3", "m", "k", "T"}, {"3", "k", "n", "T"}},
     R"(inputs ["x", "w"] outputs ["r"])",
     R"(
  %a = fusec.matmul %x, %y : $(3 m k T), $(3 k n T) to $(3 m n T)
  fusec.output %a : $(3 m n T))",
     4},
    {"gating",
     {"f32", "f16", "bf16"},
     {{"m", "k", "T"}, {"k", "n", "T"}, {"k", "n", "T"}},
     R"(inputs ["x", "v", "w"] outputs ["r"])",
     R"(
  %a = fusec.matmul %x, %y : $(m k T), $(k n T) to $(m n T)
  %b = fusec.matmul %x, %z : $(m k T), $(k n T) to $(m n T)
  %c = fusec.sigmoid %a : $(m n T)
  %d = fusec.mul %c, %b : $(m n T)
  fusec.output %d : $(m n T))",
     4},
    {"residual",
     {"f32", "f16"},
     {{"m", "k", "T"}, {"n", "k", "T"}, {"m", "n", "T"}},
     R"(inputs ["x", "w", "z"] outputs ["r", "s"])",
     R"(
  %a = fusec.matmul %x, %y transposed : $(m k T), $(n k T) to $(m n T)
  %b = fusec.add %a, %z : $(m n T)
  %c = fusec.relu %b : $(m n T)
  fusec.output %b, %c : $(m n T), $(m n T))",
     4},
    SOFTMAX_OF_PRODUCT(7),
    SOFTMAX_OF_PRODUCT(64),
    SOFTMAX_OF_PRODUCT(256),
    NORM_OF_PRODUCT(13),
    NORM_OF_PRODUCT(128),
    {"rows-sums",
     {"f32", "f16", "i32"},
     {{"3", "m", "k", "T"}, {"3", "k", "48", "T"}},
     R"(inputs ["x", "w"] outputs ["r", "s", "t"])",
     R"(
  %a = fusec.matmul %x, %y : $(3 m k T), $(3 k 48 T) to $(3 m 48 T)
  %b = fusec.reduce sum %a axes [2] : $(3 m 48 T) to $(3 m T)
  %c = fusec.reduce min %a axes [2] : $(3 m 48 T) to $(3 m T)
  %d = fusec.broadcast %b [0, 1] : $(3 m T) to $(3 m 48 T)
  %e = fusec.sub %d, %a : $(3 m 48 T)
  fusec.output %b, %c, %e : $(3 m T), $(3 m T), $(3 m 48 T))",
     2},
    {"rows-gated",
     {"f32", "f16"},
     {{"m", "k", "T"}, {"k", "128", "T"}, {"k", "128", "T"}},
     R"(inputs ["x", "v", "w"] outputs ["r", "s"])",
     R"(
  %a = fusec.matmul %x, %y : $(m k T), $(k 128 T) to $(m 128 T)
  %b = fusec.matmul %x, %z : $(m k T), $(k 128 T) to $(m 128 T)
  %c = fusec.sigmoid %a : $(m 128 T)
  %d = fusec.mul %c, %b : $(m 128 T)
  %e = fusec.reduce max %d axes [1] : $(m 128 T) to $(m T)
  %f = fusec.broadcast %e [0] : $(m T) to $(m 128 T)
  %g = fusec.add %f, %d : $(m 128 T)
  fusec.output %e, %g : $(m T), $(m 128 T))",
     2},
    {"rows-argmax",
     {"i64"},
     {{"m", "k", "T"}, {"k", "64", "T"}},
     R"(inputs ["x", "w"] outputs ["r"])",
     R"(
  %a = fusec.matmul %x, %y : $(m k T), $(k 64 T) to $(m 64 T)
  %b = fusec.arg_reduce max %a axis 1 : $(m 64 T) to $(m i64)
  fusec.output %b : $(m i64))",
     2},
    {"segments",
     {"f32", "bf16"},
     {{"m", "k", "T"}, {"n", "k", "T"}, {"m", "k", "T"}},
     R"(inputs ["x", "w", "z"] outputs ["r"])",
     R"(
  %a = fusec.matmul %x, %y transposed : $(m k T), $(n k T) to $(m n T)
  %b = fusec.matmul %z, %y transposed : $(m k T), $(n k T) to $(m n T)
  %c = fusec.add %a, %b : $(m n T)
  fusec.output %c : $(m n T))",
     4},
    // Parts of matrices: their offsets are the pointers', of tensor maps too.
    {"slices",
     {"f32", "f16", "bf16"},
     {{"m", "400", "T"}, {"200", "528", "T"}, {"m", "528", "T"}},
     R"(inputs ["x", "w", "z"] outputs ["r"])",
     R"(
  %s = fusec.slice %x offsets [#fusec.expr<0>, #fusec.expr<200>] steps [1, 1] : $(m 400 T) to $(m 200 T)
  %v = fusec.slice %y offsets [#fusec.expr<0>, #fusec.expr<0>] steps [1, 1] : $(200 528 T) to $(200 264 T)
  %w = fusec.slice %y offsets [#fusec.expr<0>, #fusec.expr<264>] steps [1, 1] : $(200 528 T) to $(200 264 T)
  %p = fusec.slice %z offsets [#fusec.expr<0>, #fusec.expr<264>] steps [1, 1] : $(m 528 T) to $(m 264 T)
  %a = fusec.matmul %s, %v : $(m 200 T), $(200 264 T) to $(m 264 T)
  %b = fusec.matmul %s, %w : $(m 200 T), $(200 264 T) to $(m 264 T)
  %c = fusec.sigmoid %a : $(m 264 T)
  %d = fusec.mul %c, %b : $(m 264 T)
  %e = fusec.add %d, %p : $(m 264 T)
  fusec.output %e : $(m 264 T))",
     4},
    // A matrix of equal columns, and one of equal elements.
    {"equal-columns",
     {"f32", "f16"},
     {{"m", "T"}, {"k", "n", "T"}},
     R"(inputs ["x", "w"] outputs ["r"])",
     R"(
  %u = fusec.broadcast %x [0] : $(m T) to $(m k T)
  %a = fusec.matmul %u, %y : $(m k T), $(k n T) to $(m n T)
  fusec.output %a : $(m n T))"},
    {"equal-elements",
     {"f32", "f16"},
     {{"T"}, {"k", "n", "T"}},
     R"(inputs ["x", "w"] outputs ["r"])",
     R"(
  %u = fusec.broadcast %x [] : $(T) to $(40 k T)
  %a = fusec.matmul %u, %y : $(40 k T), $(k n T) to $(40 n T)
  fusec.output %a : $(40 n T))"},
    // A single row, whose K ends within 16 bytes.
    {"narrow-odd",
     {"f16"},
     {{"1", "1003", "T"}, {"1003", "1608", "T"}},
     R"(inputs ["x", "w"] outputs ["r"])",
     R"(
  %a = fusec.matmul %x, %y : $(1 1003 T), $(1003 1608 T) to $(1 1608 T)
  fusec.output %a : $(1 1608 T))",
     1,
     1,
     "skinny_schedule"},
    NARROW_PRODUCT(1, 6400, 136),
    NARROW_PRODUCT(16, 3208, 264),
    NARROW_PRODUCT(24, 1608, 264),
    LONG_PRODUCT(1, 72, 100003),
    LONG_PRODUCT(7, 136, 4104),
    LONG_PRODUCT(13, 63, 40008),
    LONG_PRODUCT(127, 264, 16392),
    // Ranges take tiles of K in turn; the last tile is no whole one.
    LONG_PRODUCT(128, 200, 131080),
    // Another segment, which has something for the first of them alone.
    {"long-segments",
     {"f16", "f32"},
     {{"128", "131072", "T"},
      {"200", "131072", "T"},
      {"128", "1088", "T"},
      {"200", "1088", "T"}},
     R"(inputs ["x", "v", "y", "w"] outputs ["r"])",
     R"(
  %a = fusec.matmul %x, %y transposed : $(128 131072 T), $(200 131072 T) to $(128 200 T)
  %b = fusec.matmul %z, %w transposed : $(128 1088 T), $(200 1088 T) to $(128 200 T)
  %c = fusec.add %a, %b : $(128 200 T)
  fusec.output %c : $(128 200 T))",
     1,
     4},
    // As many rows of the right operand as K, beside each other.
    {"long-across",
     {"f16", "bf16", "f32"},
     {{"127", "8200", "T"}, {"8200", "136", "T"}, {"8200", "136", "T"}},
     R"(inputs ["x", "v", "w"] outputs ["r"])",
     R"(
  %a = fusec.matmul %x, %y : $(127 8200 T), $(8200 136 T) to $(127 136 T)
  %b = fusec.matmul %x, %z : $(127 8200 T), $(8200 136 T) to $(127 136 T)
  %c = fusec.sigmoid %a : $(127 136 T)
  %d = fusec.mul %c, %b : $(127 136 T)
  fusec.output %d : $(127 136 T))",
     1,
     4},
    // 1025 tiles of 64 rows, of which the blocks take 629 in turn.
    {"tall",
     {"f16"},
     {{"65539", "72", "T"}, {"72", "40", "T"}, {"40", "T"}},
     R"(inputs ["x", "w", "b"] outputs ["r"])",
     R"(
  %a = fusec.matmul %x, %y : $(65539 72 T), $(72 40 T) to $(65539 40 T)
  %b = fusec.broadcast %z [1] : $(40 T) to $(65539 40 T)
  %c = fusec.add %a, %b : $(65539 40 T)
  %d = fusec.relu %c : $(65539 40 T)
  fusec.output %d : $(65539 40 T))",
     1,
     1,
     "resident_schedule"},
    // Tokens along the tensor cores' columns: tiles of 80, 96 or 144 that
    // overlap, beside the last of 128 or 192 columns, which do, too.
    SWAPPED_PRODUCT("swapped", "f16", 281, 4104, 200),
    SWAPPED_PRODUCT("swappedwide", "bf16", 281, 12296, 520),
    // 4097 rows: 33 pairs of leading tiles. In tiles of 128 x 256 of the
    // product 30 of 66 clusters have one less and take one or two pairs first;
    // in tiles of 128 x 128 11 have, too few, so that all take one under a
    // tile.
    {"lead",
     {"f16", "bf16"},
     {{"m", "200", "T"},
      {"1408", "200", "T"},
      {"24", "200", "T"},
      {"24", "1408", "T"}},
     R"(inputs ["x", "v", "a", "b"] outputs ["r"])",
     R"(
  %a = fusec.matmul %x, %y transposed : $(m 200 T), $(1408 200 T) to $(m 1408 T)
  %b = fusec.matmul %x, %z transposed : $(m 200 T), $(24 200 T) to $(m 24 T)
  %c = fusec.matmul %b, %w : $(m 24 T), $(24 1408 T) to $(m 1408 T)
  %d = fusec.add %a, %c : $(m 1408 T)
  %e = fusec.relu %d : $(m 1408 T)
  fusec.output %e : $(m 1408 T))",
     1,
     1,
     "lead = 32"},
    // Segments in boxes of 32 bytes of K; leading tiles of 128 rows, one for
    // both consumers; 71 pairs of leading tiles for 36 clusters, two under a
    // tile.
    LEAD_PRODUCT("lead16", "f16", m, 520, 136, 16, 2, "lead = 16"),
    LEAD_PRODUCT("lead48", "f16", m, 264, 136, 40, 1, "lead = 48"),
    LEAD_PRODUCT("lead64", "f16", m, 264, 520, 64, 1, "lead = 64"),
    LEAD_PRODUCT("leadtall", "bf16", 9001, 72, 128, 16, 1, "lead = 16"),
    // A left operand that is made in registers: of floats, with a scale for
    // each k, by a function of which nothing is more than zero; the last step
    // has eight ks of 64.
    {"made-cast",
     {"f16", "bf16"},
     {{"m", "520", "f32"}, {"136", "520", "T"}},
     R"(inputs ["x", "w"] outputs ["r"])",
     R"(
  %a = fusec.cast %x : $(m 520 f32) to $(m 520 T)
  %b = fusec.matmul %a, %y transposed : $(m 520 T), $(136 520 T) to $(m 136 T)
  fusec.output %b : $(m 136 T))",
     2,
     1,
     "wgmma_schedule"},
    {"made-scale",
     {"f16", "bf16"},
     {{"m", "520", "T"}, {"520", "136", "T"}, {"520", "T"}},
     R"(inputs ["x", "w", "s"] outputs ["r"])",
     R"(
  %a = fusec.broadcast %z [1] : $(520 T) to $(m 520 T)
  %b = fusec.mul %x, %a : $(m 520 T)
  %c = fusec.matmul %b, %y : $(m 520 T), $(520 136 T) to $(m 136 T)
  fusec.output %c : $(m 136 T))",
     2,
     2,
     "wgmma_schedule"},
    {"made-sigmoid",
     {"f16", "bf16"},
     {{"m", "72", "T"}, {"136", "72", "T"}},
     R"(inputs ["x", "w"] outputs ["r"])",
     R"(
  %a = fusec.sigmoid %x : $(m 72 T)
  %b = fusec.matmul %a, %y transposed : $(m 72 T), $(136 72 T) to $(m 136 T)
  fusec.output %b : $(m 136 T))",
     2,
     2,
     "wgmma_schedule"},
    // A weight of bytes, times a scale for each of its rows, as A of the
    // transposed product.
    {"made-weight",
     {"f16", "bf16"},
     {{"m", "208", "T"}, {"1032", "208", "ui8"}, {"1032", "T"}},
     R"(inputs ["x", "w", "s"] outputs ["r"])",
     R"(
  %a = fusec.cast %y : $(1032 208 ui8) to $(1032 208 T)
  %b = fusec.broadcast %z [0] : $(1032 T) to $(1032 208 T)
  %c = fusec.mul %a, %b : $(1032 208 T)
  %d = fusec.matmul %x, %c transposed : $(m 208 T), $(1032 208 T) to $(m 1032 T)
  fusec.output %d : $(m 1032 T))",
     2,
     2},
    {"short",
     {"f16", "f32"},
     {{"m", "k", "T"}, {"n", "k", "T"}, {"m", "16", "T"}, {"n", "16", "T"}},
     R"(inputs ["x", "v", "z", "w"] outputs ["r"])",
     R"(
  %a = fusec.matmul %x, %y transposed : $(m k T), $(n k T) to $(m n T)
  %b = fusec.matmul %z, %w transposed : $(m 16 T), $(n 16 T) to $(m n T)
  %c = fusec.add %a, %b : $(m n T)
  fusec.output %c : $(m n T))",
     4},
    {"concat",
     {"f32", "f16", "bf16"},
     {{"m", "72", "T"}, {"m", "64", "T"}, {"m", "200", "T"}, {"336", "n", "T"}},
     R"(inputs ["a", "b", "c", "w"] outputs ["r"])",
     R"(
  %a = fusec.concat %x, %y, %z axis 1 : $(m 72 T), $(m 64 T), $(m 200 T) to $(m 336 T)
  %b = fusec.matmul %a, %w : $(m 336 T), $(336 n T) to $(m n T)
  %c = fusec.relu %b : $(m n T)
  fusec.output %c : $(m n T))",
     4},
    {"triple",
     {"f32", "f16", "bf16"},
     {{"m", "k", "T"}, {"k", "n", "T"}, {"k", "n", "T"}, {"k", "n", "T"}},
     R"(inputs ["x", "q", "k", "v"] outputs ["a", "b", "c"])",
     R"(
  %a = fusec.matmul %x, %y : $(m k T), $(k n T) to $(m n T)
  %b = fusec.matmul %x, %z : $(m k T), $(k n T) to $(m n T)
  %c = fusec.matmul %x, %w : $(m k T), $(k n T) to $(m n T)
  %d = fusec.relu %b : $(m n T)
  fusec.output %a, %d, %c : $(m n T), $(m n T), $(m n T))",
     4},
};

llvm::ArrayRef<KernelCase> fusec::getProductCases() { return productCases; }
