// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/fusec/StepTimer.h"
#include "runtime/src/Handles.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

namespace fusec {

/// More than the second-level cache of any device so far.
static constexpr uint64_t flushBytes = uint64_t(256) << 20;
/// Of random data; larger operands repeat it.
static constexpr uint64_t randomBytes = uint64_t(4) << 20;
static constexpr unsigned maxLaunches = 20;
/// Launches between two events, and rounds of them, take about this long.
static constexpr double roundMicroseconds = 200, allMicroseconds = 150e3;
static constexpr unsigned leastRounds = 3;

StepTimer::StepTimer(const rt::Device &device, const RandomIds &ids,
                     unsigned duty)
    : device(device), scope(device), ids(ids), duty(duty), stream(device) {
  const rt::cuda::Driver &driver = device.driver();
  flushed = rt::DeviceMemory(device, flushBytes, "what flushes the cache");
  driver.check(driver.eventCreate(&start, 0), "cuEventCreate");
  driver.check(driver.eventCreate(&stop, 0), "cuEventCreate");
}

StepTimer::~StepTimer() {
  device.driver().eventDestroy(start);
  device.driver().eventDestroy(stop);
}

void StepTimer::fill(const Operand &operand, uint64_t address, uint64_t seed) {
  auto dtype = static_cast<format::DType>(operand.dtype);
  if (!operand.indexRanges.empty()) {
    data::Tensor drawn =
        ids.draw(dtype, operand.sizes, seed, operand.indexRanges);
    device.driver().check(device.driver().copyToDevice(
                              address, drawn.bytes.data(), drawn.bytes.size()),
                          "cuMemcpyHtoD");
    bool isFirst = address < memory.pointer() + copyBytes;
    if (isFirst) {
      std::vector<data::Tensor> one;
      one.push_back(std::move(drawn));
      TouchedRows rows = countTouched(one, {operand.indexRanges});
      touched.touched += rows.touched;
      touched.all += rows.all;
    }
    return;
  }
  uint64_t width = format::dtypeSize(dtype);
  auto [it, isNew] = random.try_emplace(operand.dtype);
  if (isNew)
    it->second =
        ids.draw(dtype, {static_cast<int64_t>(randomBytes / width)}, 1, {});
  // Operands begin at different elements, so that none equals another.
  uint64_t from = seed * 4096 % randomBytes;
  for (uint64_t done = 0; done != operand.bytes; from = 0) {
    uint64_t part = std::min(operand.bytes - done, randomBytes - from);
    device.driver().check(
        device.driver().copyToDevice(address + done,
                                     it->second.bytes.data() + from, part),
        "cuMemcpyHtoD");
    done += part;
  }
}

void StepTimer::setOperands(const Model &model) {
  operands.clear();
  copyBytes = 0;
  touched = {};
  const auto &specs = model.handle()->model->manifest().inputs;
  for (bool isInput : {true, false})
    for (TensorInfo &info : isInput ? model.inputs() : model.outputs()) {
      uint64_t bytes =
          format::dtypeSize(static_cast<format::DType>(info.dtype));
      for (int64_t size : info.sizes)
        bytes *= size;
      operands.push_back(
          {info.dtype, info.sizes, copyBytes, bytes, isInput, {}});
      if (isInput)
        operands.back().indexRanges = specs[operands.size() - 1].indexRanges;
      copyBytes += (bytes + 255) / 256 * 256;
    }
  copyBytes = std::max<uint64_t>(copyBytes, 256);
  // As many as launches, or as the cache cannot hold.
  copies = std::clamp<uint64_t>(flushBytes / copyBytes + 1, 2, maxLaunches);
  memory = rt::DeviceMemory();
  memory = rt::DeviceMemory(device, copies * copyBytes, "copies of operands");
  uint64_t seed = 0;
  for (uint64_t copy = 0; copy != copies; ++copy)
    for (const Operand &operand : operands)
      if (operand.isInput)
        fill(operand, memory.pointer() + copy * copyBytes + operand.offset,
             ++seed);
}

void StepTimer::bind(Session &session) {
  uint64_t base = memory.pointer() + next * copyBytes;
  next = (next + 1) % copies;
  uint32_t input = 0, output = 0;
  for (const Operand &operand : operands) {
    Tensor tensor(reinterpret_cast<void *>(base + operand.offset),
                  operand.dtype, operand.sizes, device.ordinal());
    if (operand.isInput)
      session.bindInput(input++, tensor);
    else
      session.bindOutput(output++, tensor);
  }
}

double StepTimer::time(Session &session, unsigned launches) {
  const rt::cuda::Driver &driver = device.driver();
  // The flush keeps the device busy while the host enqueues the launches.
  for (unsigned i = 0; i != flushes; ++i)
    driver.check(driver.setBytesAsync(flushed.pointer(), 0, flushed.size(),
                                      stream.stream()),
                 "cuMemsetD8Async");
  auto begin = std::chrono::steady_clock::now();
  driver.check(driver.eventRecord(start, stream.stream()), "cuEventRecord");
  for (unsigned i = 0; i != launches; ++i) {
    bind(session);
    session.run(stream.stream());
  }
  driver.check(driver.eventRecord(stop, stream.stream()), "cuEventRecord");
  using Elapsed = std::chrono::duration<double, std::micro>;
  Elapsed host = std::chrono::steady_clock::now() - begin;
  driver.check(driver.streamSynchronize(stream.stream()),
               "cuStreamSynchronize");
  if (duty < 100) {
    Elapsed busy = std::chrono::steady_clock::now() - begin;
    std::this_thread::sleep_for(busy * (100.0 / duty - 1));
  }
  // A flush takes 50 microseconds or more.
  flushes =
      std::clamp<unsigned>(std::ceil(host.count() * 1.5 / 50), flushes, 32);
  float milliseconds = 0;
  driver.check(driver.eventElapsed(&milliseconds, start, stop),
               "cuEventElapsedTime");
  return milliseconds * 1000.0;
}

std::vector<double> StepTimer::measure(const std::vector<Session *> &sessions,
                                       unsigned rounds) {
  struct Plan {
    unsigned launches, rounds;
    std::vector<double> times;
  };
  std::vector<Plan> plans;
  flushes = 1;
  for (Session *session : sessions) {
    bind(*session);
    session->prepare({}, nullptr, 0, FUSEC_GRAPH_OFF);
    time(*session, 2);
    double once = std::max(time(*session, 2) / 2, 0.5);
    Plan &plan = plans.emplace_back();
    plan.launches = std::clamp<unsigned>(std::ceil(roundMicroseconds / once), 2,
                                         maxLaunches);
    plan.rounds = std::clamp<unsigned>(allMicroseconds / (plan.launches * once),
                                       std::min(leastRounds, rounds), rounds);
  }
  for (unsigned round = 0; round != rounds; ++round)
    for (size_t i = 0; i != sessions.size(); ++i) {
      // Each is first, and after each other, about as often.
      size_t at =
          (i * (round % 2 ? sessions.size() - 1 : 1) + round) % sessions.size();
      if (Plan &plan = plans[at]; round < plan.rounds)
        plan.times.push_back(time(*sessions[at], plan.launches) /
                             plan.launches);
    }
  std::vector<double> medians;
  for (Plan &plan : plans) {
    auto middle = plan.times.begin() + plan.times.size() / 2;
    std::nth_element(plan.times.begin(), middle, plan.times.end());
    medians.push_back(*middle);
  }
  return medians;
}

} // namespace fusec
