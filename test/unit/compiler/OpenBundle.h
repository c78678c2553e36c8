// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef FUSEC_TEST_UNIT_COMPILER_OPENBUNDLE_H
#define FUSEC_TEST_UNIT_COMPILER_OPENBUNDLE_H

#include "runtime/format/Bundle.h"
#include "gtest/gtest.h"

namespace fusec {

/// A view of a bundle's bytes, which must outlive it; fails the test where they
/// are none.
inline format::Bundle openBundle(const std::string &bytes) {
  format::Bundle bundle;
  std::string error;
  EXPECT_TRUE(format::Bundle::open(
      {reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()},
      format::HashWeights::Always, bundle, error))
      << error;
  return bundle;
}

} // namespace fusec

#endif // FUSEC_TEST_UNIT_COMPILER_OPENBUNDLE_H
