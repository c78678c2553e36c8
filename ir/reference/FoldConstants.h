// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the reference makes of ops on constants. A model decides what is folded,
// so that time and memory are bounded, and nothing in it can make this fail
// other than by declining.

#ifndef FUSEC_IR_REFERENCE_FOLDCONSTANTS_H
#define FUSEC_IR_REFERENCE_FOLDCONSTANTS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"
#include <optional>

namespace fusec::reference {

struct FoldLimits {
  /// Results may take this much, and beyond it `growth` times the constants
  /// that they replace: a folded broadcast would only be more to load.
  int64_t smallBytes = 64 << 10;
  int64_t growth = 2;
  /// Points of the iteration space; about a second on one core.
  int64_t maxWork = int64_t(1) << 30;
};

/// What folding takes in a whole compilation. Each op keeps to its limits, and
/// still a model of a few bytes can double a constant thirty times: what all
/// ops take together is bounded by what the model itself brings along.
class FoldBudget {
public:
  /// Of a model without constants: two hundred and fifty-six megabytes, and
  /// about four seconds.
  static constexpr int64_t leastBytes = int64_t(1) << 28;
  static constexpr int64_t leastWork = int64_t(1) << 32;

  FoldBudget() = default;
  /// For tests.
  FoldBudget(int64_t bytes, int64_t work)
      : isOpen(true), bytes(bytes), work(work), bytesLeft(bytes),
        workLeft(work) {}

  /// The first time: adds what the constants and weights in the op's regions
  /// are worth.
  void open(mlir::Operation *model);

  int64_t getBytes() const { return bytes; }
  int64_t getWork() const { return work; }
  /// Whether something did not fit.
  bool isExceeded() const { return exceeded; }
  /// Why an op whose operands and results take so much does not fit, or an
  /// empty text, and then the results and the work are taken from the budget.
  std::string take(int64_t operandBytes, int64_t resultBytes, int64_t work);
  /// The same of all ops of a block, of which the results are kept.
  std::string takeBlock(mlir::Block &block);

private:
  bool isOpen = false, exceeded = false;
  int64_t bytes = leastBytes, work = leastWork;
  int64_t bytesLeft = leastBytes, workLeft = leastWork;
};

/// The values of the op's results where its operands are constants: that is
/// `fusec.constant`, or a splat, an iota or a broadcast of such. Ops without
/// operands and broadcasts are not folded themselves, since they are smaller
/// than their values. On failure `reason` says why.
mlir::FailureOr<llvm::SmallVector<mlir::ElementsAttr>>
foldConstants(mlir::Operation *op, FoldBudget &budget, std::string &reason,
              const FoldLimits &limits = {});

} // namespace fusec::reference

#endif // FUSEC_IR_REFERENCE_FOLDCONSTANTS_H
