/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Loading bundles: what a model takes and gives, and its weights.
 */

#ifndef FUSEC_MODEL_H
#define FUSEC_MODEL_H

#include "types.h"

/* Names are C's, not LLVM's. NOLINTBEGIN(readability-identifier-naming) */

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fusec_model fusec_model;

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
 * as long as the call, through 64 MiB of pinned host memory; rows that lie in
 * the host's are written by up to 16. `options` may be null: device 0. */
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

#ifdef __cplusplus
}
#endif

/* NOLINTEND(readability-identifier-naming) */

#endif
