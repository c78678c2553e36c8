// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/host/HostCall.h"

#include <csetjmp>
#include <csignal>
#include <unistd.h>

namespace fusec {

// A signal handler can reach nothing else.
static sigjmp_buf returnPoint;

static void onSignal(int number) { siglongjmp(returnPoint, number); }

static std::string describe(int number) {
  switch (number) {
  case SIGSEGV:
  case SIGBUS:
    return "touches memory that is not its own";
  case SIGFPE:
    return "divides by zero";
  case SIGILL:
  case SIGTRAP:
    return "accesses memory that is not as aligned as the access assumes";
  case SIGALRM:
    return "does not end";
  default:
    return "ends with signal " + std::to_string(number);
  }
}

std::string callGuarded(llvm::function_ref<void()> call, unsigned seconds) {
  constexpr int watched[] = {SIGSEGV, SIGBUS,  SIGFPE, SIGILL,
                             SIGTRAP, SIGALRM, SIGABRT};
  constexpr size_t count = sizeof(watched) / sizeof(watched[0]);
  struct sigaction action = {}, before[count];
  action.sa_handler = onSignal;
  for (size_t i = 0; i != count; ++i)
    sigaction(watched[i], &action, &before[i]);
  int number = sigsetjmp(returnPoint, 1);
  if (number == 0) {
    alarm(seconds);
    call();
  }
  alarm(0);
  for (size_t i = 0; i != count; ++i)
    sigaction(watched[i], &before[i], nullptr);
  return number ? describe(number) : "";
}

} // namespace fusec
