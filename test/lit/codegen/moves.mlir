// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-contractions,fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-form-transposes,fusec-assign-storage,fusec-choose-schedules,fusec-plan-launches))" %s | fusec-translate --split-input-file --fusec-to-cuda | FileCheck %s

// Pieces of different widths have blocks of their own, and vectors. None asks
// which piece it is in.
// CHECK-LABEL: FUSEC_KERNEL(128) concat_relu_0(
// CHECK-NOT: if (
// CHECK: fusec::MixedGrid grid(2);
// CHECK: fusec::forOwnVector<4>(grid.take(1), 
// CHECK: fusec::load<V>(t_x + base)
// CHECK: fusec::store<V>(t_z + d0 * 96 + d1, result
// CHECK: fusec::forOwnVector<4>(grid.take(1), 
// CHECK: fusec::load<V>(t_y + base)
// CHECK: fusec::store<V>(t_z + d0 * 96 + d1 + 32, result
fusec.model @pieces inputs ["x", "y"] outputs ["z"] {
^bb0(%x: tensor<6x32xf32>, %y: tensor<6x64xf32>):
  %0 = fusec.concat %x, %y axis 1 : tensor<6x32xf32>, tensor<6x64xf32> to tensor<6x96xf32>
  %1 = fusec.relu %0 : tensor<6x96xf32>
  fusec.output %1 : tensor<6x96xf32>
}

// -----

// Those of one width are stores of one iteration, beside another piece.
// CHECK-LABEL: FUSEC_KERNEL(128) concat_relu_0(
// CHECK: fusec::forOwnVector<4>(grid.take(1), 
// CHECK-COUNT-2: fusec::store<V>(t_z
// CHECK: fusec::forOwnVector<4>(grid.take(1), 
// CHECK-COUNT-1: fusec::store<V>(t_z
// CHECK-NOT: fusec::forOwnVector<4>(grid.take(1), 
// CHECK: #fusec.launch
fusec.model @runs inputs ["w", "x", "y"] outputs ["z"] {
^bb0(%w: tensor<6x32xf32>, %x: tensor<6x32xf32>, %y: tensor<6x64xf32>):
  %0 = fusec.concat %w, %x, %y axis 1 : tensor<6x32xf32>, tensor<6x32xf32>, tensor<6x64xf32> to tensor<6x128xf32>
  %1 = fusec.relu %0 : tensor<6x128xf32>
  fusec.output %1 : tensor<6x128xf32>
}

// -----

// Neighbours in pairs are loaded once, as vectors of both, and stored so.
// CHECK-LABEL: FUSEC_KERNEL(128) sub_add_concat_collapse_0(
// CHECK: const auto [[BOTH:.*]] = fusec::load<2 * V>(t_x + base * 2);
// CHECK-NEXT: fusec::takeEvery<2, 0>([[BOTH]])
// CHECK-NEXT: fusec::takeEvery<2, 1>([[BOTH]])
// CHECK: fusec::Vec<float, 2 * V> [[RESULT:.*]];
// CHECK: [[RESULT]][2 * lane + 0] =
// CHECK: [[RESULT]][2 * lane + 1] =
// CHECK: fusec::store<2 * V>(t_y + base * 2, [[RESULT]]);
fusec.model @pairs inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<6x8xf32>):
  %a = fusec.slice %x offsets [#fusec.expr<0>, #fusec.expr<0>] steps [1, 2] : tensor<6x8xf32> to tensor<6x4xf32>
  %b = fusec.slice %x offsets [#fusec.expr<0>, #fusec.expr<1>] steps [1, 2] : tensor<6x8xf32> to tensor<6x4xf32>
  %0 = fusec.sub %a, %b : tensor<6x4xf32>
  %1 = fusec.add %a, %b : tensor<6x4xf32>
  %2 = fusec.expand %0 [[0], [1, 2]] : tensor<6x4xf32> to tensor<6x4x1xf32>
  %3 = fusec.expand %1 [[0], [1, 2]] : tensor<6x4xf32> to tensor<6x4x1xf32>
  %4 = fusec.concat %2, %3 axis 2 : tensor<6x4x1xf32>, tensor<6x4x1xf32> to tensor<6x4x2xf32>
  %5 = fusec.collapse %4 [[0], [1, 2]] : tensor<6x4x2xf32> to tensor<6x8xf32>
  fusec.output %5 : tensor<6x8xf32>
}

// -----

// Channels that lie side by side are loaded once, too, and stored as planes.
// CHECK-LABEL: FUSEC_KERNEL(128) add_0(
// CHECK: fusec::forOwnVector<4>(count
// CHECK: const auto [[ALL:.*]] = fusec::load<3 * V>(t_x +
// CHECK-NEXT: fusec::takeEvery<3, 0>([[ALL]])
// CHECK: fusec::takeEvery<3, 1>([[ALL]])
// CHECK: fusec::takeEvery<3, 2>([[ALL]])
// CHECK-NOT: fusec::load<3 * V>
// CHECK-COUNT-3: fusec::store<V>(t_y +
fusec.model @channels inputs ["x", "z"] outputs ["y"] {
^bb0(%x: tensor<6x16x3xf32>, %z: tensor<6x3x16xf32>):
  %0 = fusec.transpose %x [0, 2, 1] : tensor<6x16x3xf32> to tensor<6x3x16xf32>
  %1 = fusec.add %0, %z : tensor<6x3x16xf32>
  fusec.output %1 : tensor<6x3x16xf32>
}

// -----

// Rows of odd length go by vectors of the whole, of which each lane finds its
// column.
// CHECK-LABEL: FUSEC_KERNEL(128) add_mul_0(
// CHECK: fusec::forOwnVector<4>(count
// CHECK: fusec::load<V>(t_x + base)
// CHECK: t_b[(base + lane) - ((base + lane) / 7) * 7]
// CHECK: fusec::store<V>(t_y + base, result);
fusec.model @odd inputs ["x", "b"] outputs ["y"] {
^bb0(%x: tensor<6x7xf32>, %b: tensor<7xf32>):
  %0 = fusec.broadcast %b [1] : tensor<7xf32> to tensor<6x7xf32>
  %1 = fusec.add %x, %0 : tensor<6x7xf32>
  %2 = fusec.mul %1, %x : tensor<6x7xf32>
  fusec.output %2 : tensor<6x7xf32>
}

// -----

// The last element first, from a vector that is read forwards.
// CHECK-LABEL: FUSEC_KERNEL(128) slice_0(
// CHECK: const auto [[READ:.*]] = fusec::load<V>(t_x + {{.*}} - (V - 1));
// CHECK: fusec::reverse([[READ]])
fusec.model @backwards inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<6x8xf32>):
  %0 = fusec.slice %x offsets [#fusec.expr<0>, #fusec.expr<7>] steps [1, -1] : tensor<6x8xf32> to tensor<6x8xf32>
  fusec.output %0 : tensor<6x8xf32>
}

// -----

// Of many elements that go one by one, several of a thread are loaded before
// the first is stored.
// CHECK-LABEL: FUSEC_KERNEL(128) slice_0(
// CHECK: fusec::forEachVector<1, 8>(count
// CHECK: fusec::load<V>(t_x_once + base * 3)
// CHECK-NEXT: return [=] {
// CHECK: fusec::store<V>(t_y + base, result);
fusec.model @single inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<8192x3072xf16>):
  %0 = fusec.slice %x offsets [#fusec.expr<0>, #fusec.expr<0>] steps [1, 3] : tensor<8192x3072xf16> to tensor<8192x1024xf16>
  fusec.output %0 : tensor<8192x1024xf16>
}

// -----

// Few elements have a thread each.
// CHECK-LABEL: FUSEC_KERNEL(128) slice_0(
// CHECK: fusec::forOwnVector<1>(count
fusec.model @few inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<82x3072xf16>):
  %0 = fusec.slice %x offsets [#fusec.expr<0>, #fusec.expr<0>] steps [1, 3] : tensor<82x3072xf16> to tensor<82x1024xf16>
  fusec.output %0 : tensor<82x1024xf16>
}

// -----

// Rows that begin anywhere: vectors from where the result is aligned, of what is
// loaded and shifted. None of it is read behind the end. With blocks of 128
// there would be more than a device places meanwhile.
// CHECK-LABEL: FUSEC_KERNEL(256) slice_0(
// CHECK: fusec::forEachPart(8191, 205, [&](int row, int part) {
// CHECK: const int begin = (row * 1535) % 8;
// CHECK: fusec::forPart<8>(part, begin, 1535, [&](int column, auto width) {
// CHECK: const auto t_x_once_around = fusec::loadAround<V>(t_x_once + row * 1537 + column + 1, t_x_once + 12589567);
// CHECK: const auto t_x_once_at = fusec::shift(t_x_once_around);
// CHECK: fusec::store<V>(t_y + row * 1535 + column, result);
fusec.model @rows inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<8191x1537xf16>):
  %0 = fusec.slice %x offsets [#fusec.expr<0>, #fusec.expr<1>] steps [1, 1] : tensor<8191x1537xf16> to tensor<8191x1535xf16>
  fusec.output %0 : tensor<8191x1535xf16>
}

// -----

// Of short ones a thread takes the single elements of an end one by one.
// CHECK-LABEL: FUSEC_KERNEL(256) slice_0(
// CHECK: fusec::forEachPart(32768, 14, [&](int row, int part) {
// CHECK: fusec::forColumns<4>(part * 4 - begin, 49, [&](int column, auto width) {
fusec.model @short_rows inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<32768x51xf16>):
  %0 = fusec.slice %x offsets [#fusec.expr<0>, #fusec.expr<1>] steps [1, 1] : tensor<32768x51xf16> to tensor<32768x49xf16>
  fusec.output %0 : tensor<32768x49xf16>
}

// -----

// Where a place decides, and all else is dense, lanes find their own.
// CHECK-LABEL: // less_or_equal_select
// CHECK: fusec::forOwnVector<8>(count, [&](int base, auto width) {
// CHECK: fusec::load<V>(t_x + base);
// CHECK: (base + lane) - quotient * 333
// CHECK: fusec::store<V>(t_y + base, result);
fusec.model @triangle inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<333x333xf16>):
  %0 = fusec.iota 0 : tensor<333x333xi64>
  %1 = fusec.iota 1 : tensor<333x333xi64>
  %2 = fusec.less_or_equal %1, %0 : tensor<333x333xi64>
  %3 = fusec.splat 0.0 : f16 : tensor<333x333xf16>
  %4 = fusec.select %2, %x, %3 : tensor<333x333xi1>, tensor<333x333xf16>
  fusec.output %4 : tensor<333x333xf16>
}

// -----

// Rows that begin anywhere, where a tile turns them: single elements of many threads,
// by tiles that all run together.
// CHECK-LABEL: FUSEC_KERNEL_RESIDENT(512, 4) transpose_0(
// CHECK: FUSEC_SHARED fusec::TransposeTile<fusec::f16, 16, 512> tile;
// CHECK: fusec::fillTile<1, 512>(tile, {{.*}}, [&](int a, int b) {
// CHECK: return t_x + d0 + d1 * 4099;
// CHECK: fusec::forEachInTile<1, 16, 512, 512>(along - alongFirst, across - acrossFirst, [&](int a, int b) {
// CHECK: fusec::store<V>(t_y + d0 * 1021 + d1, result);
fusec.model @tile inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<1021x4099xf16>):
  %0 = fusec.transpose %x [1, 0] : tensor<1021x4099xf16> to tensor<4099x1021xf16>
  fusec.output %0 : tensor<4099x1021xf16>
}

// -----

// What is read of so much stays in L2.
// CHECK-LABEL: FUSEC_KERNEL_RESIDENT(512, 4) transpose_0(
// CHECK: const fusec::Staying<float> [[X:.*]](t_x);
// CHECK: FUSEC_SHARED fusec::TransposeTile<float, 32, 128> tile;
// CHECK: fusec::fillTile<1, 512>(tile, {{.*}}, [&](int a, int b) {
// CHECK: return [[X]] + d0 + d1 * 8197;
// CHECK: fusec::store<V>(t_y + d0 * 4099 + d1, result);
fusec.model @words inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<4099x8197xf32>):
  %0 = fusec.transpose %x [1, 0] : tensor<4099x8197xf32> to tensor<8197x4099xf32>
  fusec.output %0 : tensor<8197x4099xf32>
}

// -----

// Rows of 80 fill five eighths of a tile of 128: one of theirs has them whole.
// CHECK-LABEL: transpose_0(
// CHECK: FUSEC_SHARED fusec::TransposeTile<float, 80, 32> tile;
// CHECK: fusec::forEachInTile<4, 80, 32, 256>(along - alongFirst, across - acrossFirst, [&](int a, int b) {
fusec.model @tile_of_rows inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<32x48x64x80xf32>):
  %0 = fusec.transpose %x [3, 2, 1, 0] : tensor<32x48x64x80xf32> to tensor<80x64x48x32xf32>
  fusec.output %0 : tensor<80x64x48x32xf32>
}

// -----

// Rows that a tile has whole are loaded as what lies one behind the other.
// CHECK-LABEL: FUSEC_KERNEL_RESIDENT(256, 8) transpose_0(
// CHECK: FUSEC_SHARED fusec::TransposeTile<float, 39, 64, 39> tile;
// CHECK: fusec::fillTileOfWholeRows<4, 256>(tile, int(across - acrossFirst < 64 ? across - acrossFirst : 64) * 39,
// CHECK: fusec::readTile<V>(tile, a, b);
fusec.model @whole_rows inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<65532x39xf32>):
  %0 = fusec.transpose %x [1, 0] : tensor<65532x39xf32> to tensor<39x65532xf32>
  fusec.output %0 : tensor<39x65532xf32>
}

// -----

// Not where the last row ends within a vector, or those of another matrix begin
// within one.
// CHECK-LABEL: // relu
// CHECK: fusec::fillTile<1, 512>
// CHECK-LABEL: // neg
// CHECK: fusec::fillTile<1, 512>
fusec.model @no_whole_vectors inputs ["x", "z"] outputs ["y", "w"] {
^bb0(%x: tensor<65533x39xf32>, %z: tensor<64x333x77xf32>):
  %0 = fusec.transpose %x [1, 0] : tensor<65533x39xf32> to tensor<39x65533xf32>
  %1 = fusec.relu %0 : tensor<39x65533xf32>
  %2 = fusec.transpose %z [0, 2, 1] : tensor<64x333x77xf32> to tensor<64x77x333xf32>
  %3 = fusec.neg %2 : tensor<64x77x333xf32>
  fusec.output %1, %3 : tensor<39x65533xf32>, tensor<64x77x333xf32>
}

// -----

// Points of short rows are walked as if they were one row. What is the same for
// a row is loaded for the first and the last lane of a vector.
// CHECK-LABEL: FUSEC_KERNEL(128) mul_0(
// CHECK: fusec::forOwnVector<8>(count, [&](int base, auto width) {
// CHECK: fusec::load<V>(t_x{{.*}} + base);
// CHECK: [[FIRST:t_s_at.*]] = {{.*}}t_s[base / 49
// CHECK: const auto last = base + (V - 1);
// CHECK: [[LAST:t_s_at.*]] = {{.*}}t_s[last / 49
// CHECK: const auto left = 49 - base % 49;
// CHECK: = lane < left ? [[FIRST]] : [[LAST]];
fusec.model @images inputs ["x", "s"] outputs ["y"] {
^bb0(%x: tensor<32x1024x49xf16>, %s: tensor<1024xf16>):
  %0 = fusec.broadcast %s [1] : tensor<1024xf16> to tensor<32x1024x49xf16>
  %1 = fusec.mul %x, %0 : tensor<32x1024x49xf16>
  fusec.output %1 : tensor<32x1024x49xf16>
}

// -----

// A factor of each row beside a summand of each column: lanes know from the
// first one's quotient where they are.
// CHECK-LABEL: FUSEC_KERNEL(128) mul_add
// CHECK: fusec::forEachVector<8>(count, [&](int base, auto width) {
// CHECK: const auto left = 333 - base % 333;
// CHECK: const auto quotient = base / 333 + (lane >= left);
// CHECK: t_b[(base + lane) - quotient * 333]
fusec.model @factors inputs ["x", "s", "b"] outputs ["y"] {
^bb0(%x: tensor<10007x333xf16>, %s: tensor<10007xf16>, %b: tensor<333xf16>):
  %0 = fusec.broadcast %s [0] : tensor<10007xf16> to tensor<10007x333xf16>
  %1 = fusec.mul %x, %0 : tensor<10007x333xf16>
  %2 = fusec.broadcast %b [1] : tensor<333xf16> to tensor<10007x333xf16>
  %3 = fusec.add %1, %2 : tensor<10007x333xf16>
  fusec.output %3 : tensor<10007x333xf16>
}

// -----

// Where nothing else is loaded stores would wait for eight loads of halves.
// CHECK-LABEL: FUSEC_KERNEL(256) add_
// CHECK: fusec::forPart<8>
// CHECK: fusec::loadAround<V>(t_b + column
fusec.model @outer inputs ["s", "b"] outputs ["y"] {
^bb0(%s: tensor<3001xf16>, %b: tensor<1999xf16>):
  %0 = fusec.broadcast %s [0] : tensor<3001xf16> to tensor<3001x1999xf16>
  %1 = fusec.broadcast %b [1] : tensor<1999xf16> to tensor<3001x1999xf16>
  %2 = fusec.add %0, %1 : tensor<3001x1999xf16>
  fusec.output %2 : tensor<3001x1999xf16>
}

// -----

// Nor does a mask by lengths divide for each lane.
// CHECK-LABEL: FUSEC_KERNEL(128) {{.*}}less_cast_mul
// CHECK: fusec::forEachVector<8>(count, [&](int base, auto width) {
// CHECK: t_n[base / 9933]
// CHECK: const auto last = base + (V - 1);
// CHECK: t_n[last / 9933]
// CHECK: const auto left = 129 - base % 129;
// CHECK: FUSEC_UNROLL
// CHECK-NOT: / 129
// CHECK: fusec::store<V>(
fusec.model @lengths inputs ["x", "n"] outputs ["y"] {
^bb0(%x: tensor<333x77x129xf16>, %n: tensor<333xi64>):
  %0 = fusec.iota 1 : tensor<333x77x129xi64>
  %1 = fusec.broadcast %n [0] : tensor<333xi64> to tensor<333x77x129xi64>
  %2 = fusec.less %0, %1 : tensor<333x77x129xi64>
  %3 = fusec.cast %2 : tensor<333x77x129xi1> to tensor<333x77x129xf16>
  %4 = fusec.mul %x, %3 : tensor<333x77x129xf16>
  fusec.output %4 : tensor<333x77x129xf16>
}

// -----

// What is returned refers to the tables: of a copy that is indexed at run time
// each thread would have one in local memory.
// CHECK-LABEL: FUSEC_KERNEL(128) lookup_0(
// CHECK: const FUSEC_GRID_CONSTANT Tables tables,
// CHECK: return [=, &tables] {
// CHECK: tables.at[d1]
fusec.model @tables inputs ["t", "u", "ids"] outputs ["y"] {
^bb0(%t: tensor<1000x16xf32>, %u: tensor<500x16xf32>, %ids: tensor<1048576x2xi64>):
  %0 = fusec.lookup (%t, %u) at %ids flag : (tensor<1000x16xf32>, tensor<500x16xf32>, tensor<1048576x2xi64>) -> tensor<1048576x2x16xf32>
  fusec.output %0 : tensor<1048576x2x16xf32>
}

// -----

// A few elements beside a row are no iteration of their own, whose sectors two
// would write: each element is asked for its piece. What lanes need of a row is
// loaded for all of them first, and shifted behind that of the next vector.
// CHECK-LABEL: FUSEC_KERNEL(128) concat_0(
// CHECK: fusec::forEachVector<8, 2>(count
// CHECK: const int d1 = base % 1024;
// CHECK: const auto t_x_once_around = fusec::loadAround<V>(t_x_once + d0 * 1000 + d1 - 12, 12 - d1, 1012 - d1);
// CHECK-NEXT: return [=] {
// CHECK-NEXT: const auto t_x_once_at = fusec::shift(t_x_once_around);
// CHECK: fusec::f16 piece = {};
// CHECK: if ((d1 + lane) < 12) {
// CHECK: else if ((d1 + lane) >= 12 && (d1 + lane) < 1012) {
// CHECK-NEXT: piece = t_x_once_at[lane];
// CHECK: fusec::store<V>(t_y + base, result);
fusec.model @pad inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<16384x1000xf16>):
  %0 = fusec.splat 0.0 : f16 : tensor<16384x12xf16>
  %1 = fusec.concat %0, %x, %0 axis 1 : tensor<16384x12xf16>, tensor<16384x1000xf16>, tensor<16384x12xf16> to tensor<16384x1024xf16>
  fusec.output %1 : tensor<16384x1024xf16>
}

// -----

// Once a vector where pieces begin between vectors.
// CHECK-LABEL: FUSEC_KERNEL(128) concat_0(
// CHECK: fusec::forEachVector<8, 2>(count
// CHECK: if (d1 < 8) {
// CHECK: else if (d1 >= 8 && d1 < 1008) {
// CHECK-NEXT: fusec::load<V>(t_x_once + d0 * 1000 + d1 - 8);
// CHECK: return [=] {
// CHECK: fusec::store<V>(t_y + base, result);
fusec.model @whole_pieces inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<16384x1000xf16>):
  %0 = fusec.splat 0.0 : f16 : tensor<16384x8xf16>
  %1 = fusec.splat 0.0 : f16 : tensor<16384x16xf16>
  %2 = fusec.concat %0, %x, %1 axis 1 : tensor<16384x8xf16>, tensor<16384x1000xf16>, tensor<16384x16xf16> to tensor<16384x1024xf16>
  fusec.output %2 : tensor<16384x1024xf16>
}

// -----

// Rows of no whole vectors of 16 bytes: of 8.
// CHECK-LABEL: FUSEC_KERNEL(128) concat_0(
// CHECK: fusec::forEachVector<2, 4>(count
// CHECK: fusec::loadAround<V>(t_x_once + d0 * 112 + d1 - 1, 1 - d1, 113 - d1);
fusec.model @image inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<64x64x112x112xf32>):
  %0 = fusec.splat 0.0 : f32 : tensor<64x64x112x1xf32>
  %1 = fusec.concat %0, %x, %0 axis 3 : tensor<64x64x112x1xf32>, tensor<64x64x112x112xf32>, tensor<64x64x112x1xf32> to tensor<64x64x112x114xf32>
  fusec.output %1 : tensor<64x64x112x114xf32>
}

// -----

// Of rows that indices name, several of a thread are on their way: indices, then
// the rows, and only then what a missing one does. Threads that all begin
// together take no more registers than lets them.
// CHECK-LABEL: FUSEC_KERNEL_RESIDENT(128, 16) gather_0(
// CHECK: fusec::forEachVector<4, 4>(count
// CHECK: const fusec::i64 t_i_at = t_i[d0];
// CHECK-NEXT: return [=] {
// CHECK-NEXT: fusec::i64 [[ROW:row[0-9]+]];
// CHECK-NEXT: const bool [[VALID:valid[0-9]+]] = fusec::findRow<fusec::GatherPolicy::Flag>(t_i_at, 400000, [[ROW]]);
// CHECK-NEXT: const auto t_t_once_at = fusec::load<V>(t_t_once + d1 + [[ROW]] * 16);
// CHECK-NEXT: return [=] {
// CHECK-NEXT: fusec::countMissing(![[VALID]] && d1 == 0, faults);
// CHECK-NEXT: const auto gathered = fusec::orZeros([[VALID]], t_t_once_at);
fusec.model @rows inputs ["t", "i"] outputs ["y"] {
^bb0(%t: tensor<400000x16xf32>, %i: tensor<262144xi64>):
  %0 = fusec.broadcast %i [0] : tensor<262144xi64> to tensor<262144x16xi64>
  %1 = fusec.gather %t [-1, 1](%0) flag : (tensor<400000x16xf32>, tensor<262144x16xi64>) -> tensor<262144x16xf32>
  fusec.output %1 : tensor<262144x16xf32>
}

// -----

// A block holds the long row that its points pick elements of; the indices are
// on their way beside it.
// CHECK-LABEL: FUSEC_KERNEL(128) gather_0(
// CHECK: FUSEC_SHARED fusec::HeldRows<fusec::f16, 4096, 1, 128> held;
// CHECK: const auto begin = [&](int row) {
// CHECK-NEXT: return t_x + row * 4096;
// CHECK: fusec::forEachHeldRow<8, {{.*}}>(held, 8192, 1024, begin, [&](int row, int column, auto width) {
// CHECK: fusec::load<V>(t_i + column)
// CHECK-NEXT: return [=] {
// CHECK: gatherRowShared<fusec::GatherPolicy::Flag>({{.*}}, 4096, [[ROW:.*]], faults,
// CHECK-NEXT: row == 0);
// CHECK: fusec::cast<float>(held{{\[}}[[ROW]]]);
// CHECK: fusec::store<V>(t_y + row * 1024 + column, result);
fusec.model @picks inputs ["x", "i"] outputs ["y"] {
^bb0(%x: tensor<8192x4096xf16>, %i: tensor<1024xi64>):
  %0 = fusec.broadcast %i [1] : tensor<1024xi64> to tensor<8192x1024xi64>
  %1 = fusec.gather %x [0, -1](%0) flag : (tensor<8192x4096xf16>, tensor<8192x1024xi64>) -> tensor<8192x1024xf16>
  fusec.output %1 : tensor<8192x1024xf16>
}

// -----

// Of so many picks few sectors of a row are left: L2 fetches its lines.
// CHECK-LABEL: gather_0(
// CHECK: const fusec::PickedFrom<fusec::f16> [[X:.*]](t_x);
// CHECK: fusec::cast<float>([[X]][d0 * 1024 + row1]);
fusec.model @many_picks inputs ["x", "i"] outputs ["y"] {
^bb0(%x: tensor<8192x1024xf16>, %i: tensor<8192x100xi64>):
  %0 = fusec.gather %x [0, -1](%i) flag : (tensor<8192x1024xf16>, tensor<8192x100xi64>) -> tensor<8192x100xf16>
  fusec.output %0 : tensor<8192x100xf16>
}

// -----

// Of a few most are left.
// CHECK-LABEL: gather_0(
// CHECK: fusec::cast<float>(t_x[d0 * 1024 + row1]);
fusec.model @few_picks inputs ["x", "i"] outputs ["y"] {
^bb0(%x: tensor<8192x1024xf16>, %i: tensor<8192x10xi64>):
  %0 = fusec.gather %x [0, -1](%i) flag : (tensor<8192x1024xf16>, tensor<8192x10xi64>) -> tensor<8192x10xf16>
  fusec.output %0 : tensor<8192x10xf16>
}

// -----

// Parts that begin anywhere: blocks put rows together, of vectors of each part,
// and store them as one run. What is computed of a part follows its load.
// CHECK-LABEL: FUSEC_KERNEL(64) relu_concat_0(
// CHECK: const auto part = fusec::partOfRows<13, 0, 8>([&](int base, auto width) {
// CHECK: fusec::load<V>(t_x + base)
// CHECK: const auto part_2 = fusec::partOfRows<16, 13, 8>(
// CHECK: fusec::load<V>(t_y + base)
// CHECK: return [=] {
// CHECK: fusec::relu(
// CHECK: const auto part_3 = fusec::partOfRows<16, 29, 8>(
// CHECK: FUSEC_SHARED fusec::AssembledRows<fusec::f16, 32, 45> held;
// CHECK: fusec::assembleRows<64>(held, int(16384), t_r, part, part_2, part_3);
fusec.model @side_by_side inputs ["x", "y", "z"] outputs ["r"] {
^bb0(%x: tensor<16384x13xf16>, %y: tensor<16384x16xf16>, %z: tensor<16384x16xf16>):
  %0 = fusec.relu %y : tensor<16384x16xf16>
  %1 = fusec.concat %x, %0, %z axis 1 : tensor<16384x13xf16>, tensor<16384x16xf16>, tensor<16384x16xf16> to tensor<16384x45xf16>
  fusec.output %1 : tensor<16384x45xf16>
}

// -----

// A column of its own, and a number of rows that is not known.
// CHECK-LABEL: FUSEC_KERNEL(128) concat_0(
// CHECK: fusec::partOfRows<512, 0, 8>(
// CHECK: fusec::partOfRows<1, 512, 8>(
// CHECK: fusec::partOfRows<512, 513, 8>(
// CHECK: fusec::assembleRows<128>(held, int(n_n), t_r, part, part_2, part_3);
fusec.model @column inputs ["x", "y", "z"] outputs ["r"] {
^bb0(%x: tensor<?x512xf16, #fusec.sizes<[n, 512]>>, %y: tensor<?x1xf16, #fusec.sizes<[n, 1]>>, %z: tensor<?x512xf16, #fusec.sizes<[n, 512]>>):
  %0 = fusec.concat %x, %y, %z axis 1 : tensor<?x512xf16, #fusec.sizes<[n, 512]>>, tensor<?x1xf16, #fusec.sizes<[n, 1]>>, tensor<?x512xf16, #fusec.sizes<[n, 512]>> to tensor<?x1025xf16, #fusec.sizes<[n, 1025]>>
  fusec.output %0 : tensor<?x1025xf16, #fusec.sizes<[n, 1025]>>
}

// -----

// Runs of one sector in another order are walked as they are loaded, long ones
// as they are stored.
// CHECK-LABEL: FUSEC_KERNEL(128) transpose_0(
// CHECK: fusec::load<V>(t_x_once + base)
// CHECK: fusec::store<V>(t_y + d0 * 131072 + d1 * 16 + d2 * 1024 + d3, result)
// CHECK-LABEL: FUSEC_KERNEL(128) transpose_1(
// CHECK: fusec::store<V>(t_w + base, result)
fusec.model @short_runs inputs ["x", "z"] outputs ["y", "w"] {
^bb0(%x: tensor<64x64x128x16xf16>, %z: tensor<64x64x4x128xf16>):
  %0 = fusec.transpose %x [0, 2, 1, 3] : tensor<64x64x128x16xf16> to tensor<64x128x64x16xf16>
  %1 = fusec.transpose %z [0, 2, 1, 3] : tensor<64x64x4x128xf16> to tensor<64x4x64x128xf16>
  fusec.output %0, %1 : tensor<64x128x64x16xf16>, tensor<64x4x64x128xf16>
}
