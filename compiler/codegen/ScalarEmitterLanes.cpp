// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of the scalar emitter that knows of vectors: what is emitted once
// for all lanes, and the loop over them.

#include "compiler/codegen/ScalarEmitter.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;
using Kind = ScalarNode::Kind;

/// "2 * V", or "V".
static std::string timesWidth(int64_t stride) {
  return std::abs(stride) == 1 ? "V" : fmt::format("{} * V", std::abs(stride));
}

std::string ScalarEmitter::loadWhole(const std::string &pointer,
                                     const LaneAccess &access) {
  // A vector of a tail ends elsewhere.
  std::string base =
      access.stride == -1
          ? fmt::format("{} - (V - 1)", print(access.base + access.first))
          : print(access.base);
  std::string address = fmt::format("{} + {}", pointer, base);
  for (const auto &known : llvm::reverse(wholeLoads))
    if (auto it = known.find(address); it != known.end())
      return it->second;
  std::string name = writer.uniqueName(pointer + "_at");
  writer.line("const auto {} = fusec::load<{}>({});", name,
              timesWidth(access.stride), address);
  return wholeLoads.back()[address] = name;
}

std::optional<LaneAccess> ScalarEmitter::getWhole(unsigned id,
                                                  Expr offset) const {
  return getLaneAccess(offset, lanes->dim, lanes->width, widths.lookup(id));
}

bool ScalarEmitter::prepareVectorLoad(unsigned id) {
  if (shifted.contains(id)) {
    prepareShiftedLoad(id);
    return true;
  }
  const ScalarNode &node = program[id];
  Access access = sources.load(node.value);
  Expr offset = getLoadOffset(node, access);
  bool isSingle = lanes->width == 1 && lanes->loadsFirst;
  auto whole = getWhole(id, offset);
  if (isSingle || (whole && whole->stride == 1)) {
    std::string name = writer.uniqueName(access.pointer + "_at");
    writer.line("const auto {} = fusec::load<V>({} + {});", name,
                access.pointer, print(offset));
    scopes.back()[id] = {name, true};
    return true;
  }
  // Behind what a tail begins with, vectors begin at multiples.
  if (!lanes->beginAnywhere &&
      isSameForVector(offset, lanes->dim, lanes->width)) {
    emitLoad(id);
    return true;
  }
  if (!whole)
    return false;
  std::string vector = loadWhole(access.pointer, *whole);
  std::string taken = whole->stride == -1
                          ? fmt::format("fusec::reverse({})", vector)
                          : fmt::format("fusec::takeEvery<{}, {}>({})",
                                        whole->stride, whole->first, vector);
  std::string name = writer.uniqueName(access.pointer + "_at");
  writer.line("const auto {} = {};", name, taken);
  scopes.back()[id] = {name, true};
  return true;
}

void ScalarEmitter::prepare(unsigned id, Visited &visited) {
  if (find(id) || !visited.insert(id).second)
    return;
  const ScalarNode &node = program[id];
  if (!variesByLane(id)) {
    emitScalar(id);
    return;
  }
  if (prepareEnds(id))
    return;
  switch (node.kind) {
  case Kind::Load:
    prepareVectorLoad(id);
    break;
  case Kind::Compute:
    for (unsigned operand : node.operands)
      prepare(operand, visited);
    break;
  case Kind::Gather:
    for (unsigned row : node.rows)
      prepare(program[row].operands[0], visited);
    if (!readGatherFirst(id) && sharesRows(node))
      prepareGuarded(id);
    break;
  case Kind::Lookup: {
    prepare(node.operands[0], visited);
    auto columns = getColumnsOffset(program, id, lanes->dim);
    if (columns && getWhole(id, *columns))
      emitLookup(id);
    break;
  }
  case Kind::Piecewise:
    if (llvm::all_of(node.conditions, [&](const IndexCondition &c) {
          return isOfVectors(c, lanes->dim,
                             lanes->beginAnywhere ? 0 : lanes->width);
        }))
      prepareGuarded(id);
    else
      for (auto [operand, c] : llvm::zip_equal(node.operands, node.conditions))
        prepareShiftedLoads(operand, c, visited);
    break;
  default:
    break;
  }
}

bool ScalarEmitter::canReadFirst(ArrayRef<Expr> tableRows) const {
  return lanes && lanes->loadsFirst && !inLanes && scopes.size() == 1 &&
         llvm::all_of(tableRows, [](Expr rows) {
           return rows.isConstant() && rows.getValue() > 0;
         });
}

void ScalarEmitter::keepIfFound(unsigned id, StringRef base, StringRef read,
                                ArrayRef<unsigned> rows) {
  std::string name = writer.uniqueName(base);
  unsettled.push_back(fmt::format("const auto {} = fusec::orZeros({}, {});",
                                  name, getRowsCondition(rows), read));
  scopes.back()[id] = {name, true};
}

/// Of all lanes.
bool ScalarEmitter::sharesRows(const ScalarNode &gather) const {
  return llvm::none_of(gather.rows,
                       [&](unsigned row) { return variesByLane(row); });
}

/// As they are, where they differ between points.
bool ScalarEmitter::readsIndices(const ScalarNode &gather) const {
  return llvm::all_of(gather.rows, [&](unsigned row) {
    unsigned place = program[row].operands[0];
    return !variesByLane(place) || program[place].kind == Kind::Load;
  });
}

/// Branches between the loads of several rows would have each wait for what the
/// one before is found by.
bool ScalarEmitter::readGatherFirst(unsigned id) {
  const ScalarNode &node = program[id];
  auto tableRows = llvm::map_to_vector(
      node.rows, [&](unsigned row) { return program[row].expr; });
  unsigned operand = node.operands[0];
  const ScalarNode &read = program[operand];
  if (read.kind != Kind::Load || !canReadFirst(tableRows))
    return false;
  Access access = sources.load(read.value);
  bool isSingle = lanes->width == 1, isRead = isSingle && readsIndices(node);
  if (access.isLate ||
      !(isRead ||
        (sharesRows(node) && getWhole(operand, getLoadOffset(read, access)))))
    return false;
  for (unsigned row : node.rows)
    if (!find(row)) {
      writer.addHeader("gather.h");
      unsigned place = program[row].operands[0];
      const Name *known = find(place);
      std::string index =
          known && known->isVector ? known->text + "[0]" : emitIndex(place);
      declareRowFirst(row, index, print(program[row].expr), owner(row));
      scopes.back()[row] = {fmt::format("row{}", row), false};
    }
  prepareVectorLoad(operand);
  keepIfFound(id, "gathered", find(operand)->text, node.rows);
  return true;
}

bool ScalarEmitter::dependsOnRows(unsigned id, Visited &visited) const {
  const ScalarNode &node = program[id];
  if (!visited.insert(id).second)
    return false;
  return node.kind == Kind::Gather || node.kind == Kind::Lookup ||
         llvm::any_of(node.operands, [&](unsigned operand) {
           return dependsOnRows(operand, visited);
         });
}

void ScalarEmitter::settleRows() {
  for (const std::string &line : unsettled)
    writer.line("{}", line);
  unsettled.clear();
}

bool ScalarEmitter::prepareIndices(unsigned id, Visited &visited) {
  const ScalarNode &node = program[id];
  // The pieces are needed at some points only.
  if (node.kind == Kind::Piecewise || !visited.insert(id).second)
    return false;
  SmallVector<unsigned> indices;
  for (unsigned row : node.rows)
    indices.push_back(program[row].operands[0]);
  if (node.kind == Kind::Lookup)
    indices.push_back(node.operands[0]);
  for (unsigned index : indices)
    prepare(index);
  bool hasIndices = !indices.empty();
  if (node.kind == Kind::Compute)
    for (unsigned operand : node.operands)
      hasIndices |= prepareIndices(operand, visited);
  return hasIndices;
}

bool ScalarEmitter::dividesVectors(const ScalarNode &node) const {
  // What was reduced is divided once for all that was read of it.
  return isa<DivOp>(node.op) && node.type.isF32() && !isFast(node) &&
         variesByLane(node.operands[0]) &&
         program[node.operands[0]].kind != Kind::Root &&
         program[node.operands[1]].kind != Kind::Splat;
}

std::string ScalarEmitter::makeVector(unsigned id, StringRef base) {
  if (const Name *known = find(id); !known || !known->last.empty()) {
    std::string vector = writer.uniqueName(base);
    writer.line("fusec::Vec<float, V> {};", vector);
    forEachLane(id, [&](unsigned, StringRef value) {
      writer.line("{}[lane] = {};", vector, value);
    });
    scopes.back()[id] = {vector, true};
  }
  return find(id)->text;
}

void ScalarEmitter::prepareFunctions(unsigned id, Visited &visited) {
  const ScalarNode &node = program[id];
  if (node.kind != Kind::Compute || !variesByLane(id) || find(id) ||
      !visited.insert(id).second)
    return;
  for (unsigned operand : node.operands)
    prepareFunctions(operand, visited);
  bool divides = dividesVectors(node);
  if (!divides && (!isFast(node) ||
                   !cast<PointwiseOpInterface>(node.op).isFasterOfVectors()))
    return;
  writer.addHeader("vector_math.h");
  std::string value, vector = makeVector(node.operands[0]);
  if (divides) {
    unsigned divisor = node.operands[1];
    value = fmt::format("fusec::divide<V>({}, {})", vector,
                        variesByLane(divisor) ? makeVector(divisor)
                                              : emit(divisor));
  } else {
    value = isFoundWithOther(id) ? spellWithOther(node, vector)
                                 : spell(node, vector);
  }
  declareResult(id, "auto", value, /*isVector=*/true);
}

void ScalarEmitter::hoist(unsigned id, unsigned dim, Visited &visited) {
  if (find(id) || !visited.insert(id).second)
    return;
  if (!program.varies(id, dim)) {
    if (!variesByLane(id))
      emitScalar(id);
    else if (program[id].kind == Kind::Compute && program[id].type.isF32())
      makeVector(id, "invariant");
    else
      prepare(id);
    return;
  }
  if (program[id].kind == Kind::Compute)
    for (unsigned operand : program[id].operands)
      hoist(operand, dim, visited);
}

void ScalarEmitter::bind(unsigned id, StringRef name) {
  scopes.back()[id] = {name.str(), false};
}

void ScalarEmitter::bindVector(unsigned id, StringRef name) {
  scopes.back()[id] = {name.str(), true};
}

void ScalarEmitter::fillVector(unsigned id, StringRef vector) {
  prepare(id);
  const Name *name = find(id);
  if (name && name->isVector) {
    writer.line("{} = {};", vector, name->text);
    return;
  }
  forEachLane(
      id,
      [&](unsigned, StringRef value) {
        writer.line("{}[lane] = {};", vector, value);
      },
      /*inStorage=*/true);
}

void ScalarEmitter::prepareGuarded(unsigned id) {
  const ScalarNode &node = program[id];
  settleRows();
  if (node.kind == Kind::Gather)
    for (unsigned row : node.rows)
      emitRow(row);
  std::string name =
      declareVector(id, node.kind == Kind::Gather ? "gathered" : "piece");
  for (auto [i, operand] : llvm::enumerate(node.operands)) {
    std::string guard = node.kind == Kind::Gather
                            ? getRowsCondition(node.rows)
                            : condition(node.conditions[i]);
    writer.open("{}if ({})", i ? "else " : "", guard);
    pushScope();
    fillVector(operand, name);
    popScope();
    writer.close();
  }
}

void ScalarEmitter::forEachLane(
    ArrayRef<unsigned> nodes, llvm::function_ref<void(unsigned, StringRef)> use,
    bool inStorage) {
  auto emitNode = [&](unsigned node) {
    return inStorage ? emitStored(node) : emit(node);
  };
  for (unsigned node : nodes)
    prepare(node);
  // All loads are on their way before the first of these.
  Visited visited;
  for (unsigned node : nodes)
    prepareFunctions(node, visited);
  if (!lanes) {
    for (auto [i, node] : llvm::enumerate(nodes))
      use(i, emitNode(node));
    return;
  }
  writer.line("FUSEC_UNROLL");
  writer.open("for (int lane = 0; lane < V; ++lane)");
  pushScope();
  inLanes = true;
  std::string first = dims[lanes->dim];
  firstPlace = first;
  nameIndex(lanes->dim, fmt::format("({} + lane)", first));
  for (auto [i, node] : llvm::enumerate(nodes))
    use(i, emitNode(node));
  nameIndex(lanes->dim, first);
  inLanes = false;
  popScope();
  writer.close();
}
