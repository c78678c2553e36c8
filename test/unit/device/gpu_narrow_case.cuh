// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the programs of narrow roots share: operands surrounded by NaN,
// comparison with the reference, and timing with the L2 flushed.

#ifndef FUSEC_TEST_GPU_NARROW_CASE_H
#define FUSEC_TEST_GPU_NARROW_CASE_H

#include "gpu_hopper_case.cuh"
#include "gpu_matmul_case.cuh"

#include <functional>

namespace fusec {
namespace {

/// Bytes that a miss of the copies brings into L2.
static int promotion = 256;

/// The map of a matrix, or of a result, in boxes swizzled by 128 bytes.
template <class T>
TensorMap mapOf(const T *base, i64 inner, i64 outer, i64 ld, int boxInner,
                int boxOuter, bool read = true, int batches = 1,
                i64 batchStride = 0) {
  return makeMap(base, inner, outer, ld, batches, batchStride, boxInner,
                 boxOuter, 128, read, promotion);
}

/// Uniform values, the same for every run; cheap on large shapes.
__host__ __device__ inline double uniformAt(u64 index) {
  return double(int(scrambled(index) >> 8)) / double(1 << 23) - 1.0;
}
template <class T> T valueAt(u64 index) { return make<T>(uniformAt(index)); }
/// The same on the device, scaled.
template <class T>
__global__ void fillKernel(T *p, i64 count, float scale, u64 salt) {
  for (i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += i64(gridDim.x) * blockDim.x)
    p[i] = cast<T>(float(uniformAt(salt + i)) * scale);
}
template <class T> T *filled(i64 count, float scale, u64 salt) {
  T *p;
  CHECK(cudaMalloc(&p, count * sizeof(T)));
  fillKernel<<<1024, 256>>>(p, count, scale, salt);
  CHECK(cudaDeviceSynchronize());
  return p;
}

__global__ void readKernel(const float4 *p, i64 count, float *out) {
  float sum = 0;
  for (i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += i64(gridDim.x) * blockDim.x)
    sum += p[i].x;
  if (sum == 1.2345f)
    *out = sum;
}

struct Timed {
  std::string name;
  std::function<void()> body;
};

/// The bodies in turn, the L2 flushed before each: by writing (as Triton's
/// do_bench does; dirty lines leave while the body runs) or by reading.
static void timeInTurn(const std::vector<Timed> &bodies, bool dirty,
                       int rounds = 40) {
  static char *scratch = nullptr;
  const size_t bytes = 256 << 20;
  if (!scratch)
    CHECK(cudaMalloc(&scratch, bytes));
  cudaEvent_t t0, t1;
  CHECK(cudaEventCreate(&t0));
  CHECK(cudaEventCreate(&t1));
  std::vector<std::vector<float>> times(bodies.size());
  for (int round = -3; round < rounds; ++round)
    for (size_t i = 0; i < bodies.size(); ++i) {
      if (dirty)
        CHECK(cudaMemsetAsync(scratch, round, bytes));
      else
        readKernel<<<1024, 256>>>(reinterpret_cast<float4 *>(scratch),
                                  bytes / 16,
                                  reinterpret_cast<float *>(scratch));
      CHECK(cudaEventRecord(t0));
      bodies[i].body();
      CHECK(cudaEventRecord(t1));
      CHECK(cudaEventSynchronize(t1));
      float ms;
      CHECK(cudaEventElapsedTime(&ms, t0, t1));
      if (round >= 0)
        times[i].push_back(ms);
    }
  for (size_t i = 0; i < bodies.size(); ++i) {
    std::sort(times[i].begin(), times[i].end());
    std::printf("  %-46s %8.5f ms  (%.5f to %.5f)\n", bodies[i].name.c_str(),
                times[i][rounds / 2], times[i][rounds / 10],
                times[i][rounds * 9 / 10]);
  }
  std::fflush(stdout);
}

/// Operands of a case: matrices in NaN, or -1, with bases of 16 bytes.
template <class T, class Out> struct NarrowProblem {
  Problem<T, float, Out> p = {};
  std::vector<Buffer<T> *> keep;
  Buffer<float> bias, scale;
  Buffer<Out> residual, y;
  u64 salt = 1;
  static constexpr int unit = 16 / int(sizeof(T));

  NarrowProblem(Shape shape, bool alignedRows)
      : bias(shape.n), scale(shape.m),
        residual(pitchY(shape, alignedRows) * (shape.m + 1) * shape.batch),
        y(pitchY(shape, alignedRows) * (shape.m + 1) * shape.batch) {
    p.shape = shape;
    for (auto &v : bias.host)
      v = make<float>(uniform());
    for (auto &v : scale.host)
      v = make<float>(uniform());
    bias.up();
    scale.up();
    p.bias = bias.data;
    p.scale = scale.data;
    p.ldy = pitchY(shape, alignedRows);
    p.yBatch = p.ldy * (shape.m + 1);
    for (size_t i = 0; i < residual.host.size(); ++i)
      residual.host[i] = valueAt<Out>(i);
    y.poison();
    residual.up();
    y.up();
    p.residual = residual.data;
    p.y = y.data;
  }
  ~NarrowProblem() {
    for (auto *buffer : keep)
      delete buffer;
  }
  static i64 pitchY(Shape shape, bool aligned) {
    return aligned ? (shape.n + 15) / 8 * 8 : shape.n + 1;
  }
  const T *matrix(Major order, int outers, int k, i64 &so, i64 &sk, i64 &ld,
                  i64 batchStride) {
    ld = i64((order == Major::K ? k : outers) + unit - 1) / unit * unit + unit;
    so = order == Major::K ? ld : 1;
    sk = order == Major::K ? 1 : ld;
    auto *buffer =
        new Buffer<T>(unit + batchStride * p.shape.batch +
                      ld * i64((order == Major::K ? outers : k) + 2));
    keep.push_back(buffer);
    buffer->poison();
    for (int batch = 0; batch < p.shape.batch; ++batch)
      for (int o = 0; o < outers; ++o)
        for (int kk = 0; kk < k; ++kk)
          buffer->host[unit + batch * batchStride + o * so + kk * sk] =
              valueAt<T>(salt++);
    buffer->up();
    return buffer->data + unit;
  }
  /// Compares y with the reference; poison must remain around it.
  void compare(const char *name, int J, int S) {
    CHECK(cudaDeviceSynchronize());
    ++runs;
    Shape shape = p.shape;
    i64 total = i64(shape.m) * shape.n * shape.batch;
    Buffer<double> value(total), magnitude(total);
    reference<<<unsigned((total + 127) / 128), 128>>>(p, J, S, value.data,
                                                      magnitude.data);
    CHECK(cudaDeviceSynchronize());
    value.down();
    magnitude.down();
    y.down();
    double eps = isSame<T, float> ? 1.0 / 1024 : 1.0 / (1 << 20);
    if (isSame<Out, f16>)
      eps += 1.0 / 2048;
    if (isSame<Out, bf16>)
      eps += 1.0 / 256;
    i64 wrong = 0, first = -1, touched = 0;
    auto number = [](Out v) {
      if constexpr (isSame<Out, bf16>) {
        u32 bits = u32(v.bits) << 16;
        float f;
        std::memcpy(&f, &bits, 4);
        return double(f);
      } else {
        return toHost(v);
      }
    };
    for (i64 i = 0; i < i64(y.host.size()); ++i) {
      i64 batch = i / p.yBatch, m = i % p.yBatch / p.ldy, n = i % p.ldy;
      if (m >= shape.m || n >= shape.n) {
        unsigned char poison[sizeof(Out)];
        std::memset(poison, 0xff, sizeof(Out));
        touched += std::memcmp(&y.host[i], poison, sizeof(Out)) != 0;
        continue;
      }
      i64 id = (batch * shape.m + m) * shape.n + n;
      if (!(std::fabs(number(y.host[i]) - value.host[id]) <=
            2 * eps * magnitude.host[id]))
        first = wrong++ ? first : i;
    }
    if (wrong || touched) {
      ++failures;
      i64 i = std::max<i64>(first, 0);
      i64 m = i % p.yBatch / p.ldy, n = i % p.ldy;
      i64 id = (i / p.yBatch * shape.m + m) * shape.n + n;
      if (failures < 60)
        std::printf("FAIL %s m %d n %d batch %d k %d,%d: %lld wrong, %lld "
                    "outside touched; first at (%lld, %lld): %g, want %g\n",
                    name, shape.m, shape.n, shape.batch, p.k[0], p.k[1], wrong,
                    touched, m, n, first < 0 ? 0 : number(y.host[i]),
                    first < 0 ? 0 : value.host[id]);
    }
  }
};

} // namespace
} // namespace fusec

#endif // FUSEC_TEST_GPU_NARROW_CASE_H
