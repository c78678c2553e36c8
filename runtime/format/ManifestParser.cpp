// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// JSON text to manifest structs: the shape and type of every member. What the
// values mean is checked by checkManifest.

#include "runtime/format/JsonReader.h"
#include "runtime/format/Manifest.h"

namespace fusec::format {

namespace {
// Deeper values than any manifest needs; bounds the recursion over expressions
// and free-form text.
constexpr size_t maxJsonDepth = 64;

template <typename T, typename Read>
std::vector<T> readList(const JsonReader &json, Read read) {
  std::vector<T> list;
  json.forEach([&](const JsonReader &item) { list.push_back(read(item)); });
  return list;
}

std::string readString(const JsonReader &json) { return json.string(); }

Expr readExpr(const JsonReader &json) {
  if (json.isInteger())
    return Expr(json.int64());
  if (json.isString())
    return Expr::dim(json.string());
  if (!json.json().is_array())
    json.fail("expected an integer, a dimension's name or [operator, "
              "operands...], found " +
              json.found());
  size_t size = json.arraySize();
  std::optional<Expr::Op> op;
  if (size != 0 && json.element(0).isString())
    op = parseExprOp(json.element(0).string());
  if (!op)
    json.fail("expected an operator among + - * floordiv ceildiv mod min max "
              "first, found " +
              json.found());
  std::vector<Expr> operands;
  for (size_t i = 1; i < size; ++i)
    operands.push_back(readExpr(json.element(i)));
  return Expr::make(*op, std::move(operands));
}

std::vector<Expr> readExprs(const JsonReader &json) {
  return readList<Expr>(json, readExpr);
}

DType readDType(const JsonReader &json) {
  std::optional<DType> type = parseDType(json.string());
  if (!type)
    json.fail("expected an element type such as 'f32', found " + json.found());
  return *type;
}

std::array<unsigned, 3> readTriple(const JsonReader &json) {
  if (json.arraySize() != 3)
    json.fail("expected three integers, found " + json.found());
  return {json.element(0).uint32(), json.element(1).uint32(),
          json.element(2).uint32()};
}

Pointer::Kind readPointerKind(const JsonReader &json) {
  for (unsigned i = 0; i != 4; ++i)
    if (json.string() == pointerKindName(Pointer::Kind(i)))
      return Pointer::Kind(i);
  json.fail("expected 'buffer', 'weight', 'input' or 'output', found " +
            json.found());
}

Pointer readPointer(const JsonReader &json) {
  json.expectObject({"kind", "index", "offset"});
  Pointer pointer;
  pointer.kind = readPointerKind(json["kind"]);
  pointer.index = json["index"].uint32();
  if (json.has("offset"))
    pointer.offset = readExpr(json["offset"]);
  return pointer;
}

Condition readCondition(const JsonReader &json) {
  JsonReader op = json["op"];
  for (unsigned i = 0; i != unsigned(Condition::Kind::Aligned); ++i) {
    if (op.string() != conditionName(Condition::Kind(i)))
      continue;
    json.expectObject({"op", "lhs", "rhs"});
    return Condition::compare(Condition::Kind(i), readExpr(json["lhs"]),
                              readExpr(json["rhs"]));
  }
  if (op.string() != "aligned")
    op.fail("expected a comparison or 'aligned', found " + op.found());
  json.expectObject({"op", "pointer", "bytes"});
  JsonReader pointer = json["pointer"];
  pointer.expectObject({"kind", "index"});
  return Condition::aligned(readPointerKind(pointer["kind"]),
                            pointer["index"].uint32(), json["bytes"].uint32());
}

Param readTensorMap(const JsonReader &json) {
  json.expectObject({"kind", "of", "dtype", "sizes", "strides", "box",
                     "swizzle", "promotion", "oob"});
  TensorMapParam map;
  map.of = readPointer(json["of"]);
  JsonReader dtype = json["dtype"];
  bool known = false;
  for (unsigned i = 0; i <= unsigned(MapType::TF32); ++i) {
    if (!dtype.string().empty() && dtype.string() == mapTypeName(MapType(i))) {
      map.dtype = MapType(i);
      known = true;
    }
  }
  if (!known)
    dtype.fail("expected an element type of tensor maps such as 'f16', found " +
               dtype.found());
  map.sizes = readExprs(json["sizes"]);
  map.strides = readExprs(json["strides"]);
  map.box = readList<unsigned>(
      json["box"], [](const JsonReader &item) { return item.uint32(); });
  map.swizzle = json["swizzle"].uint32();
  if (json.has("promotion"))
    map.promotion = json["promotion"].uint32();
  if (json["oob"].string() != "zero")
    json["oob"].fail("expected 'zero', found " + json["oob"].found());
  return map;
}

Param readParam(const JsonReader &json) {
  JsonReader kind = json["kind"];
  if (kind.string() == "fault") {
    json.expectObject({"kind"});
    return FaultParam();
  }
  if (kind.string() == "flags") {
    if (!json.has("words")) {
      json.expectObject({"kind"});
      return FlagsParam();
    }
    json.expectObject({"kind", "words", "team"});
    FlagsParam flags{json["words"].uint32()};
    if (json.has("team"))
      flags.team = json["team"].uint32();
    if (flags.team < 1)
      json["team"].fail("expected 1 block or more, found 0");
    if (flags.words <= flagSizeWord || flags.words > mostFlagWords)
      json["words"].fail("expected " + std::to_string(flagSizeWord + 1) +
                         " to " + std::to_string(mostFlagWords) +
                         " words, found " + std::to_string(flags.words));
    return flags;
  }
  if (kind.string() == "size") {
    json.expectObject({"kind", "type", "value"});
    return SizeParam{readDType(json["type"]), readExpr(json["value"])};
  }
  if (kind.string() == "tensor_map")
    return readTensorMap(json);
  return readPointer(json);
}

Work readWork(const JsonReader &json) {
  json.expectObject(
      {"read", "written", "operations", "unit", "predicted", "lead"});
  Work work;
  work.read = readExpr(json["read"]);
  work.written = readExpr(json["written"]);
  work.operations = readExpr(json["operations"]);
  JsonReader unit = json["unit"];
  unsigned which = 0;
  while (which <= unsigned(MathUnit::Half) &&
         unit.string() != mathUnitName(MathUnit(which)))
    ++which;
  if (which > unsigned(MathUnit::Half))
    unit.fail("expected 'fma', 'tf32', 'tf32x3' or 'half', found " +
              unit.found());
  work.unit = MathUnit(which);
  if (json.has("predicted")) {
    JsonReader predicted = json["predicted"];
    predicted.expectObject({"nanoseconds", "dim"});
    work.nanoseconds = predicted["nanoseconds"].uint64();
    work.predictedDim = predicted["dim"].uint64();
  }
  if (json.has("lead"))
    work.lead = json["lead"].uint32();
  return work;
}

Launch readLaunch(const JsonReader &json) {
  json.expectObject({"section", "symbol", "grid", "block", "cluster", "smem",
                     "pdl", "cooperative", "params", "work"});
  Launch launch;
  launch.section = json["section"].uint32();
  launch.symbol = json["symbol"].string();
  std::vector<Expr> grid = readExprs(json["grid"]);
  if (grid.size() != 3)
    json["grid"].fail("expected three expressions, found " +
                      json["grid"].found());
  std::move(grid.begin(), grid.end(), launch.grid.begin());
  launch.block = readTriple(json["block"]);
  launch.cluster = readTriple(json["cluster"]);
  launch.smem = json["smem"].uint32();
  launch.pdl = json["pdl"].boolean();
  launch.cooperative = json["cooperative"].boolean();
  launch.params = readList<Param>(json["params"], readParam);
  if (json.has("work"))
    launch.work = readWork(json["work"]);
  return launch;
}

Variant readVariant(const JsonReader &json) {
  json.expectObject({"guard", "launches"});
  return {readList<Condition>(json["guard"], readCondition),
          readList<Launch>(json["launches"], readLaunch)};
}

Step readStep(const JsonReader &json) {
  json.expectObject({"name", "sources", "variants"});
  return {json["name"].string(),
          readList<std::string>(json["sources"], readString),
          readList<Variant>(json["variants"], readVariant)};
}

Buffer readBuffer(const JsonReader &json) {
  json.expectObject({"name", "slot", "offset", "size", "layout"});
  Buffer buffer;
  buffer.name = json["name"].string();
  buffer.slot = json["slot"].uint32();
  if (json.has("offset"))
    buffer.offset = readExpr(json["offset"]);
  buffer.size = readExpr(json["size"]);
  buffer.layout = json["layout"].text(false);
  return buffer;
}

void readAdapter(const JsonReader &json, Weight &weight) {
  json.expectObject({"name", "part", "transposed"});
  weight.adapter = json["name"].string();
  if (weight.adapter.empty())
    json["name"].fail("expected a name, found ''");
  const std::string &part = json["part"].string();
  if (part != "a" && part != "b")
    json["part"].fail("expected 'a' or 'b', found " + json["part"].found());
  weight.part = part == "a" ? AdapterPart::A : AdapterPart::B;
  weight.isTransposed = json["transposed"].boolean();
}

Weight readWeight(const JsonReader &json) {
  json.expectObject({"name", "section", "offset", "size", "alignment", "dtype",
                     "sizes", "layout", "pack", "replaceable", "updatable",
                     "table", "adapter"});
  Weight weight;
  weight.name = json["name"].string();
  weight.section = json["section"].uint32();
  weight.offset = json["offset"].uint64();
  weight.size = json["size"].uint64();
  weight.alignment = json["alignment"].uint32();
  weight.dtype = readDType(json["dtype"]);
  weight.sizes = readList<int64_t>(
      json["sizes"], [](const JsonReader &item) { return item.int64(); });
  weight.layout = json["layout"].text(false);
  weight.pack = json["pack"].text(true);
  weight.replaceable = json["replaceable"].boolean();
  if (json.has("updatable"))
    weight.updatable = json["updatable"].boolean();
  if (json.has("table"))
    weight.table = json["table"].boolean();
  if (json.has("adapter"))
    readAdapter(json["adapter"], weight);
  return weight;
}

Plan readPlan(const JsonReader &json) {
  json.expectObject({"target", "min_driver", "cluster", "smem", "slots",
                     "buffers", "weights", "steps"});
  Plan plan;
  plan.target = json["target"].string();
  plan.minDriver = json["min_driver"].uint32();
  plan.cluster = json["cluster"].uint32();
  plan.smem = json["smem"].uint32();
  plan.slots = readExprs(json["slots"]);
  plan.buffers = readList<Buffer>(json["buffers"], readBuffer);
  plan.weights = readList<Weight>(json["weights"], readWeight);
  plan.steps = readList<Step>(json["steps"], readStep);
  return plan;
}

IndexRange readIndexRange(const JsonReader &json) {
  if (json.arraySize() != 3)
    json.fail("expected [begin, end, columns], found " + json.found());
  return {json.element(0).int64(), json.element(1).int64(),
          json.element(2).int64()};
}

TensorSpec readTensor(const JsonReader &json) {
  json.expectObject({"name", "dtype", "sizes", "index_ranges"});
  TensorSpec spec{json["name"].string(), readDType(json["dtype"]),
                  readExprs(json["sizes"])};
  if (json.has("index_ranges"))
    spec.indexRanges =
        readList<IndexRange>(json["index_ranges"], readIndexRange);
  return spec;
}

Constraint readConstraint(const JsonReader &json) {
  json.expectObject({"lhs", "rhs", "message"});
  return {readExpr(json["lhs"]), readExpr(json["rhs"]),
          json["message"].string()};
}

Manifest readManifest(const JsonReader &json) {
  json.expectObject({"format", "compiler", "nvrtc", "options", "dims",
                     "constraints", "inputs", "outputs", "plans"});
  Manifest manifest;
  JsonReader format = json["format"];
  format.expectObject({"major", "minor"});
  manifest.major = format["major"].uint32();
  manifest.minor = format["minor"].uint32();
  manifest.compiler = json["compiler"].string();
  manifest.nvrtc = json["nvrtc"].string();
  JsonReader options = json["options"];
  if (!options.json().is_object())
    options.fail("expected an object, found " + options.found());
  for (const auto &item : options.json().items())
    manifest.options[item.key()] = options[item.key().c_str()].string();
  manifest.dims = readList<std::string>(json["dims"], readString);
  manifest.constraints =
      readList<Constraint>(json["constraints"], readConstraint);
  manifest.inputs = readList<TensorSpec>(json["inputs"], readTensor);
  manifest.outputs = readList<TensorSpec>(json["outputs"], readTensor);
  manifest.plans = readList<Plan>(json["plans"], readPlan);
  return manifest;
}
} // namespace

bool parseManifest(std::string_view text, Manifest &manifest,
                   std::string &error) {
  try {
    nlohmann::json json = parseJson(text, maxJsonDepth, "manifest");
    manifest = readManifest(JsonReader(json));
  } catch (const ReadError &failure) {
    error = failure.message;
    return false;
  }
  return checkManifest(manifest, error);
}

} // namespace fusec::format
