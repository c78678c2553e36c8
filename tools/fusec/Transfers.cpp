// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/fusec/Transfers.h"
#include "runtime/src/Profile.h"
#include "tools/fusec/Json.h"
#include "tools/support/Table.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <fmt/core.h>

using namespace fusec;

/// Of each kind before it is the other's turn.
static constexpr unsigned roundRuns = 10;

namespace {
/// Memory of the host that the device copies from and to by itself. Needs a
/// SetUpScope.
class PinnedMemory {
public:
  PinnedMemory(const rt::Device &device, uint64_t bytes) : device(device) {
    if (bytes != 0)
      device.driver().check(
          device.driver().hostAlloc(&pointer, bytes),
          fmt::format("cuMemAllocHost of {} bytes for transfers", bytes));
  }
  ~PinnedMemory() {
    if (pointer)
      device.driver().hostFree(pointer);
  }
  PinnedMemory(const PinnedMemory &) = delete;

  void *data() const { return pointer; }

private:
  const rt::Device &device;
  void *pointer = nullptr;
};

/// A run's tensors with their places on the host.
class Transfers {
public:
  Transfers(BenchRun &run, bool flush)
      : run(run), stream(run.getDevice(), flush, 4 * roundRuns) {
    for (const FencedMemory &memory : run.getMemory()) {
      host.push_back(
          std::make_unique<PinnedMemory>(run.getDevice(), memory.size()));
      memory.download(host.back()->data());
    }
    for (size_t i = 0; i != host.size(); ++i)
      (isInput(i) ? result.bytesIn : result.bytesOut) +=
          run.getMemory()[i].size();
  }
  void runRound(unsigned count, bool isMeasured);

  TransferResult result;

private:
  bool isInput(size_t i) const { return i < run.result.inputs.size(); }
  void copy(bool inputs);

  BenchRun &run;
  std::vector<std::unique_ptr<PinnedMemory>> host;
  rt::MeasuredStream stream;
};
} // namespace

void Transfers::copy(bool inputs) {
  const rt::cuda::Driver &driver = run.getDevice().driver();
  for (size_t i = 0; i != host.size(); ++i) {
    const FencedMemory &memory = run.getMemory()[i];
    if (isInput(i) != inputs || memory.size() == 0)
      continue;
    auto place = reinterpret_cast<rt::cuda::DevicePointer>(memory.data());
    if (inputs)
      driver.check(driver.copyToDeviceAsync(place, host[i]->data(),
                                            memory.size(), stream.stream()),
                   "cuMemcpyHtoDAsync");
    else
      driver.check(driver.copyToHostAsync(host[i]->data(), place, memory.size(),
                                          stream.stream()),
                   "cuMemcpyDtoHAsync");
  }
}

void Transfers::runRound(unsigned count, bool isMeasured) {
  for (unsigned i = 0; i != count; ++i) {
    // Also keeps the device busy while the host enqueues.
    stream.flush();
    stream.record(4 * i);
    copy(/*inputs=*/true);
    stream.record(4 * i + 1);
    run.getSession().run(stream.stream());
    stream.record(4 * i + 2);
    copy(/*inputs=*/false);
    stream.record(4 * i + 3);
  }
  stream.synchronize();
  auto add = [&](std::vector<double> &times, size_t from, size_t to) {
    times.push_back(stream.microseconds(from, to) / 1000);
  };
  for (unsigned i = 0; isMeasured && i != count; ++i) {
    add(result.in, 4 * i, 4 * i + 1);
    add(result.out, 4 * i + 2, 4 * i + 3);
    add(result.with, 4 * i, 4 * i + 3);
  }
}

TransferResult fusec::measureTransfers(BenchRun &run,
                                       const MeasureOptions &options) {
  rt::SetUpScope scope(run.getDevice());
  Transfers transfers(run, options.flush);
  Stopwatch watch(run.getDevice(), options.flush);
  for (unsigned done = 0; done < options.warmUp; done += roundRuns)
    transfers.runRound(roundRuns, /*isMeasured=*/false);
  Times alone;
  auto begin = std::chrono::steady_clock::now();
  std::chrono::duration<double> elapsed(0);
  do {
    unsigned count =
        std::min<size_t>(roundRuns, options.maxRuns - alone.device.size());
    transfers.runRound(count, /*isMeasured=*/true);
    watch.run(run.getSession(), count, &alone);
    elapsed = std::chrono::steady_clock::now() - begin;
  } while (alone.device.size() < options.maxRuns &&
           elapsed.count() < options.seconds);
  transfers.result.without = std::move(alone.device);
  return std::move(transfers.result);
}

//===----------------------------------------------------------------------===//
// Reporting
//===----------------------------------------------------------------------===//

/// Of all copies in one direction; nothing where there are no bytes, or the
/// clock is too coarse.
static std::optional<double> getRate(uint64_t bytes,
                                     const std::vector<double> &times) {
  double median = getPercentile(times, 0.5);
  if (bytes == 0 || median <= 0)
    return std::nullopt;
  return double(bytes) / median / 1e6;
}

void TransferResult::print() const {
  using Align = Table::Align;
  Table table({{"copies, pinned memory"},
               {"size", Align::Right},
               {"ms", Align::Right},
               {"GB/s", Align::Right}});
  auto addRow = [&](const char *name, uint64_t bytes,
                    const std::vector<double> &times) {
    std::optional<double> rate = getRate(bytes, times);
    table.row({name, formatBytes(bytes),
               fmt::format("{:.4f}", getPercentile(times, 0.5)),
               rate ? fmt::format("{:.1f}", *rate) : "-"});
  };
  addRow("inputs to the device", bytesIn, in);
  addRow("outputs to the host", bytesOut, out);
  double withCopies = getPercentile(with, 0.5),
         alone = getPercentile(without, 0.5);
  llvm::outs() << "\n"
               << table.str()
               << fmt::format(
                      "a run with its copies takes {:.4f} ms, {:.2f} times "
                      "that without, {:.4f} ms (medians of {} in turn)\n",
                      withCopies, withCopies / alone, alone, with.size());
}

llvm::json::Object TransferResult::toJson() const {
  auto direction = [](uint64_t bytes, const std::vector<double> &times) {
    std::optional<double> rate = getRate(bytes, times);
    return llvm::json::Object{
        {"bytes", bytes},
        {"ms", samplesJson(times)},
        {"gb_per_s", rate ? jsonNumber(*rate) : llvm::json::Value(nullptr)}};
  };
  return llvm::json::Object{{"with_ms", samplesJson(with)},
                            {"without_ms", samplesJson(without)},
                            {"in", direction(bytesIn, in)},
                            {"out", direction(bytesOut, out)}};
}
