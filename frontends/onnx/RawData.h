// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The raw data of a serialized model's initializers, most of its bytes: found
// before the rest is parsed, since parsing would copy them.

#ifndef FUSEC_FRONTENDS_ONNX_RAWDATA_H
#define FUSEC_FRONTENDS_ONNX_RAWDATA_H

#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>
#include <vector>

namespace fusec::onnx {

struct SplitModel {
  /// The model without them, serialized.
  std::string rest;
  /// Where they lie, of each initializer of the graph in order; nothing for
  /// those that have their elements in another field.
  std::vector<std::optional<llvm::StringRef>> rawData;
};

/// Nothing where the bytes are not the well-formed messages that lead to raw
/// data.
std::optional<SplitModel> splitModel(llvm::StringRef bytes);

} // namespace fusec::onnx

#endif // FUSEC_FRONTENDS_ONNX_RAWDATA_H
