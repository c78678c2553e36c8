// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/reduce/RowPrinter.h"
#include "compiler/kernels/PassingReads.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

RowPrinter::RowPrinter(KernelWriter &writer, const RowIteration &iteration,
                       RowForm form, VariantAttr variant)
    : writer(writer), iteration(iteration), form(std::move(form)),
      schedule(cast<ReduceScheduleAttr>(variant.getSchedule())),
      accesses(variant.getLaunch().getLoopAccesses(this->form.loop)),
      index(writer.indexType()) {
  auto sources =
      declarePassing(writer, iteration.program, accesses,
                     readsStay(writer.getStep()), getRegionSources(writer));
  getSource = sources.load;
  sources.root = [&](Value value) {
    return results[value.getAsOpaquePointer()];
  };
  // Items of rows are found by threads that walk as they find them.
  if (this->form.ofColumns && this->form.scope == "Scope")
    columnSteps = getColumnSteps(writer.getStep(), iteration, schedule);
  if (this->form.ofColumns)
    lanes = ScalarEmitter::Lanes(2, accesses);
  else if (schedule.getVector() > 1 || this->form.kept ||
           schedule.getOnline() || findsPlaces(iteration) || iteration.isWide)
    lanes = ScalarEmitter::Lanes(1, accesses);
  emitter.emplace(writer, iteration.program, this->form.dims, lanes, sources);
  emitter->nameLeader(this->form.leader);
}

/// Of the loop over rows: where later ones are fetched, none is a block's
/// second.
static StringRef getTurns(ReduceScheduleAttr schedule) {
  return schedule.getFetched() ? "Scope, true" : "Scope";
}

void RowPrinter::openRows() {
  ArrayRef<Expr> sizes = iteration.program.getSizes();
  bool isOfGroup = sharesWarp(schedule),
       varies = isOfGroup || usesDim(iteration.length, 0);
  auto declareLength = [&] {
    std::string length = emitter->print(iteration.length);
    if (isOfGroup)
      length = fmt::format("isMine ? {} : 0", length);
    writer.line("const {} length = {};", index, length);
  };
  if (!varies && !form.pitch)
    declareLength();
  StringRef loop = isOfGroup                   ? "OfWarp"
                   : schedule.getCluster() > 1 ? "OfCluster"
                                               : "";
  if (schedule.isOfTeam())
    openRowsOfTeams();
  else
    writer.open("fusec::forEachRow{}<{}>({}, [&](fusec::i64 group{})", loop,
                getTurns(schedule), writer.print(sizes[0], {}),
                isOfGroup ? ", bool isMine" : "");
  writer.line("const {0} row = {0}(group);", index);
  if (form.pitch) {
    std::string begin = emitter->print(form.begin);
    if (varies) {
      writer.line("const {} begin = {};", index, begin);
      begin = "begin";
    }
    writer.line("const fusec::Span<{0}> length = {{{1}, {1} + {2}}};", index,
                begin, emitter->print(iteration.length));
  } else if (varies) {
    declareLength();
  }
}

void RowPrinter::openColumns() {
  ArrayRef<Expr> sizes = iteration.program.getSizes();
  bool isShifted = areColumnsShifted(iteration, schedule);
  Expr vector = Expr::constant(writer.getContext(), schedule.getVector()),
       across =
           isShifted ? sizes[2].ceilDiv(vector) : sizes[2].floorDiv(vector);
  writer.line("constexpr int V = {};", schedule.getVector());
  writer.line("const {} vectors = {};", index, writer.print(across, {}));
  writer.open(
      "fusec::forEachColumns<{}>({}, [&](fusec::i64 group, bool isMine)",
      getTurns(schedule), writer.print(sizes[0] * across, {}));
  std::string number = fmt::format("{}(group)", index), row = "0";
  if (!sizes[0].isConstant(1)) {
    row = number + " / vectors";
    number += " % vectors";
  }
  std::string first = number + " * V";
  if (isShifted) {
    writer.line("const {} first = {};", index, first);
    std::string last = writer.print(sizes[2] - vector, {});
    first = fmt::format("first < {0} ? first : {0}", last);
  }
  writer.line("const {} row = {}, column = {};", index, row, first);
  writer.line(asksForNothing(schedule) ? "const {} length = {};"
                                       : "const {} length = isMine ? {} : 0;",
              index, emitter->print(iteration.length));
}

/// ", Steps": of what is kept, and whether the compiler may order it.
std::string RowPrinter::keptSteps() const {
  return fmt::format(", {}{}", form.kept,
                     asksForNothing(schedule) && !form.hasEdges() ? ", true"
                                                                  : "");
}

/// ", V, Steps": of the loops over what is kept, with V items of the row each.
std::string RowPrinter::keptArguments() const {
  return fmt::format(", {}{}", form.ofColumns ? 1 : keptVector(), keptSteps());
}

void RowPrinter::openLoop(StringRef call, StringRef parameters,
                          StringRef length) {
  bool hasWidth = form.hasPhases ||
                  (lanes && !form.ofColumns && (!form.kept || form.hasEdges()));
  writer.open("{}({}, [&]({}{} k{}{}{}", call, length,
              form.kept ? "int step, " : "", index,
              form.hasPhases ? fmt::format(", {} column", index) : "",
              hasWidth ? ", auto width" : "", parameters);
  emitter->pushScope();
  emitter->nameIndex(1, "k");
  if (hasWidth)
    writer.line("constexpr int V = decltype(width)::value;");
  else if (form.kept && !form.ofColumns)
    writer.line("constexpr int V = {};", keptVector());
  for (auto &[node, name] : kept)
    emitter->bindVector(node, name + "[step]");
}

void RowPrinter::closeLoop() {
  emitter->popScope();
  emitter->nameIndex(1, "");
  writer.close("});");
}

/// The combiner of all of a pass.
static std::string getPassCombiner(ArrayRef<RowReduction> pass) {
  std::string first = getCombiner(pass[0].op);
  return pass.size() == 1 ? first
                          : fmt::format("fusec::Both<{}, {}>", first,
                                        getPassCombiner(pass.drop_front()));
}

/// The loop that finds the results of a pass, up to its length.
std::string RowPrinter::nameLoop(ArrayRef<RowReduction> pass) const {
  std::string combiner = getPassCombiner(pass);
  if (std::optional<unsigned> node = findPairs(pass))
    combiner = fmt::format("fusec::OfPairs<{}, {}>", combiner,
                           storageType(iteration.program[*node].type));
  if (schedule.isOfTeam())
    return fmt::format("team.reduce<{}, {}, {}>", combiner, keptVector(),
                       form.kept);
  if (form.hasPhases)
    return fmt::format("fusec::reducePhases<Scope, {}, V>", combiner);
  if (form.ofColumns)
    return fmt::format("fusec::reduce{}Columns<{}, {}, {}{}>",
                       form.kept ? "Kept" : "", form.scope, combiner,
                       schedule.getVector(),
                       form.kept ? keptSteps() : walkArguments());
  if (form.kept)
    return fmt::format("fusec::reduceKept<Scope, {}{}>", combiner,
                       keptArguments());
  if (isa<ArgReduceOp>(pass[0].op)) {
    writer.addHeader("reduce_places.h");
    return fmt::format("fusec::findInRow<Scope, {}, {}>", combiner,
                       schedule.getVector());
  }
  if (lanes)
    return fmt::format("fusec::reduceRowVectors<Scope, {}, {}>", combiner,
                       schedule.getVector());
  return fmt::format("fusec::reduceRow<Scope, {}>", combiner);
}

/// Several are added as one, {first, {second, third}}.
static std::string nest(ArrayRef<std::string> elements) {
  return elements.size() == 1
             ? elements[0]
             : braced({elements[0], nest(elements.drop_front())});
}

std::string RowPrinter::declareHeld(ArrayRef<RowReduction> pass) {
  auto replaced = llvm::find_if(kept, [&](const auto &load) {
    return isReplaced(iteration, pass, load.first);
  });
  bool replaces = replaced != kept.end();
  if (!form.kept || !isWorthHolding(iteration, pass, schedule, replaces))
    return "";
  return replaces ? replaced->second : declareKept(pass[0].operand, "held");
}

void RowPrinter::printPass(ArrayRef<RowReduction> all) {
  ArrayRef<RowReduction> pass = getCombined(all);
  std::optional<unsigned> pairs = findPairs(pass);
  SmallVector<unsigned> operands;
  for (const RowReduction &reduction : pass) {
    operands.push_back(pairs.value_or(reduction.operand));
    emitter->hoist(operands.back(), 1);
  }
  Operation *op = pass[0].op;
  std::string name = writer.uniqueName(op->getName().stripDialect());
  bool isArg = isa<ArgReduceOp>(op),
       namesLane = form.ofColumns || (isArg && !form.kept);
  std::string loop = nameLoop(pass);
  std::string item = pass.size() == 1
                         ? computeType(getElementType(op->getOperand(0)))
                         : getPassCombiner(pass) + "::Value";
  std::string held = declareHeld(all);
  std::string arguments =
      schedule.isOfTeam() ? printTeamArguments() : form.length.str();
  openLoop(fmt::format("const auto {} = {}", name, loop),
           lanes ? ", auto add)" : ") -> " + item, arguments);
  if (columnSteps.behind) {
    writer.line("const {} at = fusec::wrapRow(k, row * {}, length);", index,
                columnSteps.behind);
    emitter->nameIndex(1, "at");
  }
  SmallVector<std::string> elements;
  auto addElement = [&](unsigned, StringRef element) {
    elements.push_back(element.str());
    if (elements.size() < pass.size())
      return;
    if (!held.empty())
      writer.line("{}[step][lane] = {};", held, element);
    // Where it is found is known from the lane and the loop, or told.
    std::string added = nest(elements);
    if (isArg && (form.ofColumns || form.kept))
      added = braced({added, form.ofColumns ? "k"
                             : form.pitch   ? "k + lane - length.begin"
                                            : "k + lane"});
    if (lanes)
      writer.line("add({}{});", namesLane ? "lane, " : "", added);
    else
      writer.line("return {};", added);
  };
  emitter->forEachLane(operands, addElement, /*inStorage=*/pairs.has_value());
  closeLoop();
  if (!held.empty())
    kept[operands[0]] = held;
  if (form.ofColumns)
    name += form.hasPhases ? "[own]" : "[lane]";
  for (const RowReduction &reduction : all)
    if (isArg && isa<ReduceOp>(reduction.op))
      results[reduction.op->getResult(0).getAsOpaquePointer()] =
          name + ".value";
  for (size_t i = 0; i < pass.size(); ++i) {
    bool isLast = i + 1 == pass.size();
    results[pass[i].op->getResult(0).getAsOpaquePointer()] = getReducedValue(
        pass[i].op, pass.size() == 1 || (isLast && i) ? name : name + ".first");
    if (!isLast)
      name += ".second";
  }
}

int64_t RowPrinter::countStepsAhead() const {
  SmallVector<unsigned> known;
  for (auto &[node, name] : kept)
    known.push_back(node);
  return form.kept && !form.hasEdges()
             ? fusec::countStepsAhead(iteration, known, schedule)
             : 0;
}

void RowPrinter::printStoresBehindLoads(ArrayRef<RegionStore> stores,
                                        ArrayRef<int64_t> widths) {
  // What is left to do has no use for all that is kept.
  for (auto &[node, name] : kept)
    if (isStored(iteration, node)) {
      std::string own = writer.uniqueName(name + "_at");
      writer.line("const auto {} = {}[step];", own, name);
      emitter->bindVector(node, own);
    }
  emitStores(writer, *emitter, stores, widths, lanes,
             [&] { writer.openReturned(); });
  writer.close("};");
}

void RowPrinter::printStores() {
  SmallVector<RegionStore> full = getFullStores(iteration),
                           once = getOnceStores(iteration);
  ArrayRef<int64_t> widths = accesses.getStoreWidths();
  if (!full.empty()) {
    for (const RegionStore &s : full)
      emitter->hoist(s.node, 1);
    // Where nobody asks what is there, threads without columns of their own
    // keep the last ones, and store none.
    bool haveAll = form.ofColumns && schedule.getResident();
    if (haveAll)
      writer.open("if (isMine)");
    int64_t ahead = countStepsAhead();
    openLoop(ahead ? fmt::format("fusec::forEachKeptBehindLoads<Scope, {}{}>",
                                 ahead, keptArguments())
             : form.kept
                 ? fmt::format("fusec::forEachKept<Scope{}>", keptArguments())
             : lanes && !form.ofColumns
                 ? fmt::format("fusec::forEachVectorIn<Scope, {}>",
                               schedule.getVector())
                 : "fusec::forEachIn<Scope>",
             ")", form.stored);
    if (ahead)
      printStoresBehindLoads(full, widths.take_front(full.size()));
    else
      emitStores(writer, *emitter, full, widths.take_front(full.size()), lanes);
    closeLoop();
    if (haveAll)
      writer.close();
  }
  if (form.hasPhases) {
    printOwnColumns(once, widths);
  } else if (!once.empty()) {
    writer.open("if ({})", form.leader);
    emitter->pushScope();
    emitStores(writer, *emitter, once, widths.drop_front(full.size()),
               form.ofColumns ? lanes : std::nullopt);
    emitter->popScope();
    writer.close();
  }
}

std::string RowPrinter::keepFound(unsigned node, StringRef base) {
  return kept[node] = declareKept(node, base);
}

void RowPrinter::printReductions() {
  if (schedule.isOfTeam())
    return printTeamReductions();
  std::optional<OnlinePair> pair;
  if (schedule.getOnline())
    pair = findOnlinePair(iteration);
  auto passes = getPasses(iteration);
  for (size_t p = 0; p < passes.size(); ++p)
    if (pair && pair->pass == p) {
      printOnlinePair(passes[p][0], passes[p + 1][0].op, pair->isFinite);
      ++p;
    } else {
      printPass(passes[p]);
      // What it found has been loaded.
      if (p == 0)
        printFetches();
    }
}

void RowPrinter::forEachResult(
    llvm::function_ref<void(unsigned, StringRef)> use) {
  emitter->forEachLane(
      llvm::map_to_vector(iteration.stores,
                          [](const RowStore &store) { return store.node; }),
      use);
}

void RowPrinter::print() {
  if (form.hasPhases)
    openPieces();
  else if (form.ofColumns)
    openColumns();
  else if (iteration.isWide)
    openWideRows();
  else
    openRows();
  if (iteration.isWide) {
    auto [ofRows, ofStores] = keepWideRows();
    form = ofRows;
    printReductions();
    form = ofStores;
  } else {
    keepLoads();
    printReductions();
  }
  printStores();
  writer.close("});");
}
