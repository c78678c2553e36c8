// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --split-input-file --verify-diagnostics %s

// expected-error @+1 {{expected 2 input names, got 1}}
fusec.model @inputs inputs ["x"] outputs [] {
^bb0(%x: tensor<4xf32>, %y: tensor<4xf32>):
  fusec.output
}

// -----

// expected-error @+1 {{expected 1 output names, got 2}}
fusec.model @outputs inputs ["x"] outputs ["y", "z"] {
^bb0(%x: tensor<4xf32>):
  fusec.output %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{name "x" is used twice}}
fusec.model @names inputs ["x", "x"] outputs [] {
^bb0(%x: tensor<4xf32>, %y: tensor<4xf32>):
  fusec.output
}

// -----

fusec.model @splat_type inputs [] outputs [] {
  // expected-error @+1 {{expected a value of type 'f32', got 'i32'}}
  %0 = fusec.splat 1 : i32 : tensor<4xf32>
}

// -----

fusec.model @iota_axis inputs [] outputs [] {
  // expected-error @+1 {{expected an axis below rank 1, got 1}}
  %0 = fusec.iota 1 : tensor<4xi64>
}

// -----

fusec.model @size_value inputs [] outputs [] {
  // expected-error @+1 {{expected a scalar result, got 'tensor<1xi64>'}}
  %0 = fusec.size_value <n> : tensor<1xi64>
}

// -----

fusec.model @collapse_order inputs ["x"] outputs [] {
^bb0(%x: tensor<2x3xf32>):
  // expected-error @+1 {{expected reassociation groups that list the dimensions in order}}
  %0 = fusec.collapse %x [[1], [0]] : tensor<2x3xf32> to tensor<3x2xf32>
}

// -----

fusec.model @collapse_count inputs ["x"] outputs [] {
^bb0(%x: tensor<2x3xf32>):
  // expected-error @+1 {{expected reassociation groups over 2 dimensions, got 1}}
  %0 = fusec.collapse %x [[0]] : tensor<2x3xf32> to tensor<2xf32>
}

// -----

fusec.model @collapse_result inputs ["x"] outputs [] {
^bb0(%x: tensor<2x3xf32>):
  // expected-error @+1 {{expected result type 'tensor<6xf32>', got 'tensor<5xf32>'}}
  %0 = fusec.collapse %x [[0, 1]] : tensor<2x3xf32> to tensor<5xf32>
}

// -----

fusec.model @expand_operand inputs ["x"] outputs [] {
^bb0(%x: tensor<?xf32, #fusec.sizes<[n]>>):
  // expected-error @+1 {{expected an operand of sizes [n * 2], got}}
  %0 = fusec.expand %x [[0, 1]] : tensor<?xf32, #fusec.sizes<[n]>> to tensor<?x2xf32, #fusec.sizes<[n, 2]>>
}

// -----

fusec.model @transpose inputs ["x"] outputs [] {
^bb0(%x: tensor<2x3xf32>):
  // expected-error @+1 {{expected a permutation of the 2 dimensions}}
  %0 = fusec.transpose %x [0, 0] : tensor<2x3xf32> to tensor<2x2xf32>
}

// -----

fusec.model @slice_rank inputs ["x"] outputs [] {
^bb0(%x: tensor<2x3xf32>):
  // expected-error @+1 {{expected an offset, a step and a size for each of 2 dimensions}}
  %0 = fusec.slice %x offsets [#fusec.expr<0>] steps [1] : tensor<2x3xf32> to tensor<2x3xf32>
}

// -----

fusec.model @slice_type inputs ["x"] outputs [] {
^bb0(%x: tensor<3xf32>):
  // expected-error @+1 {{expected the operand's element type}}
  %0 = fusec.slice %x offsets [#fusec.expr<0>] steps [1] : tensor<3xf32> to tensor<2xf16>
}

// -----

fusec.model @slice_step inputs ["x"] outputs [] {
^bb0(%x: tensor<3xf32>):
  // expected-error @+1 {{expected a step other than 0 in dimension 0}}
  %0 = fusec.slice %x offsets [#fusec.expr<0>] steps [0] : tensor<3xf32> to tensor<2xf32>
}

// -----

fusec.model @slice_end inputs ["x"] outputs [] {
^bb0(%x: tensor<3xf32>):
  // expected-error @+1 {{reads index 3 of dimension 0, whose size is 3}}
  %0 = fusec.slice %x offsets [#fusec.expr<1>] steps [1] : tensor<3xf32> to tensor<3xf32>
}

// -----

fusec.model @slice_begin inputs ["x"] outputs [] {
^bb0(%x: tensor<?xf32, #fusec.sizes<[n]>>):
  // expected-error @+1 {{reads index -1 of dimension 0, whose size is n}}
  %0 = fusec.slice %x offsets [#fusec.expr<1>] steps [-1] : tensor<?xf32, #fusec.sizes<[n]>> to tensor<3xf32>
}

// -----

fusec.model @broadcast_count inputs ["x"] outputs [] {
^bb0(%x: tensor<3xf32>):
  // expected-error @+1 {{expected 1 dimensions, got 2}}
  %0 = fusec.broadcast %x [0, 1] : tensor<3xf32> to tensor<2x3xf32>
}

// -----

fusec.model @broadcast_type inputs ["x"] outputs [] {
^bb0(%x: tensor<3xf32>):
  // expected-error @+1 {{expected the operand's element type}}
  %0 = fusec.broadcast %x [1] : tensor<3xf32> to tensor<2x3xf16>
}

// -----

fusec.model @broadcast_order inputs ["x"] outputs [] {
^bb0(%x: tensor<3x3xf32>):
  // expected-error @+1 {{expected ascending dimensions below rank 2, got 0}}
  %0 = fusec.broadcast %x [1, 0] : tensor<3x3xf32> to tensor<3x3xf32>
}

// -----

// A name never broadcasts.
fusec.model @broadcast_size inputs ["x"] outputs [] {
^bb0(%x: tensor<?xf32, #fusec.sizes<[n]>>):
  // expected-error @+1 {{expected size 1 or m in dimension 0, got n}}
  %0 = fusec.broadcast %x [0] : tensor<?xf32, #fusec.sizes<[n]>> to tensor<?xf32, #fusec.sizes<[m]>>
}

// -----

fusec.model @concat_type inputs ["x", "y"] outputs [] {
^bb0(%x: tensor<3xf32>, %y: tensor<3xf16>):
  // expected-error @+1 {{expected operands of the result's element type}}
  %0 = fusec.concat %x, %y axis 0 : tensor<3xf32>, tensor<3xf16> to tensor<6xf32>
}

// -----

fusec.model @concat_axis inputs ["x"] outputs [] {
^bb0(%x: tensor<3xf32>):
  // expected-error @+1 {{expected an axis below rank 1, got 1}}
  %0 = fusec.concat %x, %x axis 1 : tensor<3xf32>, tensor<3xf32> to tensor<6xf32>
}

// -----

fusec.model @concat_sizes inputs ["x", "y"] outputs [] {
^bb0(%x: tensor<2x3xf32>, %y: tensor<3x3xf32>):
  // expected-error @+1 {{expected operands that agree besides axis 1, got [2, 3] and [3, 3]}}
  %0 = fusec.concat %x, %y axis 1 : tensor<2x3xf32>, tensor<3x3xf32> to tensor<2x6xf32>
}

// -----

fusec.model @concat_nothing inputs [] outputs [] {
  // expected-error @+1 {{expected at least one operand}}
  %0 = "fusec.concat"() {axis = 0 : i64} : () -> tensor<6xf32>
}

// -----

fusec.model @gather_count inputs ["t", "i"] outputs [] {
^bb0(%t: tensor<9x4xf32>, %i: tensor<8x4xi64>):
  // expected-error @+1 {{expected 2 positions, got 1}}
  %0 = fusec.gather %t [-1] (%i) flag : (tensor<9x4xf32>, tensor<8x4xi64>) -> tensor<8x4xf32>
}

// -----

fusec.model @gather_type inputs ["t", "i"] outputs [] {
^bb0(%t: tensor<9x4xf32>, %i: tensor<8x4xi64>):
  // expected-error @+1 {{expected the source's element type}}
  %0 = fusec.gather %t [-1, 1] (%i) flag : (tensor<9x4xf32>, tensor<8x4xi64>) -> tensor<8x4xf16>
}

// -----

fusec.model @gather_position inputs ["t", "i"] outputs [] {
^bb0(%t: tensor<9x4xf32>, %i: tensor<8x4xi64>):
  // expected-error @+1 {{position -2 of source dimension 0 is neither a result dimension of its size nor an index operand}}
  %0 = fusec.gather %t [-2, 1] (%i) flag : (tensor<9x4xf32>, tensor<8x4xi64>) -> tensor<8x4xf32>
}

// -----

fusec.model @gather_index inputs ["t", "i"] outputs [] {
^bb0(%t: tensor<9x4xf32>, %i: tensor<8xi64>):
  // expected-error @+1 {{expected index operands of the result's sizes, got 'tensor<8xi64>'}}
  %0 = fusec.gather %t [-1, 1] (%i) flag : (tensor<9x4xf32>, tensor<8xi64>) -> tensor<8x4xf32>
}

// -----

fusec.model @lookup_shape inputs ["t", "i"] outputs [] {
^bb0(%t: tensor<9x4xf32>, %i: tensor<8x2xi64>):
  // expected-error @+1 {{expected indices [n, tables] and a result [n, tables, width]}}
  %0 = fusec.lookup (%t) at %i flag : (tensor<9x4xf32>, tensor<8x2xi64>) -> tensor<8x2x4xf32>
}

// -----

fusec.model @lookup_table inputs ["t", "u", "i"] outputs [] {
^bb0(%t: tensor<9x4xf32>, %u: tensor<9x5xf32>, %i: tensor<8x2xi64>):
  // expected-error @+1 {{expected tables [rows, 4], got 'tensor<9x5xf32>'}}
  %0 = fusec.lookup (%t, %u) at %i flag : (tensor<9x4xf32>, tensor<9x5xf32>, tensor<8x2xi64>) -> tensor<8x2x4xf32>
}

// -----

fusec.model @reduce_bool inputs ["x"] outputs [] {
^bb0(%x: tensor<3xi1>):
  // expected-error @+1 {{expected max or min on bool}}
  %0 = fusec.reduce sum %x axes [0] : tensor<3xi1> to tensor<i1>
}

// -----

fusec.model @reduce_parts inputs ["x"] outputs [] {
^bb0(%x: tensor<3x4xf32>):
  // expected-error @+1 {{expected result type 'tensor<2x4xf32>', got 'tensor<4xf32>'}}
  %0 = fusec.reduce sum %x axes [0] parts 2 : tensor<3x4xf32> to tensor<4xf32>
}

// -----

fusec.model @reduce_no_parts inputs ["x"] outputs [] {
^bb0(%x: tensor<3x4xf32>):
  // expected-error @+1 {{expected at least one part, got 0}}
  %0 = fusec.reduce sum %x axes [0] parts 0 : tensor<3x4xf32> to tensor<0x4xf32>
}

// -----

fusec.model @bag_counts inputs ["t", "i"] outputs [] {
^bb0(%t: tensor<9x4xf32>, %i: tensor<8x2xi64>):
  // expected-error @+1 {{expected indices and a scale for each of at least one table, got 1 tables, 1 indices, 2 scales and 1 paddings}}
  %0 = fusec.bag sum (%t) at (%i) flag scales [1.0, 1.0] : (tensor<9x4xf32>) at (tensor<8x2xi64>) -> tensor<8x4xf32>
}

// -----

fusec.model @bag_table inputs ["t", "u", "i"] outputs [] {
^bb0(%t: tensor<9x4xf32>, %u: tensor<9x5xf16>, %i: tensor<8x2xi64>):
  // expected-error @+1 {{expected matrices of one type, got 'tensor<9x5xf16>' beside 'tensor<9x4xf32>'}}
  %0 = fusec.bag sum (%t, %u) at (%i, %i) flag scales [1.0, 1.0] : (tensor<9x4xf32>, tensor<9x5xf16>) at (tensor<8x2xi64>, tensor<8x2xi64>) -> tensor<8x9xf32>
}

// -----

fusec.model @bag_indices inputs ["t", "i", "j"] outputs [] {
^bb0(%t: tensor<9x4xf32>, %i: tensor<8x2xi64>, %j: tensor<8x2xi32>):
  // expected-error @+1 {{expected matrices of one type, got 'tensor<8x2xi32>' beside 'tensor<8x2xi64>'}}
  %0 = fusec.bag sum (%t, %t) at (%i, %j) flag scales [1.0, 1.0] : (tensor<9x4xf32>, tensor<9x4xf32>) at (tensor<8x2xi64>, tensor<8x2xi32>) -> tensor<8x8xf32>
}

// -----

fusec.model @bag_lengths inputs ["t", "i"] outputs [] {
^bb0(%t: tensor<9x4xf32>, %i: tensor<7x2xi64>):
  // expected-error @+1 {{expected indices [8, as many as a bag has], got 'tensor<7x2xi64>'}}
  %0 = fusec.bag max (%t) at (%i) flag scales [1.0] : (tensor<9x4xf32>) at (tensor<7x2xi64>) -> tensor<8x4xf32>
}

// -----

fusec.model @bag_lengths_of inputs ["t", "i", "l"] outputs [] {
^bb0(%t: tensor<9x4xf32>, %i: tensor<8x2xi64>, %l: tensor<8x1xi64>):
  // expected-error @+1 {{expected one of 1 lengths or -1, got 1}}
  %0 = fusec.bag sum (%t) at (%i) lengths (%l) of [1] flag scales [1.0] : (tensor<9x4xf32>) at (tensor<8x2xi64>) lengths (tensor<8x1xi64>) -> tensor<8x4xf32>
}

// -----

fusec.model @bag_lengths_type inputs ["t", "i", "l"] outputs [] {
^bb0(%t: tensor<9x4xf32>, %i: tensor<8x2xi64>, %l: tensor<8x1xf32>):
  // expected-error @+1 {{expected lengths [bags, 1] of integers, got 'tensor<8x1xf32>'}}
  %0 = fusec.bag sum (%t) at (%i) lengths (%l) of [0] flag scales [1.0] : (tensor<9x4xf32>) at (tensor<8x2xi64>) lengths (tensor<8x1xf32>) -> tensor<8x4xf32>
}

// -----

fusec.model @bag_lengths_of_lookup inputs ["t", "i", "l"] outputs [] {
^bb0(%t: tensor<9x4xf32>, %i: tensor<8x1xi64>, %l: tensor<8x1xi64>):
  // expected-error @+1 {{expected lengths of bags of several indices, got 'tensor<8x1xi64>'}}
  %0 = fusec.bag sum (%t) at (%i) lengths (%l) of [0] flag scales [1.0] : (tensor<9x4xf32>) at (tensor<8x1xi64>) lengths (tensor<8x1xi64>) -> tensor<8x4xf32>
}

// -----

fusec.model @bag_least_alone inputs ["t", "i"] outputs [] {
^bb0(%t: tensor<9x4xf32>, %i: tensor<8x2xi64>):
  // expected-error @+1 {{expected lengths, of bags without offsets, and for each table which of them it has or -1}}
  %0 = fusec.bag mean (%t) at (%i) least 1.0 flag scales [1.0] : (tensor<9x4xf32>) at (tensor<8x2xi64>) -> tensor<8x4xf32>
}

// -----

fusec.model @bag_maxima inputs ["t", "i"] outputs [] {
^bb0(%t: tensor<9x4xf32>, %i: tensor<8x2xi64>):
  // expected-error @+1 {{expected numbers of tables beside sums or means, got maxima of table 1}}
  %0 = fusec.bag sum (%t) at (%i) flag scales [1.0] maxima [1] : (tensor<9x4xf32>) at (tensor<8x2xi64>) -> tensor<8x4xf32>
}

// -----

fusec.model @bag_empty inputs ["t", "i"] outputs [] {
^bb0(%t: tensor<9x4xf32>, %i: tensor<8x0xi64>):
  // expected-error @+1 {{expected bags of at least one index, got 'tensor<8x0xi64>'}}
  %0 = fusec.bag sum (%t) at (%i) flag scales [1.0] : (tensor<9x4xf32>) at (tensor<8x0xi64>) -> tensor<8x4xf32>
}

// -----

fusec.model @bag_offsets inputs ["t", "i", "o"] outputs [] {
^bb0(%t: tensor<9x4xf32>, %i: tensor<1x20xi64>, %o: tensor<8x1xi64>):
  // expected-error @+1 {{expected indices and offsets of one row, got 'tensor<1x20xi64>' and 'tensor<8x1xi64>'}}
  %0 = fusec.bag mean (%t) at (%i) from (%o) flag scales [1.0] : (tensor<9x4xf32>) at (tensor<1x20xi64>) from (tensor<8x1xi64>) -> tensor<8x4xf32>
}

// -----

fusec.model @bag_weights inputs ["t", "i", "w"] outputs [] {
^bb0(%t: tensor<9x4xf32>, %i: tensor<8x2xi64>, %w: tensor<8x1xf32>):
  // expected-error @+1 {{expected weights of the sizes of indices, got 'tensor<8x1xf32>' and 'tensor<8x2xi64>'}}
  %0 = fusec.bag sum (%t) at (%i) by (%w) flag scales [1.0] : (tensor<9x4xf32>) at (tensor<8x2xi64>) by (tensor<8x1xf32>) -> tensor<8x4xf32>
}

// -----

fusec.model @bag_columns inputs ["t", "i"] outputs [] {
^bb0(%t: tensor<9x4xf32>, %i: tensor<8x2xi64>):
  // expected-error @+1 {{expected as many columns as tables have, 4, got 'tensor<8x5xf32>'}}
  %0 = fusec.bag sum (%t) at (%i) flag scales [1.0] : (tensor<9x4xf32>) at (tensor<8x2xi64>) -> tensor<8x5xf32>
}

// -----

fusec.model @bag_packed_floats inputs ["t", "i"] outputs [] {
^bb0(%t: tensor<9x4xf32>, %i: tensor<8x2xi64>):
  // expected-error @+1 {{expected factors, and a number of columns for each table that is packed, got 0 factors and 1 numbers of 1 tables}}
  %0 = fusec.bag sum (%t) at (%i) flag scales [1.0] packed [7] : (tensor<9x4xf32>) at (tensor<8x2xi64>) -> tensor<8x7xf32>
}

// -----

fusec.model @bag_packed_bytes inputs ["t", "i", "f"] outputs [] {
^bb0(%t: tensor<9x4xi8>, %i: tensor<8x2xi64>, %f: tensor<9x1xf32>):
  // expected-error @+1 {{expected rows of as many bytes as 9 columns of 4 bits take, got 'tensor<9x4xi8>'}}
  %0 = fusec.bag sum (%t) at (%i) factors (%f) flag scales [1.0] packed [9] : (tensor<9x4xi8>) at (tensor<8x2xi64>) factors (tensor<9x1xf32>) -> tensor<8x9xf32>
}

// -----

fusec.model @reduce_axes inputs ["x"] outputs [] {
^bb0(%x: tensor<3x4xf32>):
  // expected-error @+1 {{expected distinct axes below rank 2, got axis 0}}
  %0 = fusec.reduce sum %x axes [0, 0] : tensor<3x4xf32> to tensor<4xf32>
}

// -----

fusec.model @arg_reduce inputs ["x"] outputs [] {
^bb0(%x: tensor<3x4xf32>):
  // expected-error @+1 {{expected distinct axes below rank 2, got axis 2}}
  %0 = fusec.arg_reduce max %x axis 2 : tensor<3x4xf32> to tensor<3xi64>
}

// -----

fusec.model @matmul_type inputs ["a", "b"] outputs [] {
^bb0(%a: tensor<3x4xf32>, %b: tensor<4x5xf16>):
  // expected-error @+1 {{expected operands of one element type}}
  %0 = fusec.matmul %a, %b : tensor<3x4xf32>, tensor<4x5xf16> to tensor<3x5xf32>
}

// -----

fusec.model @matmul_rank inputs ["a", "b"] outputs [] {
^bb0(%a: tensor<3x4xf32>, %b: tensor<4xf32>):
  // expected-error @+1 {{expected operands of one rank, 2 or more, got ranks 2 and 1}}
  %0 = fusec.matmul %a, %b : tensor<3x4xf32>, tensor<4xf32> to tensor<3xf32>
}

// -----

fusec.model @matmul_inner inputs ["a", "b"] outputs [] {
^bb0(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>):
  // expected-error @+1 {{expected equal inner sizes, got 4 and 5}}
  %0 = fusec.matmul %a, %b transposed : tensor<3x4xf32>, tensor<4x5xf32> to tensor<3x4xf32>
}

// -----

fusec.model @matmul_batch inputs ["a", "b"] outputs [] {
^bb0(%a: tensor<2x3x4xf32>, %b: tensor<1x4x5xf32>):
  // expected-error @+1 {{expected equal batch sizes, got [2, 3, 4] and [1, 4, 5]}}
  %0 = fusec.matmul %a, %b : tensor<2x3x4xf32>, tensor<1x4x5xf32> to tensor<2x3x5xf32>
}

// -----

fusec.model @pointwise_sizes inputs ["c", "x"] outputs [] {
^bb0(%c: tensor<1xi1>, %x: tensor<3xf32>):
  // expected-error @+1 {{expected operands of the result's sizes [3], got 'tensor<1xi1>'; broadcast it}}
  %0 = fusec.select %c, %x, %x : tensor<1xi1>, tensor<3xf32>
}
