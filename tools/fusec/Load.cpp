// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/fusec/Load.h"
#include "runtime/src/Profile.h"
#include "tools/fusec/Json.h"
#include "tools/support/Table.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <exception>
#include <fmt/core.h>
#include <thread>

using namespace fusec;
using Clock = std::chrono::steady_clock;

/// Of each kind: within one, clocks hardly change.
static constexpr unsigned rounds = 10;

//===----------------------------------------------------------------------===//
// Clients
//===----------------------------------------------------------------------===//

namespace {
/// Has one run in flight. Needs a ContextScope.
class Client {
public:
  Client(const LoadedModel &loaded, const std::vector<data::Tensor> &inputs,
         const NamedSizes &sizes, int32_t graph)
      : run(loaded, inputs, sizes, graph),
        stream(loaded.getDevice(), /*flushes=*/false, 2) {}

  const BenchResult &getResult() const { return run.result; }
  void enqueue() {
    stream.record(0);
    run.getSession().run(stream.stream());
    stream.record(1);
  }
  void wait() {
    stream.synchronize();
    latencies.push_back(stream.microseconds(0, 1) / 1000);
  }
  /// Those since the last call.
  std::vector<double> takeLatencies() { return std::exchange(latencies, {}); }

private:
  BenchRun run;
  rt::MeasuredStream stream;
  std::vector<double> latencies;
};

using Clients = llvm::ArrayRef<std::unique_ptr<Client>>;
} // namespace

/// Of one thread: waits for the oldest run and enqueues that client's next one,
/// until the time is over or there were `most` runs, and at least one of each.
static void serve(const rt::Device &device, Clients clients,
                  Clock::time_point end, unsigned most) {
  rt::ContextScope scope(device);
  for (auto &client : clients)
    client->enqueue();
  size_t turn = 0;
  for (size_t count = clients.size(); count < most && Clock::now() < end;
       ++count) {
    clients[turn]->wait();
    clients[turn]->enqueue();
    turn = (turn + 1) % clients.size();
  }
  for (size_t i = 0; i != clients.size(); ++i)
    clients[(turn + i) % clients.size()]->wait();
}

/// The same with a thread for each; throws what the first one threw.
static void serveByThreads(const rt::Device &device, Clients clients,
                           Clock::time_point end, unsigned most) {
  std::vector<std::exception_ptr> failures(clients.size());
  std::vector<std::thread> threads;
  unsigned each = most / unsigned(clients.size());
  for (size_t i = 0; i != clients.size(); ++i)
    threads.emplace_back([&, i] {
      try {
        serve(device, clients.slice(i, 1), end, each);
      } catch (...) {
        failures[i] = std::current_exception();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::exception_ptr &failure : failures)
    if (failure)
      std::rethrow_exception(failure);
}

static void runRound(const rt::Device &device, Clients clients, double seconds,
                     unsigned most, Served &served) {
  auto begin = Clock::now();
  auto end = begin + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double>(seconds));
  if (served.threads > 1)
    serveByThreads(device, clients, end, most);
  else
    serve(device, clients, end, most);
  served.seconds += std::chrono::duration<double>(Clock::now() - begin).count();
  for (auto &client : clients) {
    std::vector<double> latencies = client->takeLatencies();
    served.latencies.insert(served.latencies.end(), latencies.begin(),
                            latencies.end());
  }
}

LoadResult fusec::measureLoad(const LoadedModel &loaded,
                              const std::vector<data::Tensor> &inputs,
                              const NamedSizes &sizes, int32_t graph,
                              unsigned count, bool isThreaded,
                              const MeasureOptions &options) {
  const rt::Device &device = loaded.getDevice();
  rt::SetUpScope scope(device);
  std::vector<std::unique_ptr<Client>> clients;
  while (clients.size() != count)
    clients.push_back(std::make_unique<Client>(loaded, inputs, sizes, graph));
  LoadResult result;
  result.rows = clients[0]->getResult().getRows();
  result.many.streams = count;
  result.many.threads = isThreaded ? count : 1;
  Served warmUp = result.many;
  runRound(device, clients, options.seconds, options.warmUp * count, warmUp);
  unsigned most = std::max(1u, options.maxRuns / rounds);
  ClockSampler sampler(device);
  sampler.start();
  for (unsigned i = 0; i != rounds; ++i) {
    double seconds = options.seconds / rounds;
    runRound(device, Clients(clients).take_front(1), seconds, most, result.one);
    runRound(device, clients, seconds, most, result.many);
  }
  result.clocks = sampler.stop();
  return result;
}

//===----------------------------------------------------------------------===//
// Reporting
//===----------------------------------------------------------------------===//

static std::string describe(const Served &served) {
  if (served.threads > 1)
    return fmt::format("{} threads, a stream each", served.threads);
  return served.streams == 1
             ? std::string("one stream")
             : fmt::format("{} streams, one thread", served.streams);
}

void LoadResult::print() const {
  using Align = Table::Align;
  Table table({{"each waits for its run"},
               {"runs", Align::Right},
               {"runs/s", Align::Right},
               {"rows/s", Align::Right},
               {"latency, ms: median", Align::Right},
               {"p90", Align::Right},
               {"p99", Align::Right}});
  for (const Served *served : {&one, &many}) {
    double perSecond = served->getRunsPerSecond();
    std::vector<std::string> row = {
        describe(*served), std::to_string(served->latencies.size()),
        fmt::format("{:.1f}", perSecond),
        rows ? fmt::format("{:.0f}", double(*rows) * perSecond) : "-"};
    for (double part : {0.5, 0.9, 0.99})
      row.push_back(
          fmt::format("{:.4f}", getPercentile(served->latencies, part)));
    table.row(std::move(row));
  }
  llvm::outs()
      << "\n"
      << table.str()
      << fmt::format(
             "{}: {:.2f} times the runs of one stream, each taking {:.2f} "
             "times as long (medians; the cache is not flushed)\n",
             describe(many), many.getRunsPerSecond() / one.getRunsPerSecond(),
             getPercentile(many.latencies, 0.5) /
                 getPercentile(one.latencies, 0.5));
  clocks.print();
}

static llvm::json::Object toJson(const Served &served,
                                 std::optional<int64_t> rows) {
  double perSecond = served.getRunsPerSecond();
  return llvm::json::Object{
      {"streams", served.streams},
      {"threads", served.threads},
      {"runs", served.latencies.size()},
      {"seconds", served.seconds},
      {"runs_per_second", jsonNumber(perSecond)},
      {"rows_per_second", rows ? jsonNumber(double(*rows) * perSecond)
                               : llvm::json::Value(nullptr)},
      {"latency_ms", samplesJson(served.latencies)}};
}

llvm::json::Object LoadResult::toJson() const {
  return llvm::json::Object{{"one", ::toJson(one, rows)},
                            {"many", ::toJson(many, rows)},
                            {"clocks", clocks.toJson()}};
}
