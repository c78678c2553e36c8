// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/fusec/Trace.h"
#include "llvm/ADT/STLExtras.h"

#include <fmt/core.h>
#include <map>

using namespace fusec;
using llvm::json::OStream;

namespace {
constexpr int hostProcess = 1, deviceProcess = 2;
/// Lanes of a stream lie beside each other.
constexpr int64_t lanesOfStream = 16;

class TraceWriter {
public:
  TraceWriter(llvm::raw_ostream &os, const Profile &profile)
      : json(os, 1), profile(profile) {
    for (const Profile::Run &run : profile.runs) {
      origin = std::min(origin, run.enqueueStart);
      for (const Profile::Kernel &kernel : run.kernels)
        origin = std::min(origin, kernel.start);
    }
  }

  void write(llvm::StringRef device, llvm::json::Object about) {
    json.object([&] {
      json.attribute("displayTimeUnit", "ns");
      json.attribute("otherData", std::move(about));
      json.attributeArray("traceEvents", [&] {
        name("process_name", hostProcess, 0, "host");
        name("thread_name", hostProcess, 1, "enqueue");
        name("process_name", deviceProcess, 0, device);
        for (size_t i = 0; i != profile.runs.size(); ++i)
          writeRun(i);
      });
    });
  }

private:
  /// Names come from files: not all of them are UTF-8.
  void attribute(llvm::StringRef key, llvm::StringRef text) {
    json.attribute(key, llvm::json::fixUTF8(text));
  }

  void name(llvm::StringRef what, int process, int64_t thread,
            llvm::StringRef text) {
    json.object([&] {
      json.attribute("ph", "M");
      json.attribute("name", what);
      json.attribute("pid", process);
      json.attribute("tid", thread);
      json.attributeObject("args", [&] { attribute("name", text); });
    });
  }

  void slice(int process, int64_t thread, llvm::StringRef text, uint64_t start,
             uint64_t end, llvm::function_ref<void()> writeArgs) {
    json.object([&] {
      json.attribute("ph", "X");
      attribute("name", text);
      json.attribute("cat", process == hostProcess ? "host" : "kernel");
      json.attribute("pid", process);
      json.attribute("tid", thread);
      // Microseconds.
      json.attribute("ts", double(start - origin) / 1000);
      json.attribute("dur", double(end - start) / 1000);
      json.attributeObject("args", writeArgs);
    });
  }

  /// The first lane of the stream that is free then: slices of one may not
  /// overlap.
  int64_t findLane(const Profile::Kernel &kernel) {
    auto &ends = lanes[kernel.stream];
    auto free =
        llvm::find_if(ends, [&](uint64_t end) { return end <= kernel.start; });
    int64_t place = free - ends.begin();
    // Streams have any number; threads are counted as they come.
    int64_t before = int64_t(streams.size());
    int64_t stream = streams.try_emplace(kernel.stream, before).first->second;
    int64_t thread = 1 + stream * lanesOfStream + place;
    if (free == ends.end()) {
      ends.push_back(0);
      free = std::prev(ends.end());
      name("thread_name", deviceProcess, thread,
           fmt::format("stream {}{}", kernel.stream,
                       place ? ", started early" : ""));
    }
    *free = kernel.end;
    return thread;
  }

  void writeRun(size_t number) {
    const Profile::Run &run = profile.runs[number];
    slice(hostProcess, 1, fmt::format("run {}", number), run.enqueueStart,
          run.enqueueEnd, [&] {
            json.attribute("run", int64_t(number));
            json.attribute("kernels", int64_t(run.kernels.size()));
          });
    for (auto [kernel, step] : llvm::zip_equal(run.kernels, profile.steps)) {
      int64_t thread = findLane(kernel);
      slice(deviceProcess, thread, step.step, kernel.start, kernel.end,
            [&] { writeArgs(step, number); });
    }
  }

  void writeTriple(llvm::StringRef key, const uint32_t (&values)[3]) {
    json.attributeArray(key, [&] {
      for (uint32_t value : values)
        json.value(int64_t(value));
    });
  }

  void writeArgs(const Profile::Step &step, size_t run) {
    json.attribute("run", int64_t(run));
    attribute("kernel", step.kernel);
    if (!step.lead.empty())
      attribute("computes first", step.lead);
    json.attributeArray("nodes", [&] {
      for (const std::string &source : step.sources)
        json.value(llvm::json::fixUTF8(source));
    });
    writeTriple("grid", step.grid);
    writeTriple("block", step.block);
    // -1: the bundle does not say.
    for (auto [key, value] : {std::pair("bytes read", step.bytesRead),
                              std::pair("bytes written", step.bytesWritten),
                              std::pair("operations", step.operations)})
      if (value >= 0)
        json.attribute(key, value);
    if (step.predicted != 0)
      json.attribute("predicted us", step.predicted);
  }

  OStream json;
  const Profile &profile;
  uint64_t origin = UINT64_MAX;
  /// By stream: the ends of its lanes' last slices, and its number.
  std::map<uint32_t, std::vector<uint64_t>> lanes;
  std::map<uint32_t, int64_t> streams;
};
} // namespace

void fusec::writeTrace(llvm::raw_ostream &os, const Profile &profile,
                       llvm::StringRef device, llvm::json::Object about) {
  TraceWriter(os, profile).write(device, std::move(about));
  os << "\n";
}
