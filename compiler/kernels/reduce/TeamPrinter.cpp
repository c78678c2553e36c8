// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What blocks of a team find, with one meeting of them: which reductions, and
// how a kernel asks for it.

#include "compiler/device/flag_words.h"
#include "compiler/kernels/reduce/RowPrinter.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

/// Whether one walk combines all that is reduced into what a block's words
/// hold.
static bool isOneMeeting(const RowIteration &iteration) {
  return getPasses(iteration).size() == 1 &&
         iteration.reductions.size() <= FlagWords::ofTeamBlock &&
         llvm::all_of(iteration.reductions, [](const RowReduction &reduction) {
           auto reduce = dyn_cast<ReduceOp>(reduction.op);
           return reduce && !reduce.getParts() &&
                  isa<Float32Type>(getElementType(reduce));
         });
}

/// The maximum and the sum of exponentials that are all that is reduced.
static std::optional<OnlinePair> findOnlyPair(const RowIteration &iteration) {
  std::optional<OnlinePair> pair = findOnlinePair(iteration);
  if (iteration.reductions.size() != 2 ||
      getReducedParts(iteration.reductions[0].op))
    return std::nullopt;
  return pair;
}

bool fusec::canTeamFind(const RowIteration &iteration) {
  return isOneMeeting(iteration) || findOnlyPair(iteration) ||
         findMoments(iteration);
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
         canTeamFind(iteration) && countFlags(iteration, schedule);
}

void RowPrinter::openRowsOfTeams() {
  std::string flags = writer.flags(*countFlags(iteration, schedule),
                                   schedule.getBlocksTogether());
  writer.line("fusec::Team<Scope> team({});", flags);
  writer.open("team.forRow([&](fusec::i64 group)");
}

std::string RowPrinter::printTeamArguments() {
  std::string fetch = "[] {}";
  if (schedule.getFetched()) {
    fetch = writer.uniqueName("fetch");
    writer.open("const auto {} = [&]", fetch);
    printFetches();
    writer.close("};");
  }
  return fmt::format("{}, {}", form.length.str(), fetch);
}

std::string RowPrinter::printTeamFind(StringRef base, StringRef find,
                                      unsigned node, StringRef held) {
  emitter->hoist(node, 1);
  std::string name = writer.uniqueName(base), arguments = printTeamArguments();
  if (!held.empty())
    arguments += ", " + held.str();
  openLoop(fmt::format("const auto {} = team.{}", name, find), ", auto add)",
           arguments);
  emitter->forEachLane(node, [&](unsigned, StringRef element) {
    writer.line("add({});", element);
  });
  closeLoop();
  return name;
}

void RowPrinter::printTeamReductions() {
  auto setResult = [&](Operation *op, const std::string &result) {
    results[op->getResult(0).getAsOpaquePointer()] = result;
  };
  std::string vectors = fmt::format("{}, {}", keptVector(), form.kept);
  if (std::optional<Moments> moments = findMoments(iteration)) {
    std::string mean = moments->rounded ? ", " + storageType(moments->rounded)
                                        : "",
                name = printTeamFind(
                    "moments", fmt::format("findMoments<{}{}>", vectors, mean),
                    moments->summed);
    setResult(moments->sum, name + ".sum");
    setResult(moments->squares, name + ".squares");
  } else if (std::optional<OnlinePair> pair = findOnlyPair(iteration)) {
    auto sum = ArrayRef(iteration.reductions).drop_front();
    std::string held = declareHeld(sum),
                name = printTeamFind(
                    "online",
                    fmt::format("findMostAndSum<{}, {}{}>", getOnlineCombiner(),
                                vectors, pair->isFinite ? ", true" : ""),
                    iteration.reductions[0].operand, held);
    setResult(iteration.reductions[0].op, name + ".most");
    setResult(sum[0].op, name + ".sum");
    if (!held.empty())
      kept[sum[0].operand] = held;
  } else {
    printPass(iteration.reductions);
  }
}
