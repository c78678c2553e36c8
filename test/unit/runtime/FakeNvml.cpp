// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NVML's entry points for the fake driver's device. FUSEC_FAKE_NVML says what
// it answers, as names with numbers: "sm 1980 1410 reasons 4 processes 2" gives
// these clocks in turn, to each sample the next. A name without a number is not
// supported; "init 9" fails.

#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {
constexpr int unknownDevice = 6, notSupported = 3;

struct Answers {
  std::map<std::string, std::vector<unsigned>> values = {
      {"init", {0}},       {"sm", {1980}},        {"memory", {2619}},
      {"power", {350000}}, {"temperature", {41}}, {"reasons", {0}},
      {"processes", {1}}};
  std::map<std::string, size_t> next;

  Answers() {
    const char *given = std::getenv("FUSEC_FAKE_NVML");
    std::istringstream words(given ? given : "");
    std::vector<unsigned> *current = nullptr;
    for (std::string word; words >> word;) {
      if (std::isalpha(word[0]))
        (current = &values[word])->clear();
      else if (current)
        current->push_back(unsigned(std::stoul(word)));
    }
  }
};

// Asked by one thread at a time.
template <typename T> int answer(const char *name, T *value) {
  static Answers answers;
  const std::vector<unsigned> &all = answers.values[name];
  if (all.empty())
    return notSupported;
  *value = all[answers.next[name]++ % all.size()];
  return 0;
}

int device;
} // namespace

extern "C" {
int nvmlInit_v2() {
  unsigned result = 0;
  answer("init", &result);
  return int(result);
}
int nvmlShutdown() { return 0; }
const char *nvmlErrorString(int result) {
  return result == 9 ? "Driver Not Loaded" : "Not Found";
}
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **found) {
  if (std::strcmp(bus, "00000000:1a:00.0") != 0)
    return unknownDevice;
  *found = &device;
  return 0;
}
int nvmlDeviceGetClockInfo(void *, int type, unsigned *megahertz) {
  return answer(type == 1 ? "sm" : "memory", megahertz);
}
int nvmlDeviceGetPowerUsage(void *, unsigned *milliwatts) {
  return answer("power", milliwatts);
}
int nvmlDeviceGetTemperature(void *, int, unsigned *degrees) {
  return answer("temperature", degrees);
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void *,
                                              unsigned long long *reasons) {
  return answer("reasons", reasons);
}
int nvmlDeviceGetComputeRunningProcesses_v3(void *, unsigned *count, void *) {
  return answer("processes", count);
}
}
