// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parsing JSON that nobody vouches for.

#ifndef FUSEC_RUNTIME_FORMAT_JSONTEXT_H
#define FUSEC_RUNTIME_FORMAT_JSONTEXT_H

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace fusec::format {

// In time linear in the text. Throws ReadError, which names `what`, where the
// text is no JSON, a value has more than `maxDepth` arrays and objects around
// it, or an object names a member twice, of which a parser would keep one.
nlohmann::json parseJson(std::string_view text, size_t maxDepth,
                         const char *what);

} // namespace fusec::format

#endif
