/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What all of the interface shares: versions, statuses, element types, tensors.
 */

#ifndef FUSEC_TYPES_H
#define FUSEC_TYPES_H

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

#ifdef __cplusplus
}
#endif

/* NOLINTEND(readability-identifier-naming) */

#endif
