// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuEmbed's sum of bags of one size, for ctypes.

#include <cuda_fp16.h>

#include "cuembed/include/embedding_lookup.cuh"

template <typename Element>
void sumBags(const void *table, int width, const int64_t *ids, int batch,
             int count, void *sums, cudaStream_t stream) {
  cuembed::EmbeddingForward<Element, Element, int64_t, int64_t>(
      static_cast<const Element *>(table), width, ids, nullptr, nullptr, batch,
      count, cuembed::CombineMode::kSum, static_cast<Element *>(sums), stream);
}

extern "C" void sumBags16(const void *table, int width, const int64_t *ids,
                          int batch, int count, void *sums,
                          cudaStream_t stream) {
  sumBags<__half>(table, width, ids, batch, count, sums, stream);
}

extern "C" void sumBags32(const void *table, int width, const int64_t *ids,
                          int batch, int count, void *sums,
                          cudaStream_t stream) {
  sumBags<float>(table, width, ids, batch, count, sums, stream);
}
