// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/schedule/Targets.h"
#include "llvm/ADT/STLExtras.h"

using namespace fusec;

static constexpr unsigned kib = 1024;
static const Target targets[] = {
    // A100
    {"sm_80",
     8,
     0,
     163 * kib,
     2048,
     108,
     12040,
     {1.3, 1500, 40, 128, 2048, 2, .0012}},
    // RTX 3090, A40
    {"sm_86",
     8,
     6,
     99 * kib,
     1536,
     84,
     12040,
     {1.6, 800, 28, 256, 512, 2, .0012}},
    // RTX 4090, L40S
    {"sm_89",
     8,
     9,
     99 * kib,
     1536,
     128,
     12040,
     {2.3, 880, 28, 256, 512, 2, .0012}},
    // H100, H200
    {"sm_90a",
     9,
     0,
     227 * kib,
     2048,
     132,
     12040,
     {1.6, 4257, 62, 256, 4096, 2, .0012}},
    // RTX 5090
    {"sm_120",
     12,
     0,
     99 * kib,
     1536,
     170,
     12080,
     {2.3, 1600, 28, 256, 512, 2, .0012}},
    {"ptx",
     8,
     0,
     99 * kib,
     1536,
     84,
     12040,
     {1.3, 800, 28, 128, 512, 2, .0012}},
};

llvm::ArrayRef<Target> fusec::getTargets() { return targets; }

const Target *fusec::findTarget(llvm::StringRef name) {
  auto it =
      llvm::find_if(targets, [&](const Target &t) { return t.name == name; });
  return it == std::end(targets) ? nullptr : it;
}
