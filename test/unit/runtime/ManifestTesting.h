// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a manifest with an edit is refused, or read back.

#ifndef FUSEC_TEST_UNIT_RUNTIME_MANIFESTTESTING_H
#define FUSEC_TEST_UNIT_RUNTIME_MANIFESTTESTING_H

#include "test/unit/runtime/TestBundle.h"

#include <gtest/gtest.h>

namespace fusec::test {

// The message for a manifest with one edit.
inline std::string refusal(const Edit &edit) {
  format::Manifest manifest = makeManifest();
  edit(manifest);
  std::string error;
  EXPECT_FALSE(checkManifest(manifest, error));
  format::Manifest parsed;
  std::string parseError;
  EXPECT_FALSE(parseManifest(writeManifest(manifest), parsed, parseError));
  EXPECT_EQ(error, parseError);
  return error;
}

// The message for a text with one replacement.
inline std::string textRefusal(const std::string &from, const std::string &to) {
  std::string json = writeManifest(makeManifest());
  size_t place = json.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  json.replace(place, from.size(), to);
  format::Manifest parsed;
  std::string error;
  EXPECT_FALSE(parseManifest(json, parsed, error)) << json;
  return error;
}

// What is written of a manifest with one edit, as it is read back.
inline format::Manifest readBack(const Edit &edit) {
  format::Manifest manifest = makeManifest(), parsed;
  edit(manifest);
  std::string error, json = writeManifest(manifest);
  EXPECT_TRUE(parseManifest(json, parsed, error)) << error;
  EXPECT_EQ(writeManifest(parsed), json);
  return parsed;
}

inline format::Plan &hopper(format::Manifest &manifest) {
  return manifest.plans[1];
}

} // namespace fusec::test

#endif // FUSEC_TEST_UNIT_RUNTIME_MANIFESTTESTING_H
