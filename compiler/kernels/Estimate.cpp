// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/Estimate.h"

using namespace fusec;

double fusec::getStreamingRate(const Target &target, double accessBytes) {
  return target.rates.memory * 1e3 * std::min(1.0, 0.55 + accessBytes / 32);
}

/// Vectors that a thread takes one after another reach so much of the memory's
/// rate; measured on an H200 with RoPE and other kernels that only stream.
constexpr double strideEfficiency = 0.97;

double fusec::addPlacing(Overlap &time, const Target &target, double blocks,
                         int64_t limit) {
  bool strides = limit && blocks > limit;
  time.add(TimeBound::Launch, (strides ? limit : blocks) * target.rates.place);
  return strides ? 1 / strideEfficiency : 1;
}

double fusec::estimateOverlap(const Target &target) {
  return target.major >= 9 ? 1.2 : 0;
}
