// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions whose rows lie beside each other: threads take vectors of columns.

// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-assign-storage,fusec-choose-schedules,fusec-plan-launches))" %s | fusec-translate --split-input-file --fusec-to-cuda | FileCheck %s

// Parts of a split product and its bias, which is read by vectors, too. All of a
// thread's loads are on their way together.
// CHECK-LABEL: FUSEC_KERNEL(256) reduce_add
// CHECK: typedef fusec::ColumnScope<256, [[GROUPS:[0-9]+]]> Scope;
// CHECK: constexpr int V = 4;
// CHECK: fusec::forEachColumns<Scope>(262144,
// CHECK: fusec::Vec<float, 4> kept[fusec::keptSteps<Scope, 6>];
// CHECK: kept[step] = fusec::load<4>(t_p_once + row * 512 + k * 1048576 + column);
// CHECK: const auto reduce = fusec::reduceKeptColumns<Scope, fusec::Sum<float>, 4, 6, true>(length, [&](int step, int k,
// CHECK: add(lane, kept[step][lane]);
// CHECK: if (isMine && Scope::rank() == 0) {
// CHECK: fusec::load<V>(t_b + column)
// CHECK: fusec::store<V>(t_y + row * 512 + column,
fusec.model @parts inputs ["p", "b"] outputs ["y"] {
^bb0(%p: tensor<6x2048x512xf32>, %b: tensor<512xf32>):
  %0 = fusec.reduce sum %p axes [0] : tensor<6x2048x512xf32> to tensor<2048x512xf32>
  %1 = fusec.broadcast %b [1] : tensor<512xf32> to tensor<2048x512xf32>
  %2 = fusec.add %0, %1 : tensor<2048x512xf32>
  fusec.output %2 : tensor<2048x512xf32>
}

// -----

// Over a middle axis: every point is stored by who keeps it, and has columns of its
// own. The kernel leaves registers for other blocks.
// CHECK-LABEL: FUSEC_KERNEL_RESIDENT({{[0-9]+, [0-9]+}}) reduce_sub_exp_div
// CHECK: typedef fusec::ColumnScope<{{[0-9]+, [0-9]+}}> Scope;
// CHECK: constexpr int V = [[V:[0-9]]];
// CHECK: fusec::Vec<float, [[V]]> kept[fusec::keptSteps<Scope, [[STEPS:[0-9]+]]>];
// CHECK: fusec::forEachKept<Scope, 1, [[STEPS]], true>(length, [&](int step, int k) {
// CHECK: kept[step] = fusec::load<[[V]]>(t_x + row * 128000 + k * 128 + column);
// CHECK: fusec::reduceKeptColumns<Scope, fusec::Max<float>, [[V]], [[STEPS]], true>(length, [&](int step, int k,
// CHECK: add(lane, kept[step][lane]);
// CHECK: fusec::reduceKeptColumns<Scope, fusec::Sum<float>, [[V]], [[STEPS]], true>
// CHECK: kept[step][lane] = exp
// CHECK: if (isMine) {
// CHECK: fusec::forEachKept<Scope, 1, [[STEPS]], true>(length, [&](int step, int k) {
// CHECK-NOT: fusec::load
// CHECK: fusec::store<V>(t_y + row * 128000 + k * 128 + column,
fusec.model @middle inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<64x1000x128xf32>):
  %0 = fusec.reduce max %x axes [1] : tensor<64x1000x128xf32> to tensor<64x128xf32>
  %1 = fusec.broadcast %0 [0, 2] : tensor<64x128xf32> to tensor<64x1000x128xf32>
  %2 = fusec.sub %x, %1 : tensor<64x1000x128xf32>
  %3 = fusec.exp %2 : tensor<64x1000x128xf32>
  %4 = fusec.reduce sum %3 axes [1] : tensor<64x1000x128xf32> to tensor<64x128xf32>
  %5 = fusec.broadcast %4 [0, 2] : tensor<64x128xf32> to tensor<64x1000x128xf32>
  %6 = fusec.div %3, %5 : tensor<64x1000x128xf32>
  fusec.output %6 : tensor<64x1000x128xf32>
}

// -----

// What all columns share is no vector that is kept, not even where vectors are of
// one element.
// CHECK-LABEL: FUSEC_KERNEL{{.*}} add_reduce_sub
// CHECK: constexpr int V = 1;
// CHECK: fusec::Vec<fusec::f16, 1> [[KEPT:.*]][fusec::keptSteps<Scope, [[STEPS:[0-9]+]]>];
// CHECK-NEXT: fusec::forEachKept
// CHECK: fusec::reduceKeptColumns<Scope, fusec::Max<float>, 1, [[STEPS]], true>
// CHECK: (t_w[k]);
fusec.model @odd inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<64x13x33xf16>, %w: tensor<13xf16>):
  %0 = fusec.broadcast %w [1] : tensor<13xf16> to tensor<64x13x33xf16>
  %1 = fusec.add %x, %0 : tensor<64x13x33xf16>
  %2 = fusec.reduce max %1 axes [1] : tensor<64x13x33xf16> to tensor<64x33xf16>
  %3 = fusec.broadcast %2 [0, 2] : tensor<64x33xf16> to tensor<64x13x33xf16>
  %4 = fusec.sub %1, %3 : tensor<64x13x33xf16>
  fusec.output %4 : tensor<64x13x33xf16>
}

// -----

// Columns that no registers hold are read again.
// CHECK-LABEL: FUSEC_KERNEL({{[0-9]+}}) reduce_sub
// CHECK: fusec::reduceColumns<Scope, fusec::Max<float>, {{[0-9]}}>
// CHECK: fusec::load<V>(t_x + row * 1048576 + k * 64 + column)
// CHECK: fusec::forEachIn<Scope>(length, [&](int k) {
// CHECK: fusec::store<V>(t_y + row * 1048576 + k * 64 + column,
fusec.model @long inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<512x16384x64xf16>):
  %0 = fusec.reduce max %x axes [1] : tensor<512x16384x64xf16> to tensor<512x64xf16>
  %1 = fusec.broadcast %0 [0, 2] : tensor<512x64xf16> to tensor<512x16384x64xf16>
  %2 = fusec.sub %x, %1 : tensor<512x16384x64xf16>
  fusec.output %2 : tensor<512x16384x64xf16>
}

// -----

// Of a length that warps do not share evenly each takes what it has. A block has all
// columns of a plane, and threads that have few others beside them ask for sixteen
// vectors together.
// CHECK-LABEL: FUSEC_KERNEL_RESIDENT(384, 2) gelu_cast_reduce
// CHECK: fusec::ColumnScope<384, 4> Scope;
// CHECK: fusec::reduceColumns<Scope, fusec::Sum<float>, 8, true, 16>(length,
fusec.model @uneven inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<256x197x768xf16>):
  %0 = fusec.gelu %x : tensor<256x197x768xf16>
  %1 = fusec.cast %0 : tensor<256x197x768xf16> to tensor<256x197x768xf32>
  %2 = fusec.reduce sum %1 axes [1] : tensor<256x197x768xf32> to tensor<256x768xf32>
  fusec.output %2 : tensor<256x768xf32>
}

// -----

// Extremes of halves are found two at a time, as they are loaded. Planes 4 MB apart are
// not all begun with their first row.
// CHECK-LABEL: FUSEC_KERNEL_RESIDENT(256, 2) cast_reduce
// CHECK: fusec::reduceColumns<Scope, fusec::OfPairs<fusec::Min<float>, fusec::f16>, 8, false,
// CHECK-NEXT: 16>(length, [&](int k, auto add) {
// CHECK: const int at = fusec::wrapRow(k, row * 128, length);
// CHECK: [[X:t_x.*_at]] = fusec::load<V>(t_x{{.*}} + row * 2097152 + at * 512 + column);
// CHECK: add(lane, [[X]][lane]);
// CHECK: result[lane] = fusec::cast<fusec::f16>(reduce[lane]);
fusec.model @pairs inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<32x4096x512xf16>):
  %0 = fusec.cast %x : tensor<32x4096x512xf16> to tensor<32x4096x512xf32>
  %1 = fusec.reduce min %0 axes [1] : tensor<32x4096x512xf32> to tensor<32x512xf32>
  %2 = fusec.cast %1 : tensor<32x512xf32> to tensor<32x512xf16>
  fusec.output %2 : tensor<32x512xf16>
}

// -----

// Of a transposed matrix the rows lie beside each other.
// CHECK-LABEL: FUSEC_KERNEL(1024) reduce_0(
// CHECK: fusec::load<V>(t_x + k * 64 + column)
fusec.model @transposed inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<1024x64xf32>):
  %0 = fusec.transpose %x [1, 0] : tensor<1024x64xf32> to tensor<64x1024xf32>
  %1 = fusec.reduce sum %0 axes [1] : tensor<64x1024xf32> to tensor<64xf32>
  fusec.output %1 : tensor<64xf32>
}

// -----

// Weights that all columns share lie along rows, beside which they are little.
// CHECK-LABEL: FUSEC_KERNEL(256) mul_reduce
// CHECK: kept[step] = fusec::load<[[V:[0-9]]]>(t_x_once + row * 6400 + k * 64 + column);
// CHECK: const float [[WEIGHT:.*]] = t_w[row * 100 + k];
// CHECK: fusec::store<V>(t_y + row * 64 + column,
fusec.model @weighted inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<4096x100x64xf32>, %w: tensor<4096x100xf32>):
  %0 = fusec.broadcast %w [0, 1] : tensor<4096x100xf32> to tensor<4096x100x64xf32>
  %1 = fusec.mul %x, %0 : tensor<4096x100x64xf32>
  %2 = fusec.reduce sum %1 axes [1] : tensor<4096x100x64xf32> to tensor<4096x64xf32>
  fusec.output %2 : tensor<4096x64xf32>
}

// -----

// Few columns, of no whole vectors, take all threads of a multiprocessor.
// CHECK-LABEL: FUSEC_KERNEL(1024) arg_reduce
// CHECK: typedef fusec::ColumnScope<1024, 128> Scope;
fusec.model @few inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<4096x1001xf32>):
  %0 = fusec.arg_reduce min %x axis 0 : tensor<4096x1001xf32> to tensor<1001xi64>
  fusec.output %0 : tensor<1001xi64>
}

// -----

// Of halves whose rows begin anywhere, a thread keeps to rows of which each
// begins as far behind a whole vector. What is loaded may begin before the
// first column, and end in the next row, so that nothing but loads says what a
// lane is; a column is stored where threads have met. Memory ends within the
// last row's last vector.
// CHECK-LABEL: FUSEC_KERNEL({{[0-9]+}}) reduce_0(
// CHECK: typedef fusec::PhaseScope<{{[0-9]+, [0-9]+}}> Scope;
// CHECK: constexpr int V = 8;
// CHECK: fusec::forEachPiece<Scope, V>(3, 4099, [&](fusec::i64 group, fusec::i64 begin) {
// CHECK: const int row = int(group), first = int(begin);
// CHECK: auto place = [&](int k, int column) {
// CHECK-NEXT: return int(row * 4100000 + k * 4100 + column + 1);
// CHECK: fusec::reducePhases<Scope, fusec::Max<float>, V>(length, first, 4099, 12300000, place,
// CHECK-NEXT: [&](int k, int column, auto width, auto add) {
// CHECK-NEXT: constexpr int V = decltype(width)::value;
// CHECK: fusec::load<V>(t_x_once + row * 4100000 + k * 4100 + column + 1);
// CHECK: fusec::forEachOwnColumn<Scope, V>(first, 4099, [&](int column, int own) {
// CHECK-NEXT: constexpr int V = 1;
// CHECK: t_y[row * 4099 + (column + lane)] = fusec::cast<fusec::f16>(reduce[own]);
fusec.model @phases inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<3x1000x4100xf16>):
  %0 = fusec.slice %x offsets [#fusec.expr<0>, #fusec.expr<0>, #fusec.expr<1>] steps [1, 1, 1] : tensor<3x1000x4100xf16> to tensor<3x1000x4099xf16>
  %1 = fusec.reduce max %0 axes [1] : tensor<3x1000x4099xf16> to tensor<3x4099xf16>
  fusec.output %1 : tensor<3x4099xf16>
}

// -----

// While columns are reduced that a block keeps, L2 fetches a share of a later
// row of columns, to stay until it is loaded.
// CHECK-LABEL: // mul_reduce_div
// CHECK: fusec::forEachColumns<Scope, true>(
// CHECK: const auto reduce = fusec::reduceKeptColumns<Scope, fusec::Sum<float>,
// CHECK: const int later = row + 25;
// CHECK: if (later < 64) {
// CHECK: fusec::fetchForBlock<true>(t_x + later * 128000 + 0 * 128 + column / 16 * 16000, 16000);
// CHECK: fusec::store<V>(
fusec.model @fetched inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<64x1000x128xf32>):
  %0 = fusec.mul %x, %x : tensor<64x1000x128xf32>
  %1 = fusec.reduce sum %0 axes [1] : tensor<64x1000x128xf32> to tensor<64x128xf32>
  %2 = fusec.broadcast %1 [0, 2] : tensor<64x128xf32> to tensor<64x1000x128xf32>
  %3 = fusec.div %x, %2 : tensor<64x1000x128xf32>
  fusec.output %3 : tensor<64x1000x128xf32>
}
