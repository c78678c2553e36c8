// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-divide-scans,fusec-assign-storage,fusec-choose-schedules,fusec-plan-launches))" %s | fusec-translate --split-input-file --fusec-to-cuda | FileCheck %s

// Each block takes a part of the axis, the last of which is short, and tells
// others its sum beside the number of the launch.
// CHECK-LABEL: FUSEC_KERNEL_RESIDENT(256, 2) cumsum_neg_0(
// CHECK-NOT: t_sums
// CHECK: fusec::u32 *flags
// CHECK: fusec::ScanChain<Form::Op::Value, [[C:[0-9]+]], 16> turn(flags, [[S:[0-9]+]], [[P:[0-9]+]]);
// CHECK: turn.forEachVector<Scope>(all, [&](int group, bool isMine) {
// CHECK: const int part = turn.part();
// CHECK-NEXT: const int first = part * [[L:[0-9]+]];
// CHECK-NEXT: const int left = 65521 - first, length = left < [[L]] ? (left > 0 ? left : 0) : [[L]];
// CHECK: fusec::load<V>(t_x_once + (first + k) * 512 + column)
// CHECK: fusec::store<V>(t_y + (first + k) * 512 + column, result);
// Meanwhile L2 fetches what a later block takes.
// CHECK: const auto fetch = [&](int strip, int number) {
// CHECK: const int row = int(group) / vectors, column = int(group) % vectors * 8;
// CHECK: fusec::fetchEach(length, [&](int k) { return t_x_once + (first + k) * 512 + column; });
// CHECK: fusec::scanChainOfColumns<Scope, Form, {{[0-9]+}}, false>(turn, length, isMine, load, store, [&] { turn.lookAhead({{[0-9]+}},
fusec.model @columns inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<65521x512xf16>):
  %0 = fusec.cumsum %x axis 0 : tensor<65521x512xf16> to tensor<65521x512xf16>
  %1 = fusec.neg %0 : tensor<65521x512xf16>
  fusec.output %1 : tensor<65521x512xf16>
}

// -----

// From the end, the last part is the first.
// CHECK-LABEL: cumsum_0(
// CHECK: typedef fusec::ScanForm<float, 4, true, true, float> Form;
// CHECK: fusec::ScanChain<Form::Op::Value, 1, {{[0-9]+}}> turn(flags, 3, [[P:[0-9]+]]);
// CHECK: const int row = turn.strip();
// CHECK: const int part = [[LAST:[0-9]+]] - turn.part();
// CHECK: const auto fetch = [&](int strip, int number) {
// CHECK-NEXT: const int row = strip;
// CHECK-NEXT: const int part = [[LAST]] - number;
// CHECK: fusec::fetchRun(t_x_once + row * 8388608 + first, length);
// CHECK: fusec::scanChainOfRow<Scope, Form, {{[0-9]+}}, {{true|false}}>(turn, length, load, store, [&] { turn.lookAhead({{[0-9]+}}, fetch); });
fusec.model @rows inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<3x8388608xf32>):
  %0 = fusec.cumsum %x axis 1 exclusive reverse : tensor<3x8388608xf32> to tensor<3x8388608xf32>
  fusec.output %0 : tensor<3x8388608xf32>
}

// -----

// Parts that all threads fill ask for nothing.
// CHECK-LABEL: cumsum_0(
// CHECK: turn.forEachVector<Scope, true>(
// CHECK: fusec::scanChainOfColumns<Scope, Form, {{[0-9]+}}, true>(turn, length, isMine, load, store, [&]
fusec.model @full inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<65536x512xf32>):
  %0 = fusec.cumsum %x axis 0 : tensor<65536x512xf32> to tensor<65536x512xf32>
  fusec.output %0 : tensor<65536x512xf32>
}

// -----

// Sums of 64 bits do not fit beside a number: they are stored, and told by flags.
// CHECK-LABEL: cumsum_0(
// CHECK: fusec::i64 *t_sums,
// CHECK: fusec::u32 *flags
// CHECK: fusec::ScanTurn turn(flags, 3, [[P:[0-9]+]]);
// CHECK: const int part = [[LAST:[0-9]+]] - turn.part();
// CHECK: const int part = [[LAST]] - number;
// CHECK: fusec::scanPartOfRow<Scope, Form, {{[0-9]+}}>(turn, length, load, store, place);
fusec.model @wide inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<3x1048576xi64>):
  %0 = fusec.cumsum %x axis 1 reverse : tensor<3x1048576xi64> to tensor<3x1048576xi64>
  fusec.output %0 : tensor<3x1048576xi64>
}

// -----

// Rows that begin anywhere are summed by memory's vectors, the longest by blocks.
// CHECK-LABEL: FUSEC_KERNEL_RESIDENT(256, 3) cast_cumsum_0(
// CHECK: typedef fusec::ScanForm<float, 8, false, false, fusec::f16> Form;
// CHECK: const auto load = [&](int k, auto width, auto put) {
// CHECK: fusec::load<V>(t_x_once + k);
// CHECK: const fusec::Span<int> span = {begin, begin + 300001};
// CHECK: fusec::scanSpan<Scope, Form>(span, load, store);
fusec.model @anywhere inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<2047x300001xf16>):
  %0 = fusec.cast %x : tensor<2047x300001xf16> to tensor<2047x300001xf32>
  %1 = fusec.cumsum %0 axis 1 : tensor<2047x300001xf32> to tensor<2047x300001xf32>
  %2 = fusec.cast %1 : tensor<2047x300001xf32> to tensor<2047x300001xf16>
  fusec.output %2 : tensor<2047x300001xf16>
}

// -----

// Rows that the registers of a cluster hold need no parts; nor do they where they
// begin anywhere.
// CHECK: // grid 32, block 256, shared memory 0 bytes, cluster 8
// CHECK-LABEL: cumsum_0(const float *t_x,
// CHECK: typedef fusec::ClusterScope<256, 8> Scope;
// CHECK: fusec::takeRowOfCluster<Scope>([&](fusec::i64 group) {
// CHECK: fusec::scanRowOfCluster<Scope, Form, 8, true>(int(65536), load, store);
fusec.model @held inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<4x65536xf32>):
  %0 = fusec.cumsum %x axis 1 : tensor<4x65536xf32> to tensor<4x65536xf32>
  fusec.output %0 : tensor<4x65536xf32>
}

// -----

// CHECK-LABEL: cumsum_0(
// CHECK: typedef fusec::ClusterScope<{{[0-9]+}}, {{[0-9]+}}> Scope;
// CHECK: const fusec::Span<int> span = {begin, begin + 40001};
// CHECK: fusec::scanSpanOfCluster<Scope, Form, {{[0-9]+}}>(span, load, store);
fusec.model @few inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<3x40001xf32>):
  %0 = fusec.cumsum %x axis 1 : tensor<3x40001xf32> to tensor<3x40001xf32>
  fusec.output %0 : tensor<3x40001xf32>
}

// -----

// A few columns: a part is one run of memory, whose items threads find in shared
// memory; 256 threads take four columns, of which three are there.
// CHECK-LABEL: FUSEC_KERNEL_RESIDENT(256, 4) cumsum_0(
// CHECK: typedef fusec::ScanForm<float, 1, false, false, float> Form;
// CHECK: typedef fusec::ColumnScope<256, 64> Scope;
// CHECK: fusec::ScanChain<Form::Op::Value, 4, 512> turn(flags, 1, 489);
// CHECK: const int begin = first * columns;
// CHECK: const auto load = [&](int k, auto width, auto put) {
// CHECK: fusec::load<V>(t_x + (begin + k));
// CHECK: fusec::store<V>(t_y + (begin + k), result);
// CHECK: FUSEC_SHARED fusec::ScanRun<Form, 2048, 3, 32, 4> run;
// CHECK: run.fill(length * columns, load);
// CHECK: turn.forEachVector<Scope>(columns, [&](int column, bool isMine) {
// CHECK: fusec::scanChainOfColumns<Scope, Form, 32, false, false>(turn, length, isMine, loadItem, storeItem, [] {});
// CHECK: run.take(length * columns, store);
fusec.model @run inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<1000003x3xf32>):
  %0 = fusec.cumsum %x axis 0 : tensor<1000003x3xf32> to tensor<1000003x3xf32>
  fusec.output %0 : tensor<1000003x3xf32>
}

// -----

// Of columns, a vector that all items share is loaded before the first.
// CHECK-LABEL: mul_cumsum_0(
// CHECK: constexpr int V = [[V:[0-9]+]];
// CHECK-NEXT: const auto t_scale_at = fusec::load<V>(t_scale + column);
// CHECK-NEXT: const auto load = [&](int k, auto put) {
// CHECK: fusec::scanColumns<
fusec.model @shared inputs ["x", "scale"] outputs ["y"] {
^bb0(%x: tensor<64x1024x512xf32>, %scale: tensor<512xf32>):
  %b = fusec.broadcast %scale [2] : tensor<512xf32> to tensor<64x1024x512xf32>
  %0 = fusec.mul %x, %b : tensor<64x1024x512xf32>
  %1 = fusec.cumsum %0 axis 1 : tensor<64x1024x512xf32> to tensor<64x1024x512xf32>
  fusec.output %1 : tensor<64x1024x512xf32>
}

// -----

// Rows that begin anywhere: parts begin with memory's vectors, and the first and
// the last of a row may have fewer items.
// CHECK-LABEL: cumsum_0(
// CHECK: typedef fusec::ScanForm<float, 4, false, false, float> Form;
// CHECK: const int row = turn.strip();
// CHECK-NEXT: const int part = turn.part();
// CHECK-NEXT: const int begin = row * 1000003, end = begin + 1000003;
// CHECK-NEXT: const int origin = begin / 4 * 4 + part * [[L:[0-9]+]], last = origin + [[L]];
// CHECK: const auto load = [&](int k, auto width, auto put) {
// CHECK: fusec::load<V>(t_x{{.*}} + k)
// CHECK: fusec::scanChainOfSpan<Scope, Form, {{[0-9]+}}, {{true|false}}>(turn, origin, int([[L]]), span, load, store,
fusec.model @spans inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<3x1000003xf32>):
  %0 = fusec.cumsum %x axis 1 : tensor<3x1000003xf32> to tensor<3x1000003xf32>
  fusec.output %0 : tensor<3x1000003xf32>
}
