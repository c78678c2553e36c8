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
  // Of few threads, all have what they load on its way at once, and of the
  // fewest nobody hides what they compute.
  double places = double(target.threads) * target.multiprocessors;
  bool isFull = threads > places;
  if (threads < places / 8)
    time.exposeClocks(work.functions * schedule.getVector() *
                      target.pointwise.instructionClocks);
  double bytes = isFull ? perElement / 2 * schedule.getVector() : 16;
  double longer = addPlacing(time, target, work.blocks, schedule.getBlocks());
  if (work.readsRows)
    time.exposeClocks(target.rates.memoryLatency); // of the first indices
  exposeFirstTurn(time, target, work.bytes);
  time.add(TimeBound::Memory,
           longer * (1 + work.waits) *
               (work.bytes + work.partly + work.besideRows) /
               getStreamingRate(target, std::min(16.0, bytes)));
  time.addClocks(TimeBound::Arithmetic,
                 work.vectors * target.pointwise.instructions /
                     target.rates.issuedThreads / target.multiprocessors);
  return time.get();
}

Estimate fusec::estimateAssembled(const Target &target,
                                  const PointwiseWork &work,
                                  const AssembledWork &assembled,
                                  PointwiseScheduleAttr schedule) {
  const PartsCosts &costs = target.parts;
  Overlap time(target);
  // Loads, and stores behind all threads' loads.
  time.exposeClocks(target.rates.memoryLatency + target.rates.l2Latency);
  double threads = double(schedule.getThreads()),
         resident = std::max(
             1.0, std::floor(std::min(
                      {target.threads / threads, target.rates.mostBlocks,
                       65536 / (costs.registers * threads),
                       target.sharedBytes / (assembled.heldBytes + 1024)}))),
         waves = std::max(1.0, work.blocks / resident / target.multiprocessors),
         few = std::max(0.0, costs.enoughThreads / (resident * threads) - 1),
         memory = (1 + costs.lastPart / waves + costs.fewPart * few) *
                  work.bytes / (target.rates.memory * 1e3),
         clocks = work.blocks * threads * assembled.steps *
                  double(schedule.getVector()) * costs.instructions /
                  target.rates.issuedThreads / target.multiprocessors;
  addPlacing(time, target, work.blocks, schedule.getBlocks());
  time.add(TimeBound::Memory,
           std::hypot(memory, clocks / (target.rates.clock * 1e3)));
  return time.get();
}
