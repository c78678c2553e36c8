// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/fusec/BenchFile.h"
#include "tools/fusec/Failure.h"
#include "llvm/Support/MemoryBuffer.h"
#include <fmt/core.h>

using namespace fusec;

namespace fusec {
static bool fromJSON(const llvm::json::Value &value, BoundTensor &tensor,
                     llvm::json::Path path) {
  llvm::json::ObjectMapper map(value, path);
  std::string dtype;
  if (!map || !map.map("name", tensor.name) || !map.map("dtype", dtype) ||
      !map.map("sizes", tensor.sizes))
    return false;
  std::optional<format::DType> known = format::parseDType(dtype);
  if (!known)
    path.field("dtype").report("expected a type's name");
  else
    tensor.dtype = *known;
  return known.has_value();
}

static bool fromJSON(const llvm::json::Value &value, Times &times,
                     llvm::json::Path path) {
  llvm::json::ObjectMapper map(value, path);
  return map && map.map("samples", times.device);
}

/// The object `profile`.
struct MeasuredProfile {
  std::vector<MeasuredStep> steps;
};

static bool fromJSON(const llvm::json::Value &value, MeasuredProfile &profile,
                     llvm::json::Path path) {
  llvm::json::ObjectMapper map(value, path);
  return map && map.map("steps", profile.steps);
}

/// The object `ids`.
struct DrawnIds {
  std::optional<std::string> distribution;
  TouchedRows rows;
};

static bool fromJSON(const llvm::json::Value &value, DrawnIds &ids,
                     llvm::json::Path path) {
  llvm::json::ObjectMapper map(value, path);
  return map && map.map("distribution", ids.distribution) &&
         map.map("touched_rows", ids.rows.touched) &&
         map.map("rows", ids.rows.all);
}

static bool fromJSON(const llvm::json::Value &value, BenchFile &file,
                     llvm::json::Path path) {
  llvm::json::ObjectMapper map(value, path);
  BenchResult &result = file.result;
  std::optional<MeasuredProfile> profile;
  std::optional<DrawnIds> ids;
  if (!map || !map.map("device", result.device) ||
      !map.map("flushed", result.isFlushed) ||
      !map.map("inputs", result.inputs) ||
      !map.map("outputs", result.outputs) ||
      !map.map("device_ms", result.times) || !map.map("profile", profile) ||
      !map.map("ids", ids))
    return false;
  if (ids) {
    result.ids = ids->distribution.value_or("");
    result.touched = ids->rows;
  }
  if (profile)
    file.steps = std::move(profile->steps);
  return true;
}
} // namespace fusec

BenchFile fusec::readBenchFile(const std::string &file) {
  auto buffer = llvm::MemoryBuffer::getFile(file);
  if (!buffer)
    failUnreadable(file + ": cannot be read: " + buffer.getError().message());
  llvm::Expected<llvm::json::Value> value =
      llvm::json::parse((*buffer)->getBuffer());
  if (!value)
    failMalformed(file + ": expected what `fusec bench --json` writes: " +
                  llvm::toString(value.takeError()));
  llvm::json::Path::Root root(file);
  std::string command;
  std::optional<BenchFile> bench;
  llvm::json::ObjectMapper map(*value, root);
  if (!map || !map.map("command", command))
    failMalformed(llvm::toString(root.getError()));
  if (command == "bench" && !map.map("result", bench))
    failMalformed(llvm::toString(root.getError()));
  if (command != "bench" || !bench)
    failMalformed(file + ": expected the result of `fusec bench --json`, got " +
                  (command != "bench" ? fmt::format("that of '{}'", command)
                                      : "an error of it"));
  for (double time : bench->result.times.device)
    if (!(time > 0))
      failMalformed(file + ": expected samples above 0");
  return std::move(*bench);
}
