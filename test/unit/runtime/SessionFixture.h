// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A session over the test bundle, made when a test first needs it.

#ifndef FUSEC_TEST_UNIT_RUNTIME_SESSIONFIXTURE_H
#define FUSEC_TEST_UNIT_RUNTIME_SESSIONFIXTURE_H

#include "test/unit/runtime/LibraryTest.h"

namespace fusec::test {

class SessionTest : public LibraryTest {
protected:
  std::string bindError(const char *name, const Tensor &tensor) {
    return messageOf(FUSEC_INVALID_ARGUMENT,
                     [&] { session().bind(name, tensor); });
  }
  Session &session() {
    if (!made)
      made = std::make_unique<Session>(load());
    return *made;
  }
  void TearDown() override {
    made.reset();
    LibraryTest::TearDown();
  }
  std::unique_ptr<Session> made;
  Tensors tensors;
};

} // namespace fusec::test

#endif // FUSEC_TEST_UNIT_RUNTIME_SESSIONFIXTURE_H
