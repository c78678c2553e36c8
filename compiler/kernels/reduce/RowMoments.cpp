// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Means, and squares of what is apart from them: where a step finds both, and
// how blocks of a team do so with one meeting.

#include "compiler/device/flag_words.h"
#include "compiler/kernels/reduce/RowPrinter.h"
#include <cmath>
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

/// The operands of a node that is such an op.
template <class Op>
static ArrayRef<unsigned> getOperandsOf(const ScalarProgram &program,
                                        unsigned node) {
  const ScalarNode &own = program[node];
  return own.kind == ScalarNode::Kind::Compute && isa<Op>(own.op)
             ? ArrayRef<unsigned>(own.operands)
             : ArrayRef<unsigned>();
}

static std::optional<double> getNumber(const ScalarProgram &program,
                                       unsigned node) {
  auto value = dyn_cast_or_null<FloatAttr>(program[node].constant);
  if (program[node].kind != ScalarNode::Kind::Splat || !value)
    return std::nullopt;
  return value.getValueAsDouble();
}

/// Whether the node is the sum divided by the count, or that by its inverse.
static bool isMean(const ScalarProgram &program, unsigned node, Value sum,
                   double count) {
  auto isScaled = [&](ArrayRef<unsigned> operands, double expected) {
    if (operands.empty() ||
        program[operands[0]].kind != ScalarNode::Kind::Root ||
        program[operands[0]].value != sum)
      return false;
    constexpr double rounding = 1e-6;
    std::optional<double> number = getNumber(program, operands[1]);
    return number && std::abs(*number / expected - 1) < rounding;
  };
  return isScaled(getOperandsOf<DivOp>(program, node), count) ||
         isScaled(getOperandsOf<MulOp>(program, node), 1 / count);
}

/// What a node rounds to a narrower type and back, and that type; null where it
/// does not.
static std::pair<unsigned, Type> skipRounding(const ScalarProgram &program,
                                              unsigned node) {
  ArrayRef<unsigned> wide = getOperandsOf<CastOp>(program, node);
  if (wide.empty())
    return {node, Type()};
  ArrayRef<unsigned> narrow = getOperandsOf<CastOp>(program, wide[0]);
  if (narrow.empty())
    return {node, Type()};
  return {narrow[0], program[wide[0]].type};
}

std::optional<Moments> fusec::findMoments(const RowIteration &iteration) {
  if (iteration.reductions.size() != 2)
    return std::nullopt;
  auto sum = dyn_cast<ReduceOp>(iteration.reductions[0].op),
       squares = dyn_cast<ReduceOp>(iteration.reductions[1].op);
  if (!sum || !squares || sum.getKind() != ReduceKind::Sum ||
      squares.getKind() != ReduceKind::Sum || sum.getParts() ||
      !isa<Float32Type>(getElementType(sum)))
    return std::nullopt;
  std::optional<int64_t> count = sum.getReducedCount().getConstant();
  const ScalarProgram &program = iteration.program;
  ArrayRef<unsigned> factors =
      getOperandsOf<MulOp>(program, iteration.reductions[1].operand);
  if (!count || factors.empty() || factors[0] != factors[1])
    return std::nullopt;
  ArrayRef<unsigned> apart = getOperandsOf<SubOp>(program, factors[0]);
  if (apart.empty() ||
      skipExactCast(program, apart[0]) !=
          skipExactCast(program, iteration.reductions[0].operand))
    return std::nullopt;
  auto [mean, rounded] = skipRounding(program, apart[1]);
  if (!isMean(program, mean, sum.getResult(), double(*count)))
    return std::nullopt;
  return Moments{iteration.reductions[0].operand, sum, squares, rounded};
}

/// Flags for the words in which blocks tell what they found.
static std::optional<int64_t> countFlags(const RowIteration &iteration,
                                         ReduceScheduleAttr schedule) {
  std::optional<int64_t> rows = iteration.program.getSizes()[0].getConstant();
  int64_t ofRow = schedule.getBlocksTogether() * FlagWords::ofTeamBlock *
                  FlagWords::flagsOfWord;
  if (!rows || *rows > (FlagWords::mostFlags - FlagWords::flags) / ofRow)
    return std::nullopt;
  return FlagWords::flags + *rows * ofRow;
}

bool fusec::fitsTeam(const RowWalk &walk, ReduceScheduleAttr schedule) {
  const RowIteration &iteration = walk.iteration;
  return !walk.pitch && !iteration.isWide && schedule.getKept() &&
         !schedule.getBlocks() &&
         iteration.length.isConstant(schedule.getKept() *
                                     schedule.getThreadsTogether() *
                                     schedule.getVector()) &&
         findMoments(iteration) && countFlags(iteration, schedule);
}

void RowPrinter::openRowsOfTeams() {
  std::string flags = writer.flags(*countFlags(iteration, schedule),
                                   schedule.getBlocksTogether());
  writer.line("fusec::Team<Scope> team({});", flags);
  writer.open("team.forRow([&](fusec::i64 group)");
}

void RowPrinter::printMoments(const Moments &moments) {
  emitter->hoist(moments.summed, 1);
  std::string name = writer.uniqueName("moments"),
              arguments = form.length.str();
  if (schedule.getFetched()) {
    std::string fetch = writer.uniqueName("fetch");
    writer.open("auto {} = [&]", fetch);
    printFetches();
    writer.close("};");
    arguments += ", " + fetch;
  }
  std::string mean =
      moments.rounded ? fmt::format(", {}", storageType(moments.rounded)) : "";
  openLoop(fmt::format("const auto {} = team.findMoments<{}, {}{}>", name,
                       keptVector(), form.kept, mean),
           ", auto add)", arguments);
  emitter->forEachLane(moments.summed, [&](unsigned, StringRef element) {
    writer.line("add({});", element);
  });
  closeLoop();
  auto setResult = [&](ReduceOp op, StringRef member) {
    results[op.getResult().getAsOpaquePointer()] = (name + member).str();
  };
  setResult(moments.sum, ".sum");
  setResult(moments.squares, ".squares");
}
