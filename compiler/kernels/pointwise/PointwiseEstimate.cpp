// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/pointwise/Pointwise.h"
#include <cmath>

using namespace fusec;

Estimate fusec::estimatePointwise(const Target &target,
                                  const PointwiseWork &work,
                                  PointwiseScheduleAttr schedule) {
  Overlap time(target);
  time.exposeClocks(target.rates.memoryLatency);
  double perElement = work.elements ? work.bytes / work.elements : 0;
  double threads = work.elements / schedule.getVector();
  // Of few threads, all have what they load on its way at once.
  bool isFull = threads > double(target.threads) * target.multiprocessors;
  double bytes = isFull ? perElement / 2 * schedule.getVector() : 16;
  double longer = addPlacing(time, target, work.blocks, schedule.getBlocks());
  double memory = longer * (1 + work.waits) * work.bytes /
                  getStreamingRate(target, std::min(16.0, bytes));
  if (work.readsRows) {
    double turns = threads / (double(target.threads) * target.multiprocessors);
    addExposed(time, target, memory,
               2 * std::max(0.0, turns - 1) * target.rates.memoryLatency /
                   (target.rates.clock * 1e3));
  } else {
    time.add(TimeBound::Memory, memory);
  }
  time.addClocks(TimeBound::Arithmetic,
                 work.vectors * target.pointwise.instructions / issuedThreads /
                     target.multiprocessors);
  return time.get();
}
