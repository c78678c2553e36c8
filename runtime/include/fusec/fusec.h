/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The C interface of the library that loads and runs bundles.
 *
 * Every function that can fail returns a status and writes a message, cut to
 * `capacity` bytes and always terminated, to the caller's buffer (which may be
 * null). Nothing throws, nothing aborts. Structs begin with struct_size, which
 * the caller sets to sizeof the struct it was compiled with, so that later
 * versions can append members: those that a caller's struct lacks read as zero,
 * and are not written.
 *
 * A model may be used from any number of threads. It is immutable, but for rows
 * of weights that fusec_model_update_rows() changes in place. A session belongs
 * to one thread at a time and has one run in flight.
 *
 * The only header that C programs include.
 */

#ifndef FUSEC_FUSEC_H
#define FUSEC_FUSEC_H

#include "adapter.h"
#include "dlpack.h"
#include "model.h"
#include "profile.h"
#include "session.h"
#include "types.h"

#endif
