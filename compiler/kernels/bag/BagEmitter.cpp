// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bag family: a call of compiler/kernels/bag/device/bag.h with tables of
// what the bags are, so that text does not grow with them.

#include "compiler/codegen/Emitters.h"
#include "compiler/kernels/bag/Bag.h"
#include "llvm/ADT/SetVector.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

/// Declares a constant array of structs.
static std::string declareArray(KernelWriter &writer, const char *type,
                                const char *base,
                                ArrayRef<std::string> values) {
  std::string name = writer.uniqueName(base);
  writer.declarations() << fmt::format("FUSEC_CONSTANT fusec::{} {}[{}] = {{\n",
                                       type, name, values.size());
  for (const std::string &value : values)
    writer.declarations() << "    {" << value << "},\n";
  writer.declarations() << "};\n\n";
  return name;
}

FailureOr<KernelSource> fusec::emitBag(StepOp step, VariantAttr variant,
                                       StringRef symbol) {
  FailureOr<BagIteration> iteration = analyzeBag(step);
  if (failed(iteration))
    return step.emitOpError("is not an embedding bag");
  auto schedule = cast<BagScheduleAttr>(variant.getSchedule());
  BagWork work = divideBags(*iteration, schedule.getVector());
  KernelWriter writer(step, symbol, 64);
  writer.addHeader("bag.h");
  SmallVector<BufferOp> tables;
  llvm::SetVector<BufferOp> ids;
  for (const BagTable &table : iteration->tables) {
    tables.push_back(table.table);
    ids.insert(table.ids);
  }
  Builder builder(step.getContext());
  std::vector<std::string> shapeTexts, slotTexts;
  for (const BagShape &s : work.shapes)
    shapeTexts.push_back(fmt::format(
        "{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}", s.ids, s.first, s.stride,
        s.step, s.count, s.width, s.column, s.lanes, s.split, s.perBlock,
        literal(builder.getF32FloatAttr(s.scale))));
  for (BagSlot s : work.slots)
    slotTexts.push_back(fmt::format("{}, {}", s.table, s.part));
  std::string shapes = declareArray(writer, "BagShape", "shapes", shapeTexts),
              slots = declareArray(writer, "BagSlot", "slots", slotTexts);
  std::string result = writer.pointer(iteration->result, false),
              tableNames = writer.pointerTable(tables, "tables"),
              idNames = writer.pointerTable(ids.getArrayRef(), "ids");
  IndexPolicy policy = iteration->op.getPolicy();
  std::string bags = writer.print(iteration->bags, {}),
              pitch = writer.print(iteration->pitch, {}),
              faults = policy == IndexPolicy::Flag ? writer.faultCounter()
                                                   : "nullptr";
  // Products of 32 bits are one instruction.
  bool isNarrow = llvm::all_of(tables, [](BufferOp table) {
    auto rows = getSizes(table.getType())[0].getConstant();
    return rows && llvm::isInt<32>(*rows);
  });
  writer.line(
      "fusec::sumAllBags<fusec::GatherPolicy::{}, {}, {}, {}>({}, {}, {}, "
      "{}, {}, {}, {}, {}, {});",
      getPolicyName(policy), isNarrow ? "int" : "fusec::i64",
      schedule.getVector(), work.tileBags, shapes, slots, work.slots.size(),
      tableNames, idNames, bags, result, pitch, faults);
  return writer.finish(variant);
}
