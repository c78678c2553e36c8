// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A profile as a table, each kernel beside its prediction and its floor.

#ifndef FUSEC_TOOLS_FUSEC_PROFILEREPORT_H
#define FUSEC_TOOLS_FUSEC_PROFILEREPORT_H

#include "runtime/include/fusec/fusec.hpp"
#include "runtime/src/Device.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

namespace fusec {

/// What a device does at most.
struct DeviceRates {
  double memory;    // GB/s, read and written together
  bool isCopy;      // that of a copy that was measured, else a typical device's
  double fma, half; // TFLOP/s of fp32 units, of tensor cores on 16 bits
  double launch;    // microseconds from one kernel to the next
};
/// Copies within the device where there is memory for that. `target` is a name
/// of compiler/schedule/Targets.h.
DeviceRates measureRates(const rt::Device &device, llvm::StringRef target);

/// The least that a launch can take, in microseconds: its bytes, its
/// operations, or an empty kernel.
double getFloor(const Profile::Step &step, const DeviceRates &rates);

/// On the standard output.
void printProfile(const Profile &profile, const DeviceRates &rates);
/// The same, for --json.
llvm::json::Object toJson(const Profile &profile, const DeviceRates &rates);

} // namespace fusec

#endif // FUSEC_TOOLS_FUSEC_PROFILEREPORT_H
