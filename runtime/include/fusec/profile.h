/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What the kernels of a run take (since version 5).
 */

#ifndef FUSEC_PROFILE_H
#define FUSEC_PROFILE_H

#include "session.h"

/* Names are C's, not LLVM's. NOLINTBEGIN(readability-identifier-naming) */

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fusec_profile fusec_profile;

/* How kernels are timed: by the activity records of CUPTI, NVIDIA's library for
 * that, of runs as they are; or by events of the driver around each launch,
 * whose kernels then never start before their predecessor has ended. From each
 * time by events that of an empty pair is subtracted. */
enum {
  FUSEC_PROFILE_AUTO = 0, /* by activity records, else by events */
  FUSEC_PROFILE_ACTIVITY = 1,
  FUSEC_PROFILE_EVENTS = 2
};

typedef struct fusec_profile_options {
  size_t struct_size;
  int32_t method;
  int32_t runs;       /* of which the median counts; 0: 20 */
  int32_t keep_cache; /* 0: 256 MiB are written before each run, so that it
                       * finds nothing in the second-level cache */
  int32_t reserved;
  const char *cupti; /* CUPTI's library; null: $FUSEC_CUPTI, else one that the
                      * loader or /usr/local/cuda has */
} fusec_profile_options;

/* Measures runs of a session that is prepared and has all tensors bound, on a
 * stream of the call's own, which is waited for; work on the tensors has ended.
 * The runs write the outputs as any run does. Other work on the device
 * meanwhile is in the times. One call at a time takes activity records in a
 * process; CUPTI's library is never unloaded, and refuses where a profiler is
 * attached. `options` may be null. */
FUSEC_API fusec_status fusec_session_profile(
    fusec_session *session, const fusec_profile_options *options,
    fusec_profile **profile, char *message, size_t capacity);
FUSEC_API void fusec_profile_free(fusec_profile *profile);

/* Times are microseconds. */
typedef struct fusec_profile_summary {
  size_t struct_size;
  int32_t method;     /* FUSEC_PROFILE_ACTIVITY or FUSEC_PROFILE_EVENTS */
  int32_t replayed;   /* 1: the runs not timed by events replayed a graph */
  const char *reason; /* why not by activity records; empty: by them */
  uint32_t runs;
  uint32_t steps;     /* launches of a run */
  double run_us;      /* median of runs that are not profiled */
  double profiled_us; /* and of those, in turn with them, that are */
  double sum_us;      /* of the kernels' medians */
} fusec_profile_summary;

/* One launch of the run. The pointers live as long as the profile. The time of
 * a kernel that started before its predecessor had ended counts from that
 * end, so that times of kernels do not overlap. */
typedef struct fusec_step_profile {
  size_t struct_size;
  const char *step;
  const char *lead; /* the step whose result it computes first, or null */
  const char *kernel;
  const char *const *sources; /* nodes of the ONNX model, of both steps */
  size_t source_count;
  uint32_t grid[3], block[3];
  double median_us, min_us, p90_us;
  double start_us; /* since the start of the run's first kernel, median */
  /* -1 where the bundle does not say */
  int64_t bytes_read, bytes_written, operations;
  const char *unit;      /* "fma", "tf32", "tf32x3" or "half"; null likewise */
  double predicted_us;   /* 0: no prediction */
  int64_t predicted_dim; /* named dimensions it was made for; 0: the model has
                          * none */
} fusec_step_profile;

/* One run in which kernels were timed. Nanoseconds of one clock. */
typedef struct fusec_run_profile {
  size_t struct_size;
  uint64_t enqueue_start_ns, enqueue_end_ns; /* on the host */
} fusec_run_profile;
typedef struct fusec_kernel_time {
  size_t struct_size;
  uint64_t start_ns, end_ns;
  uint32_t stream; /* a number of the method's own */
  uint32_t reserved;
} fusec_kernel_time;

/* `struct_size` of what is written must be set. */
FUSEC_API fusec_status fusec_profile_info(const fusec_profile *profile,
                                          fusec_profile_summary *summary,
                                          char *message, size_t capacity);
FUSEC_API uint32_t fusec_profile_step_count(const fusec_profile *profile);
FUSEC_API fusec_status fusec_profile_step_info(const fusec_profile *profile,
                                               uint32_t step,
                                               fusec_step_profile *info,
                                               char *message, size_t capacity);
FUSEC_API fusec_status fusec_profile_run_info(const fusec_profile *profile,
                                              uint32_t run,
                                              fusec_run_profile *info,
                                              char *message, size_t capacity);
FUSEC_API fusec_status fusec_profile_kernel_time(const fusec_profile *profile,
                                                 uint32_t run, uint32_t step,
                                                 fusec_kernel_time *info,
                                                 char *message,
                                                 size_t capacity);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(readability-identifier-naming) */

#endif
