// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/onnx/SuiteCase.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

namespace json = llvm::json;

namespace {
struct SymbolicForm {
  std::string model, reason;
};
bool fromJSON(const json::Value &value, SymbolicForm &form, json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.mapOptional("model", form.model) && map.mapOptional("reason", form.reason);
}
} // namespace

namespace fusec {

static bool fromJSON(const json::Value &value, SuiteInput &input, json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("name", input.name) && map.map("file", input.file) &&
         map.map("const", input.isConstant);
}

static bool fromJSON(const json::Value &value, SuiteOutput &output, json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("name", output.name) && map.map("file", output.file) &&
         map.mapOptional("rtol", output.rtol) && map.mapOptional("atol", output.atol) &&
         map.map("norm", output.norm);
}

static bool fromJSON(const json::Value &value, SuiteCase &result, json::Path path) {
  json::ObjectMapper map(value, path);
  std::string expect;
  SymbolicForm symbolic;
  if (!map || !map.map("name", result.name) || !map.map("expect", expect) ||
      !map.map("model", result.model) || !map.map("inputs", result.inputs) ||
      !map.map("outputs", result.outputs) || !map.map("symbolic", symbolic))
    return false;
  result.expectPass = expect == "pass";
  if (!symbolic.model.empty())
    result.symbolicModel = symbolic.model;
  return true;
}

std::optional<SuiteCase> readSuiteCase(const std::string &folder, std::string &error) {
  auto file = llvm::MemoryBuffer::getFile(folder + "/case.json");
  if (!file) {
    error = file.getError().message();
    return std::nullopt;
  }
  llvm::Expected<SuiteCase> result = json::parse<SuiteCase>((*file)->getBuffer());
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

} // namespace fusec
