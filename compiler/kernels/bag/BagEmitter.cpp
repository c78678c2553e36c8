// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bag family: a call of compiler/kernels/bag/device/bag.h with tables of
// what the bags are, so that text does not grow with them.

#include "compiler/analysis/Alignment.h"
#include "compiler/codegen/EpilogueDescriptors.h"
#include "compiler/kernels/bag/Bag.h"
#include "llvm/ADT/StringExtras.h"
#include <fmt/format.h>
#include <optional>

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

namespace {
/// The members of a struct: integers, then text.
struct ConstantRow {
  std::vector<int64_t> integers;
  std::string last;
};
} // namespace

/// C text of the integers of row i where each grows by the same step from any
/// row to the next; else nothing.
static std::optional<std::vector<std::string>>
printSeries(ArrayRef<ConstantRow> rows) {
  std::vector<std::string> texts;
  for (auto [field, value] : llvm::enumerate(rows.front().integers)) {
    int64_t step = rows.size() == 1 ? 0 : rows[1].integers[field] - value;
    for (auto [i, row] : llvm::enumerate(rows))
      if (row.integers[field] != value + int64_t(i) * step ||
          !llvm::isInt<32>(row.integers[field]) ||
          row.last != rows.front().last)
        return std::nullopt;
    std::string grown = step == 0   ? ""
                        : step == 1 ? "i"
                                    : fmt::format("{} * i", step);
    texts.push_back(step == 0    ? std::to_string(value)
                    : value == 0 ? grown
                                 : fmt::format("{} + {}", value, grown));
  }
  return texts;
}

/// Declares what a kernel asks for by index. What is a series it computes: an
/// array lies in memory, and all that a block reads would wait for it.
static std::string declareRows(KernelWriter &writer, const char *type,
                               std::string base, ArrayRef<ConstantRow> rows) {
  const std::string &last = rows.front().last;
  if (auto series = printSeries(rows)) {
    base[0] = llvm::toUpper(base[0]);
    std::string name = writer.uniqueName(base);
    writer.declarations() << fmt::format(
        "struct {0} {{\n"
        "  FUSEC_DEVICE fusec::{1} operator[](int i) const "
        "{{\n"
        "    return {{{2}{3}}};\n"
        "  }}\n"
        "}};\n\n",
        name, type, fmt::join(*series, ", "), last);
    return name + "{}";
  }
  std::vector<std::string> texts;
  for (const ConstantRow &row : rows)
    texts.push_back(
        fmt::format("{}{}", fmt::join(row.integers, ", "), row.last));
  return declareArray(writer, type, base.c_str(), texts);
}

/// Which bags the kernel has code for.
static std::string listForms(int forms) {
  SmallVector<StringRef> names;
  for (auto [form, name] : {std::pair(bagCopy, "fusec::bagCopy"),
                            std::pair(bagFew, "fusec::bagFew"),
                            std::pair(bagShort, "fusec::bagShort"),
                            std::pair(bagLong, "fusec::bagLong"),
                            std::pair(bagShared, "fusec::bagShared")})
    if (forms & form)
      names.push_back(name);
  return names.empty() ? "0" : llvm::join(names, " | ");
}

static std::string getModeName(BagMode mode) {
  return mode == BagMode::Sum ? "Sum" : mode == BagMode::Mean ? "Mean" : "Max";
}

/// A struct of pointers to each table's offsets or weights, and where they
/// begin: what the kernel takes as such.
static std::string emitValues(KernelWriter &writer, const char *name,
                              ArrayRef<BagValues> values,
                              ArrayRef<Expr> counts) {
  SmallVector<BufferOp> buffers;
  std::vector<std::string> places;
  for (const BagValues &each : values) {
    buffers.push_back(each.buffer);
    places.push_back(
        fmt::format("{}, {}, {}", each.first, each.stride, each.step));
  }
  std::string array = declareArray(
      writer, "BagPlace", (std::string(name) + "_places").c_str(), places);
  return fmt::format("fusec::BagOperand{{{}, {}}}",
                     writer.pointerTable(buffers, name, counts), array);
}

/// What dequantises the rows of each table.
static std::string emitFactors(KernelWriter &writer,
                               const BagIteration &iteration) {
  SmallVector<BufferOp> factors, zeros;
  std::vector<std::string> widths;
  for (const BagTable &table : iteration.tables) {
    if (!table.factors)
      return "fusec::NoBagOperand{}";
    factors.push_back(table.factors);
    if (table.zeros)
      zeros.push_back(table.zeros);
    widths.push_back(std::to_string(table.blockWidth));
  }
  std::string name = writer.uniqueName("block_widths");
  writer.declarations() << fmt::format(
      "FUSEC_CONSTANT int {}[{}] = {{{}}};\n\n", name, widths.size(),
      llvm::join(widths, ", "));
  std::string factorNames = writer.pointerTable(factors, "factors"),
              zeroNames = zeros.empty() ? "fusec::NoBagOperand{}"
                                        : writer.pointerTable(zeros, "zeros");
  bool isPacked = iteration.getTableBits() == 4;
  return fmt::format("fusec::{}{{{}, {}, {}}}",
                     isPacked ? "PackedBagFactors" : "BagFactors", factorNames,
                     zeroNames, name);
}

static const char *getPaddingName(BagOp op) {
  switch (op.getPadsBy()) {
  case PadsBy::Row:
    return "BagPadding";
  case PadsBy::Index:
    return "BagIndexPadding";
  case PadsBy::UpTo:
    return "BagLeadPadding";
  }
  llvm_unreachable("a padding that no case is for");
}

/// How many of its indices each bag has.
static std::string emitLengths(KernelWriter &writer,
                               const BagIteration &iteration) {
  BagOp op = iteration.op;
  if (op.getLengths().empty())
    return "fusec::NoBagOperand{}";
  SmallVector<BufferOp> buffers(op.getLengths().size());
  std::vector<std::string> places;
  for (auto [t, table] : llvm::enumerate(iteration.tables)) {
    int64_t measure = op.getMeasureOf(t);
    if (measure >= 0)
      buffers[measure] = table.lengths->buffer;
    places.push_back(table.lengths
                         ? fmt::format("{}, {}, {}", table.lengths->first,
                                       table.lengths->stride, measure)
                         : "0, 0, -1");
  }
  auto print = [&](FloatAttr value) {
    double number = value ? value.getValueAsDouble() : 0;
    return fmt::format(
        "{}, {}", value ? "true" : "false",
        literal(Builder(op.getContext()).getF32FloatAttr(number)));
  };
  std::string array = declareArray(writer, "BagPlace", "length_places", places);
  return fmt::format("fusec::BagLengths{{{}, {}, {}, {}}}",
                     writer.pointerTable(buffers, "lengths"), array,
                     print(op.getLeastAttr()), print(op.getFillAttr()));
}

/// Which tables have maxima.
static std::string emitMaxima(KernelWriter &writer,
                              const BagIteration &iteration) {
  if (!BagOp(iteration.op).getMaxima())
    return "fusec::NoBagOperand{}";
  std::vector<std::string> are;
  for (const BagTable &table : iteration.tables)
    are.push_back(table.mode == BagMode::Max ? "true" : "false");
  std::string name = writer.uniqueName("maxima");
  writer.declarations() << fmt::format(
      "FUSEC_CONSTANT bool {}[{}] = {{{}}};\n\n", name, are.size(),
      llvm::join(are, ", "));
  return fmt::format("fusec::BagMaxima{{{}}}", name);
}

static std::string emitPadding(KernelWriter &writer,
                               const BagIteration &iteration) {
  if (!BagOp(iteration.op).getPadding())
    return "fusec::NoBagOperand{}";
  std::vector<std::string> paddings;
  for (const BagTable &table : iteration.tables)
    paddings.push_back(std::to_string(table.padding));
  std::string name = writer.uniqueName("padding");
  writer.declarations() << fmt::format(
      "FUSEC_CONSTANT fusec::i64 {}[{}] = {{{}}};\n\n", name, paddings.size(),
      llvm::join(paddings, ", "));
  return fmt::format("fusec::{}{{{}}}", getPaddingName(iteration.op), name);
}

/// Elements of a row that an epilogue may read or write at once.
static int64_t getRunWidth(BufferOp buffer, VariantAttr variant,
                           const TileAccess &access) {
  int64_t bytes = getElementBytes(buffer.getElementType());
  return access.columnStride.isConstant(1)
             ? getOffsetAlignment(getAlignment(buffer, variant), bytes,
                                  {access.batch, access.rowStride}) /
                   bytes
             : 1;
}

/// Declares what is computed of the bags.
static std::string emitEpilogue(KernelWriter &writer,
                                const BagIteration &iteration,
                                VariantAttr variant) {
  const TileEpilogue &epilogue = *iteration.epilogue;
  StepOp step = writer.getStep();
  EpilogueDescriptors descriptors(writer, step, epilogue);
  SmallVector<Descriptor> operands, results;
  for (const TileOperand &operand : epilogue.operands)
    operands.push_back(descriptors.operand(
        operand, getRunWidth(step.getInputBuffer(operand.value), variant,
                             operand.access)));
  for (const TileStore &store : epilogue.stores)
    results.push_back(descriptors.result(
        store, getRunWidth(step.getOutputBuffer(store.output), variant,
                           store.access)));
  std::string name = writer.uniqueName("Epilogue"),
              value = declareEpilogue(writer, name, epilogue, {"float", 1},
                                      operands, results);
  bool areApart = !epilogue.batchSizes.empty();
  return fmt::format("fusec::BagEpilogue<{}, {}, {}>{{{}}}", name,
                     iteration.tables[0].width, areApart ? "true" : "false",
                     value);
}

/// The last arguments of a call: offsets, weights, padding, factors, lengths,
/// maxima and an epilogue, as far as there are some; none where the bags are
/// sums of as many rows each, of floats.
static std::string emitForm(KernelWriter &writer, const BagIteration &iteration,
                            VariantAttr variant) {
  if (BagOp(iteration.op).isPlain() && !iteration.epilogue)
    return "";
  SmallVector<BagValues> offsets, weights;
  SmallVector<Expr> offsetCounts;
  for (const BagTable &table : iteration.tables) {
    if (table.offsets) {
      offsets.push_back(*table.offsets);
      offsetCounts.push_back(table.offsetCount);
    }
    if (table.weights)
      weights.push_back(*table.weights);
  }
  std::string none = "fusec::NoBagOperand{}";
  SmallVector<std::string> arguments;
  arguments.push_back(
      offsets.empty() ? none
                      : emitValues(writer, "offsets", offsets, offsetCounts));
  arguments.push_back(
      weights.empty() ? none : emitValues(writer, "weights", weights, {}));
  std::string factors = emitFactors(writer, iteration);
  arguments.push_back(emitPadding(writer, iteration));
  arguments.push_back(factors);
  arguments.push_back(emitLengths(writer, iteration));
  arguments.push_back(emitMaxima(writer, iteration));
  arguments.push_back(
      iteration.epilogue ? emitEpilogue(writer, iteration, variant) : none);
  while (arguments.size() > 3 && arguments.back() == none)
    arguments.pop_back();
  return ", " + llvm::join(arguments, ", ");
}

FailureOr<KernelSource> fusec::emitBag(StepOp step, VariantAttr variant,
                                       StringRef symbol) {
  FailureOr<BagIteration> iteration = analyzeBag(step);
  if (failed(iteration))
    return step.emitOpError("is not an embedding bag");
  auto schedule = cast<BagScheduleAttr>(variant.getSchedule());
  BagWork work = divideBags(*iteration, schedule);
  KernelWriter writer(step, symbol, 64);
  writer.addHeader("bag.h");
  SmallVector<BufferOp> tables;
  for (const BagTable &table : iteration->tables)
    tables.push_back(table.table);
  BagIds ids = listIds(*iteration);
  Builder builder(step.getContext());
  std::vector<ConstantRow> shapeRows, slotRows;
  for (const BagShape &s : work.shapes)
    shapeRows.push_back({{s.ids, s.first, s.stride, s.step, s.count, s.width,
                          s.column, s.lanes, s.split, s.perBlock},
                         ", " + literal(builder.getF32FloatAttr(s.scale))});
  for (BagSlot s : work.slots)
    slotRows.push_back({{s.table, s.part}, ""});
  std::string shapes = declareRows(writer, "BagShape", "shapes", shapeRows),
              slots = declareRows(writer, "BagSlot", "slots", slotRows);
  // What an epilogue stores, its descriptors say.
  std::string result = iteration->epilogue
                           ? "static_cast<float *>(nullptr)"
                           : writer.pointer(iteration->result, false),
              tableNames = writer.pointerTable(tables, "tables"),
              idNames = writer.pointerTable(ids.buffers, "ids", ids.counts);
  IndexPolicy policy = iteration->op.getPolicy();
  std::string bags = writer.print(iteration->bags, {}),
              pitch = iteration->epilogue ? "0"
                                          : writer.print(iteration->pitch, {}),
              faults = policy == IndexPolicy::Flag ? writer.faultCounter()
                                                   : "nullptr",
              form = emitForm(writer, *iteration, variant);
  BagMode mode = iteration->op.getMode();
  // Products of 32 bits are one instruction.
  bool isNarrow = llvm::all_of(tables, [](BufferOp table) {
    auto rows = getSizes(table.getType())[0].getConstant();
    return rows && llvm::isInt<32>(*rows);
  });
  std::string last;
  if (work.hasSharedBags || mode != BagMode::Sum)
    last = ", fusec::BagMode::" + getModeName(mode);
  if (work.hasSharedBags)
    last += fmt::format(", {}", schedule.getThreads());
  writer.line("fusec::sumAllBags<fusec::GatherPolicy::{}, {}, {}, {}, "
              "{}{}>({}, {}, {}, "
              "{}, {}, {}, {}, {}, {}{});",
              getPolicyName(policy), isNarrow ? "int" : "fusec::i64",
              schedule.getVector(), work.tileBags, listForms(work.forms), last,
              shapes, slots, work.slots.size(), tableNames, idNames, bags,
              result, pitch, faults, form);
  return writer.finish(variant);
}
