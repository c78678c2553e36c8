// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The header of a .npy file: a Python dictionary of three keys.

#ifndef FUSEC_TOOLS_DATA_NPYHEADER_H
#define FUSEC_TOOLS_DATA_NPYHEADER_H

#include "tools/data/Tensor.h"

#include <string_view>

namespace fusec::data {

struct NpyHeader {
  DType dtype = DType::F32;
  /// Elements are big-endian.
  bool swapped = false;
  bool fortranOrder = false;
  std::vector<int64_t> sizes;
};

/// Parses `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`.
Result<NpyHeader> parseNpyHeader(std::string_view text);

/// Magic, version and padded dictionary for a little-endian row-major array.
std::string formatNpyHeader(DType dtype, const std::vector<int64_t> &sizes);

} // namespace fusec::data

#endif // FUSEC_TOOLS_DATA_NPYHEADER_H
