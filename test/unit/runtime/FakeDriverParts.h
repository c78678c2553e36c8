// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the files of the fake driver share.

#ifndef FUSEC_TEST_UNIT_RUNTIME_FAKEDRIVERPARTS_H
#define FUSEC_TEST_UNIT_RUNTIME_FAKEDRIVERPARTS_H

#include "runtime/format/KernelParams.h"
#include "runtime/src/Driver.h"
#include "test/unit/runtime/FakeDriver.h"

struct FakeFunction {
  std::string symbol;
  std::vector<unsigned> params; // bytes of each
  size_t blockBytes;            // of all, passed as a block
};

using FakeKernels = std::map<std::string, fusec::format::KernelParams>;
// Of the text of PTX, or of a cubin.
FakeKernels readImage(const char *image, bool isElf);

using fusec::rt::cuda::invalidValue;

inline FakeState &state() { return *fusecFakeState(); }

// Counts a call and says what it is to return. Calls that work on the device
// need a current context.
fusec::rt::cuda::Result enter(const char *name, bool needsContext);

#define ENTER(name, needsContext)                                              \
  if (fusec::rt::cuda::Result entered = enter(name, needsContext))             \
    return entered;

// What the driver refuses while another thread captures a stream.
fusec::rt::cuda::Result allowAllocating();
fusec::rt::cuda::Result allowStream(fusec::rt::cuda::Stream stream);

// Checks and copies what a launch or a node is given.
fusec::rt::cuda::Result readLaunch(const unsigned *grid, const unsigned *block,
                                   unsigned sharedBytes,
                                   fusec::rt::cuda::Function function,
                                   void **params, void **extra,
                                   FakeLaunch &launch);
// Records a launch, and does what fake_double does.
void execute(FakeLaunch launch);

#endif
