// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the opaque handles of the C interface hold.

#ifndef FUSEC_RUNTIME_SRC_HANDLES_H
#define FUSEC_RUNTIME_SRC_HANDLES_H

#include "runtime/src/CallerStruct.h"
#include "runtime/src/Guard.h"
#include "runtime/src/Profile.h"
#include "runtime/src/Session.h"

struct fusec_model {
  std::shared_ptr<const fusec::rt::Model> model;
  fusec::rt::LoadTimes times;
};

struct fusec_session {
  fusec::rt::Session session;
};

struct fusec_adapter {
  fusec::rt::Adapter adapter;
};

struct fusec_profile {
  fusec::rt::Profile profile;
};

namespace fusec::rt {

// Checks a request for the sizes of an output.
inline void checkOutput(const format::Manifest &manifest, uint32_t index,
                        const int64_t *sizes, int32_t rank) {
  if (index >= manifest.outputs.size())
    fail(FUSEC_INVALID_ARGUMENT,
         "expected an index below the number of outputs, " +
             std::to_string(manifest.outputs.size()) + ", found " +
             std::to_string(index));
  size_t expected = manifest.outputs[index].sizes.size();
  if (rank < 0 || size_t(rank) != expected)
    fail(FUSEC_INVALID_ARGUMENT,
         tensorText(false, manifest.outputs[index].name) + ": expected rank " +
             std::to_string(expected) + ", found " + std::to_string(rank));
  if (expected != 0)
    requireResult(sizes, "sizes");
}

} // namespace fusec::rt

#endif
