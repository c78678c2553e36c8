// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-form-transposes,fusec-assign-storage,fusec-choose-schedules))" %s | fusec-translate --split-input-file --fusec-to-cuda | FileCheck %s

// The tile is filled along the operand's rows, and read along the result's.
// CHECK-LABEL: // relu
// CHECK: FUSEC_SHARED fusec::TransposeTile<fusec::f16, 64, 64> tile;
// CHECK: fusec::forEachTile(alongTiles * acrossTiles * (3), [&](int place) {
// CHECK: const int [[B:d[0-9]]] = place / acrossTiles / alongTiles;
// CHECK: fusec::fillTile<8, 256>(tile, along - alongFirst, across - acrossFirst, [&](int a, int b) {
// CHECK: fusec::launch::barrier();
// CHECK: fusec::forEachInTile<8, 64, 64, 256>
// CHECK: const auto tile_at = fusec::readTile<V>(tile, a, b);
// CHECK: fusec::relu({{.*}}tile_at
// CHECK: fusec::store<V>(
// CHECK: fusec::launch::barrier();
fusec.model @tiles inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<3x128x256xf16>):
  %0 = fusec.transpose %x [0, 2, 1] : tensor<3x128x256xf16> to tensor<3x256x128xf16>
  %1 = fusec.relu %0 : tensor<3x256x128xf16>
  fusec.output %1 : tensor<3x256x128xf16>
}

// -----

// What is in no tile is loaded together by all vectors that a thread has of a
// tile, before that is filled: by two of eight halves, four of four floats.
// CHECK-LABEL: // add
// CHECK: const auto fill = [&] {
// CHECK: fusec::fillTile<8, 256>(tile
// CHECK: fusec::forEachBesideTile<8, 64, 64, 256, 2>({{.*}}, fill,
// CHECK: const fusec::OfPoint [[Y:.*]](t_y, isThere);
// CHECK: fusec::load<V>([[Y]]
// CHECK-NEXT: return [=](int a, int b) {
// CHECK: fusec::readTile<V>(tile, a, b);
// CHECK-LABEL: // add
// CHECK: fusec::forEachBesideTile<4, 64, 64, 256, 4>
fusec.model @beside_tiles inputs ["x", "y", "z", "w"] outputs ["a", "b"] {
^bb0(%x: tensor<512x512xf16>, %y: tensor<512x512xf16>, %z: tensor<1024x1024xf32>, %w: tensor<1024x1024xf32>):
  %0 = fusec.transpose %x [1, 0] : tensor<512x512xf16> to tensor<512x512xf16>
  %1 = fusec.add %y, %0 : tensor<512x512xf16>
  %2 = fusec.transpose %z [1, 0] : tensor<1024x1024xf32> to tensor<1024x1024xf32>
  %3 = fusec.add %w, %2 : tensor<1024x1024xf32>
  fusec.output %1, %3 : tensor<512x512xf16>, tensor<1024x1024xf32>
}

// -----

// The same of rows that begin anywhere: single elements of many threads.
// CHECK: fusec::fillTile<1, 512>(tile
// CHECK: fusec::forEachBesideTile<1, 64, 64, 512, 4>(along - alongFirst, across - acrossFirst, fill, [&](int a, int b,
// CHECK: fusec::load<V>(t_y_of
fusec.model @beside_tiles_of_rows inputs ["x", "y"] outputs ["a"] {
^bb0(%x: tensor<333x517xf32>, %y: tensor<517x333xf32>):
  %0 = fusec.transpose %x [1, 0] : tensor<333x517xf32> to tensor<517x333xf32>
  %1 = fusec.add %y, %0 : tensor<517x333xf32>
  fusec.output %1 : tensor<517x333xf32>
}

// -----

// A row is loaded once for both passes; scales that registers would not hold
// beside it for one, two steps of a thread before it stores the first.
// CHECK-LABEL: // reduce
// CHECK: fusec::Vec<float, 4> kept[fusec::keptSteps<Scope, 13>];
// CHECK: kept[step] = fusec::load<4>(t_x + row * 1664 + k);
// CHECK: fusec::reduceKept<Scope, fusec::Max<float>, 4, 13, true>(length, [&](int step, int k,
// CHECK: add(kept[step][lane]);
// CHECK: fusec::forEachKeptBehindLoads<Scope, 2, 4, 13, true>(length, [&](int step, int k) {
// CHECK: const auto kept_at = kept[step];
// CHECK: const auto t_s_at = fusec::load<V>(t_s + k);
// CHECK: return [=] {
// CHECK: kept_at[lane]
fusec.model @kept inputs ["x", "s", "t"] outputs ["y"] {
^bb0(%x: tensor<51200x1664xf32>, %s: tensor<1664xf32>, %t: tensor<1664xf32>):
  %0 = fusec.reduce max %x axes [1] : tensor<51200x1664xf32> to tensor<51200xf32>
  %1 = fusec.broadcast %0 [0] : tensor<51200xf32> to tensor<51200x1664xf32>
  %2 = fusec.sub %x, %1 : tensor<51200x1664xf32>
  %3 = fusec.broadcast %s [1] : tensor<1664xf32> to tensor<51200x1664xf32>
  %4 = fusec.mul %2, %3 : tensor<51200x1664xf32>
  %5 = fusec.broadcast %t [1] : tensor<1664xf32> to tensor<51200x1664xf32>
  %6 = fusec.add %4, %5 : tensor<51200x1664xf32>
  fusec.output %6 : tensor<51200x1664xf32>
}

// -----

// A warp has the scale on its way with its row.
// CHECK-LABEL: // reduce
// CHECK: fusec::Vec<float, 4> kept[fusec::keptSteps<Scope, 2>];
// CHECK: fusec::Vec<float, 4> kept_2[fusec::keptSteps<Scope, 2>];
// CHECK: kept[step] = fusec::load<4>(t_x + row * 256 + k);
// CHECK-NEXT: kept_2[step] = fusec::load<4>(t_s + k);
// CHECK: fusec::forEachKept<Scope, 4, 2>(length, [&](int step, int k) {
// CHECK-NOT: fusec::load
// CHECK: kept_2[step][lane]
fusec.model @ahead inputs ["x", "s"] outputs ["y"] {
^bb0(%x: tensor<512x256xf32>, %s: tensor<256xf32>):
  %0 = fusec.reduce max %x axes [1] : tensor<512x256xf32> to tensor<512xf32>
  %1 = fusec.broadcast %0 [0] : tensor<512xf32> to tensor<512x256xf32>
  %2 = fusec.sub %x, %1 : tensor<512x256xf32>
  %3 = fusec.broadcast %s [1] : tensor<256xf32> to tensor<512x256xf32>
  %4 = fusec.mul %2, %3 : tensor<512x256xf32>
  fusec.output %4 : tensor<512x256xf32>
}

// -----

// All of two tables is numbers, in an array where they are no series; indices are
// columns of one tensor.
// CHECK-LABEL: // where t_y is aligned to 16{{$}}
// CHECK: FUSEC_CONSTANT fusec::BagShape shapes[2] = {
// CHECK-NEXT: {0, 0, 5, 1, 3, 8, 0, 2, 1, 128, 1.0f},
// CHECK-NEXT: {0, 3, 5, 1, 2, 8, 8, 2, 1, 128, 0.5f},
// CHECK: fusec::sumAllBags<fusec::GatherPolicy::Clamp, int, 4, 128, fusec::bagFew>(shapes, Slots{}, 2, tables, ids, 100, t_y,
// CHECK-NEXT: 16, nullptr);
fusec.model @bags inputs ["ids"] outputs ["y"] {
^bb0(%ids: tensor<100x5xi64>):
  %t = fusec.constant dense<1.0> : tensor<50x8xf32>
  %u = fusec.constant dense<2.0> : tensor<60x8xf32>
  %i = fusec.slice %ids offsets [#fusec.expr<0>, #fusec.expr<0>] steps [1, 1] : tensor<100x5xi64> to tensor<100x3xi64>
  %j = fusec.slice %ids offsets [#fusec.expr<0>, #fusec.expr<3>] steps [1, 1] : tensor<100x5xi64> to tensor<100x2xi64>
  %0 = fusec.bag sum (%t, %u) at (%i, %j) clamp scales [1.0, 0.5] : (tensor<50x8xf32>, tensor<60x8xf32>) at (tensor<100x3xi64>, tensor<100x2xi64>) -> tensor<100x16xf32>
  fusec.output %0 : tensor<100x16xf32>
}

// -----

// Bags by offsets, with weights, and a row that is left out.
// CHECK-LABEL: // where t_y is aligned to 16{{$}}
// CHECK: struct Shapes {
// CHECK-NEXT: FUSEC_DEVICE fusec::BagShape operator[](int i) const {
// CHECK-NEXT: return {0, 0, 0, 1, 0, 8, 0, 2, 1, 64, 1.0f};
// CHECK: FUSEC_CONSTANT fusec::BagPlace offsets_places[1] = {
// CHECK-NEXT: {0, 0, 1},
// CHECK: FUSEC_CONSTANT fusec::i64 padding[1] = {3};
// CHECK: fusec::sumAllBags<fusec::GatherPolicy::Clamp, int, 4, 64, 0, fusec::BagMode::Mean>(Shapes{}, Slots{}, 1, tables, ids,
// CHECK-NEXT: 100, t_y, 8, nullptr, fusec::BagOperand{offsets, offsets_places}, fusec::BagOperand{weights, weights_places},
// CHECK-NEXT: fusec::BagPadding{padding});
fusec.model @ranges inputs ["ids", "offsets", "weights"] outputs ["y"] {
^bb0(%ids: tensor<1x500xi64>, %o: tensor<1x100xi64>, %w: tensor<1x500xf32>):
  %t = fusec.constant dense<1.0> : tensor<50x8xf32>
  %0 = fusec.bag mean (%t) at (%ids) from (%o) by (%w) clamp scales [1.0] padding row [3] : (tensor<50x8xf32>) at (tensor<1x500xi64>) from (tensor<1x100xi64>) by (tensor<1x500xf32>) -> tensor<100x8xf32>
  fusec.output %0 : tensor<100x8xf32>
}

// -----

// A mean without the rows that an index names.
// CHECK-LABEL: // where t_y is aligned to 16{{$}}
// CHECK: FUSEC_CONSTANT fusec::i64 padding[1] = {3};
// CHECK: fusec::sumAllBags<fusec::GatherPolicy::Clamp, int, 4, {{[0-9]+}}, fusec::bagShort, fusec::BagMode::Mean>(
// CHECK-NEXT: 1, tables, ids, 100, t_y, 8, nullptr, fusec::NoBagOperand{}, fusec::NoBagOperand{},
// CHECK-NEXT: fusec::BagIndexPadding{padding});
fusec.model @masked inputs ["ids"] outputs ["y"] {
^bb0(%ids: tensor<100x7xi64>):
  %t = fusec.constant dense<1.0> : tensor<50x8xf32>
  %0 = fusec.bag mean (%t) at (%ids) clamp scales [1.0] padding index [3] : (tensor<50x8xf32>) at (tensor<100x7xi64>) -> tensor<100x8xf32>
  fusec.output %0 : tensor<100x8xf32>
}

// -----

// Lengths of one table's bags; beside its sums another's maxima.
// CHECK-LABEL: // where t_y is aligned to 16{{$}}
// CHECK: FUSEC_CONSTANT fusec::BagPlace length_places[2] = {
// CHECK-NEXT: {0, 1, 0},
// CHECK-NEXT: {0, 0, -1},
// CHECK: FUSEC_CONSTANT bool maxima[2] = {false, true};
// CHECK: fusec::BagLengths{lengths, length_places, false, 0.0f, false, 0.0f}, fusec::BagMaxima{maxima});
fusec.model @lengths inputs ["ids", "lengths"] outputs ["y"] {
^bb0(%ids: tensor<100x7xi64>, %n: tensor<100x1xi16>):
  %t = fusec.constant dense<1.0> : tensor<50x8xf32>
  %0 = fusec.bag sum (%t, %t) at (%ids, %ids) lengths (%n) of [0, -1] clamp scales [1.0, 1.0] maxima [1] : (tensor<50x8xf32>, tensor<50x8xf32>) at (tensor<100x7xi64>, tensor<100x7xi64>) lengths (tensor<100x1xi16>) -> tensor<100x16xf32>
  fusec.output %0 : tensor<100x16xf32>
}

// -----

// As many ids a bag as a name says: its number is the bag's stride.
// CHECK-LABEL: // where t_y is aligned to 16{{$}}
// CHECK: return {0, 0, -1, 1, 0, 8, 0, 2, 16, 2, 1.0f};
// CHECK: fusec::sumAllBags<fusec::GatherPolicy::Clamp, int, 4, 2, fusec::bagLong | fusec::bagShared>(Shapes{}, Slots{}, 1,
fusec.model @named inputs ["ids"] outputs ["y"] {
^bb0(%ids: tensor<100x?xi64, #fusec.sizes<[100, length]>>):
  %t = fusec.constant dense<1.0> : tensor<50x8xf32>
  %0 = fusec.bag sum (%t) at (%ids) clamp scales [1.0] : (tensor<50x8xf32>) at (tensor<100x?xi64, #fusec.sizes<[100, length]>>) -> tensor<100x8xf32>
  fusec.output %0 : tensor<100x8xf32>
}

// -----

// A bag of few is a block's: 64 lanes read a row, and four groups of them share
// the rows.
// CHECK-LABEL: // where t_y is aligned to 16{{$}}
// CHECK-NEXT: // grid 20, block 256,
// CHECK: return {0, 0, 100, 1, 100, 256, 0, 64, 4, 1, 1.0f};
// CHECK: FUSEC_KERNEL_RESIDENT(256, 4)
// CHECK: fusec::sumAllBags<fusec::GatherPolicy::Clamp, int, 4, 1, fusec::bagShort | fusec::bagShared, fusec::BagMode::Sum
fusec.model @few inputs ["ids"] outputs ["y"] {
^bb0(%ids: tensor<20x100xi64>):
  %t = fusec.constant dense<1.0> : tensor<50x256xf32>
  %0 = fusec.bag sum (%t) at (%ids) clamp scales [1.0] : (tensor<50x256xf32>) at (tensor<20x100xi64>) -> tensor<20x256xf32>
  fusec.output %0 : tensor<20x256xf32>
}

// -----

// Short bags, too few for the device: smaller blocks, and two groups a bag.
// CHECK-LABEL: // where t_y is aligned to 16{{$}}
// CHECK-NEXT: // grid 125, block 64,
// CHECK: return {0, 0, 10, 1, 10, 8, 0, 2, 2, 16, 1.0f};
// CHECK: FUSEC_KERNEL_RESIDENT(64, 16)
// CHECK: fusec::sumAllBags<fusec::GatherPolicy::Clamp, int, 4, 16, fusec::bagShort | fusec::bagShared>(
fusec.model @small inputs ["ids"] outputs ["y"] {
^bb0(%ids: tensor<2000x10xi64>):
  %t = fusec.constant dense<1.0> : tensor<50x8xf32>
  %0 = fusec.bag sum (%t) at (%ids) clamp scales [1.0] : (tensor<50x8xf32>) at (tensor<2000x10xi64>) -> tensor<2000x8xf32>
  fusec.output %0 : tensor<2000x8xf32>
}

// -----

// Two columns of 4 bits a byte.
// CHECK-LABEL: // where t_y is aligned to 16{{$}}
// CHECK: fusec::sumAllBags<fusec::GatherPolicy::Clamp, int, 8, 16, fusec::bagShort>(
// CHECK: fusec::NoBagOperand{}, fusec::NoBagOperand{}, fusec::NoBagOperand{},
// CHECK-NEXT: fusec::PackedBagFactors{factors, fusec::NoBagOperand{}, block_widths});
fusec.model @packed inputs ["ids"] outputs ["y"] {
^bb0(%ids: tensor<100x7xi64>):
  %t = fusec.constant dense<17> : tensor<50x32xi8>
  %f = fusec.constant dense<0.5> : tensor<50x2xf32>
  %0 = fusec.bag sum (%t) at (%ids) factors (%f) clamp scales [1.0] packed [64] : (tensor<50x32xi8>) at (tensor<100x7xi64>) factors (tensor<50x2xf32>) -> tensor<100x64xf16>
  fusec.output %0 : tensor<100x64xf16>
}

// -----

// Rows of 16 KB on both sides: tiles of 128 x 128 halves, whose pieces are 256
// bytes.
// CHECK-LABEL: // transpose
// CHECK: FUSEC_SHARED fusec::TransposeTile<fusec::f16, 128, 128> tile;
fusec.model @far_rows inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<8192x8192xf16>):
  %0 = fusec.transpose %x [1, 0] : tensor<8192x8192xf16> to tensor<8192x8192xf16>
  fusec.output %0 : tensor<8192x8192xf16>
}
