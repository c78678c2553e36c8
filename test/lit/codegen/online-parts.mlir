// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-split-reductions,fusec-assign-storage,fusec-choose-schedules))" %s | fusec-translate --split-input-file --fusec-to-cuda | FileCheck %s

// Blocks of the second kernel store a part of the row each, which is on its way
// while all reduce what the parts gave.
// CHECK-LABEL: // reduce_sub_exp_div_parts{{$}}
// CHECK: fusec::forEachRow<Scope>([[$P:[0-9]+]],
// CHECK: t_mosts[row] = reduce;
// CHECK: t_sums[row] = reduce_2;
// CHECK-LABEL: // reduce_sub_exp_div{{$}}
// CHECK: #include "reduce_span.h"
// CHECK: const int length = [[$P]];
// CHECK: fusec::forEachRow<Scope>([[G:[0-9]+]], [&](fusec::i64 group) {
// CHECK: const int row = int(group) / [[G]], first = int(group) % [[G]] * [[L:[0-9]+]];
// CHECK: const fusec::Part<int> stored = {first, first + [[L]]};
// CHECK: fusec::forEachKept<Scope, 1, [[R:[0-9]+]]>(length,
// CHECK: kept[step] = fusec::load<1>(t_mosts + k);
// CHECK: kept_2[step] = fusec::load<1>(t_sums + k);
// CHECK: fusec::forEachKept<Scope, 4, [[S:[0-9]+]]>(stored,
// CHECK: fusec::keep<V>(kept_3[step], t_x + k);
// CHECK: const auto reduce = fusec::reduceKept<Scope, fusec::Max<float>, 1, [[R]]>(length,
// CHECK: const auto reduce_2 = fusec::reduceKept<Scope, fusec::Sum<float>, 1, [[R]]>(length,
// CHECK: fusec::forEachKept<Scope, 4, [[S]]>(stored,
// CHECK: fusec::store<V>(t_y + k, result);
fusec.model @softmax inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<1x262144xf32>):
  %0 = fusec.reduce max %x axes [1] : tensor<1x262144xf32> to tensor<1xf32>
  %1 = fusec.broadcast %0 [0] : tensor<1xf32> to tensor<1x262144xf32>
  %2 = fusec.sub %x, %1 : tensor<1x262144xf32>
  %3 = fusec.exp %2 : tensor<1x262144xf32>
  %4 = fusec.reduce sum %3 axes [1] : tensor<1x262144xf32> to tensor<1xf32>
  %5 = fusec.broadcast %4 [0] : tensor<1xf32> to tensor<1x262144xf32>
  %6 = fusec.div %3, %5 : tensor<1x262144xf32>
  fusec.output %6 : tensor<1x262144xf32>
}

// -----

// Of rows that begin anywhere, and so do their parts, which follow one another
// and of which the last is shorter.
// CHECK-LABEL: // reduce_sub_exp_log_add_parts{{$}}
// CHECK: const int begin = row * [[L:[0-9]+]] {{[+-]}} (row / [[P:[0-9]+]]) *
// CHECK: const fusec::Span<int> length = {begin, begin + fusec::min(int([[L]]),
// CHECK: fusec::keep<V>(kept[step], t_x_once + k);
// CHECK: fusec::reduceKept<Scope, fusec::Sum<float>, 4, {{[0-9]+}}>(length,
// CHECK-LABEL: // reduce_sub_exp_log_add{{$}}
// CHECK: fusec::log(
fusec.model @log_sum_exp inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<7x1000003xf32>):
  %0 = fusec.reduce max %x axes [1] : tensor<7x1000003xf32> to tensor<7xf32>
  %1 = fusec.broadcast %0 [0] : tensor<7xf32> to tensor<7x1000003xf32>
  %2 = fusec.sub %x, %1 : tensor<7x1000003xf32>
  %3 = fusec.exp %2 : tensor<7x1000003xf32>
  %4 = fusec.reduce sum %3 axes [1] : tensor<7x1000003xf32> to tensor<7xf32>
  %5 = fusec.log %4 : tensor<7xf32>
  %6 = fusec.add %5, %0 : tensor<7xf32>
  fusec.output %6 : tensor<7xf32>
}

// -----

// Columns that no block holds are stored by a step of its own. Their parts are
// walked as they lie in memory, and what is stored begins with the last ones,
// which L2 holds.
// CHECK-LABEL: // reduce_sub_exp_div_rows_parts{{$}}
// CHECK: kept[step] = fusec::load<2>(t_x + row * [[R:[0-9]+]] + k * 64 + column);
// CHECK-LABEL: // reduce_sub_exp_div_rows{{$}}
// CHECK-NOT: lastFirst
// CHECK-LABEL: // reduce_sub_exp_div{{$}}
// CHECK: fusec::forEachVector<{{.*}}>(fusec::lastFirst(), count, [&](int base, auto width) {
fusec.model @columns inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<8x16384x64xf32>):
  %0 = fusec.reduce max %x axes [1] : tensor<8x16384x64xf32> to tensor<8x64xf32>
  %1 = fusec.broadcast %0 [0, 2] : tensor<8x64xf32> to tensor<8x16384x64xf32>
  %2 = fusec.sub %x, %1 : tensor<8x16384x64xf32>
  %3 = fusec.exp %2 : tensor<8x16384x64xf32>
  %4 = fusec.reduce sum %3 axes [1] : tensor<8x16384x64xf32> to tensor<8x64xf32>
  %5 = fusec.broadcast %4 [0, 2] : tensor<8x64xf32> to tensor<8x16384x64xf32>
  %6 = fusec.div %3, %5 : tensor<8x16384x64xf32>
  fusec.output %6 : tensor<8x16384x64xf32>
}
