// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/schedule/Targets.h"
#include "llvm/ADT/STLExtras.h"

using namespace fusec;

static constexpr unsigned kib = 1024;
static const Target targets[] = {
    {"sm_80", 8, 0, 163 * kib, 108, 12040},  // A100
    {"sm_86", 8, 6, 99 * kib, 84, 12040},    // RTX 3090, A40
    {"sm_89", 8, 9, 99 * kib, 128, 12040},   // RTX 4090, L40S
    {"sm_90a", 9, 0, 227 * kib, 132, 12040}, // H100, H200
    {"sm_120", 12, 0, 99 * kib, 170, 12080}, // RTX 5090
    {"ptx", 8, 0, 99 * kib, 84, 12040},
};

llvm::ArrayRef<Target> fusec::getTargets() { return targets; }

const Target *fusec::findTarget(llvm::StringRef name) {
  auto it =
      llvm::find_if(targets, [&](const Target &t) { return t.name == name; });
  return it == std::end(targets) ? nullptr : it;
}
