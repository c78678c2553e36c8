/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Low-rank updates of a model (since version 3).
 */

#ifndef FUSEC_ADAPTER_H
#define FUSEC_ADAPTER_H

#include "model.h"

/* Names are C's, not LLVM's. NOLINTBEGIN(readability-identifier-naming) */

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fusec_adapter fusec_adapter;

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

#ifdef __cplusplus
}
#endif

/* NOLINTEND(readability-identifier-naming) */

#endif
