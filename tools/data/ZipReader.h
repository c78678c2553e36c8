// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of the zip format that .npz files use: stored and deflated members,
// zip64. The directory at the end is the truth; every range is checked against
// the file before it is read.

#ifndef FUSEC_TOOLS_DATA_ZIPREADER_H
#define FUSEC_TOOLS_DATA_ZIPREADER_H

#include "tools/data/Input.h"

namespace fusec::data {

struct ZipMember {
  std::string name;
  bool deflated = false;
  uint32_t crc = 0;
  uint64_t packedSize = 0, size = 0;
  /// Of the local header.
  uint64_t offset = 0;
  /// Where members end: the directory's offset.
  uint64_t limit = 0;
};

/// Members in the directory's order; names are unique.
Result<std::vector<ZipMember>> readZipDirectory(Input &input);

/// The unpacked bytes; their CRC is checked by finish().
Result<std::unique_ptr<Stream>> openZipMember(Input &input,
                                              const ZipMember &member);

} // namespace fusec::data

#endif // FUSEC_TOOLS_DATA_ZIPREADER_H
