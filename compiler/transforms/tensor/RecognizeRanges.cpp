// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constants that count along an axis, as exporters write torch.arange, are no
// loads: an index is at hand where it is needed.

#include "compiler/Passes.h"
#include "compiler/transforms/tensor/Rewrites.h"
#include "ir/Constants.h"

namespace fusec {
#define GEN_PASS_DEF_RECOGNIZERANGES
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace mlir;
using namespace fusec;

/// Few elements are loaded once, and kept.
static constexpr int64_t leastElements = 16;

/// Whether element i is i divided by `inner`, modulo `size`.
template <typename Integer>
static bool counts(ArrayRef<char> bytes, int64_t size, int64_t inner) {
  for (size_t i = 0; i * sizeof(Integer) < bytes.size(); ++i) {
    Integer value;
    std::memcpy(&value, bytes.data() + i * sizeof(Integer), sizeof(Integer));
    if (value != Integer(int64_t(i) / inner % size))
      return false;
  }
  return true;
}

std::optional<unsigned> fusec::findRangeAxis(ConstantOp constant) {
  auto type = cast<RankedTensorType>(constant.getType());
  Type element = type.getElementType();
  if (!type.hasStaticShape() ||
      !(element.isInteger(32) || element.isInteger(64)))
    return std::nullopt;
  std::string error;
  FailureOr<ConstantData> data =
      getConstantData(cast<ElementsAttr>(constant.getValue()), error);
  if (failed(data))
    return std::nullopt;
  int64_t inner = 1;
  for (unsigned axis = type.getRank(); axis-- > 0;) {
    int64_t size = type.getDimSize(axis);
    if (size > 1)
      return (element.isInteger(32) ? counts<int32_t>
                                    : counts<int64_t>)(data->bytes, size, inner)
                 ? std::optional(axis)
                 : std::nullopt;
    inner *= size;
  }
  return std::nullopt;
}

/// By ops that compute at each index, behind views of it or at once; an op that
/// looks into its constants does not.
static bool isComputedWith(Value value) {
  SmallVector<Value> views = {value};
  while (!views.empty())
    for (Operation *user : views.pop_back_val().getUsers()) {
      auto indexed = dyn_cast<IndexedOpInterface>(user);
      FusionKind kind = indexed ? indexed.getFusionKind() : FusionKind::None;
      if (kind == FusionKind::View)
        views.push_back(user->getResult(0));
      else if (kind != FusionKind::Pointwise)
        return false;
    }
  return true;
}

namespace {
struct RecognizeRanges : fusec::impl::RecognizeRangesBase<RecognizeRanges> {
  void runOnOperation() override {
    for (ConstantOp constant :
         llvm::to_vector(getOperation().getBody().getOps<ConstantOp>())) {
      std::optional<unsigned> axis =
          constant.getType().getNumElements() >= leastElements &&
                  isComputedWith(constant)
              ? findRangeAxis(constant)
              : std::nullopt;
      if (!axis)
        continue;
      OpBuilder builder(constant);
      constant.replaceAllUsesWith(
          IotaOp::create(builder, constant.getLoc(), constant.getType(), *axis)
              .getResult());
      constant.erase();
    }
  }
};
} // namespace
