// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/onnx/SuiteCase.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Regex.h"

#include <algorithm>

namespace json = llvm::json;

namespace {
struct SymbolicForm {
  std::string model, reason;
};
bool fromJSON(const json::Value &value, SymbolicForm &form, json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.mapOptional("model", form.model) &&
         map.mapOptional("reason", form.reason);
}
} // namespace

namespace fusec {

static bool fromJSON(const json::Value &value, SuiteInput &input,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("name", input.name) && map.map("file", input.file) &&
         map.map("const", input.isConstant);
}

static bool fromJSON(const json::Value &value, SuiteOutput &output,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("name", output.name) && map.map("file", output.file) &&
         map.mapOptional("rtol", output.rtol) &&
         map.mapOptional("atol", output.atol) && map.map("norm", output.norm);
}

static bool fromJSON(const json::Value &value, SuiteCase &result,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  std::string expect, precision = stringify(Precision::Ieee).str();
  SymbolicForm symbolic;
  if (!map || !map.map("name", result.name) || !map.map("expect", expect) ||
      !map.map("model", result.model) || !map.map("inputs", result.inputs) ||
      !map.map("outputs", result.outputs) || !map.map("symbolic", symbolic) ||
      !map.mapOptional("precision", precision))
    return false;
  std::optional<Precision> named = symbolizePrecision(precision);
  if (!named) {
    path.field("precision").report("expected a precision");
    return false;
  }
  result.precision = *named;
  result.expectPass = expect == "pass";
  if (!symbolic.model.empty())
    result.symbolicModel = symbolic.model;
  return true;
}

std::optional<SuiteCase> readSuiteCase(const std::string &folder,
                                       std::string &error) {
  auto file = llvm::MemoryBuffer::getFile(folder + "/case.json");
  if (!file) {
    error = file.getError().message();
    return std::nullopt;
  }
  llvm::Expected<SuiteCase> result =
      json::parse<SuiteCase>((*file)->getBuffer());
  if (!result) {
    error = llvm::toString(result.takeError());
    return std::nullopt;
  }
  auto resolve = [&](std::string &path) { path = folder + "/" + path; };
  resolve(result->model);
  if (result->symbolicModel)
    resolve(*result->symbolicModel);
  for (SuiteInput &input : result->inputs)
    resolve(input.file);
  for (SuiteOutput &output : result->outputs)
    resolve(output.file);
  return std::move(*result);
}

std::vector<SuiteCase> readSuite(const std::string &folder,
                                 const std::string &filter,
                                 std::string &error) {
  llvm::Regex pattern(filter);
  std::error_code code;
  std::vector<std::string> folders;
  for (llvm::sys::fs::directory_iterator it(folder, code), end;
       it != end && !code; it.increment(code))
    if (llvm::sys::fs::exists(it->path() + "/case.json"))
      folders.push_back(it->path());
  std::sort(folders.begin(), folders.end());
  if (folders.empty())
    error = folder + ": expected folders with a case.json, found none";
  std::vector<SuiteCase> cases;
  for (const std::string &path : folders) {
    std::optional<SuiteCase> testCase = readSuiteCase(path, error);
    if (!testCase) {
      error = path + "/case.json: " + error;
      return {};
    }
    if (filter.empty() || pattern.match(testCase->name))
      cases.push_back(std::move(*testCase));
  }
  return cases;
}

} // namespace fusec
