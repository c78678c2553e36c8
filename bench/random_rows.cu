// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   nvcc -O3 -arch=sm_90a -o random_rows bench/random_rows.cu
//   ./random_rows 6500000 2129920:64 532480:256    # rows there are, rows read:bytes
//
// What reading rows of tables costs at least: rows at random, and nothing else; no
// sum, no result. The fastest of several forms behind a flush, the median of eleven
// runs. A bag or a lookup of as many rows cannot be faster, and has its results to write.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include <cuda_runtime.h>

constexpr size_t flushBytes = 256 << 20;
constexpr int runs = 11;

static void check(cudaError_t status) {
  if (status == cudaSuccess)
    return;
  fprintf(stderr, "random_rows: %s\n", cudaGetErrorString(status));
  exit(1);
}

template <class T> static T *allocate(size_t count) {
  T *memory;
  check(cudaMalloc(&memory, count * sizeof(T)));
  return memory;
}

/// `lanes` threads read a row, 16 bytes each, and have `Rows` of them on their way.
template <int Rows>
__global__ void readRows(const uint4 *table, const int *ids, long rows, int lanes,
                         unsigned *never) {
  long first = (blockIdx.x * long(blockDim.x) + threadIdx.x) / lanes * Rows;
  if (first + Rows > rows)
    return;
  int lane = threadIdx.x % lanes;
  uint4 values[Rows];
#pragma unroll
  for (int i = 0; i < Rows; ++i)
    values[i] = table[long(__ldcs(ids + first + i)) * lanes + lane];
  unsigned sum = 0;
#pragma unroll
  for (int i = 0; i < Rows; ++i)
    sum ^= values[i].x ^ values[i].y ^ values[i].z ^ values[i].w;
  if (sum == 0x2e0c1de5) // keeps the reads
    *never = sum;
}

template <int Rows>
static float measure(const uint4 *table, const int *ids, long rows, int lanes, int threads,
                     unsigned char *flush) {
  cudaEvent_t before, after;
  check(cudaEventCreate(&before));
  check(cudaEventCreate(&after));
  std::vector<float> times(runs);
  unsigned blocks = unsigned((rows / Rows * lanes + threads - 1) / threads);
  for (float &time : times) {
    check(cudaMemsetAsync(flush, 0, flushBytes));
    check(cudaEventRecord(before));
    readRows<Rows><<<blocks, threads>>>(table, ids, rows, lanes,
                                        reinterpret_cast<unsigned *>(flush));
    check(cudaEventRecord(after));
    check(cudaEventSynchronize(after));
    check(cudaEventElapsedTime(&time, before, after));
  }
  std::sort(times.begin(), times.end());
  return times[runs / 2];
}

int main(int count, char **arguments) {
  long there = count > 2 ? atol(arguments[1]) : 0;
  if (there <= 0 || there > 1 << 30) {
    fprintf(stderr, "usage: random_rows ROWS READ:BYTES...\n");
    return 2;
  }
  auto *flush = allocate<unsigned char>(flushBytes);
  for (int i = 2; i < count; ++i) {
    long rows = 0;
    int bytes = 0;
    if (sscanf(arguments[i], "%ld:%d", &rows, &bytes) != 2 || rows < 64 || bytes < 16 ||
        bytes > 512 || (bytes & (bytes - 1))) {
      fprintf(stderr, "%s: expected READ:BYTES, of 64 rows or more, 16, 32, ... or 512 bytes\n",
              arguments[i]);
      return 2;
    }
    int lanes = bytes / 16;
    auto *table = allocate<uint4>(size_t(there) * lanes);
    check(cudaMemset(table, 1, size_t(there) * bytes));
    auto *ids = allocate<int>(size_t(rows));
    std::mt19937_64 random(1);
    std::vector<int> drawn(static_cast<size_t>(rows));
    for (int &id : drawn)
      id = int(random() % size_t(there));
    check(cudaMemcpy(ids, drawn.data(), drawn.size() * sizeof(int), cudaMemcpyHostToDevice));
    float best = 1e9f;
    for (int threads : {128, 256, 512})
      for (float time : {measure<4>(table, ids, rows, lanes, threads, flush),
                         measure<8>(table, ids, rows, lanes, threads, flush),
                         measure<16>(table, ids, rows, lanes, threads, flush)})
        best = std::min(best, time);
    printf("%ld rows of %d bytes: %.4f ms, %.0f GB/s, %.1f thousand million rows a second\n",
           rows, bytes, best, double(rows) * bytes / best * 1e-6, double(rows) / best * 1e-6);
    check(cudaFree(table));
    check(cudaFree(ids));
  }
  return 0;
}
