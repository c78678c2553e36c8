/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * DLPack (version 1.x; the struct of dlpack.h).
 */

#ifndef FUSEC_DLPACK_H
#define FUSEC_DLPACK_H

#include "types.h"

/* Names are C's, not LLVM's. NOLINTBEGIN(readability-identifier-naming) */

#ifdef __cplusplus
extern "C" {
#endif

struct DLManagedTensorVersioned;

/* A view of a DLPack tensor, which stays the caller's and must outlive it. It
 * does not say whether the tensor is read-only: such a one must not be bound as
 * an output. */
FUSEC_API fusec_status
fusec_tensor_from_dlpack(const struct DLManagedTensorVersioned *managed,
                         fusec_tensor *tensor, char *message, size_t capacity);
/* A DLPack tensor of the same memory. Its consumer calls its deleter, which
 * calls release(context) once if release is not null. */
FUSEC_API fusec_status fusec_tensor_to_dlpack(
    const fusec_tensor *tensor, void (*release)(void *context), void *context,
    struct DLManagedTensorVersioned **managed, char *message, size_t capacity);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(readability-identifier-naming) */

#endif
