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
 * One header, though long: C programs include it and nothing else.
 */

#ifndef FUSEC_FUSEC_H
#define FUSEC_FUSEC_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define FUSEC_API __attribute__((visibility("default")))
#else
#define FUSEC_API
#endif

/* Names are C's, not LLVM's. NOLINTBEGIN(readability-identifier-naming) */

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header: 1000 * major + minor. */
#define FUSEC_API_VERSION 7
/* That of the library in use. */
FUSEC_API uint32_t fusec_api_version(void);

typedef int32_t fusec_status;
enum {
  FUSEC_OK = 0,
  FUSEC_INVALID_ARGUMENT = 1, /* what the caller passed or bound is wrong */
  FUSEC_UNREADABLE = 2,       /* the file cannot be read */
  FUSEC_MALFORMED = 3,        /* it is none of its format, or damaged; of a
                               * bundle, prepare may find it too */
  FUSEC_UNSUPPORTED = 4,      /* the device or the driver lacks what a plan, a
                               * kernel or a graph needs */
  FUSEC_DRIVER_ERROR = 5,     /* no driver, or a call of it failed */
  FUSEC_OUT_OF_MEMORY = 6,    /* of the device or the host */
  FUSEC_NOT_READY = 7,        /* something is not bound or not prepared */
  FUSEC_INTERNAL_ERROR = 70
};
/* "ok", "invalid argument", ... */
FUSEC_API const char *fusec_status_name(fusec_status status);

typedef int32_t fusec_dtype;
enum {
  FUSEC_BOOL = 0,
  FUSEC_I8 = 1,
  FUSEC_I16 = 2,
  FUSEC_I32 = 3,
  FUSEC_I64 = 4,
  FUSEC_U8 = 5,
  FUSEC_U16 = 6,
  FUSEC_U32 = 7,
  FUSEC_U64 = 8,
  FUSEC_F16 = 9,
  FUSEC_BF16 = 10,
  FUSEC_F32 = 11,
  FUSEC_F64 = 12
};
/* "f32"; null for a number that is none of them. */
FUSEC_API const char *fusec_dtype_name(fusec_dtype dtype);
/* Bytes of an element; 0 for a number that is none of them. */
FUSEC_API size_t fusec_dtype_size(fusec_dtype dtype);

/* The numbers of DLPack's DLDeviceType. */
typedef int32_t fusec_device_type;
enum {
  FUSEC_DEVICE_CPU = 1,
  FUSEC_DEVICE_CUDA = 2,
  FUSEC_DEVICE_CUDA_HOST = 3,
  FUSEC_DEVICE_CUDA_MANAGED = 13
};

typedef struct fusec_tensor {
  size_t struct_size;
  fusec_dtype dtype;
  fusec_device_type device_type;
  int32_t device_id;
  int32_t rank;
  const int64_t *sizes;
  const int64_t *strides; /* in elements; null: dense, row-major */
  void *data;
  uint64_t byte_offset; /* of the first element from data */
} fusec_tensor;

typedef struct fusec_dim {
  const char *name;
  int64_t size;
} fusec_dim;

typedef struct fusec_model fusec_model;
typedef struct fusec_session fusec_session;
typedef struct fusec_adapter fusec_adapter;
typedef struct fusec_profile fusec_profile;

/* ---- models ---- */

enum {
  FUSEC_HASH_WEIGHTS_AUTO = 0, /* up to 256 MiB of weights */
  FUSEC_HASH_WEIGHTS_ALWAYS = 1,
  FUSEC_HASH_WEIGHTS_NEVER = 2
};

/* The first `rows` of a table, by its name, rounded up to 2 MiB. */
typedef struct fusec_table_rows {
  const char *name;
  int64_t rows;
} fusec_table_rows;

typedef struct fusec_load_options {
  size_t struct_size;
  int32_t device; /* the driver's ordinal */
  int32_t hash_weights;
  const char *driver; /* null: $FUSEC_DRIVER, else libcuda.so.1 */
  /* Since version 6; null: none. Called on the thread that loads while weights
   * are copied to the device: `done` of `total` bytes have been read. In its
   * last call both are equal. Must not throw. */
  void (*progress)(void *context, uint64_t done, uint64_t total);
  void *progress_context;
  /* Since version 7. Bytes of device memory that weights may take; 0: as many
   * as there are. Where that is less than all of them, of tables the first rows
   * lie there, the others in pinned memory of the host, which the same kernels
   * read, at the bus's speed. Tables share the budget in equal bytes, those
   * that are smaller than their share leave the rest to others; or they have
   * as many rows on the device as is said here. Arenas, adapters and
   * replaceable weights of sessions come on top. */
  uint64_t device_memory;
  const fusec_table_rows *device_rows;
  size_t device_row_count;
} fusec_load_options;

/* Loads a bundle: checks all of it, picks the plan for the device, uploads its
 * weights. 128 MiB of weights or more are copied by up to 8 threads that live
 * as long as the call, through 64 MiB of pinned host memory. `options` may be
 * null: device 0. */
FUSEC_API fusec_status fusec_model_load(const char *path,
                                        const fusec_load_options *options,
                                        fusec_model **model, char *message,
                                        size_t capacity);
/* The same from memory, which may be freed afterwards. */
FUSEC_API fusec_status fusec_model_load_memory(
    const void *data, size_t size, const fusec_load_options *options,
    fusec_model **model, char *message, size_t capacity);
/* Sessions keep what they need of their model: it may be freed before them. */
FUSEC_API void fusec_model_free(fusec_model *model);

/* The target of the plan in use: "sm_90a", "sm_80", ..., "ptx". */
FUSEC_API const char *fusec_model_target(const fusec_model *model);
FUSEC_API int32_t fusec_model_device(const fusec_model *model);

/* What a model takes and gives. The pointers live as long as the model. */
typedef struct fusec_tensor_info {
  size_t struct_size;
  const char *name;
  fusec_dtype dtype;
  int32_t rank;
  const int64_t *sizes;           /* -1 where it depends on dimensions */
  const char *const *expressions; /* each size as text: "batch", "2 * n" */
} fusec_tensor_info;

FUSEC_API uint32_t fusec_model_input_count(const fusec_model *model);
FUSEC_API uint32_t fusec_model_output_count(const fusec_model *model);
/* `info->struct_size` must be set. */
FUSEC_API fusec_status fusec_model_input_info(const fusec_model *model,
                                              uint32_t index,
                                              fusec_tensor_info *info,
                                              char *message, size_t capacity);
FUSEC_API fusec_status fusec_model_output_info(const fusec_model *model,
                                               uint32_t index,
                                               fusec_tensor_info *info,
                                               char *message, size_t capacity);
FUSEC_API uint32_t fusec_model_dim_count(const fusec_model *model);
/* Null where index is not below the count. */
FUSEC_API const char *fusec_model_dim_name(const fusec_model *model,
                                           uint32_t index);

/* Sizes of an output, and bytes of the arena, for given dimensions: nothing is
 * allocated. Every dimension that the result depends on must be given. */
FUSEC_API fusec_status fusec_model_output_sizes(const fusec_model *model,
                                                uint32_t index,
                                                const fusec_dim *dims,
                                                size_t dim_count,
                                                int64_t *sizes, int32_t rank,
                                                char *message, size_t capacity);
FUSEC_API fusec_status fusec_model_arena_size(const fusec_model *model,
                                              const fusec_dim *dims,
                                              size_t dim_count, uint64_t *bytes,
                                              char *message, size_t capacity);

/* ---- replaceable weights (since version 4) ---- */

/* Weights that were marked as replaceable when the model was compiled, in
 * ascending order of names. `info->struct_size` must be set. */
FUSEC_API uint32_t fusec_model_replaceable_count(const fusec_model *model);
FUSEC_API fusec_status fusec_model_replaceable_info(const fusec_model *model,
                                                    uint32_t index,
                                                    fusec_tensor_info *info,
                                                    char *message,
                                                    size_t capacity);

/* ---- weights that are changed in place (since version 6) ---- */

/* Weights that were marked as updatable when the model was compiled, such as
 * embedding tables, in ascending order of names. All sessions read the model's
 * one copy. The first size is the number of rows. `info->struct_size` must be
 * set. */
FUSEC_API uint32_t fusec_model_updatable_count(const fusec_model *model);
FUSEC_API fusec_status fusec_model_updatable_info(const fusec_model *model,
                                                  uint32_t index,
                                                  fusec_tensor_info *info,
                                                  char *message,
                                                  size_t capacity);
/* Enqueues copies into such a weight of sizes [n, ...]: row i of `rows`, a
 * dense tensor of its type and sizes [count, ...], becomes its row ids[i]. Of
 * equal ids the last one counts. Everything is checked first: what is refused
 * as FUSEC_INVALID_ARGUMENT (a weight that is not updatable, an id outside 0 to
 * n - 1, rows of another type or size) changes nothing. Where the driver fails,
 * some rows may have changed.
 *
 * Runs that are enqueued on the stream afterwards read the new rows, those
 * before it the old ones. Runs on other streams are the caller's to order (by
 * events): one that overlaps an update may read rows of both, and parts of each
 * of a row. Calls from several threads need the same order only if they have
 * ids in common.
 *
 * `ids` (host memory, `count` of them, read during the call) with neighbours
 * one after the other, as 7, 8, 9, take one copy in all; others one each. Of
 * rows in device memory the call allocates none and synchronises nothing, and
 * may be captured; they stay as they are until they were copied, and are no
 * part of the weight. Rows of the host have been read when the call returns,
 * which waits for the stream. Prepared runs and graphs stay as they are. */
FUSEC_API fusec_status fusec_model_update_rows(
    fusec_model *model, const char *name, const int64_t *ids,
    const fusec_tensor *rows, void *stream, char *message, size_t capacity);

/* ---- tables (since version 7) ---- */

/* A weight of which kernels read rows that ids name, and nothing else. The
 * pointer lives as long as the model. */
typedef struct fusec_table_info {
  size_t struct_size;
  const char *name;
  fusec_dtype dtype;
  int32_t reserved;
  int64_t rows;
  uint64_t bytes;      /* of all rows */
  int64_t device_rows; /* the first ones, which lie on the device */
} fusec_table_info;

/* In ascending order of names. `info->struct_size` must be set. */
FUSEC_API uint32_t fusec_model_table_count(const fusec_model *model);
FUSEC_API fusec_status fusec_model_table_info(const fusec_model *model,
                                              uint32_t index,
                                              fusec_table_info *info,
                                              char *message, size_t capacity);

/* ---- adapters (since version 3) ---- */

/* A low-rank update `x w + (x a) b` of the model whose factors were marked as
 * replaceable when it was compiled. The pointer lives as long as the model. */
typedef struct fusec_adapter_info {
  size_t struct_size;
  const char *name;
  fusec_dtype dtype; /* of the factors as they are kept */
  int32_t reserved;
  int64_t rank; /* the most that an adapter may have */
  int64_t k;    /* a is [k, r] */
  int64_t n;    /* b is [r, n] */
} fusec_adapter_info;

FUSEC_API uint32_t fusec_model_adapter_count(const fusec_model *model);
/* In ascending order of names. `info->struct_size` must be set. */
FUSEC_API fusec_status fusec_model_adapter_info(const fusec_model *model,
                                                uint32_t index,
                                                fusec_adapter_info *info,
                                                char *message, size_t capacity);

/* Values for one of them: `scale * (x a) b`. The tensors are dense, in memory
 * of the host or of the model's device, in fp16, bf16 or fp32, and are read
 * during the call; writes to device memory have ended. The scale becomes part
 * of b: each product is rounded to fp32, then to the kept type. */
typedef struct fusec_update {
  size_t struct_size;
  const char *name;
  const fusec_tensor *a;
  const fusec_tensor *b;
  double scale;
  int32_t transposed; /* 0: a is [k, r], b is [r, n]; 1: a is [r, k], b is
                       * [n, r], as weights of linear layers are */
} fusec_update;

/* The same from a safetensors file as PEFT writes it: the tensors
 * `<layer>.lora_A.weight` [r, k] and `<layer>.lora_B.weight` [n, r]. */
typedef struct fusec_update_file {
  size_t struct_size;
  const char *name;
  const char *path;
  const char *layer; /* all of the layer's name, or what follows a dot in it;
                      * null: as `name`, else the only layer of the file */
  double scale;      /* lora_alpha / r, which is not in the file */
} fusec_update_file;

/* An adapter is one set of values for all adapters of a model, packed in device
 * memory, immutable, and usable from any number of threads. Adapters that no
 * update names are zero. The elements of `updates` are as far apart as the
 * first one's struct_size says. */
FUSEC_API fusec_status fusec_adapter_create(const fusec_model *model,
                                            const fusec_update *updates,
                                            size_t count,
                                            fusec_adapter **adapter,
                                            char *message, size_t capacity);
FUSEC_API fusec_status fusec_adapter_load(const fusec_model *model,
                                          const fusec_update_file *files,
                                          size_t count, fusec_adapter **adapter,
                                          char *message, size_t capacity);
/* The values that the model was compiled with, which sessions begin with. */
FUSEC_API fusec_status fusec_adapter_own(const fusec_model *model,
                                         fusec_adapter **adapter, char *message,
                                         size_t capacity);
/* The copies that sessions enqueued from it have ended. */
FUSEC_API void fusec_adapter_free(fusec_adapter *adapter);

/* ---- sessions ---- */

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

/* ---- profiles (since version 5) ---- */

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

/* ---- DLPack (version 1.x; the struct of dlpack.h) ---- */

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
