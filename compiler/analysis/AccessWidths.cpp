// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/AccessWidths.h"
#include "compiler/analysis/Alignment.h"
#include "compiler/analysis/ShiftedLoads.h"

using namespace mlir;
using namespace fusec;
using Kind = ScalarNode::Kind;

SmallVector<unsigned> fusec::getReads(const ScalarProgram &program) {
  SmallVector<unsigned> reads;
  for (size_t n = 0; n < program.size(); ++n)
    if (program[n].kind == Kind::Load || program[n].kind == Kind::Lookup)
      reads.push_back(n);
  return reads;
}

//===----------------------------------------------------------------------===//
// What is listed
//===----------------------------------------------------------------------===//

std::optional<Expr> fusec::getColumnsOffset(const ScalarProgram &program,
                                            unsigned lookup, unsigned dim) {
  const ScalarNode &node = program[lookup];
  if (program.varies(node.operands[0], dim) || usesDim(node.expr, dim))
    return std::nullopt;
  // Behind any number of rows.
  Expr width = getSizes(node.op->getResult(0))[2],
       row = Expr::dim(program.getContext(), program.getSizes().size());
  return node.indices[0] + row * width;
}

static int64_t getLookupWidth(StepOp step, VariantAttr variant,
                              const ScalarProgram &program, unsigned lookup,
                              unsigned dim, int64_t width) {
  auto offset = getColumnsOffset(program, lookup, dim);
  if (!offset)
    return 1;
  const ScalarNode &node = program[lookup];
  unsigned known = 256;
  for (Value table : cast<LookupOp>(node.op).getTables())
    known = std::min(known, getAlignment(step.getInputBuffer(table), variant));
  return isVectorAccess(*offset, dim, width, getElementBytes(node.type), known)
             ? width
             : 1;
}

static int64_t getLoadWidth(StepOp step, VariantAttr variant,
                            const ScalarProgram &program, unsigned load,
                            unsigned dim, int64_t width) {
  BufferOp buffer = step.getInputBuffer(program[load].value);
  Expr offset = getLoadOffset(step, program, load);
  int64_t bytes = getElementBytes(program[load].type);
  unsigned alignment = getAlignment(buffer, variant);
  if (isVectorAccess(offset, dim, width, bytes, alignment))
    return width;
  Expr extent = getExtent(getSizes(buffer.getType()), buffer.getStrideExprs());
  auto apart = findLaneAccess(offset, dim, width, bytes, alignment, extent,
                              program.getRanges(),
                              isAmongOthers(step, program, load, dim));
  return apart ? std::abs(apart->stride) * width : 1;
}

SmallVector<int64_t> fusec::getLoadWidths(StepOp step, VariantAttr variant,
                                          const ScalarProgram &program,
                                          unsigned dim, int64_t width) {
  SmallVector<int64_t> widths;
  for (unsigned node : getReads(program)) {
    auto get = program[node].kind == Kind::Load ? getLoadWidth : getLookupWidth;
    widths.push_back(width > 1 && program.varies(node, dim)
                         ? get(step, variant, program, node, dim, width)
                         : 1);
  }
  return widths;
}

SmallVector<int64_t> fusec::getStoreWidths(StepOp step, VariantAttr variant,
                                           ArrayRef<RegionStore> stores,
                                           unsigned dim, int64_t width) {
  SmallVector<int64_t> widths(stores.size(), 1);
  if (width == 1)
    return widths;
  auto isVector = [&](const RegionStore &store, Expr offset, int64_t elements) {
    BufferOp buffer = step.getOutputBuffer(store.output);
    return isVectorAccess(offset, dim, elements,
                          getElementBytes(buffer.getElementType()),
                          getAlignment(buffer, variant));
  };
  for (const TakenTurns &turns : findTurns(stores, dim)) {
    int64_t stride = turns.stores.size();
    Expr flat = turns.base + Expr::dim(step.getContext(), dim) * (1 - stride);
    if (isVector(stores[turns.stores[0]], flat, stride * width))
      for (unsigned member : turns.stores)
        widths[member] = stride * width;
  }
  for (auto [store, elements] : llvm::zip_equal(stores, widths))
    if (elements == 1 && isVector(store, store.offset, width))
      elements = width;
  return widths;
}

AccessesAttr fusec::getAccesses(MLIRContext *context, Walk walk, int64_t width,
                                ArrayRef<int64_t> loads,
                                ArrayRef<int64_t> stores,
                                ArrayRef<int64_t> passing,
                                ArrayRef<int64_t> shifted) {
  auto list = [&](ArrayRef<int64_t> numbers) {
    return numbers.empty() ? DenseI64ArrayAttr()
                           : DenseI64ArrayAttr::get(context, numbers);
  };
  return AccessesAttr::get(context, walk, width, list(loads), list(stores),
                           list(passing), list(shifted));
}

//===----------------------------------------------------------------------===//
// Whether a list fits
//===----------------------------------------------------------------------===//

LogicalResult fusec::checkLoops(StepOp step, VariantAttr variant,
                                size_t count) {
  ArrayAttr loops = variant.getLaunch().getAccesses();
  size_t listed = loops ? loops.size() : 0;
  if (listed == count)
    return success();
  return step.emitOpError("has a launch with accesses of ")
         << listed << " loops, expected " << count;
}

AccessesAttr fusec::takeAccesses(StepOp step, VariantAttr variant, size_t index,
                                 size_t loads, size_t stores) {
  AccessesAttr accesses = variant.getLaunch().getLoopAccesses(index);
  if (!accesses) {
    step.emitOpError("has a launch without the accesses of loop ")
        << index << "; run 'fusec-plan-launches'";
    return {};
  }
  auto fits = [&](ArrayRef<int64_t> widths, size_t count, const char *what) {
    if (widths.size() == count)
      return true;
    step.emitOpError("has a launch that lists ")
        << widths.size() << ' ' << what << " of loop " << index << ", expected "
        << count;
    return false;
  };
  return fits(accesses.getLoadWidths(), loads, "loads") &&
                 fits(accesses.getStoreWidths(), stores, "stores")
             ? accesses
             : AccessesAttr();
}

/// Which of the loads lanes cannot have together.
static std::optional<size_t> findWrongLoad(StepOp step, AccessesAttr accesses,
                                           const LoopAccesses &loop) {
  int64_t width = accesses.getWidth();
  for (auto [i, node] : llvm::enumerate(getReads(loop.program))) {
    int64_t elements = accesses.getLoadWidths()[i];
    if (elements == 1 || llvm::is_contained(loop.others, node))
      continue;
    std::optional<Expr> offset =
        loop.program[node].kind == Kind::Lookup
            ? getColumnsOffset(loop.program, node, loop.dim)
            : getLoadOffset(step, loop.program, node);
    if (!offset || !getLaneAccess(*offset, loop.dim, width, elements))
      return i;
  }
  return std::nullopt;
}

/// Which of those that are shifted cannot be, under the variant's guards.
static std::optional<int64_t> findWrongShift(StepOp step, VariantAttr variant,
                                             AccessesAttr accesses,
                                             const LoopAccesses &loop) {
  SmallVector<RegionStore> stores(loop.needs.begin(), loop.needs.end());
  for (ArrayRef<RegionStore> group : loop.stores)
    llvm::append_range(stores, group);
  SmallVector<unsigned> shiftable, reads = getReads(loop.program);
  if (loop.shifts)
    shiftable = findShiftableLoads(
        step, loop.program, stores, loop.dim, accesses.getWidth(),
        accesses.getWalk() == Walk::Memory,
        [&](BufferOp buffer) { return getAlignment(buffer, variant); });
  for (int64_t read : accesses.getShiftedReads())
    if (accesses.getLoadWidths()[read] != accesses.getWidth() ||
        !llvm::is_contained(shiftable, reads[read]))
      return read;
  return std::nullopt;
}

/// The same of stores; `first` is where the group's are listed from.
static std::optional<size_t> findWrongStore(AccessesAttr accesses,
                                            ArrayRef<RegionStore> group,
                                            size_t first, unsigned dim) {
  int64_t width = accesses.getWidth();
  SmallVector<int64_t> together(group.size(), width);
  for (const TakenTurns &turns : findTurns(group, dim))
    for (unsigned member : turns.stores)
      together[member] = turns.stores.size() * width;
  for (size_t i = 0; i < group.size(); ++i) {
    int64_t elements = accesses.getStoreWidths()[first + i];
    bool isAdjacent = getLaneAccess(group[i].offset, dim, width, width)
                          .value_or(LaneAccess{})
                          .stride == 1;
    if (elements != 1 && !(isAdjacent && elements == width) &&
        !(together[i] > width && elements == together[i]))
      return first + i;
  }
  return std::nullopt;
}

AccessesAttr fusec::takeAccesses(StepOp step, VariantAttr variant, size_t index,
                                 const LoopAccesses &loop) {
  size_t stores = 0;
  for (ArrayRef<RegionStore> group : loop.stores)
    stores += group.size();
  AccessesAttr accesses =
      takeAccesses(step, variant, index, getReads(loop.program).size(), stores);
  if (!accesses)
    return {};
  if (accesses.getWidth() != loop.width) {
    step.emitOpError("has a launch with ")
        << accesses.getWidth() << " lanes in loop " << index << ", expected "
        << loop.width;
    return {};
  }
  auto refuse = [&](const char *what, size_t i, int64_t elements) {
    step.emitOpError("has a launch in which ")
        << what << ' ' << i << " of loop " << index << " moves " << elements
        << " elements at once, which " << accesses.getWidth()
        << " lanes of it do not fill";
    return AccessesAttr();
  };
  if (auto i = findWrongLoad(step, accesses, loop))
    return refuse("load", *i, accesses.getLoadWidths()[*i]);
  SmallVector<unsigned> reads = getReads(loop.program);
  for (int64_t read : accesses.getPassingReads())
    if (loop.program[reads[read]].kind != Kind::Load) {
      step.emitOpError("has a launch in which load ")
          << read << " of loop " << index << " passes, which is a lookup";
      return {};
    }
  if (auto read = findWrongShift(step, variant, accesses, loop)) {
    step.emitOpError("has a launch in which load ")
        << *read << " of loop " << index
        << " is shifted, but its lanes are no neighbours, or its buffer is not "
           "aligned";
    return {};
  }
  size_t first = 0;
  for (ArrayRef<RegionStore> group : loop.stores) {
    if (auto i = findWrongStore(accesses, group, first, loop.dim))
      return refuse("store", *i, accesses.getStoreWidths()[*i]);
    first += group.size();
  }
  return accesses;
}
