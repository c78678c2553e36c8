// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The launches of a plan and their places. Private to the checks of a manifest
// against the rest of its bundle.

#ifndef FUSEC_RUNTIME_FORMAT_FOREACHLAUNCH_H
#define FUSEC_RUNTIME_FORMAT_FOREACHLAUNCH_H

#include "runtime/format/Manifest.h"
#include "runtime/format/Where.h"

namespace fusec::format {

// Calls visit(launch, where) with the place of each launch.
template <typename Visit>
void forEachLaunch(const Plan &plan, const Where &where, Visit visit) {
  Where steps = where.member("steps");
  for (size_t s = 0; s != plan.steps.size(); ++s) {
    Where step = steps.at(s), variants = step.member("variants");
    for (size_t v = 0; v != plan.steps[s].variants.size(); ++v) {
      const std::vector<Launch> &launches = plan.steps[s].variants[v].launches;
      Where variant = variants.at(v), list = variant.member("launches");
      for (size_t l = 0; l != launches.size(); ++l)
        visit(launches[l], list.at(l));
    }
  }
}

} // namespace fusec::format

#endif
