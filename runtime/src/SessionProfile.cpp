// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measuring the kernels of a session's runs.

#include "runtime/src/Cupti.h"
#include "runtime/src/Session.h"

#include <algorithm>
#include <chrono>
#include <set>

namespace fusec::rt {

namespace {
constexpr unsigned warmUpRuns = 3;
// Runs that are profiled, after as many that are not.
constexpr unsigned leastRoundRuns = 5, mostRounds = 4;
// Launches that the host enqueues while the device flushes the cache.
constexpr size_t launchesPerFlush = 16;

uint64_t hostNanoseconds() {
  return uint64_t(std::chrono::duration_cast<std::chrono::nanoseconds>(
                      std::chrono::steady_clock::now().time_since_epoch())
                      .count());
}

// The records of a run, one a launch; false where one lacks, or there are more
// than a run has: another session may run the same kernels.
bool matchRecords(const std::vector<cupti::KernelRecord> &records,
                  const std::vector<LaunchProfile> &launches, int device,
                  std::vector<KernelTime> &times) {
  std::set<std::string_view> names;
  for (const LaunchProfile &launch : launches)
    names.insert(launch.kernel);
  std::vector<const cupti::KernelRecord *> ours;
  for (const cupti::KernelRecord &record : records)
    if (record.device == uint32_t(device) && names.count(record.name))
      ours.push_back(&record);
  if (ours.size() != launches.size())
    return false;
  times.clear();
  for (const LaunchProfile &launch : launches) {
    auto found = std::find_if(ours.begin(), ours.end(), [&](const auto *one) {
      return one && one->name == launch.kernel;
    });
    if (found == ours.end())
      return false;
    times.push_back({(*found)->start, (*found)->end, (*found)->stream});
    *found = nullptr;
  }
  return true;
}
} // namespace

Profile Session::profile(const ProfileOptions &options) {
  if (!checked || !current)
    checkReady();
  SetUpScope scope(model().device());
  std::vector<ReadyLaunch *> launches;
  current->forEachLaunch(inputs, outputs, [&](ReadyLaunch &launch) {
    launches.push_back(&launch);
  });
  Profile profile;
  profile.describe(model(), current->dims, launches);
  // Behind the last launch's end a pair for nothing.
  MeasuredStream stream(model().device(), !options.keepCache,
                        launches.size() + 3);
  if (options.method == FUSEC_PROFILE_EVENTS)
    profile.reason = "events were asked for";
  else if (launches.empty())
    profile.reason = "the run launches nothing";
  profile.method =
      profile.reason.empty() ? FUSEC_PROFILE_ACTIVITY : FUSEC_PROFILE_EVENTS;
  if (!measureInTurn(options, launches, stream, profile)) {
    if (options.method == FUSEC_PROFILE_ACTIVITY)
      fail(FUSEC_UNSUPPORTED, profile.reason);
    profile.method = FUSEC_PROFILE_EVENTS;
    profile.runs.clear();
    measureInTurn(options, launches, stream, profile);
  }
  profile.summarize();
  return profile;
}

// Clocks change within seconds: what kernels take is held against runs of the
// same rounds.
bool Session::measureInTurn(const ProfileOptions &options,
                            const std::vector<ReadyLaunch *> &launches,
                            MeasuredStream &stream, Profile &profile) {
  std::vector<double> plain, profiled;
  unsigned rounds = std::clamp(options.runs / leastRoundRuns, 1u, mostRounds);
  for (unsigned round = 0; round != rounds; ++round) {
    unsigned runs = options.runs / rounds + (round < options.runs % rounds);
    measureRuns(stream, warmUpRuns);
    std::vector<double> times = measureRuns(stream, runs);
    plain.insert(plain.end(), times.begin(), times.end());
    profile.replayed = theReplayed;
    if (profile.method == FUSEC_PROFILE_EVENTS)
      measureByEvents(launches, runs, stream, profile, profiled);
    else if (!measureByActivity(options.cupti, runs, stream, profile, profiled))
      return false;
  }
  // Records of single runs get lost; those of most do not.
  if (2 * profile.runs.size() <= options.runs) {
    profile.reason = "of " + std::to_string(options.runs) + " runs " +
                     std::to_string(profile.runs.size()) +
                     " had one activity record for each of their kernels";
    return false;
  }
  profile.runMicroseconds = percentile(plain, 0.5);
  profile.profiledMicroseconds = percentile(profiled, 0.5);
  return true;
}

std::vector<double> Session::measureRuns(MeasuredStream &stream,
                                         unsigned count) {
  std::vector<double> times;
  for (unsigned i = 0; i != count; ++i) {
    stream.flush();
    stream.record(0);
    run(stream.stream());
    stream.record(1);
    stream.synchronize();
    times.push_back(stream.microseconds(0, 1));
  }
  return times;
}

bool Session::measureByActivity(const std::string &cupti, unsigned runs,
                                MeasuredStream &stream, Profile &profile,
                                std::vector<double> &times) {
  std::unique_ptr<cupti::Activity> activity =
      cupti::Activity::start(cupti, profile.reason);
  if (!activity)
    return false;
  std::vector<cupti::KernelRecord> records;
  for (unsigned i = 0; i != warmUpRuns + runs; ++i) {
    RunProfile measured;
    stream.flush();
    stream.record(0);
    measured.enqueueStart = activity->now();
    run(stream.stream());
    measured.enqueueEnd = activity->now();
    stream.record(1);
    stream.synchronize();
    if (!activity->take(records, profile.reason))
      return false;
    if (i < warmUpRuns ||
        !matchRecords(records, profile.launches, model().device().ordinal(),
                      measured.kernels))
      continue;
    times.push_back(stream.microseconds(0, 1));
    profile.runs.push_back(std::move(measured));
  }
  return true;
}

void Session::measureByEvents(const std::vector<ReadyLaunch *> &launches,
                              unsigned runs, MeasuredStream &stream,
                              Profile &profile, std::vector<double> &whole) {
  size_t first = profile.runs.size();
  size_t count = launches.size();
  struct Measured {
    std::vector<double> regions; // from one event to the next
    uint64_t end;                // on the host
  };
  std::vector<Measured> all;
  std::vector<double> empty;
  for (unsigned i = 0; i != warmUpRuns + runs; ++i) {
    RunProfile run;
    stream.flush(1 + count / launchesPerFlush);
    stream.record(0);
    run.enqueueStart = hostNanoseconds();
    for (size_t j = 0; j != count; ++j) {
      patchAddresses(model(), *launches[j], inputs, outputs);
      // As if each were the first, none starts early.
      launchKernel(model(), *launches[j], /*isFirst=*/true, stream.stream());
      stream.record(j + 1);
    }
    run.enqueueEnd = hostNanoseconds();
    stream.record(count + 1);
    stream.record(count + 2);
    stream.synchronize();
    if (i < warmUpRuns)
      continue;
    Measured measured{{}, hostNanoseconds()};
    for (size_t j = 0; j != count; ++j)
      measured.regions.push_back(stream.microseconds(j, j + 1));
    empty.push_back(stream.microseconds(count + 1, count + 2));
    whole.push_back(stream.microseconds(0, count));
    all.push_back(std::move(measured));
    profile.runs.push_back(std::move(run));
  }
  double nothing = percentile(empty, 0.5);
  for (size_t i = 0; i != all.size(); ++i) {
    std::vector<double> times = all[i].regions;
    for (double &time : times)
      time = std::max(0.0, time - nothing);
    // The host waited for the last kernel's end.
    double left = 0;
    for (double time : times)
      left += time;
    for (double time : times) {
      KernelTime kernel;
      kernel.start = all[i].end - uint64_t(1000 * left);
      kernel.end = kernel.start + uint64_t(1000 * time);
      left -= time;
      profile.runs[first + i].kernels.push_back(kernel);
    }
  }
}

} // namespace fusec::rt
