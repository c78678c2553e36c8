// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/codegen/ScalarEmitter.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;
using Kind = ScalarNode::Kind;

void ScalarEmitter::Sources::rename(
    llvm::DenseMap<Value, std::string> pointers) {
  load = [pointers = std::move(pointers), load = std::move(load)](Value value) {
    Access access = load(value);
    if (auto it = pointers.find(value); it != pointers.end())
      access.pointer = it->second;
    return access;
  };
}

ScalarEmitter::ScalarEmitter(KernelWriter &writer, const ScalarProgram &program,
                             std::vector<std::string> dims,
                             std::optional<Lanes> lanes, Sources sources)
    : writer(writer), program(program), dims(std::move(dims)), lanes(lanes),
      sources(std::move(sources)) {
  if (lanes) {
    SmallVector<unsigned> reads = getReads(program);
    for (auto [node, width] : llvm::zip_equal(reads, lanes->loads))
      widths[node] = width;
    for (int64_t read : lanes->shifted)
      shifted.insert(reads[read]);
  }
  pushScope();
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

bool ScalarEmitter::variesByLane(unsigned node) const {
  return lanes && program.varies(node, lanes->dim);
}

bool ScalarEmitter::isOnlyMoved(unsigned id) const {
  for (unsigned other = 0; other < program.size(); ++other)
    if (llvm::is_contained(program[other].operands, id))
      return false;
  return true;
}

const ScalarEmitter::Name *ScalarEmitter::find(unsigned node) const {
  for (const Scope &scope : llvm::reverse(scopes))
    if (auto it = scope.find(node); it != scope.end())
      return &it->second;
  return nullptr;
}

std::string ScalarEmitter::print(Expr expr) {
  ArrayRef<Expr> sizes = program.getSizes();
  if (!linearIndex.empty() && !inLanes && sizes.size() > 1) {
    // Dense accesses need no index of their own.
    MLIRContext *context = program.getContext();
    Expr linear = linearize(IndexMap::identity(context, sizes.size()).results,
                            sizes, context);
    if (expr == linear)
      return linearIndex;
    if (auto offset = (expr - linear).getConstant())
      return fmt::format("{} {} {}", linearIndex, *offset < 0 ? '-' : '+',
                         std::abs(*offset));
  }
  if (!inLanes || !hasEnds || asksPieces)
    return writer.print(expr, dims);
  std::vector<std::string> names = dims;
  expr = nameQuotients(expr, names);
  return writer.print(expr, names);
}

Expr ScalarEmitter::getLoadOffset(const ScalarNode &node,
                                  const Access &access) const {
  return program.getRanges().simplify(
      getOffset(node.indices, access.strides, program.getContext()));
}

std::string ScalarEmitter::getElement(const ScalarNode &node,
                                      const Access &access) {
  return fmt::format("{}[{}]", access.pointer,
                     print(getLoadOffset(node, access)));
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

std::string ScalarEmitter::declare(unsigned id, StringRef base,
                                   StringRef value) {
  std::string name = writer.uniqueName(base);
  writer.line("const {} {} = {};", computeType(program[id].type), name, value);
  scopes.back()[id] = {name, false};
  return name;
}

std::string ScalarEmitter::declareVector(unsigned id, StringRef base) {
  std::string name = writer.uniqueName(base);
  writer.line("fusec::Vec<{}, V> {} = {{}};", storageType(program[id].type),
              name);
  scopes.back()[id] = {name, true};
  return name;
}

//===----------------------------------------------------------------------===//
// One value
//===----------------------------------------------------------------------===//

std::string ScalarEmitter::emit(unsigned id) {
  if (const Name *name = find(id)) {
    if (!name->last.empty() && !inLanes)
      return atLast ? name->last : name->text;
    if (!name->last.empty())
      return declare(id, name->text,
                     fmt::format("lane < {} ? {} : {}", name->left, name->text,
                                 name->last));
    if (!name->isVector)
      return name->text;
    Type type = program[id].type;
    std::string element = toCompute(type, name->text + "[lane]");
    return element == name->text + "[lane]" ? element
                                            : declare(id, name->text, element);
  }
  return emitScalar(id);
}

std::string ScalarEmitter::emitStored(unsigned id) {
  const ScalarNode &node = program[id];
  const Name *name = find(id);
  auto isVector = [&](unsigned operand) {
    const Name *known = find(operand);
    return known && known->isVector;
  };
  if (node.type.isF16() || node.type.isBF16()) {
    if (name && name->isVector)
      return name->text + "[lane]";
    if (!name && node.kind == Kind::Piecewise && isOnlyMoved(id) &&
        llvm::any_of(node.operands, isVector))
      return emitPiecewise(id, /*inStorage=*/true);
    // What is computed with as well is loaded once.
    if (!name && node.kind == Kind::Load && isOnlyMoved(id))
      return getElement(node, sources.load(node.value));
  }
  return toStorage(node.type, emit(id));
}

std::string ScalarEmitter::emitScalar(unsigned id) {
  const ScalarNode &node = program[id];
  switch (node.kind) {
  case Kind::Load:
    return emitLoad(id);
  case Kind::Root:
    return round(id, sources.root(node.value));
  case Kind::Splat:
    return literal(node.constant);
  case Kind::Index:
    return declare(
        id, "index",
        fmt::format("{}({})", computeType(node.type), print(node.expr)));
  case Kind::Compute:
    return emitCompute(id);
  case Kind::Piecewise:
    return emitPiecewise(id);
  case Kind::GatherRow:
    emitRow(id);
    return fmt::format("row{}", id);
  case Kind::Gather:
    return emitGather(id);
  case Kind::Lookup:
    return emitLookup(id);
  }
  return "";
}

std::string ScalarEmitter::emitLoad(unsigned id) {
  const ScalarNode &node = program[id];
  Access access = sources.load(node.value);
  return declare(id, access.pointer + "_at",
                 toCompute(node.type, getElement(node, access)));
}

std::string ScalarEmitter::emitCompute(unsigned id) {
  const ScalarNode &node = program[id];
  SmallVector<std::string> operands;
  for (unsigned operand : node.operands)
    operands.push_back(emit(operand));
  std::string value;
  Type type = node.type;
  if (isa<CastOp>(node.op)) {
    Type from = program[node.operands[0]].type;
    std::string operand =
        from.isInteger(1) ? toStorage(from, operands[0]) : operands[0];
    // What float holds exactly is rounded once, from float; of 8 bits halves
    // hold all, so that nothing is.
    bool isFloat = computeType(type) == "float",
         isNarrow = isa<IntegerType>(from) && from.getIntOrFloatBitWidth() <= 8;
    Type to =
        isFloat && isNarrow ? Float32Type::get(program.getContext()) : type;
    value = isFloat && computeType(from) == "float"
                ? round(id, operand)
                : toCompute(to, fmt::format("fusec::cast<{}>({})",
                                            storageType(to), operand));
  } else {
    // An op computes in its own type: 16-bit results are rounded, and narrow
    // integers wrap instead of being promoted.
    value = round(id, isFoundWithOther(id) ? spellWithOther(node, operands)
                                           : spell(node, operands));
    if (isa<IntegerType>(type) && !type.isInteger(1) && !isa<SelectOp>(node.op))
      value = fmt::format("{}({})", storageType(type), value);
  }
  if (value == operands[0]) { // a cast within the compute type
    scopes.back()[id] = {value, false};
    return value;
  }
  return declareResult(id, computeType(type), value, /*isVector=*/false);
}

std::string ScalarEmitter::declareResult(unsigned id, const std::string &type,
                                         const std::string &value,
                                         bool isVector) {
  Operation *op = program[id].op;
  std::string source = sanitizeName(getNodeName(op->getLoc()));
  std::string name =
      writer.uniqueName(op->getName().stripDialect().str() + "_v");
  writer.line("const {} {} = {};{}{}", type, name, value,
              source.empty() ? "" : " // ", source);
  scopes.back()[id] = {name, isVector};
  return name;
}

//===----------------------------------------------------------------------===//
// Reads through indices
//===----------------------------------------------------------------------===//

StringRef fusec::getPolicyName(IndexPolicy policy) {
  return policy == IndexPolicy::Flag    ? "Flag"
         : policy == IndexPolicy::Clamp ? "Clamp"
                                        : "Zero";
}

void ScalarEmitter::declareRow(unsigned id, StringRef index, StringRef rows,
                               StringRef owner) {
  IndexPolicy policy = program[id].policy;
  bool flag = policy == IndexPolicy::Flag;
  std::string faults = flag ? writer.faultCounter() : "nullptr";
  writer.line("fusec::i64 row{};", id);
  writer.line("const bool valid{0} = "
              "fusec::gatherRowShared<fusec::GatherPolicy::{1}>({2}, {3}, "
              "row{0}, {4}, {5});",
              id, getPolicyName(policy), index, rows, faults,
              flag ? owner : "true");
}

void ScalarEmitter::declareRowFirst(unsigned id, StringRef index,
                                    StringRef rows, StringRef owner) {
  IndexPolicy policy = program[id].policy;
  writer.line("fusec::i64 row{};", id);
  writer.line("const bool valid{0} = "
              "fusec::findRow<fusec::GatherPolicy::{1}>({2}, {3}, row{0});",
              id, getPolicyName(policy), index, rows);
  if (policy != IndexPolicy::Flag)
    return;
  std::string missing = fmt::format("!valid{}", id);
  if (owner != "true")
    missing += fmt::format(" && {}", owner);
  unsettled.push_back(fmt::format("fusec::countMissing({}, {});", missing,
                                  writer.faultCounter()));
}

std::string ScalarEmitter::emitIndex(unsigned id) {
  Visited visited;
  if (dependsOnRows(id, visited))
    settleRows();
  return emit(id);
}

/// Of all the points that share an index, the one that counts its fault.
std::string ScalarEmitter::owner(unsigned id) {
  std::string text;
  for (auto [i, name] : llvm::enumerate(dims)) {
    bool isInLoop = !name.empty();
    if (program.varies(id, i) ||
        (isInLoop && program.getSizes()[i].isConstant(1)))
      continue;
    text += (text.empty() ? "" : " && ") + (isInLoop ? name + " == 0" : leader);
  }
  return text.empty() ? "true" : text;
}

void ScalarEmitter::emitRow(unsigned id) {
  if (find(id))
    return;
  const ScalarNode &node = program[id];
  writer.addHeader("gather.h");
  std::string index = emitIndex(node.operands[0]);
  declareRow(id, index, print(node.expr), owner(id));
  scopes.back()[id] = {fmt::format("row{}", id), false};
}

std::string fusec::getRowsCondition(ArrayRef<unsigned> rows) {
  std::string text;
  for (unsigned row : rows)
    text += fmt::format("{}valid{}", text.empty() ? "" : " && ", row);
  return text.empty() ? "true" : text;
}

std::string ScalarEmitter::emitGather(unsigned id) {
  const ScalarNode &node = program[id];
  for (unsigned row : node.rows)
    emitRow(row);
  std::string name = writer.uniqueName("gathered");
  writer.line("{} {} = {{}};", computeType(node.type), name);
  writer.open("if ({})", getRowsCondition(node.rows));
  pushScope();
  writer.line("{} = {};", name, emit(node.operands[0]));
  popScope();
  writer.close();
  scopes.back()[id] = {name, false};
  return name;
}

std::string ScalarEmitter::emitLookup(unsigned id) {
  const ScalarNode &node = program[id];
  auto op = cast<LookupOp>(node.op);
  writer.addHeader("gather.h");
  std::string index = emitIndex(node.operands[0]);
  std::string tables = sources.tables(op), table = print(node.expr);
  std::string width = print(getSizes(op.getResult())[2]),
              column = print(node.indices[0]);
  // All columns of a row share its index.
  std::string rows = fmt::format("{}.rows[{}]", tables, table),
              first = column + " == 0";
  std::string address = fmt::format("{}.at[{}] + row{} * {} + {}", tables,
                                    table, id, width, column);
  auto tableRows = llvm::map_to_vector(
      op.getTables(), [](Value table) { return getSizes(table)[0]; });
  if (variesByLane(id) && canReadFirst(tableRows)) {
    declareRowFirst(id, index, rows, first);
    std::string read = writer.uniqueName("row_at");
    writer.line("const auto {} = fusec::load<V>({});", read, address);
    keepIfFound(id, "looked", read, id);
    return find(id)->text;
  }
  declareRow(id, index, rows, first);
  if (variesByLane(id) && !inLanes) {
    std::string name = declareVector(id, "looked");
    writer.line("if (valid{})", id);
    writer.line("  {} = fusec::load<V>({});", name, address);
    return name;
  }
  std::string name = writer.uniqueName("looked");
  writer.line("{} {} = {{}};", computeType(node.type), name);
  writer.line("if (valid{})", id);
  writer.line("  {} = {};", name,
              toCompute(node.type, fmt::format("*({})", address)));
  scopes.back()[id] = {name, false};
  return name;
}
