// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/IgnoredSignals.h"

using namespace fusec;

IgnoredSignals::IgnoredSignals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGUSR1,
                     SIGUSR2, SIGXCPU, SIGXFSZ}) {
    struct sigaction action;
    if (sigaction(signal, nullptr, &action) == 0 &&
        action.sa_handler == SIG_IGN)
      ignored.push_back(signal);
  }
}

IgnoredSignals::~IgnoredSignals() {
  for (int signal : ignored)
    std::signal(signal, SIG_IGN);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}
