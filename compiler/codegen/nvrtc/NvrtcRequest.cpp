// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a request to what NVRTC is given: headers reached, options, and whether
// the loaded version knows the target.

#include "compiler/codegen/nvrtc/Nvrtc.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

#include <fmt/core.h>
#include <optional>

using namespace llvm;

namespace fusec {

namespace {
/// The first NVRTC that compiles for an architecture number.
struct Introduction {
  int arch, major, minor;
};
} // namespace

static constexpr Introduction introductions[] = {
    {70, 9, 0},   {75, 10, 0},  {80, 11, 0}, {86, 11, 1},  {87, 11, 4},
    {88, 13, 0},  {89, 11, 8},  {90, 11, 8}, {100, 12, 8}, {103, 12, 9},
    {110, 13, 0}, {120, 12, 8}, {121, 12, 9}};

namespace {
struct Target {
  int arch = 0;
  /// 'a' (exactly this device), 'f' (its family), or 0.
  char suffix = 0;
};
} // namespace

static std::optional<Target> parseTarget(StringRef text) {
  Target target;
  if (text == "ptx") {
    target.arch = 80;
    return target;
  }
  if (!text.consume_front("sm_") || text.empty())
    return std::nullopt;
  if (text.back() == 'a' || text.back() == 'f') {
    target.suffix = text.back();
    text = text.drop_back();
  }
  if (text.size() > 3 ||
      !all_of(text, [](char c) { return c >= '0' && c <= '9'; }) ||
      text.getAsInteger(10, target.arch))
    return std::nullopt;
  return target;
}

static Error targetError(const Twine &message) {
  return make_error<NvrtcError>(NvrtcError::Kind::unsupportedTarget,
                                message.str());
}

Error checkTarget(StringRef text, const NvrtcIdentity &identity) {
  std::optional<Target> target = parseTarget(text);
  if (!target)
    return targetError(fmt::format("target '{}': expected 'ptx' or 'sm_' and a "
                                   "number, such as sm_80, sm_90a or sm_120",
                                   text));
  const NvrtcVersion &version = identity.version;
  std::string found = fmt::format("NVRTC {} is loaded", version.str());
  if (target->suffix == 'a' && target->arch < 90)
    return targetError(fmt::format("target '{}': architecture-specific code "
                                   "exists from sm_90a on; use sm_{}",
                                   text, target->arch));
  if (target->suffix == 'f') {
    if (target->arch < 100)
      return targetError(fmt::format(
          "target '{}': family-specific code exists from sm_100f on; use sm_{}",
          text, target->arch));
    if (std::pair(version.major, version.minor) < std::pair(12, 9))
      return targetError(
          fmt::format("target '{}' needs NVRTC 12.9 or newer, {}; give another "
                      "one with --nvrtc or FUSEC_NVRTC",
                      text, found));
  }
  if (is_contained(identity.archs, target->arch))
    return Error::success();

  std::string known;
  raw_string_ostream os(known);
  interleaveComma(identity.archs, os, [&](int arch) { os << "sm_" << arch; });
  for (const Introduction &entry : introductions) {
    if (entry.arch != target->arch)
      continue;
    if (std::pair(version.major, version.minor) <
        std::pair(entry.major, entry.minor))
      return targetError(fmt::format(
          "target '{}' needs NVRTC {}.{} or newer, {}; give another one with "
          "--nvrtc or FUSEC_NVRTC, or one of the targets it knows: {}",
          text, entry.major, entry.minor, found, known));
    return targetError(fmt::format(
        "target '{}' needs NVRTC {}.{} to {}.x, {}, which no longer compiles "
        "for it; give another one with --nvrtc or FUSEC_NVRTC, or one of the "
        "targets it knows: {}",
        text, entry.major, entry.minor, version.major - 1, found, known));
  }
  return targetError(
      fmt::format("target '{}' is unknown to NVRTC {}, which is loaded and "
                  "knows {}; give a newer one with --nvrtc or FUSEC_NVRTC",
                  text, version.str(), known));
}

std::vector<std::string> nvrtcOptions(const CompileRequest &request) {
  std::vector<std::string> options;
  bool ptx = request.target == "ptx";
  options.push_back("--gpu-architecture=" +
                    (ptx ? "compute_80" : request.target));
  options.push_back("--std=c++17");
  // Lambdas and constexpr functions carry no execution space.
  options.push_back("--device-as-default-execution-space");
  // Headers come from the request alone, never from the working directory.
  options.push_back("--no-source-include");
  if (!ptx)
    options.push_back("--ptxas-options=-v");
  append_range(options, request.options);
  return options;
}

/// The operand of each `#include "..."` of `text`; false where one is not a
/// plain quoted name. Includes in comments or dead branches count too, which
/// costs at most a header too many.
static bool scanIncludes(StringRef text, SmallVectorImpl<StringRef> &names) {
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    text = rest;
    line = line.trim();
    if (!line.consume_front("#") ||
        !(line = line.ltrim()).consume_front("include"))
      continue;
    line = line.ltrim();
    if (!line.consume_front("\""))
      return false;
    names.push_back(line.split('"').first);
  }
  return true;
}

std::vector<KernelHeader> collectHeaders(StringRef source,
                                         ArrayRef<KernelHeader> headers) {
  std::vector<KernelHeader> reached;
  StringSet<> seen;
  SmallVector<StringRef, 16> pending;
  bool plain = scanIncludes(source, pending);
  while (plain && !pending.empty()) {
    StringRef name = pending.pop_back_val();
    if (!seen.insert(name).second)
      continue;
    for (const KernelHeader &header : headers) {
      if (header.name != name)
        continue;
      reached.push_back(header);
      plain = scanIncludes(header.text, pending);
      break;
    }
  }
  if (!plain)
    reached.assign(headers.begin(), headers.end());
  llvm::sort(reached, [](const KernelHeader &a, const KernelHeader &b) {
    return a.name < b.name;
  });
  return reached;
}

} // namespace fusec
