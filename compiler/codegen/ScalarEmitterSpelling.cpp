// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How ops are spelled, in which precision, and where their results are rounded.
// Sine and cosine of one angle reduce it once where both are stored. With what
// RoPE computes of them, which memory hides, they took .4% longer so: fewer
// registers are more blocks.

#include "compiler/codegen/ScalarEmitter.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;
using Kind = ScalarNode::Kind;

void ScalarEmitter::leaveRoundingToStores(ArrayRef<unsigned> stored) {
  roundedByStores.insert(stored.begin(), stored.end());
  for (unsigned id = 0; id < program.size(); ++id)
    for (unsigned operand : program[id].operands)
      roundedByStores.erase(operand);
}

/// What is computed in more than the node's type, in its type.
std::string ScalarEmitter::round(unsigned id, const std::string &value) const {
  Type type = program[id].type;
  bool isHalf = type.isF16() || type.isBF16();
  return isHalf && !roundedByStores.contains(id)
             ? toCompute(type, toStorage(type, value))
             : value;
}

bool ScalarEmitter::isFast(const ScalarNode &node) const {
  return isa<PointwiseOpInterface>(node.op) && !isa<CastOp>(node.op) &&
         program[node.operands.back()].type.isF32() &&
         writer.storesHalvesOnly();
}

std::string ScalarEmitter::spell(const ScalarNode &node,
                                 ArrayRef<std::string> operands) const {
  auto op = cast<PointwiseOpInterface>(node.op);
  TypeClass typeClass = getTypeClass(program[node.operands.back()].type);
  StringRef spelling =
      isFast(node) ? op.getFastCudaSpelling() : op.getCudaSpelling(typeClass);
  std::string text;
  for (size_t i = 0; i < spelling.size(); ++i) {
    if (spelling[i] == '{') {
      text += operands[spelling[i + 1] - '0'];
      i += 2;
    } else {
      text += spelling[i];
    }
  }
  return text;
}

bool ScalarEmitter::isFoundWithOther(unsigned id) const {
  const ScalarNode &node = program[id];
  bool isSine = isa<SinOp>(node.op);
  if (!isSine && !isa<CosOp>(node.op))
    return false;
  auto isOther = [&](unsigned id) {
    const ScalarNode &other = program[id];
    return other.kind == Kind::Compute && other.operands == node.operands &&
           (isSine ? isa<CosOp>(other.op) : isa<SinOp>(other.op)) &&
           isFast(other) == isFast(node);
  };
  // RoPE in fp32, which computes with both, takes as long either way.
  auto gains = [&](unsigned id) {
    return isFast(program[id]) || isOnlyMoved(id);
  };
  for (unsigned other = 0; other < program.size(); ++other)
    if (isOther(other))
      return gains(id) && gains(other);
  return false;
}

std::string ScalarEmitter::spellWithOther(const ScalarNode &node,
                                          ArrayRef<std::string> operands) {
  return declareOnce("turned",
                     fmt::format("fusec::{}sinCos({})",
                                 isFast(node) ? "fast::" : "", operands[0])) +
         (isa<SinOp>(node.op) ? ".sine" : ".cosine");
}
