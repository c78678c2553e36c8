// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parts of an axis, of which each block takes one.

#include "compiler/kernels/scan/ScanPrinter.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

void ScanPrinter::openParts() {
  ArrayRef<Expr> sizes = rows.getSizes();
  MLIRContext *context = writer.getContext();
  Expr strips = getStrips(iteration, schedule);
  writer.addHeader(getFlagWords(iteration, schedule) ? "scan_words.h"
                                                     : "scan_parts.h");
  if (ofColumns)
    writer.line("typedef fusec::ColumnScope<{}, {}> Scope;",
                schedule.getThreads(), schedule.getGroups());
  else
    writer.line("typedef fusec::BlockScope<{}> Scope;", schedule.getThreads());
  std::optional<int64_t> words = getFlagWords(iteration, schedule);
  std::string flags = words ? writer.flags(*words) : writer.flags(),
              arguments =
                  fmt::format("{}, {}, {}", flags, writer.print(strips, {}),
                              iteration.parts->count);
  if (words)
    writer.line("fusec::ScanChain<Form::Op::Value, {}, {}> turn({});",
                getStripColumns(iteration, schedule),
                getGroupParts(iteration, schedule), arguments);
  else
    writer.line("fusec::ScanTurn turn({});", arguments);
  if (isRun(iteration, schedule)) {
    writer.line("const {} columns = {};", index, writer.print(sizes[2], {}));
  } else if (ofColumns) {
    Expr across =
        sizes[2].floorDiv(Expr::constant(context, schedule.getVector()));
    writer.line("const {} vectors = {}, all = {};", index,
                writer.print(across, {}), writer.print(sizes[0] * across, {}));
    writer.open("turn.forEachVector<Scope{}>(all, [&](int group, bool isMine)",
                words && fillsParts() ? ", true" : "");
    nameColumn();
  } else {
    writer.line("const {} row = turn.strip();", index);
  }
  printLengths("turn.part()");
  if (isRun(iteration, schedule))
    writer.line("const {} begin = first * columns;", index);
}

/// Where the part lies that is summed as the `number`-th one.
void ScanPrinter::printLengths(StringRef number) {
  std::string length = writer.print(iteration.parts->length, {}),
              items = writer.print(rows.getSizes()[1], {});
  writer.line("const {} part = {};", index, getPart(number));
  if (pitch)
    return printSpan(length, items);
  writer.line("const {} first = part * {};", index, length);
  writer.line("const {0} left = {1} - first, length = left < {2} ? (left > 0 ? "
              "left : 0) : {2};",
              index, items, length);
}

/// The same of the items of a row that begins anywhere; `origin` is where the
/// part's vectors do.
void ScanPrinter::printSpan(StringRef length, StringRef items) {
  writer.line("const {} begin = row * {}, end = begin + {};", index, *pitch,
              items);
  writer.line("const {0} origin = begin / {1} * {1} + part * {2}, last = "
              "origin + {2};",
              index, schedule.getVector(), length);
  writer.line("const {} first = origin < begin ? begin : origin;", index);
  writer.line("const {} left = (last < end ? last : end) - first, length = "
              "left > 0 ? left : 0;",
              index);
}

/// What fetches a later block's part, as an argument.
std::string ScanPrinter::printFetch() {
  int64_t ahead = getBlocksAhead(writer.getStep(), iteration, schedule);
  if (!ahead)
    return "[] {}";
  writer.open("const auto fetch = [&](int strip, int number)");
  if (ofColumns) {
    writer.line("const {} group = strip * {};", index,
                schedule.getRowsAtOnce() / schedule.getVector());
    nameColumn();
  } else {
    writer.line("const {} row = strip;", index);
  }
  printLengths("number");
  printFetches(writer, iteration, schedule, sources);
  writer.close("};");
  return fmt::format("[&] {{ turn.lookAhead({}, fetch); }}", ahead);
}

/// Whether each thread has all items of its own in every part.
bool ScanPrinter::fillsParts() const {
  ArrayRef<Expr> sizes = rows.getSizes();
  int64_t items = schedule.getKept() * schedule.getThreadsTogether() *
                  (ofColumns ? 1 : schedule.getVector());
  if (!iteration.parts->length.isConstant(items))
    return false;
  // Their last ones are told apart.
  if (pitch)
    return true;
  if (!sizes[1].isConstant(items * iteration.parts->count))
    return false;
  std::optional<int64_t> columns = (sizes[0] * sizes[2]).getConstant();
  return !ofColumns || (columns && *columns % schedule.getRowsAtOnce() == 0);
}

/// The part that is summed as the n-th one.
std::string ScanPrinter::getPart(StringRef number) const {
  return CumSumOp(iteration.op).getReverse()
             ? fmt::format("{} - {}", iteration.parts->count - 1, number)
             : number.str();
}

void ScanPrinter::printParts() {
  std::string_view scan = ofColumns ? "Columns" : "Row",
                   functions = isRun(iteration, schedule)
                                   ? "isMine, loadItem, storeItem"
                               : ofColumns ? "isMine, load, store"
                                           : "load, store";
  if (isRun(iteration, schedule))
    openRun();
  if (getFlagWords(iteration, schedule)) {
    std::string fetch = printFetch();
    if (pitch) {
      writer.addHeader("scan_span_words.h");
      writer.line("const fusec::Span<{}> span = {{first, first + length}};",
                  index);
      writer.line("fusec::scanChainOfSpan<Scope, Form, {}, {}>(turn, origin, "
                  "{}({}), span, {}, {});",
                  schedule.getKept(), fillsParts(), index,
                  writer.print(iteration.parts->length, {}), functions, fetch);
      return;
    }
    writer.line(
        "fusec::scanChainOf{}<Scope, Form, {}, {}{}>(turn, length, {}, {});",
        scan, schedule.getKept(), fillsParts(),
        isRun(iteration, schedule) ? ", false" : "", functions, fetch);
  } else {
    printStoredParts(scan, functions);
  }
  if (ofColumns)
    writer.close("});");
  if (isRun(iteration, schedule))
    writer.line("run.take(length * columns, store);");
}

/// What parts sum lies in memory.
void ScanPrinter::printStoredParts(std::string_view scan,
                                   std::string_view functions) {
  BufferOp sums = writer.getStep().getOutputBuffer(iteration.parts->output);
  std::string pointer = writer.pointer(sums, false),
              offset = writer.print(iteration.parts->offset,
                                    {"row", "part", "column"});
  writer.open("const auto place = [&](int number)");
  writer.line("const {} part = {};", index, getPart("number"));
  writer.line("return {} + {};", pointer, offset);
  writer.close("};");
  writer.line("fusec::scanPartOf{}<Scope, Form, {}>(turn, length, {}, place);",
              scan, schedule.getKept(), functions);
}

/// The part in shared memory, up to where threads have vectors of columns.
void ScanPrinter::openRun() {
  writer.addHeader("scan_run.h");
  writer.line("FUSEC_SHARED fusec::ScanRun<Form, {}, {}, {}, {}> run;",
              *iteration.parts->length.getConstant(),
              *rows.getSizes()[2].getConstant(), schedule.getKept(),
              schedule.getVector());
  writer.line("run.fill(length * columns, load);");
  writer.open("turn.forEachVector<Scope>(columns, [&](int column, bool "
              "isMine)");
  writer.line("constexpr {} row = 0;", index);
  writer.line("const auto loadItem = [&]({} k, auto put) {{ put(0, "
              "run.item<Scope>(k, column)); }};",
              index);
  writer.line("const auto storeItem = [&]({} k, const auto &sums) {{ "
              "run.item<Scope>(k, column) = sums[0]; }};",
              index);
}
