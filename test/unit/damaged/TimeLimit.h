// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A hang is a failure, not a wait: a case that uses up its processor time ends
// the program with its name. Processor time, because other tests share the
// machine; what blocks without using any runs into CTest's own limit.

#ifndef FUSEC_TEST_UNIT_DAMAGED_TIMELIMIT_H
#define FUSEC_TEST_UNIT_DAMAGED_TIMELIMIT_H

#include <csignal>
#include <string>
#include <sys/time.h>
#include <unistd.h>

namespace fusec::test {

class TimeLimit {
public:
  explicit TimeLimit(std::string caseName, int seconds = 20) {
    name() = "over its time limit: " + std::move(caseName) + "\n";
    std::signal(SIGPROF, [](int) {
      [[maybe_unused]] ssize_t written =
          write(STDERR_FILENO, name().data(), name().size());
      _exit(1);
    });
    arm(seconds);
  }
  ~TimeLimit() { arm(0); }
  TimeLimit(const TimeLimit &) = delete;
  TimeLimit &operator=(const TimeLimit &) = delete;

private:
  static std::string &name() {
    static std::string text;
    return text;
  }
  static void arm(int seconds) {
    itimerval timer = {};
    timer.it_value.tv_sec = seconds;
    setitimer(ITIMER_PROF, &timer, nullptr);
  }
};

} // namespace fusec::test

#endif // FUSEC_TEST_UNIT_DAMAGED_TIMELIMIT_H
