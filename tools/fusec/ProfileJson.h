// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A profile as JSON.

#ifndef FUSEC_TOOLS_FUSEC_PROFILEJSON_H
#define FUSEC_TOOLS_FUSEC_PROFILEJSON_H

#include "tools/fusec/ProfileReport.h"
#include "llvm/Support/JSON.h"

namespace fusec {

/// Times in microseconds; null where the bundle does not say. Names have U+FFFD
/// for what is no UTF-8.
llvm::json::Object toJson(const Profile &profile, const DeviceRates &rates);

} // namespace fusec

#endif // FUSEC_TOOLS_FUSEC_PROFILEJSON_H
