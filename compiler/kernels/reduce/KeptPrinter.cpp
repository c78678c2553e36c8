// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a thread keeps of rows or columns in registers: declared, and loaded.

#include "compiler/kernels/reduce/RowPrinter.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

/// Declares what a thread keeps of the node, a vector for each of its accesses.
std::string RowPrinter::declareKept(unsigned node, StringRef base) {
  std::string name = writer.uniqueName(base);
  writer.line("fusec::Vec<{}, {}> {}[fusec::kept{}Steps<{}, {}>];",
              storageType(iteration.program[node].type), keptVector(), name,
              form.hasEdges() ? "Span" : "", form.scope, form.kept);
  return name;
}

bool RowPrinter::isVectorLoad(unsigned load) const {
  const ScalarProgram &program = iteration.program;
  int64_t vector = schedule.getVector();
  if (vector == 1)
    return true;
  for (auto [node, width] :
       llvm::zip_equal(getReads(program), accesses.getLoadWidths()))
    if (node == load && program[node].kind == ScalarNode::Kind::Load) {
      auto whole = getLaneAccess(getLoadOffset(writer.getStep(), program, node),
                                 form.ofColumns ? 2 : 1, vector, width);
      return whole && whole->stride == 1;
    }
  return false;
}

void RowPrinter::keepLoads() {
  if (form.kept)
    keepLoads(getKeptLoads(
        iteration, form.ofColumns ? 2 : 1,
        [&](unsigned load) { return isVectorLoad(load); },
        schedule.getAhead()));
}

void RowPrinter::keepLoads(ArrayRef<unsigned> loads) {
  if (loads.empty())
    return;
  const ScalarProgram &program = iteration.program;
  for (unsigned node : loads)
    kept[node] = declareKept(node, "kept");
  writer.open("fusec::forEachKept<{}{}>({}, [&](int step, {} k{})", form.scope,
              keptArguments(), form.length, index,
              form.hasEdges() ? ", auto width" : "");
  if (form.hasEdges())
    writer.line("constexpr int V = decltype(width)::value;");
  emitter->nameIndex(1, "k");
  for (unsigned node : loads) {
    std::string name = kept[node],
                pointer = getSource(program[node].value).pointer,
                place = emitter->print(
                    getLoadOffset(writer.getStep(), program, node));
    if (form.hasEdges())
      writer.line("fusec::keep<V>({}[step], {} + {});", name, pointer, place);
    else
      writer.line("{}[step] = fusec::load<{}>({} + {});", name, keptVector(),
                  pointer, place);
  }
  emitter->nameIndex(1, "");
  writer.close("});");
}
