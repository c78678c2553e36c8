// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of a model's own weights, changed where they lie.

#ifndef FUSEC_RUNTIME_SRC_UPDATEROWS_H
#define FUSEC_RUNTIME_SRC_UPDATEROWS_H

#include "runtime/src/Model.h"

namespace fusec::rt {

// Enqueues copies of row i of `rows` to row ids[i] of an updatable weight. All
// is checked before the first copy. Rows of the host are waited for.
void updateRows(const Model &model, const std::string &name, const int64_t *ids,
                const fusec_tensor *rows, cuda::Stream stream);

} // namespace fusec::rt

#endif
