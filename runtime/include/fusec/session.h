/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Runs of a model.
 */

#ifndef FUSEC_SESSION_H
#define FUSEC_SESSION_H

#include "adapter.h"

/* Names are C's, not LLVM's. NOLINTBEGIN(readability-identifier-naming) */

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fusec_session fusec_session;

FUSEC_API fusec_status fusec_session_create(const fusec_model *model,
                                            fusec_session **session,
                                            char *message, size_t capacity);
/* The caller has synchronised the streams of its runs. */
FUSEC_API void fusec_session_free(fusec_session *session);

/* Binds device memory. Checked at once: element type, rank, fixed sizes,
 * strides, alignment to the element, device. At prepare: the sizes of inputs
 * that depend on dimensions. At the next run: those of inputs and outputs, that
 * all are bound, and that no output overlaps another tensor or the arena. */
FUSEC_API fusec_status fusec_session_bind_input(fusec_session *session,
                                                uint32_t index,
                                                const fusec_tensor *tensor,
                                                char *message, size_t capacity);
FUSEC_API fusec_status fusec_session_bind_output(fusec_session *session,
                                                 uint32_t index,
                                                 const fusec_tensor *tensor,
                                                 char *message,
                                                 size_t capacity);
/* An input or output by its name; refused where both have it. */
FUSEC_API fusec_status fusec_session_bind(fusec_session *session,
                                          const char *name,
                                          const fusec_tensor *tensor,
                                          char *message, size_t capacity);

/* Whether runs replay a CUDA graph. On a stream that is being captured they
 * launch into the capture, whichever it is. */
enum {
  FUSEC_GRAPH_AUTO = 0, /* where a run has two launches or more; where the
                         * driver refuses a graph, runs launch directly */
  FUSEC_GRAPH_OFF = 1,  /* runs launch directly */
  FUSEC_GRAPH_ON = 2    /* where a run has a launch; prepare fails where the
                         * driver refuses, and runs launch directly */
};

typedef struct fusec_prepare_options {
  size_t struct_size;
  const fusec_dim *dims; /* those not given follow from the bound inputs */
  size_t dim_count;
  void *arena; /* device memory, 256-byte aligned; null: the session's own */
  uint64_t arena_size;
  int32_t graph; /* since version 2 */
} fusec_prepare_options;

/* Fixes the dimensions of the runs that follow. May allocate, and makes the
 * graph. What was made for the last 16 pairs of dimensions and arena is kept.
 * The graph has the kernels that the alignment of the tensors bound now
 * chooses, tensors not bound counting as aligned; runs whose tensors choose
 * others launch directly, until prepare is called with them bound. `options`
 * may be null. */
FUSEC_API fusec_status fusec_session_prepare(
    fusec_session *session, const fusec_prepare_options *options, char *message,
    size_t capacity);
/* Sizes of an output for the prepared dimensions. */
FUSEC_API fusec_status fusec_session_output_sizes(const fusec_session *session,
                                                  uint32_t index,
                                                  int64_t *sizes, int32_t rank,
                                                  char *message,
                                                  size_t capacity);
/* Enqueues one run on a stream (a CUstream or cudaStream_t; null: the default
 * stream): the launches, or the graph with the addresses that are bound now.
 * Allocates nothing and synchronises nothing; may be captured. What was
 * captured keeps the addresses of the bound tensors, and of the session's
 * arena, counters and weights: while it may be launched, the session lives,
 * prepares nothing that needs a larger arena of its own, and has no other run
 * in flight. */
FUSEC_API fusec_status fusec_session_run(fusec_session *session, void *stream,
                                         char *message, size_t capacity);
/* Enqueues one copy of the adapter's values into the session's own; runs that
 * are enqueued on the stream afterwards use them. Null: zeros, so that updates
 * add nothing. Allocates nothing and synchronises nothing; prepared runs and
 * graphs stay as they are. May be captured: the adapter and the session live as
 * long as what was captured may be launched. */
FUSEC_API fusec_status fusec_session_set_adapter(fusec_session *session,
                                                 const fusec_adapter *adapter,
                                                 void *stream, char *message,
                                                 size_t capacity);
/* Enqueues one copy of a tensor, dense and of the weight's type and sizes, into
 * the session's own weight; runs that are enqueued on the stream afterwards use
 * it. Null: the value that the model was compiled with. Device memory is copied
 * on the stream and stays as it is until then; a tensor of the host has been
 * read when the call returns, which waits for the stream. Prepared runs and
 * graphs stay as they are. */
FUSEC_API fusec_status fusec_session_set_weight(fusec_session *session,
                                                const char *name,
                                                const fusec_tensor *tensor,
                                                void *stream, char *message,
                                                size_t capacity);
/* Kernels that the last run launched. */
FUSEC_API uint32_t fusec_session_launch_count(const fusec_session *session);
/* 1 if the last run replayed a graph, else 0. */
FUSEC_API int32_t fusec_session_replayed(const fusec_session *session);
/* Out-of-range indices since the session was made, as far as its runs have
 * ended: the caller has synchronised them. */
FUSEC_API fusec_status fusec_session_faults(fusec_session *session,
                                            uint64_t *faults, char *message,
                                            size_t capacity);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(readability-identifier-naming) */

#endif
