// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The definitions of fmt, once: fmt/core.h, which is all that other files
// include, takes them a few hundredths of a second, and its header-only form
// two seconds.

#include <fmt/format-inl.h>

namespace fmt::detail {
template auto thousands_sep_impl<char>(locale_ref)
    -> thousands_sep_result<char>;
template auto decimal_point_impl<char>(locale_ref) -> char;
template void buffer<char>::append(const char *, const char *);
template void vformat_to(buffer<char> &, string_view, format_args, locale_ref);
} // namespace fmt::detail
