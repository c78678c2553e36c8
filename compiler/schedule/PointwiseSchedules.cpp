// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/codegen/Iteration.h"
#include "compiler/codegen/ScalarEmitter.h"
#include "compiler/schedule/Schedules.h"
#include "compiler/schedule/StepBytes.h"

using namespace mlir;
using namespace fusec;
using Kind = ScalarNode::Kind;

namespace {
/// The accesses of a region along its innermost dim.
struct Accesses {
  int64_t vector = 1;               // elements that can be accessed together
  SmallVector<BufferOp> vectorized; // buffers that must be aligned for it
};
} // namespace

/// Bytes to which an internal buffer is aligned, and a user's under the guard.
static unsigned guardedAlignment(BufferOp buffer) {
  bool isUsers = buffer.getKind() == BufferKind::Input ||
                 buffer.getKind() == BufferKind::Output;
  return getAlignment(buffer.getOffset(), isUsers ? 16 : 256);
}

static Accesses analyzeAccesses(StepOp step,
                                const PointwiseIteration &iteration) {
  const ScalarProgram &program = iteration.program;
  ArrayRef<Expr> sizes = program.getSizes();
  Accesses result;
  if (sizes.empty())
    return result;
  unsigned inner = sizes.size() - 1;

  struct Access {
    BufferOp buffer;
    Expr offset;
    int64_t bytes;
    bool isStore;
  };
  SmallVector<Access> accesses;
  for (const PointwiseStore &store : iteration.stores) {
    BufferOp buffer = step.getOutputBuffer(store.output);
    accesses.push_back(
        {buffer, store.offset, getElementBytes(buffer.getElementType()), true});
  }
  int64_t smallest = accesses[0].bytes, largest = accesses[0].bytes;
  for (size_t n = 0; n < program.size(); ++n) {
    const ScalarNode &node = program[n];
    if (node.kind != Kind::Load)
      continue;
    BufferOp buffer = step.getInputBuffer(node.value);
    Expr offset = program.getRanges().simplify(
        getOffset(node.indices, buffer.getStrideExprs(), step.getContext()));
    if (!program.varies(n, inner))
      continue; // one element for all lanes
    accesses.push_back({buffer, offset, getElementBytes(node.type), false});
    smallest = std::min(smallest, accesses.back().bytes);
    largest = std::max(largest, accesses.back().bytes);
  }
  // 16 bytes of the widest type; two accesses of it where a narrower one takes
  // part.
  int64_t vector = std::min<int64_t>(16 / smallest, 32 / largest);
  for (; vector > 1; vector /= 2) {
    bool fits =
        sizes.size() == 1 || sizes[inner]
                                 .mod(Expr::constant(step.getContext(), vector))
                                 .isConstant(0);
    unsigned scalar = 0;
    for (const Access &a : accesses) {
      bool wide = ScalarEmitter::isVectorAccess(
          a.offset, inner, vector, a.bytes, guardedAlignment(a.buffer));
      fits = fits && (wide || !a.isStore);
      scalar += !wide;
    }
    if (fits && 2 * scalar < accesses.size())
      break;
  }
  result.vector = std::max<int64_t>(vector, 1);
  if (result.vector > 1)
    for (const Access &a : accesses)
      if (ScalarEmitter::isVectorAccess(a.offset, inner, result.vector, a.bytes,
                                        guardedAlignment(a.buffer)))
        result.vectorized.push_back(a.buffer);
  // Rows of tables are read by vectors where the columns are.
  for (size_t n = 0; n < program.size() && result.vector > 1; ++n)
    if (program[n].kind == ScalarNode::Kind::Lookup && program.varies(n, inner))
      for (Value table : cast<LookupOp>(program[n].op).getTables())
        result.vectorized.push_back(step.getInputBuffer(table));
  return result;
}

SmallVector<VariantAttr> fusec::choosePointwiseVariants(StepOp step,
                                                        const Target &target) {
  MLIRContext *context = step.getContext();
  StepBytes bytes = getStepBytes(step, {});
  double elements = 0;
  // The widest schedule first, narrower ones should its kernel spill.
  auto variant = [&](ArrayRef<GuardAttr> guards, int64_t vector, int64_t bits) {
    SmallVector<Candidate> candidates;
    for (; vector >= 1; vector /= 2) {
      auto schedule = PointwiseScheduleAttr::get(context, 256, vector, bits);
      candidates.push_back(
          {schedule, estimatePointwise(target, bytes.read + bytes.written,
                                       elements, schedule)});
    }
    return makeVariant(context, guards, candidates);
  };
  auto iteration = analyzePointwise(
      step.getBody().front(),
      [&](Value v) { return step.getInputBuffer(v).getStrideExprs(); },
      [&](unsigned i) { return step.getOutputBuffer(i).getStrideExprs(); });
  if (failed(iteration))
    return {variant({}, 1, 64)};
  elements =
      getTypicalValue(getElementCount(iteration->program.getSizes(), context));
  Accesses accesses = analyzeAccesses(step, *iteration);
  IndexWidth width = getIndexWidth(step);
  int64_t fastBits = width.neverNarrow ? 64 : 32,
          safeBits = width.alwaysNarrow ? 32 : 64;
  SmallVector<GuardAttr> guards = getAlignmentGuards(accesses.vectorized);
  llvm::append_range(guards, width.guards);
  SmallVector<VariantAttr> variants = {
      variant(guards, accesses.vector, fastBits)};
  if (!guards.empty())
    variants.push_back(variant({}, 1, safeBits));
  return variants;
}
