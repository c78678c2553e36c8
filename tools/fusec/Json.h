// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values that are JSON whatever a model or a measurement holds.

#ifndef FUSEC_TOOLS_FUSEC_JSON_H
#define FUSEC_TOOLS_FUSEC_JSON_H

#include "llvm/Support/JSON.h"
#include <cmath>
#include <map>

namespace fusec {

/// A name as it is; U+FFFD stands for what is no UTF-8.
inline std::string jsonText(llvm::StringRef text) {
  return llvm::json::fixUTF8(text);
}

/// JSON has no NaN and no infinity: null.
inline llvm::json::Value jsonNumber(double value) {
  return std::isfinite(value) ? llvm::json::Value(value)
                              : llvm::json::Value(nullptr);
}

template <typename Range, typename Convert>
llvm::json::Array jsonArray(const Range &range, Convert convert) {
  llvm::json::Array array;
  for (const auto &element : range)
    array.push_back(convert(element));
  return array;
}

template <typename Range> llvm::json::Array jsonTexts(const Range &range) {
  return jsonArray(range, [](llvm::StringRef text) { return jsonText(text); });
}

template <typename T>
llvm::json::Object jsonMap(const std::map<std::string, T> &map) {
  llvm::json::Object object;
  for (const auto &[name, value] : map) {
    if constexpr (std::is_same_v<T, std::string>)
      object[jsonText(name)] = jsonText(value);
    else
      object[jsonText(name)] = value;
  }
  return object;
}

} // namespace fusec

#endif // FUSEC_TOOLS_FUSEC_JSON_H
