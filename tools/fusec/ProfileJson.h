// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A profile as JSON.

#ifndef FUSEC_TOOLS_FUSEC_PROFILEJSON_H
#define FUSEC_TOOLS_FUSEC_PROFILEJSON_H

#include "tools/fusec/ProfileReport.h"
#include "llvm/Support/JSON.h"

namespace fusec {

/// The object `profile` of docs/json.md.
llvm::json::Object toJson(const Profile &profile, const DeviceRates &rates);

} // namespace fusec

#endif // FUSEC_TOOLS_FUSEC_PROFILEJSON_H
