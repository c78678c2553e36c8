// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-assign-storage,fusec-choose-schedules))" %s | fusec-translate --split-input-file --fusec-to-cuda | FileCheck %s

// A row of a quarter of a million lies in the registers of eight blocks.
// CHECK-LABEL: // reduce_sub_exp_div
// CHECK: cluster 8
// CHECK: typedef fusec::ClusterScope<512, 8> Scope;
// CHECK: fusec::forEachRowOfCluster<Scope>(9, [&](fusec::i64 group) {
// CHECK: fusec::Vec<float, 4> kept[fusec::keptSteps<Scope, 16>];
// CHECK: kept[step] = fusec::load<4>(
fusec.model @cluster inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<9x262144xf32>):
  %0 = fusec.reduce max %x axes [1] : tensor<9x262144xf32> to tensor<9xf32>
  %1 = fusec.broadcast %0 [0] : tensor<9xf32> to tensor<9x262144xf32>
  %2 = fusec.sub %x, %1 : tensor<9x262144xf32>
  %3 = fusec.exp %2 : tensor<9x262144xf32>
  %4 = fusec.reduce sum %3 axes [1] : tensor<9x262144xf32> to tensor<9xf32>
  %5 = fusec.broadcast %4 [0] : tensor<9xf32> to tensor<9x262144xf32>
  %6 = fusec.div %3, %5 : tensor<9x262144xf32>
  fusec.output %6 : tensor<9x262144xf32>
}

// -----

// One of eight millions lies in none, nor in those of a team: it is read twice.
// CHECK-LABEL: // reduce_sub_exp_div
// CHECK: const auto online = fusec::reduceOnline<Scope, fusec::OnlineSum<fusec::PreciseExp>, 4>(length,
// CHECK: - online.most
// CHECK: fusec::divide<V>(operand, online.sum)
fusec.model @online inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<2x8388608xf32>):
  %0 = fusec.reduce max %x axes [1] : tensor<2x8388608xf32> to tensor<2xf32>
  %1 = fusec.broadcast %0 [0] : tensor<2xf32> to tensor<2x8388608xf32>
  %2 = fusec.sub %x, %1 : tensor<2x8388608xf32>
  %3 = fusec.exp %2 : tensor<2x8388608xf32>
  %4 = fusec.reduce sum %3 axes [1] : tensor<2x8388608xf32> to tensor<2xf32>
  %5 = fusec.broadcast %4 [0] : tensor<2xf32> to tensor<2x8388608xf32>
  %6 = fusec.div %3, %5 : tensor<2x8388608xf32>
  fusec.output %6 : tensor<2x8388608xf32>
}

// -----

// Blocks of a team meet once, behind exponentials below their own maxima.
// CHECK: // grid 1024
// CHECK: fusec::Team<Scope> team(flags);
// CHECK: team.forRow([&](fusec::i64 group) {
// CHECK: kept[step] = fusec::load<4>(
// CHECK: const auto online = team.findMostAndSum<fusec::OnlineSum<fusec::PreciseExp>, 4, {{8|16}}>(length, {{.+}}, kept,
// CHECK: add(kept[step][lane]);
// CHECK-NOT: exp(
// CHECK: fusec::store<V>(
fusec.model @team inputs ["x"] outputs ["y"] {
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

// -----

// Rows of an odd length are spans of memory; the place in a row is counted from
// where it begins.
// CHECK-LABEL: // arg_reduce
// CHECK: const fusec::Span<int> length = {row * 5001, row * 5001 + 5001};
// CHECK: fusec::findInRow<Scope, fusec::ArgMax<float>, 8>(length, [&](int k, auto width,
// CHECK: fusec::load<V>(t_x_once + k);
// CHECK: add(lane,
fusec.model @span inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<4096x5001xf16>):
  %0 = fusec.arg_reduce max %x axis 1 : tensor<4096x5001xf16> to tensor<4096xi64>
  fusec.output %0 : tensor<4096xi64>
}

// -----

// Two sums of one walk.
// CHECK-LABEL: // reduce_mul_sub
// CHECK: const auto reduce = fusec::reduceKeptColumns<Scope, fusec::Both<fusec::Sum<float>, fusec::Sum<float>>, {{[0-9]}},
// CHECK: add(lane, {kept[step][lane], mul_v});
// CHECK: reduce[lane].first
// CHECK: reduce[lane].second
fusec.model @both inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<512x39x16xf32>):
  %0 = fusec.reduce sum %x axes [1] : tensor<512x39x16xf32> to tensor<512x16xf32>
  %1 = fusec.mul %0, %0 : tensor<512x16xf32>
  %2 = fusec.mul %x, %x : tensor<512x39x16xf32>
  %3 = fusec.reduce sum %2 axes [1] : tensor<512x39x16xf32> to tensor<512x16xf32>
  %4 = fusec.sub %1, %3 : tensor<512x16xf32>
  fusec.output %4 : tensor<512x16xf32>
}

// -----

// A cumulative sum, with what is computed before it and behind.
// CHECK-LABEL: // mul_cumsum_neg
// CHECK: typedef fusec::ScanForm<float, 4, true, false, float> Form;
// CHECK: const auto load = [&](int k, auto put) {
// CHECK: put(lane, mul_v);
// CHECK: const auto store = [&](int k, const auto &sums) {
// CHECK: -sums[lane]
// CHECK: fusec::scanRow<Scope, Form>(int(4096), load, store);
fusec.model @scan inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<64x4096xf32>):
  %0 = fusec.mul %x, %x : tensor<64x4096xf32>
  %1 = fusec.cumsum %0 axis 1 reverse : tensor<64x4096xf32> to tensor<64x4096xf32>
  %2 = fusec.neg %1 : tensor<64x4096xf32>
  fusec.output %2 : tensor<64x4096xf32>
}

// -----

// Short rows are moved as one run of memory, wherever they begin, and a thread sums
// one; what lies along rows alone is found by each lane.
// CHECK-LABEL: // mul_cumsum
// CHECK: // where t_y is aligned to 16 and t_x is aligned to 16
// CHECK: typedef fusec::ScanForm<float, 1, false, true, float> Form;
// CHECK: const auto load = [&](int k, auto width, auto put) {
// CHECK: constexpr int V = decltype(width)::value;
// CHECK: fusec::load<V>(t_x + k);
// CHECK: t_s[(k + lane) - ((k + lane) / 39) * 39]
// CHECK: const auto store = [&](int k, auto width, const auto &sums) {
// CHECK: fusec::store<V>(t_y + k, result);
// CHECK: fusec::scanHeldRows<Form, 128, 39, 4>(int(65536), load, store);
fusec.model @held inputs ["x", "s"] outputs ["y"] {
^bb0(%x: tensor<65536x39xf32>, %s: tensor<39xf32>):
  %0 = fusec.broadcast %s [1] : tensor<39xf32> to tensor<65536x39xf32>
  %1 = fusec.mul %x, %0 : tensor<65536x39xf32>
  %2 = fusec.cumsum %1 axis 1 exclusive : tensor<65536x39xf32> to tensor<65536x39xf32>
  fusec.output %2 : tensor<65536x39xf32>
}

// -----

// So do the exponentials that are summed and divided, in the place of what they
// are of.
// CHECK-LABEL: // reduce_sub_exp_div
// CHECK: fusec::Vec<float, 4> kept[
// CHECK-NOT: held
// CHECK: kept[step][lane] = exp_v;
// CHECK: fusec::divide<V>(kept[step], reduce_2)
fusec.model @held inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<512x1024xf32>):
  %0 = fusec.reduce max %x axes [1] : tensor<512x1024xf32> to tensor<512xf32>
  %1 = fusec.broadcast %0 [0] : tensor<512xf32> to tensor<512x1024xf32>
  %2 = fusec.sub %x, %1 : tensor<512x1024xf32>
  %3 = fusec.exp %2 : tensor<512x1024xf32>
  %4 = fusec.reduce sum %3 axes [1] : tensor<512x1024xf32> to tensor<512xf32>
  %5 = fusec.broadcast %4 [0] : tensor<512xf32> to tensor<512x1024xf32>
  %6 = fusec.div %3, %5 : tensor<512x1024xf32>
  fusec.output %6 : tensor<512x1024xf32>
}

// -----

// Beside it where that is of 16 bits, or needed once more.
// CHECK-LABEL: // cast_reduce_sub_exp_div
// CHECK: fusec::Vec<float, 8> held[
// CHECK: held[step][lane] = exp_v;
// CHECK: fusec::fast::divide(held[step][lane], reduce_2)
fusec.model @held_beside inputs ["x"] outputs ["y"] {
^bb0(%h: tensor<512x1024xf16>):
  %x = fusec.cast %h : tensor<512x1024xf16> to tensor<512x1024xf32>
  %0 = fusec.reduce max %x axes [1] : tensor<512x1024xf32> to tensor<512xf32>
  %1 = fusec.broadcast %0 [0] : tensor<512xf32> to tensor<512x1024xf32>
  %2 = fusec.sub %x, %1 : tensor<512x1024xf32>
  %3 = fusec.exp %2 : tensor<512x1024xf32>
  %4 = fusec.reduce sum %3 axes [1] : tensor<512x1024xf32> to tensor<512xf32>
  %5 = fusec.broadcast %4 [0] : tensor<512xf32> to tensor<512x1024xf32>
  %6 = fusec.div %3, %5 : tensor<512x1024xf32>
  %7 = fusec.cast %6 : tensor<512x1024xf32> to tensor<512x1024xf16>
  fusec.output %7 : tensor<512x1024xf16>
}

// -----

// CHECK-LABEL: // reduce_sub_exp_div_add
// CHECK: fusec::Vec<float, 4> held[
// CHECK: fusec::divide<V>(held[step], reduce_2)
// CHECK: + kept[step][lane]
fusec.model @held_again inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<512x1024xf32>):
  %0 = fusec.reduce max %x axes [1] : tensor<512x1024xf32> to tensor<512xf32>
  %1 = fusec.broadcast %0 [0] : tensor<512xf32> to tensor<512x1024xf32>
  %2 = fusec.sub %x, %1 : tensor<512x1024xf32>
  %3 = fusec.exp %2 : tensor<512x1024xf32>
  %4 = fusec.reduce sum %3 axes [1] : tensor<512x1024xf32> to tensor<512xf32>
  %5 = fusec.broadcast %4 [0] : tensor<512xf32> to tensor<512x1024xf32>
  %6 = fusec.div %3, %5 : tensor<512x1024xf32>
  %7 = fusec.add %6, %x : tensor<512x1024xf32>
  fusec.output %7 : tensor<512x1024xf32>
}

// -----

// A row of several pieces of memory: whole vectors of each, since which piece it
// is is the same for all lanes.
// CHECK-LABEL: // reduce_mul
// CHECK: fusec::Vec<float, 4> kept[
// CHECK: kept[step] = fusec::load<4>(t_x_once + row * 784 + k + (k / 784) * 99568);
fusec.model @pieces inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<64x128x28x28xf32>):
  %0 = fusec.reduce max %x axes [0, 2, 3] : tensor<64x128x28x28xf32> to tensor<128xf32>
  %1 = fusec.broadcast %0 [1] : tensor<128xf32> to tensor<64x128x28x28xf32>
  %2 = fusec.mul %x, %1 : tensor<64x128x28x28xf32>
  %3 = fusec.reduce sum %2 axes [0, 2, 3] : tensor<64x128x28x28xf32> to tensor<128xf32>
  fusec.output %3 : tensor<128xf32>
}

// -----

// Pieces of 27 are no whole number of vectors.
// CHECK-LABEL: // reduce_sub{{$}}
// CHECK: kept[step] = fusec::load<1>(
fusec.model @odd_pieces inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<64x128x3x9xf32>):
  %0 = fusec.reduce max %x axes [0, 2, 3] : tensor<64x128x3x9xf32> to tensor<128xf32>
  %1 = fusec.broadcast %0 [1] : tensor<128xf32> to tensor<64x128x3x9xf32>
  %2 = fusec.sub %x, %1 : tensor<64x128x3x9xf32>
  %3 = fusec.reduce sum %2 axes [0, 2, 3] : tensor<64x128x3x9xf32> to tensor<128xf32>
  fusec.output %3 : tensor<128xf32>
}

// -----

// What nobody reads again leaves L2 first.
// CHECK-LABEL: // neg_reduce{{$}}
// CHECK: const fusec::Passing<fusec::f16> t_x_once(t_x);
// CHECK: fusec::load<V>(t_x_once + row * 2048 + k);
fusec.model @passing inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<16384x2048xf16>):
  %n = fusec.neg %x : tensor<16384x2048xf16>
  %0 = fusec.reduce max %n axes [1] : tensor<16384x2048xf16> to tensor<16384xf16>
  fusec.output %0 : tensor<16384xf16>
}

// -----

// Single elements do, too.
// CHECK-LABEL: // reduce{{$}}
// CHECK: const fusec::Passing<float> t_x_once(t_x);
// CHECK: = t_x_once[row * 49 + k];
fusec.model @passing_singly inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<131072x49xf32>):
  %0 = fusec.reduce max %x axes [1] : tensor<131072x49xf32> to tensor<131072xf32>
  fusec.output %0 : tensor<131072xf32>
}

// -----

// A kernel reads them again, and then no other one.
// CHECK-LABEL: // reduce{{$}}
// CHECK: FUSEC_KERNEL({{[0-9]+}}) reduce_0(
// CHECK-NOT: Passing
// CHECK: reduce_1(
// CHECK: const fusec::Passing<fusec::f16> t_x_once(t_x);
fusec.model @again inputs ["x"] outputs ["y", "z"] {
^bb0(%x: tensor<16384x2048xf16>):
  %0 = fusec.reduce max %x axes [1] : tensor<16384x2048xf16> to tensor<16384xf16>
  %1 = fusec.reduce max %x axes [0] : tensor<16384x2048xf16> to tensor<2048xf16>
  fusec.output %0, %1 : tensor<16384xf16>, tensor<2048xf16>
}

// -----

// Of a row that teams normalise L2 fetches a quarter, and what is read stays.
// CHECK-LABEL: // mul_reduce_div
// CHECK: typedef fusec::TeamScope<256, 16> Scope;
// CHECK: const fusec::Staying<float> t_x_once(t_x);
// CHECK: fusec::fetchForBlock<true>(t_x_once + later * 262144 + Scope::block() * 16384, 4096);
fusec.model @team_norm inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<128x262144xf32>):
  %0 = fusec.mul %x, %x : tensor<128x262144xf32>
  %1 = fusec.reduce sum %0 axes [1] : tensor<128x262144xf32> to tensor<128xf32>
  %2 = fusec.broadcast %1 [0] : tensor<128xf32> to tensor<128x262144xf32>
  %3 = fusec.div %x, %2 : tensor<128x262144xf32>
  fusec.output %3 : tensor<128x262144xf32>
}

// -----

// While a row is reduced that a block keeps, L2 fetches a later one, which is
// not its own.
// CHECK-LABEL: // mul_reduce_div
// CHECK: fusec::forEachRow<Scope, true>(16384,
// CHECK: const auto reduce = fusec::reduceKept<Scope, fusec::Sum<float>,
// CHECK: const int later = row + 528;
// CHECK: if (later < 16384) {
// CHECK: fusec::fetchForBlock<true>(t_x_once + later * 4096 + 0, 4096);
// CHECK: fusec::store<V>(
fusec.model @fetched inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<16384x4096xf32>):
  %0 = fusec.mul %x, %x : tensor<16384x4096xf32>
  %1 = fusec.reduce sum %0 axes [1] : tensor<16384x4096xf32> to tensor<16384xf32>
  %2 = fusec.broadcast %1 [0] : tensor<16384xf32> to tensor<16384x4096xf32>
  %3 = fusec.div %x, %2 : tensor<16384x4096xf32>
  fusec.output %3 : tensor<16384x4096xf32>
}
