// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows whose items are found by reductions of columns: each thread keeps what
// it found of its share of a row, which is then reduced and stored as if it had
// been loaded.

#include "compiler/kernels/reduce/RowPrinter.h"

using namespace mlir;
using namespace fusec;

void fusec::printNested(KernelWriter &writer, const NestedIteration &nested,
                        VariantAttr variant) {
  auto schedule = cast<ReduceScheduleAttr>(variant.getSchedule());
  const ScalarProgram &program = nested.rows.program;
  std::string index = writer.indexType();
  writer.addHeader("reduce_nested.h");
  writer.declareBuffers();
  int64_t lanes = getNestedLanes(nested.columns, schedule);
  if (schedule.isOfColumns())
    writer.line("typedef fusec::ColumnScope<{}, {}> Columns;",
                schedule.getThreads(), schedule.getGroups());
  else
    writer.line("typedef fusec::WarpColumnScope<{}, {}, {}> Columns;",
                schedule.getThreads(), lanes, schedule.getGroups());
  writer.line("typedef fusec::RowOfColumns<Columns, {}> Scope;", lanes);
  writer.line("const {} length = {};", index, nested.columns);
  writer.open("fusec::forEachRowOfColumns<Scope>({}, "
              "[&](fusec::i64 group, bool isMine)",
              writer.print(program.getSizes()[0], {}));
  writer.line("const {0} row = {0}(group);", index);
  RowForm ofRows;
  ofRows.kept = schedule.getKept();
  ofRows.loop = 1;
  ofRows.leader = "isMine && Scope::isFirst()";
  if (!getFullStores(nested.rows).empty()) {
    ofRows.stored = "stored";
    writer.line("const {} stored = isMine && Columns::rank() == 0 ? length : "
                "0;",
                index);
  }
  RowPrinter rows(writer, nested.rows, ofRows, variant);
  llvm::DenseMap<Value, std::string> kept;
  for (const RowReduction &item : nested.items.reductions)
    for (size_t n = 0; n < program.size(); ++n)
      if (program[n].kind == ScalarNode::Kind::Root && program[n].op == item.op)
        kept[program[n].value] = rows.keepFound(n, "found");

  writer.open("fusec::forEachItems<Scope, {}, {}>(length, [&](int step, {} "
              "column)",
              schedule.getVector(), ofRows.kept, index);
  writer.line("constexpr int V = {};", schedule.getVector());
  // Whoever has no items of its own reads others', and nobody looks at what it
  // finds: so a depth that is known is known to the loop.
  writer.line("const {} depth = {};", index,
              writer.print(nested.items.length, {}));
  RowForm ofItems;
  ofItems.ofColumns = true;
  ofItems.scope = "Columns";
  ofItems.length = "depth";
  ofItems.leader = ofRows.leader;
  ofItems.dims.push_back("column");
  ofItems.kept = getNestedKept(nested, schedule);
  RowPrinter items(writer, nested.items, ofItems, variant);
  items.keepLoads();
  items.printReductions();
  items.forEachResult([&](unsigned i, StringRef name) {
    Value value = nested.items.reductions[i].op->getResult(0);
    if (auto it = kept.find(value); it != kept.end())
      writer.line("{}[step][lane] = {};", it->second,
                  toStorage(getElementType(value), name));
  });
  writer.close("});");
  rows.printReductions();
  rows.printStores();
  writer.close("});");
}
