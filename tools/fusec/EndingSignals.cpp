// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/fusec/EndingSignals.h"
#include "llvm/Support/Signals.h"

#include <csignal>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace fusec;

static sigset_t getSet(int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  return set;
}

namespace {
/// Of a thread that takes a signal: exit() destroys what is local to a thread
/// before all else.
struct ThreadsEnd {
  int signal = 0;

  ~ThreadsEnd() {
    if (!signal)
      return;
    llvm::sys::RunInterruptHandlers(); // They remove files.
    std::signal(signal, SIG_DFL);
    sigset_t set = getSet(signal);
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
    std::raise(signal);
  }
};
} // namespace

static void takeSignal(int signal) {
  thread_local ThreadsEnd end;
  end.signal = signal;
  sigset_t set = getSet(signal);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  for (;;)
    pause();
}

void fusec::giveEndingSignalsThreads() {
  std::vector<int> taken;
  for (int signal : {SIGHUP, SIGINT, SIGTERM}) {
    struct sigaction action;
    if (sigaction(signal, nullptr, &action) != 0 ||
        action.sa_handler == SIG_IGN)
      continue;
    // Threads to come have this mask, too.
    sigset_t set = getSet(signal);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    taken.push_back(signal);
  }
  for (int signal : taken)
    std::thread(takeSignal, signal).detach();
}
