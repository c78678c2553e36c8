// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loop around a bag's rows, and the bag that it becomes.

#include "frontends/onnx/BagLoop.h"
#include "ir/Constants.h"
#include <fmt/core.h>

using namespace mlir;

namespace fusec::onnx {

using ::onnx::GraphProto;
using ::onnx::NodeProto;

BagLoop::BagLoop(GraphImporter &graph, GraphImporter::Scope &scope,
                 const NodeProto &loop)
    : graph(graph), scope(scope), loop(loop),
      builder(NameLoc::get(StringAttr::get(
                  &graph.context, loop.name().empty() && loop.output_size()
                                      ? loop.output(0)
                                      : loop.name())),
              graph.body, graph.agreement) {
  inner.opset = scope.opset;
  inner.prefix = scope.prefix;
}

LoopValue BagLoop::outer(Value value) {
  LoopValue result;
  result.kind = value ? Kind::Outer : Kind::Unknown;
  result.value = value;
  return result;
}

std::optional<Expr> BagLoop::getKnown(const LoopValue &value) {
  if (value.kind != Kind::Outer)
    return std::nullopt;
  auto known = graph.known.get(value.value);
  return known && known->size() == 1 ? std::optional((*known)[0])
                                     : std::nullopt;
}
bool BagLoop::isKnown(const LoopValue &value, int64_t number) {
  auto known = getKnown(value);
  return known && known->isConstant(number);
}

//===----------------------------------------------------------------------===//
// Names and graphs
//===----------------------------------------------------------------------===//

LoopValue BagLoop::find(StringRef name) {
  if (auto it = values.find(name); it != values.end())
    return it->second;
  auto it = inner.entries.find(name);
  if (it == inner.entries.end()) {
    auto around = scope.entries.find(name);
    if (around == scope.entries.end())
      return {};
    graph.materialize(around->second, name);
    it = inner.entries.try_emplace(name, around->second).first;
  }
  if (it->second.isSequence) {
    LoopValue sequence;
    sequence.kind = it->second.value ? Kind::Unknown : Kind::Sequence;
    return sequence;
  }
  Value value = graph.materialize(it->second, name);
  dependsOnProblem |= !value;
  return outer(value);
}

BagLoop::Values BagLoop::evaluate(const GraphProto &body,
                                  ArrayRef<LoopValue> inputs) {
  for (auto [input, value] : llvm::zip(body.input(), inputs))
    values[input.name()] = value;
  for (const auto &tensor : body.initializer()) {
    std::string error;
    inner.entries[tensor.name()].constant = graph.constants.read(tensor, error);
  }
  for (const NodeProto &node : body.node())
    evaluate(node);
  Values outputs;
  for (const auto &output : body.output())
    outputs.push_back(find(output.name()));
  // Another branch may use the same names.
  auto forget = [&](StringRef name) {
    values.erase(name);
    inner.entries.erase(name);
  };
  for (const NodeProto &node : body.node())
    llvm::for_each(node.output(), forget);
  for (const auto &tensor : body.initializer())
    forget(tensor.name());
  for (const auto &input : body.input())
    forget(input.name());
  return outputs;
}

void BagLoop::evaluate(const NodeProto &node) {
  Values inputs;
  bool isOuter = true;
  for (const std::string &name : node.input()) {
    inputs.push_back(name.empty() ? LoopValue() : find(name));
    isOuter &= name.empty() || inputs.back().kind == Kind::Outer;
  }
  bool hasGraph = llvm::any_of(node.attribute(),
                               [](const auto &attr) { return attr.has_g(); });
  // What is the same for all bags is computed once. Calls might be many.
  if (isOuter && !hasGraph && !findFunction(graph.functions, node))
    return graph.importNode(inner, node);
  // Its other output is where the last place was.
  bool isLoop = node.op_type() == "Loop";
  int output = isLoop ? getPlacesOutput(inputs) : 0;
  LoopValue result =
      isLoop ? evaluatePlaces(node, inputs) : evaluateOperator(node, inputs);
  if (result.kind == Kind::Unknown && reason.empty())
    reason = fmt::format("in its body {} ({}) computes nothing of a bag's rows",
                         quoted(node.name().empty() && node.output_size()
                                    ? node.output(0)
                                    : node.name()),
                         GraphImporter::getQualifiedType(node));
  if (output < node.output_size())
    values[node.output(output)] = result;
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

/// Whether the constant is true.
static bool isTrue(Value value) {
  auto constant = value ? value.getDefiningOp<ConstantOp>() : nullptr;
  std::string error;
  auto data = constant ? getConstantData(constant.getValue(), error)
                       : FailureOr<ConstantData>(failure());
  return succeeded(data) && data->bytes.size() == 1 && data->bytes[0] == 1;
}

std::optional<BagLoop::Values> BagLoop::readInputs() {
  Values given;
  for (const std::string &name : loop.input())
    given.push_back(name.empty() ? LoopValue() : find(name));
  given.resize(std::max<size_t>(given.size(), 2));
  LoopValue number;
  number.kind = Kind::Bag;
  Values inputs = {number, {}};
  if (given.size() == 2 && isTrue(given[1].value)) {
    bags = getKnown(given[0]);
    reason = "its number of turns is not known";
    return bags ? std::optional(inputs) : std::nullopt;
  }
  // Counted by its own condition: 0 < n before the first turn, or true where n
  // is a number. What exporters call the number may be before the results.
  reason = "it is no loop over bags whose number is known";
  if (given.size() != 4 || !loop.input(0).empty() || !given[1].value)
    return std::nullopt;
  sequence = given[2].kind == Kind::Sequence ? 0 : 1;
  if (given[2 + *sequence].kind != Kind::Sequence ||
      !isKnown(given[3 - *sequence], 0))
    return std::nullopt;
  if (auto less = given[1].value.getDefiningOp<LessOp>())
    bags = isKnown(outer(less.getLhs()), 0) ? getKnown(outer(less.getRhs()))
                                            : std::nullopt;
  if (!bags && !isTrue(given[1].value))
    return std::nullopt;
  inputs.resize(4, number);
  inputs[2 + *sequence] = given[2 + *sequence];
  return inputs;
}

LoopValue BagLoop::getResult(ArrayRef<LoopValue> outputs) {
  if (!sequence)
    return outputs.size() == 2 && isTrue(outputs[0].value) ? outputs[1]
                                                           : LoopValue();
  if (outputs.size() != 3)
    return {};
  const LoopValue &results = outputs[1 + *sequence],
                  &next = outputs[2 - *sequence];
  bool goesOn = outputs[0].kind == Kind::GoesOn && outputs[0].shift == 1 &&
                next.kind == Kind::Bag && next.shift == 1 && results.isNew;
  return goesOn ? results : LoopValue();
}

Value BagLoop::import() {
  auto inputs = readInputs();
  if (!inputs)
    return {};
  reason.clear();
  const ::onnx::AttributeProto *body = nullptr;
  for (const auto &attr : loop.attribute())
    if (attr.name() == "body" && attr.has_g())
      body = &attr;
  if (!body || body->g().input_size() != int(inputs->size())) {
    reason = "it has no body of as many inputs";
    return {};
  }
  LoopValue result = getResult(evaluate(body->g(), *inputs));
  if (result.kind != (sequence ? Kind::Sequence : Kind::Reduced) || !bags ||
      (last && *last != *bags - 1)) {
    if (reason.empty())
      reason = "its body reduces no rows of a bag";
    return {};
  }
  return createBag(result.rows);
}

/// A column of a matrix whose columns are all the same; null of another.
static Value getAnyColumn(TensorBuilder &builder, Value matrix) {
  auto broadcast = matrix.getDefiningOp<BroadcastOp>();
  if (!broadcast)
    return {};
  for (auto [i, dim] : llvm::enumerate(broadcast.getDimensions()))
    if (dim == 1 && !getSizes(broadcast.getOperand())[i].isConstant(1))
      return {};
  return builder.squeeze(
      builder.sliceAxis(matrix, 1, builder.getExpr(0), builder.getExpr(1)), 1);
}

void BagLoop::findTable(BagRows &rows) {
  if (rows.ids)
    return;
  Value source = rows.table, weights;
  if (auto product = source.getDefiningOp<MulOp>(); product && !rows.weights)
    for (auto [a, b] : {std::pair(product.getLhs(), product.getRhs()),
                        std::pair(product.getRhs(), product.getLhs())})
      if (a.getDefiningOp<GatherOp>()) {
        weights = getAnyColumn(builder, b);
        source = weights ? a : source;
        break;
      }
  auto gather = source.getDefiningOp<GatherOp>();
  if (!gather || getRank(gather.getSource()) != 2 ||
      gather.getPositions() != ArrayRef<int64_t>{-1, 1})
    return;
  Value index = gather.getIndices()[0], ids = getAnyColumn(builder, index);
  if (!ids || (rows.padding &&
               index.getDefiningOp()->getOperand(0) != rows.padding->ids))
    return;
  rows.table = gather.getSource();
  rows.ids = ids;
  if (weights)
    rows.weights = weights;
}

Value BagLoop::createBag(BagRows rows) {
  findTable(rows);
  Sizes table = getSizes(rows.table);
  if (table.size() != 2 || !table[1].isConstant() ||
      !isa<FloatType>(getElementType(rows.table))) {
    reason = "its rows are none of a matrix of floats";
    return {};
  }
  if (rows.padding &&
      (!rows.ids ||
       (rows.padding->rows && !table[0].isConstant(rows.padding->rows)))) {
    reason = "what is left out is no padding of its table";
    return {};
  }
  if (!rows.ids)
    rows.ids =
        builder.iota(1, {builder.getExpr(1), table[0]}, builder.getI64Type());
  Expr count = getElementCount(getSizes(rows.ids), builder.getContext());
  // The end of the last bag is that of all.
  if (auto concat = rows.offsets.getDefiningOp<ConcatOp>();
      concat && concat.getValues().size() == 2) {
    auto end = graph.known.get(concat.getValues()[1]);
    if (end && end->size() == 1 && (*end)[0] == count)
      rows.offsets = concat.getValues()[0];
  }
  Sizes offsets = getSizes(rows.offsets);
  // Ends are what is left without the first offset, if there is one.
  auto isCount = [&](Expr size) {
    Expr first = Expr::min(builder.getExpr(1), size);
    return size == *bags || size == *bags + 1 ||
           *bags == Expr::max(builder.getExpr(0), size - first);
  };
  if (offsets.size() != 1 || !isCount(offsets[0]) ||
      (rows.weights && getElementCount(getSizes(rows.weights),
                                       builder.getContext()) != count)) {
    reason = fmt::format("it has {} bags, offsets of sizes {} and {} indices",
                         bags->str(), toString(offsets), count.str());
    return {};
  }
  auto asRow = [&](Value values) -> Value {
    Expr size = getElementCount(getSizes(values), builder.getContext());
    return builder.reshape(values, {builder.getExpr(1), size});
  };
  SmallVector<Value> weights;
  if (rows.weights)
    weights.push_back(asRow(rows.weights));
  SmallVector<int64_t> padding;
  if (rows.padding)
    padding.push_back(rows.padding->row);
  return BagOp::create(
      builder, getTensorType({*bags, table[1]}, getElementType(rows.table)),
      rows.mode, rows.table, asRow(rows.ids), asRow(rows.offsets), weights,
      ValueRange(), ValueRange(), graph.options.gatherPolicy,
      ArrayRef<double>(1.0),
      padding.empty() ? DenseI64ArrayAttr()
                      : builder.getDenseI64ArrayAttr(padding));
}

bool GraphImporter::importBags(Scope &scope, const NodeProto &proto) {
  if (proto.op_type() == "SequenceEmpty") {
    define(scope, proto, {}, /*areSequences=*/true);
    return true;
  }
  if (proto.op_type() == "ConcatFromSequence") {
    auto it = proto.input_size() == 1 ? scope.entries.find(proto.input(0))
                                      : scope.entries.end();
    if (it == scope.entries.end() || !it->second.isSequence ||
        !it->second.value)
      return false;
    for (const auto &attr : proto.attribute())
      if (attr.i() != 0) // axis, new_axis
        return false;
    define(scope, proto, it->second.value);
    return true;
  }
  if (proto.op_type() != "Loop")
    return false;
  BagLoop loop(*this, scope, proto);
  Value bags = loop.import();
  if (!bags && !loop.dependsOnProblem)
    problem(ProblemKind::Unsupported, proto,
            "expected a loop over embedding bags: " + loop.reason,
            "docs/embeddings.md says which loops are read");
  SmallVector<Value> values(loop.getOutput());
  values.push_back(bags);
  define(scope, proto, bags ? values : SmallVector<Value>(),
         loop.isSequence() && bags);
  return true;
}

} // namespace fusec::onnx
