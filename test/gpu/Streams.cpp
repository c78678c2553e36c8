// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fusec-gpu-streams: kernels whose blocks wait for one another, of several
// sessions at the same time, on streams of several priorities. Blocks that wait
// for others that have not begun must not take all the room that these need.
// All runs have to end, with the bits that the session gave when it ran alone.

#include "compiler/schedule/Targets.h"
#include "test/gpu/BoundSession.h"
#include "test/gpu/Harness.h"
#include "test/gpu/StreamCases.h"
#include "tools/fusec/Failure.h"

#include <algorithm>
#include <chrono>
#include <dlfcn.h>
#include <random>
#include <thread>
#include <unistd.h>

using namespace fusec;

/// Sessions of a case, and how often each runs in a burst, which is waited for.
/// The driver holds about a thousand launches, a burst has fewer: enqueuing
/// more waits for a kernel to end, which may never be.
constexpr unsigned copies = 3, bursts = 4, rounds = 25;
/// A burst takes some hundredths of a second, under a sanitizer a hundred times
/// as long.
constexpr std::chrono::seconds limit(240);

namespace {
/// What the runtime never asks the driver for.
class StreamCalls {
public:
  StreamCalls();

  rt::cuda::Result (*getPriorities)(int *least, int *greatest);
  rt::cuda::Result (*create)(rt::cuda::Stream *stream, unsigned flags,
                             int priority);
  rt::cuda::Result (*query)(rt::cuda::Stream stream);
  static constexpr rt::cuda::Result notReady = 600;

private:
  template <class Function>
  void load(void *library, const char *name, Function *&function);
};

/// A session with tensors and a stream of its own.
class Runner {
public:
  /// All must outlive it.
  Runner(const StreamCase &test, const Model &model, const rt::Device &device,
         unsigned copy);
  ~Runner() { device.driver().streamDestroy(stream); }
  Runner(const Runner &) = delete;
  Runner &operator=(const Runner &) = delete;

  std::string getName() const {
    return test.name + " in session " + std::to_string(copy);
  }
  void bind(const std::vector<uint8_t> &input);
  void enqueue() { bound.getSession().run(stream); }
  bool hasEnded() const;
  /// What the last run gave, which the next one is to give again.
  std::vector<uint8_t> takeOutput();

  const StreamCase &test;
  /// Of the run alone.
  std::vector<uint8_t> expected;
  /// Bursts whose last run gave the same.
  unsigned same = 0;

private:
  const rt::Device &device;
  unsigned copy;
  rt::cuda::Stream stream = nullptr;
  BoundSession bound;
};

/// A case with what is needed to run it.
struct Loaded {
  const StreamCase *test;
  std::unique_ptr<Harness::Compiled> compiled;
};
} // namespace

template <class Function>
void StreamCalls::load(void *library, const char *name, Function *&function) {
  function = reinterpret_cast<Function *>(dlsym(library, name));
  if (!function)
    fail(ExitCode::Toolchain, std::string("the CUDA driver has no ") + name);
}

StreamCalls::StreamCalls() {
  // It is there: a device was found.
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    fail(ExitCode::Toolchain, "expected the CUDA driver as libcuda.so.1");
  load(library, "cuCtxGetStreamPriorityRange", getPriorities);
  load(library, "cuStreamCreateWithPriority", create);
  load(library, "cuStreamQuery", query);
}

static const StreamCalls &getStreamCalls() {
  static const StreamCalls calls;
  return calls;
}

Runner::Runner(const StreamCase &test, const Model &model,
               const rt::Device &device, unsigned copy)
    : test(test), device(device), copy(copy), bound(model, device) {
  const rt::cuda::Driver &driver = device.driver();
  int least = 0, greatest = 0; // smaller numbers come first
  driver.check(getStreamCalls().getPriorities(&least, &greatest),
               "cuCtxGetStreamPriorityRange");
  int priority = least + (greatest - least) * int(copy) / int(copies - 1);
  driver.check(
      getStreamCalls().create(&stream, rt::cuda::StreamNonBlocking, priority),
      "cuStreamCreateWithPriority");
}

void Runner::bind(const std::vector<uint8_t> &input) {
  bound.bindInput(0, input.data(), test.sizes);
  bound.bindOutputs();
}

bool Runner::hasEnded() const {
  rt::cuda::Result result = getStreamCalls().query(stream);
  if (result == StreamCalls::notReady)
    return false;
  device.driver().check(result, getName());
  return true;
}

std::vector<uint8_t> Runner::takeOutput() {
  std::vector<uint8_t> output = bound.readLastOutput();
  if (!bound.isLastOutputIntact())
    fail(ExitCode::VerificationFailed,
         getName() + ": a kernel wrote outside of its output");
  bound.poisonLastOutput();
  return output;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Whether a kernel's blocks wait for one another: in a team, or for those
/// before them. Of a step's variants the first is launched here, where all
/// tensors are aligned.
static bool hasWaiting(const format::Plan &plan, bool inTeam) {
  for (const format::Step &step : plan.steps)
    for (const format::Launch &launch : step.variants[0].launches)
      for (const format::Param &param : launch.params)
        if (const auto *flags = std::get_if<format::FlagsParam>(&param);
            flags && (flags->team > 1 || !inTeam))
          return true;
  return false;
}

/// Else the case does not test what it is for.
static void checkWaiting(Harness &harness, const StreamCase &test,
                         const std::string &bytes) {
  harness.check(test.name + ".kernels", [&] {
    format::Bundle bundle;
    std::string error;
    format::ByteSpan span = {reinterpret_cast<const uint8_t *>(bytes.data()),
                             bytes.size()};
    if (!format::Bundle::open(span, format::HashWeights::Auto, bundle, error))
      fail(ExitCode::Internal, error);
    for (const format::Plan &plan : bundle.manifest().plans) {
      // Devices before Hopper have no teams.
      const Target *target = findTarget(plan.target);
      bool isDue = !test.isOfTeams || !target || target->major >= 9;
      if (isDue && !hasWaiting(plan, test.isOfTeams))
        fail(ExitCode::VerificationFailed,
             "expected a kernel whose blocks wait for one another" +
                 std::string(test.isOfTeams ? " in teams" : "") +
                 ", found none for " + plan.target);
    }
    return std::pair(0.0, 0.0);
  });
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

using Runners = std::vector<std::unique_ptr<Runner>>;

/// Until all have ended. Where some do not, neither does anything that waits
/// for the device: the process says which, and leaves all as it is.
static void wait(Harness &harness, const std::string &label,
                 llvm::ArrayRef<std::unique_ptr<Runner>> runners) {
  auto end = std::chrono::steady_clock::now() + limit;
  std::vector<const Runner *> left;
  for (const auto &runner : runners)
    left.push_back(runner.get());
  for (;;) {
    llvm::erase_if(left, [](const Runner *each) { return each->hasEnded(); });
    if (left.empty())
      return;
    if (std::chrono::steady_clock::now() > end)
      break;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  std::string names;
  for (const Runner *runner : left)
    names += (names.empty() ? "" : ", ") + runner->getName();
  harness.check(label, [&]() -> std::pair<double, double> {
    fail(ExitCode::VerificationFailed, "did not end within " +
                                           std::to_string(limit.count()) +
                                           " s: " + names);
  });
  _exit(1);
}

/// Makes the case's sessions, each of which runs alone first.
static void runAlone(Harness &harness, const Loaded &loaded, Runners &runners) {
  const StreamCase &test = *loaded.test;
  std::string label = test.name + ".alone";
  harness.check(label, [&] {
    double worst = 0;
    for (unsigned copy = 0; copy != copies; ++copy) {
      auto runner = std::make_unique<Runner>(
          test, loaded.compiled->run->getModel(), harness.getDevice(), copy);
      std::vector<uint8_t> input = test.makeInput(copy);
      runner->bind(input);
      runner->enqueue();
      wait(harness, label, runner);
      runner->expected = runner->takeOutput();
      worst = std::max(worst, test.getError(input, runner->expected));
      runners.push_back(std::move(runner));
    }
    return std::pair(worst, test.bound);
  });
}

/// All sessions at the same time, each round in another order.
static void runTogether(Harness &harness, const Runners &runners) {
  std::string label = "together";
  harness.check(label, [&] {
    std::mt19937 random(1);
    std::vector<Runner *> order;
    for (const auto &runner : runners)
      order.push_back(runner.get());
    for (unsigned burst = 0; burst != bursts; ++burst) {
      for (unsigned round = 0; round != rounds; ++round) {
        std::shuffle(order.begin(), order.end(), random);
        for (Runner *runner : order)
          runner->enqueue();
      }
      wait(harness, label, runners);
      for (const auto &runner : runners)
        runner->same += runner->takeOutput() == runner->expected;
    }
    return std::pair(0.0, 0.0);
  });
}

static void run(Harness &harness, llvm::ArrayRef<Loaded> all) {
  rt::ContextScope scope(harness.getDevice());
  Runners runners;
  for (const Loaded &loaded : all)
    runAlone(harness, loaded, runners);
  runTogether(harness, runners);
  for (const Loaded &loaded : all)
    harness.check(loaded.test->name + ".together", [&] {
      // Bursts that did not give the bits of the run alone.
      double others = copies * bursts;
      for (const auto &runner : runners)
        if (&runner->test == loaded.test)
          others -= runner->same;
      return std::pair(others, 0.0);
    });
}

int main(int argc, char **argv) {
  // Streams that share one of a device's queues, which are 8 unless told
  // otherwise, wait for each other.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", /*overwrite=*/0);
  Harness harness(argc, argv);
  if (!harness.getArguments().empty())
    return Harness::printUsage("fusec-gpu-streams");
  std::vector<StreamCase> cases = makeStreamCases();
  std::vector<Loaded> all;
  for (const StreamCase &test : cases) {
    if (!harness.isWanted(test.name))
      continue;
    auto compiled = harness.compile(test.name, [&](CompileOptions options) {
      // The next schedule is taken, which is of a team as well.
      options.refuseSpills = false;
      return Compilation::importBytes(test.model, std::move(options));
    });
    if (!compiled)
      continue;
    checkWaiting(harness, test, compiled->bundle);
    if (compiled->run)
      all.push_back({&test, std::move(compiled)});
  }
  if (!all.empty())
    run(harness, all);
  return harness.finish();
}
