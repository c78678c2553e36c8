// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C functions of profiles.

#include "runtime/src/Handles.h"

using namespace fusec;
using namespace fusec::rt;

namespace {
constexpr int32_t defaultRuns = 20, maxRuns = 10000;

ProfileOptions readOptions(const fusec_profile_options *given) {
  fusec_profile_options options = readStruct(given, "fusec_profile_options");
  if (options.method < FUSEC_PROFILE_AUTO ||
      options.method > FUSEC_PROFILE_EVENTS)
    fail(FUSEC_INVALID_ARGUMENT,
         "method: expected 0, 1 or 2, found " + std::to_string(options.method));
  if (options.runs < 0 || options.runs > maxRuns)
    fail(FUSEC_INVALID_ARGUMENT, "runs: expected 0 to " +
                                     std::to_string(maxRuns) + ", found " +
                                     std::to_string(options.runs));
  return {options.method, unsigned(options.runs ? options.runs : defaultRuns),
          options.keep_cache != 0, options.cupti ? options.cupti : ""};
}

const RunProfile &findRun(const fusec_profile *profile, uint32_t run,
                          const void *info) {
  requireResult(profile, "profile");
  requireInfo(info, run, profile->profile.runs.size());
  return profile->profile.runs[run];
}
} // namespace

fusec_status fusec_session_profile(fusec_session *session,
                                   const fusec_profile_options *options,
                                   fusec_profile **profile, char *message,
                                   size_t capacity) {
  return guard(message, capacity, [&] {
    requireResult(session, "session");
    requireResult(profile, "profile");
    auto made = std::make_unique<fusec_profile>(
        fusec_profile{session->session.profile(readOptions(options))});
    for (LaunchProfile &launch : made->profile.launches)
      for (const std::string &source : launch.sources)
        launch.sourcePointers.push_back(source.c_str());
    *profile = made.release();
  });
}

void fusec_profile_free(fusec_profile *profile) { delete profile; }

fusec_status fusec_profile_info(const fusec_profile *profile,
                                fusec_profile_summary *summary, char *message,
                                size_t capacity) {
  return guard(message, capacity, [&] {
    requireResult(profile, "profile");
    requireResult(summary, "summary");
    const Profile &from = profile->profile;
    fusec_profile_summary value = {};
    value.method = from.method;
    value.replayed = from.replayed;
    value.reason = from.reason.c_str();
    value.runs = uint32_t(from.runs.size());
    value.steps = uint32_t(from.launches.size());
    value.run_us = from.runMicroseconds;
    value.profiled_us = from.profiledMicroseconds;
    value.sum_us = from.sum;
    writeStruct(value, "fusec_profile_summary", summary);
  });
}

uint32_t fusec_profile_step_count(const fusec_profile *profile) {
  return uint32_t(profile->profile.launches.size());
}

fusec_status fusec_profile_step_info(const fusec_profile *profile,
                                     uint32_t step, fusec_step_profile *info,
                                     char *message, size_t capacity) {
  return guard(message, capacity, [&] {
    requireResult(profile, "profile");
    requireInfo(info, step, profile->profile.launches.size());
    const LaunchProfile &from = profile->profile.launches[step];
    fusec_step_profile value = {};
    value.step = from.step.c_str();
    value.lead = from.lead ? from.lead->c_str() : nullptr;
    value.kernel = from.kernel.c_str();
    value.sources = from.sourcePointers.data();
    value.source_count = from.sourcePointers.size();
    std::copy(from.grid.begin(), from.grid.end(), value.grid);
    std::copy(from.block.begin(), from.block.end(), value.block);
    value.median_us = from.median;
    value.min_us = from.least;
    value.p90_us = from.p90;
    value.start_us = from.start;
    value.bytes_read = from.read.value_or(-1);
    value.bytes_written = from.written.value_or(-1);
    value.operations = from.operations.value_or(-1);
    // Of literals, so that they end with a zero.
    value.unit = from.unit ? format::mathUnitName(*from.unit).data() : nullptr;
    value.predicted_us = from.predicted;
    value.predicted_dim = from.predictedDim;
    writeStruct(value, "fusec_step_profile", info);
  });
}

fusec_status fusec_profile_run_info(const fusec_profile *profile, uint32_t run,
                                    fusec_run_profile *info, char *message,
                                    size_t capacity) {
  return guard(message, capacity, [&] {
    const RunProfile &from = findRun(profile, run, info);
    fusec_run_profile value = {};
    value.enqueue_start_ns = from.enqueueStart;
    value.enqueue_end_ns = from.enqueueEnd;
    writeStruct(value, "fusec_run_profile", info);
  });
}

fusec_status fusec_profile_kernel_time(const fusec_profile *profile,
                                       uint32_t run, uint32_t step,
                                       fusec_kernel_time *info, char *message,
                                       size_t capacity) {
  return guard(message, capacity, [&] {
    const RunProfile &from = findRun(profile, run, info);
    requireInfo(info, step, from.kernels.size());
    fusec_kernel_time value = {};
    value.start_ns = from.kernels[step].start;
    value.end_ns = from.kernels[step].end;
    value.stream = from.kernels[step].stream;
    writeStruct(value, "fusec_kernel_time", info);
  });
}
