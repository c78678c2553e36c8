// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state of the fake CUPTI, a library with the entry points that the runtime
// uses: a record for each launch of the fake driver while kernels are enabled.
// A kernel takes 1000 ns a block of its grid, and begins 500 after the last.

#ifndef FUSEC_TEST_UNIT_RUNTIME_FAKECUPTI_H
#define FUSEC_TEST_UNIT_RUNTIME_FAKECUPTI_H

#include <string>

struct FakeCuptiState {
  // The name of a call that fails, and its result.
  std::string failCall;
  int failCode = 1;
  // The last record of a buffer comes first.
  bool isReversed = false;
  // Of all records every n-th is not given; 0: none.
  int dropEvery = 0;
  // A record of another kernel, and one of another kind, lie between.
  bool addsOthers = false;
  // A kernel of the same name as each ran on another session's behalf.
  bool doubles = false;

  int enabled = 0, subscribed = 0;
};

extern "C" FakeCuptiState *fusecFakeCuptiState();

#endif
