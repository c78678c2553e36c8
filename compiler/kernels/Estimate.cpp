// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/Estimate.h"
#include <cmath>

using namespace fusec;

const Target &fusec::getTarget(StepOp step) {
  const Target *target =
      findTarget(llvm::cast<PlanOp>(step->getParentOp()).getSymName());
  return target ? *target : *findTarget("ptx");
}

double fusec::getStreamingRate(const Target &target, double accessBytes) {
  const StreamCosts &costs = target.stream;
  return target.rates.memory * 1e3 *
         std::min(1.0, costs.narrowPart + accessBytes / costs.widthBytes);
}

void fusec::addExposed(Overlap &time, const Target &target, double memory,
                       double latency) {
  double power = target.stream.exposed;
  time.add(
      memory > latency ? TimeBound::Memory : TimeBound::Latency,
      std::pow(std::pow(memory, power) + std::pow(latency, power), 1 / power));
}

void fusec::exposeFirstTurn(Overlap &time, const Target &target, double bytes) {
  constexpr double ofThread = 32; // a vector that it loads, one that it stores
  double atOnce = ofThread * target.threads * target.multiprocessors;
  time.expose(target.stream.firstPart * std::min(bytes, atOnce) /
              (target.rates.memory * 1e3));
}

double fusec::addPlacing(Overlap &time, const Target &target, double blocks,
                         int64_t limit) {
  bool strides = limit && blocks > limit;
  time.add(TimeBound::Launch, (strides ? limit : blocks) * target.rates.place);
  return strides ? 1 / target.stream.stridedPart : 1;
}

double fusec::estimateOverlap(const Target &target) {
  return target.rates.overlap;
}
