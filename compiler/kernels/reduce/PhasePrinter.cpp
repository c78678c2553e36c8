// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of the row printer that prints the loop over pieces of columns by
// phases, and what is stored of them (reduce_phases.h).

#include "compiler/kernels/reduce/RowPrinter.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

void RowPrinter::openPieces() {
  const ScalarProgram &program = iteration.program;
  ArrayRef<Expr> sizes = program.getSizes();
  StepOp step = writer.getStep();
  auto reads = getReads(program);
  unsigned read = *llvm::find_if(
      reads, [&](unsigned node) { return program.varies(node, 2); });
  std::string columns = writer.print(sizes[2], {}),
              extent = writer.print(getReadExtent(step, program, read), {});
  writer.line("constexpr int V = {};", schedule.getVector());
  writer.open("fusec::forEachPiece<Scope, V>({}, {}, [&](fusec::i64 group, "
              "fusec::i64 begin)",
              writer.print(sizes[0], {}), columns);
  writer.line("const {0} row = {0}(group), first = {0}(begin);", index);
  writer.line("const {} length = {};", index, emitter->print(iteration.length));
  writer.open("auto place = [&]({0} k, {0} column)", index);
  emitter->nameIndex(1, "k");
  writer.line("return {}({});", index,
              emitter->print(getLoadOffset(step, program, read)));
  emitter->nameIndex(1, "");
  writer.close("};");
  pieceArguments = fmt::format("length, first, {}, {}, place", columns, extent);
  form.length = pieceArguments;
}

/// A column at a time, by the threads that have its results.
void RowPrinter::printOwnColumns(ArrayRef<RegionStore> stores,
                                 ArrayRef<int64_t> widths) {
  writer.open("fusec::forEachOwnColumn<Scope, V>(first, {}, [&]({} column, int "
              "own)",
              writer.print(iteration.program.getSizes()[2], {}), index);
  writer.line("constexpr int V = 1;");
  emitter->pushScope();
  emitStores(writer, *emitter, stores, widths, lanes);
  emitter->popScope();
  writer.close("});");
}
