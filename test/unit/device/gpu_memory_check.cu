// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs what only a GPU can show of the memory-bound headers: reductions across
// lanes and warps, wide accesses with tails, the conversions' instructions.
// Build: nvcc -std=c++17 -gencode arch=compute_90a,code=sm_90a
//             -I compiler/device test/unit/device/gpu_memory_check.cu

#include "gather.h"
#include "reduce.h"
#include "vector.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace fusec {
namespace {

int failures = 0;
void expect(bool ok, const char *what, long long at) {
  if (!ok && ++failures <= 20)
    std::printf("FAIL %s at %lld\n", what, at);
}

template <class T> T *allocate(size_t count) {
  T *p;
  if (cudaMalloc(&p, count * sizeof(T)) != cudaSuccess)
    std::exit(1);
  return p;
}
template <class T> T *up(const std::vector<T> &v) {
  T *p = allocate<T>(v.size() + 1);
  cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice);
  return p;
}
template <class T> std::vector<T> down(const T *p, size_t count) {
  std::vector<T> v(count);
  cudaMemcpy(v.data(), p, count * sizeof(T), cudaMemcpyDeviceToHost);
  cudaError_t status = cudaGetLastError();
  if (status != cudaSuccess) {
    std::printf("%s\n", cudaGetErrorString(status));
    std::exit(1);
  }
  return v;
}

template <class T, int V> __global__ void copyKernel(const T *x, T *y, i64 n) {
  forEachVector<V>(n, [&](i64 base, auto width) {
    constexpr int W = decltype(width)::value;
    storeStream<W>(y + base, loadStream<W>(x + base));
  });
}
template <class T, int V> void checkCopy() {
  for (i64 n : {1, 7, 13, 100, 127, 1000, 4099}) {
    std::vector<T> x(n + 4, T(3));
    for (i64 i = 0; i < n; ++i)
      x[i] = T(i);
    T *from = up(x), *to = up(std::vector<T>(n + 4, T(3)));
    copyKernel<T, V><<<2, 128>>>(from, to, n);
    auto y = down(to, n + 4);
    for (i64 i = 0; i < n + 4; ++i)
      expect(y[i] == (i < n ? T(i) : T(3)), "copy", i);
    cudaFree(from);
    cudaFree(to);
  }
}

template <class Scope>
__global__ void __launch_bounds__(256)
    rowKernel(const float *x, float *y, float *sums, i64 *args, i64 rows,
              int n) {
  forEachRow<Scope>(rows, [&](i64 r) {
    Row<Scope, float, Scope::maxSize == 1 ? 8 : 1024 / Scope::maxSize> row;
    row.fill(n, [&](int i, float(&v)[1]) { v[0] = x[r * n + i]; });
    float max =
        row.template reduce<Max<float>>(n, [](int, float v) { return v; });
    float sum = row.template reduce<Sum<float>>(
        n, [&](int, float v) { return exp(v - max); });
    row.forEach(
        n, [&](int i, float(&v)[1]) { y[r * n + i] = exp(v[0] - max) / sum; });
    auto pair = [&](int i) { return Indexed<float>{x[r * n + i], i}; };
    auto first = reduceRow<Scope, ArgMax<float>>(n, pair);
    auto last = reduceRow<Scope, ArgMax<float, true>>(n, pair);
    auto online = reduceRow<Scope, MaxExpSum<float>>(
        n, [&](int i) { return MaxExpSum<float>::of(x[r * n + i]); });
    auto product =
        reduceRow<Scope, Product<i64>>(n, [](int i) { return i64(2 * i + 1); });
    if (Scope::rank() == 0) {
      sums[r] = online.max + log(online.sum);
      args[3 * r] = first.index;
      args[3 * r + 1] = last.index;
      args[3 * r + 2] = product;
    }
  });
}
template <class Scope, int Longest> void checkRows(const char *name) {
  for (int n : {0, 1, 7, 31, 100, 127, 1000}) {
    if (n > Longest)
      break;
    i64 rows = 37;
    std::vector<float> x(rows * n);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = float(i * 7919 % 61) / 4;
    if (n > 7)
      x[3 * n + 5] = NAN;
    float *xs = up(x), *ys = allocate<float>(x.size() + 1),
          *sums = allocate<float>(rows);
    i64 *args = allocate<i64>(rows * 3);
    rowKernel<Scope><<<5, 256>>>(xs, ys, sums, args, rows, n);
    auto y = down(ys, x.size());
    auto lse = down(sums, rows);
    auto arg = down(args, rows * 3);
    for (i64 r = 0; r < rows; ++r) {
      i64 first = -1, last = -1, product = 1;
      double sum = 0;
      bool nan = false;
      for (int i = 0; i < n; ++i) {
        float v = x[r * n + i];
        product = i64(u64(product) * u64(2 * i + 1));
        sum += std::exp(double(v));
        nan |= v != v;
        if (first < 0 || v > x[r * n + first] ||
            (v != v && x[r * n + first] == x[r * n + first]))
          first = i;
        if (last < 0 || v >= x[r * n + last] || v != v)
          last = x[r * n + std::max<i64>(last, 0)] !=
                             x[r * n + std::max<i64>(last, 0)] &&
                         v == v
                     ? last
                     : i;
      }
      for (int i = 0; i < n; ++i) {
        double want = std::exp(double(x[r * n + i])) / sum;
        expect(nan ? y[r * n + i] != y[r * n + i]
                   : std::fabs(y[r * n + i] - want) < 1e-6,
               name, r);
      }
      expect(arg[3 * r] == first && arg[3 * r + 1] == last, "arg", r);
      expect(arg[3 * r + 2] == product, "product", r);
      if (n > 0)
        expect(nan ? lse[r] != lse[r]
                   : std::fabs(lse[r] - std::log(sum)) < 1e-4,
               "log-sum-exp", r);
    }
    cudaFree(xs);
    cudaFree(ys);
    cudaFree(sums);
    cudaFree(args);
  }
}

__global__ void convertKernel(float *values, u16 *back, u16 *odd, int *ints,
                              int mantissa) {
  u32 bits = blockIdx.x * blockDim.x + threadIdx.x;
  float f = mantissa == 10 ? cast<float>(f16{u16(bits)})
                           : cast<float>(bf16{u16(bits)});
  values[bits] = f;
  back[bits] = mantissa == 10 ? cast<f16>(f).bits : cast<bf16>(f).bits;
  // Just above a tie of doubles: two roundings would lose it.
  double above = double(f) * (1 + ldexp(1.0, -mantissa - 1) + 1e-15);
  odd[bits] = mantissa == 10 ? cast<f16>(above).bits : cast<bf16>(above).bits;
  ints[bits] = cast<int>(f);
}
void checkConversions(int mantissa, int bias) {
  const int count = 65536;
  float *values = allocate<float>(count);
  u16 *back = allocate<u16>(count), *odd = allocate<u16>(count);
  int *ints = allocate<int>(count);
  convertKernel<<<count / 256, 256>>>(values, back, odd, ints, mantissa);
  auto v = down(values, count);
  auto b = down(back, count);
  auto o = down(odd, count);
  auto n = down(ints, count);
  for (int bits = 0; bits < count; ++bits) {
    int exponent = (bits & 0x7fff) >> mantissa,
        fraction = bits & ((1 << mantissa) - 1);
    int top = 0x7fff >> mantissa;
    if (exponent == top) {
      expect(fraction
                 ? v[bits] != v[bits] && n[bits] == 0
                 : n[bits] == (bits & 0x8000 ? -2147483647 - 1 : 2147483647),
             "special", bits);
      continue;
    }
    double want = exponent ? std::ldexp(1 + std::ldexp(fraction, -mantissa),
                                        exponent - bias)
                           : std::ldexp(fraction, 1 - bias - mantissa);
    want = bits & 0x8000 ? -want : want;
    expect(v[bits] == float(want) && b[bits] == bits, "half", bits);
    if (fraction == 0 && exponent > 0)
      expect(o[bits] == bits + 1, "one rounding", bits);
    double clipped =
        std::fmin(std::fmax(std::trunc(want), -2147483648.0), 2147483647.0);
    expect(n[bits] == int(clipped), "to int", bits);
  }
}

__global__ void lookupKernel(const i64 *ids, i64 *rows, i64 count, i64 size,
                             u32 *faults) {
  forEach(count, [&](i64 i) {
    i64 row;
    rows[i] =
        gatherRow<GatherPolicy::Flag>(ids[i], size, row, faults) ? row : -1;
  });
}

} // namespace
} // namespace fusec

int main() {
  using namespace fusec;
  checkCopy<i8, 16>();
  checkCopy<i16, 8>();
  checkCopy<float, 4>();
  checkCopy<double, 4>();
  checkCopy<int, 1>();
  checkRows<ThreadScope, 8>("thread softmax");
  checkRows<WarpScope, 1000>("warp softmax");
  checkRows<BlockScope<256>, 1000>("block softmax");
  checkConversions(10, 15);
  checkConversions(7, 127);
  std::vector<i64> ids = {0, 9, -1, -10, 10, -11, 1ll << 40};
  i64 *rows = allocate<i64>(7);
  u32 *faults = up(std::vector<u32>{0});
  lookupKernel<<<1, 32>>>(up(ids), rows, 7, 10, faults);
  auto got = down(rows, 7);
  const i64 want[] = {0, 9, 9, 0, -1, -1, -1};
  for (int i = 0; i < 7; ++i)
    expect(got[i] == want[i], "lookup", i);
  expect(down(faults, 1)[0] == 3, "faults", 0);
  std::printf("memory checks: %d failures\n", failures);
  return failures != 0;
}
