// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Manifest structs to JSON text, members in a fixed order.

#include "runtime/format/Manifest.h"

#include <nlohmann/json.hpp>

namespace fusec::format {

namespace {
using Json = nlohmann::ordered_json;

Json toJson(const Expr &expr) {
  if (expr.op == Expr::Op::Constant)
    return expr.value;
  if (expr.op == Expr::Op::Dim)
    return expr.dimName;
  Json list = Json::array({exprOpName(expr.op)});
  for (const Expr &operand : expr.operands)
    list.push_back(toJson(operand));
  return list;
}

// Declared ahead of the template: its lookup of overloads ends where it stands.
Json toJson(const Condition &condition);
Json toJson(const Param &param);
Json toJson(const Launch &launch);
Json toJson(const Variant &variant);
Json toJson(const Step &step);
Json toJson(const Buffer &buffer);
Json toJson(const Weight &weight);
Json toJson(const Plan &plan);
Json toJson(const TensorSpec &tensor);
Json toJson(const Constraint &constraint);

template <typename List> Json toJsonList(const List &items) {
  Json list = Json::array();
  for (const auto &item : items)
    list.push_back(toJson(item));
  return list;
}

Json toJson(const Condition &condition) {
  Json json = Json::object({{"op", conditionName(condition.kind)}});
  if (condition.kind == Condition::Kind::Aligned) {
    json["pointer"] = {{"kind", pointerKindName(condition.pointerKind)},
                       {"index", condition.pointerIndex}};
    json["bytes"] = condition.bytes;
  } else {
    json["lhs"] = toJson(condition.lhs);
    json["rhs"] = toJson(condition.rhs);
  }
  return json;
}

Json toJson(const Pointer &pointer) {
  Json json = Json::object(
      {{"kind", pointerKindName(pointer.kind)}, {"index", pointer.index}});
  if (!pointer.offset.isConstant() || pointer.offset.value != 0)
    json["offset"] = toJson(pointer.offset);
  return json;
}

Json toJson(const SizeParam &param) {
  return Json::object({{"kind", "size"},
                       {"type", dtypeName(param.type)},
                       {"value", toJson(param.value)}});
}

Json toJson(const TensorMapParam &param) {
  return Json::object({{"kind", "tensor_map"},
                       {"of", toJson(param.of)},
                       {"dtype", mapTypeName(param.dtype)},
                       {"sizes", toJsonList(param.sizes)},
                       {"strides", toJsonList(param.strides)},
                       {"box", param.box},
                       {"swizzle", param.swizzle},
                       {"promotion", param.promotion},
                       {"oob", "zero"}});
}

Json toJson(const FaultParam &) { return Json::object({{"kind", "fault"}}); }
Json toJson(const FlagsParam &param) {
  if (param.words == flagWords)
    return Json::object({{"kind", "flags"}});
  if (param.team == 1)
    return Json::object({{"kind", "flags"}, {"words", param.words}});
  return Json::object(
      {{"kind", "flags"}, {"words", param.words}, {"team", param.team}});
}

Json toJson(const Param &param) {
  return std::visit([](const auto &alternative) { return toJson(alternative); },
                    param);
}

Json toJson(const Work &work) {
  Json json = Json::object({{"read", toJson(work.read)},
                            {"written", toJson(work.written)},
                            {"operations", toJson(work.operations)},
                            {"unit", mathUnitName(work.unit)}});
  if (work.nanoseconds != 0)
    json["predicted"] = Json::object(
        {{"nanoseconds", work.nanoseconds}, {"dim", work.predictedDim}});
  if (work.lead)
    json["lead"] = *work.lead;
  return json;
}

Json toJson(const Launch &launch) {
  Json json = Json::object({{"section", launch.section},
                            {"symbol", launch.symbol},
                            {"grid", toJsonList(launch.grid)},
                            {"block", launch.block},
                            {"cluster", launch.cluster},
                            {"smem", launch.smem},
                            {"pdl", launch.pdl},
                            {"cooperative", launch.cooperative},
                            {"params", toJsonList(launch.params)}});
  if (launch.work)
    json["work"] = toJson(*launch.work);
  return json;
}

Json toJson(const Variant &variant) {
  return Json::object({{"guard", toJsonList(variant.guard)},
                       {"launches", toJsonList(variant.launches)}});
}

Json toJson(const Step &step) {
  return Json::object({{"name", step.name},
                       {"sources", step.sources},
                       {"variants", toJsonList(step.variants)}});
}

// Free-form text that the compiler wrote; text that is not JSON becomes null,
// which the check of the manifest refuses beforehand.
Json parseText(const std::string &text) {
  return Json::parse(text, nullptr, false);
}

Json toJson(const Buffer &buffer) {
  Json json = Json::object({{"name", buffer.name}, {"slot", buffer.slot}});
  if (!buffer.offset.isConstant() || buffer.offset.value != 0)
    json["offset"] = toJson(buffer.offset);
  json["size"] = toJson(buffer.size);
  json["layout"] = parseText(buffer.layout);
  return json;
}

Json toJson(const Weight &weight) {
  Json json = Json::object({{"name", weight.name},
                            {"section", weight.section},
                            {"offset", weight.offset},
                            {"size", weight.size},
                            {"alignment", weight.alignment},
                            {"dtype", dtypeName(weight.dtype)},
                            {"sizes", weight.sizes},
                            {"layout", parseText(weight.layout)},
                            {"pack", parseText(weight.pack)},
                            {"replaceable", weight.replaceable}});
  if (weight.updatable)
    json["updatable"] = true;
  if (weight.table)
    json["table"] = true;
  if (!weight.adapter.empty())
    json["adapter"] =
        Json::object({{"name", weight.adapter},
                      {"part", weight.part == AdapterPart::A ? "a" : "b"},
                      {"transposed", weight.isTransposed}});
  return json;
}

Json toJson(const Plan &plan) {
  return Json::object({{"target", plan.target},
                       {"min_driver", plan.minDriver},
                       {"cluster", plan.cluster},
                       {"smem", plan.smem},
                       {"slots", toJsonList(plan.slots)},
                       {"buffers", toJsonList(plan.buffers)},
                       {"weights", toJsonList(plan.weights)},
                       {"steps", toJsonList(plan.steps)}});
}

Json toJson(const TensorSpec &tensor) {
  Json json = Json::object({{"name", tensor.name},
                            {"dtype", dtypeName(tensor.dtype)},
                            {"sizes", toJsonList(tensor.sizes)}});
  for (const IndexRange &range : tensor.indexRanges)
    json["index_ranges"].push_back(
        Json::array({range.begin, range.end, range.columns}));
  return json;
}

Json toJson(const Constraint &constraint) {
  return Json::object({{"lhs", toJson(constraint.lhs)},
                       {"rhs", toJson(constraint.rhs)},
                       {"message", constraint.message}});
}
} // namespace

std::string writeManifest(const Manifest &manifest) {
  Json json = Json::object(
      {{"format", {{"major", manifest.major}, {"minor", manifest.minor}}},
       {"compiler", manifest.compiler},
       {"nvrtc", manifest.nvrtc},
       {"options", Json::object()},
       {"dims", manifest.dims},
       {"constraints", toJsonList(manifest.constraints)},
       {"inputs", toJsonList(manifest.inputs)},
       {"outputs", toJsonList(manifest.outputs)},
       {"plans", toJsonList(manifest.plans)}});
  for (const auto &[key, value] : manifest.options)
    json["options"][key] = value;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

} // namespace fusec::format
