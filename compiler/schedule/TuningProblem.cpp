// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/schedule/TuningProblem.h"
#include "compiler/kernels/Family.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"
#include <set>

using namespace mlir;
using namespace fusec;

//===----------------------------------------------------------------------===//
// The region
//===----------------------------------------------------------------------===//

static std::string toText(Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto tensor = cast<RankedTensorType>(type);
  os << tensor.getElementType() << "x" << tensor.getRank();
  return text;
}

static std::string getRegionText(StepOp step) {
  std::string text;
  llvm::raw_string_ostream os(text);
  DenseMap<Value, unsigned> numbers;
  Block &block = step.getBody().front();
  for (BlockArgument argument : block.getArguments()) {
    numbers.try_emplace(argument, numbers.size());
    os << toText(argument.getType()) << " ";
  }
  for (Operation &op : block) {
    os << "\n" << op.getName();
    for (NamedAttribute attribute : op.getAttrDictionary()) {
      os << " " << attribute.getName().getValue() << "=";
      // The text of a constant has its shape.
      if (auto elements = dyn_cast<DenseElementsAttr>(attribute.getValue())) {
        ArrayRef<char> raw = elements.getRawData();
        os << llvm::toHex(llvm::SHA256::hash(ArrayRef(
            reinterpret_cast<const uint8_t *>(raw.data()), raw.size())));
      } else {
        os << attribute.getValue();
      }
    }
    for (Value operand : op.getOperands())
      os << " %" << numbers.lookup(operand);
    for (Value result : op.getResults()) {
      numbers.try_emplace(result, numbers.size());
      os << " " << toText(result.getType());
    }
  }
  return text;
}

static std::string getLayout(BufferOp buffer) {
  int64_t bytes = getElementBytes(buffer.getElementType());
  std::string text;
  llvm::raw_string_ostream os(text);
  os << buffer.getElementType() << ":";
  for (Expr stride : buffer.getStrideExprs())
    os << (stride.isConstant(1)                    ? '1'
           : stride.isConstant(0)                  ? '0'
           : getAlignment(stride, 16, bytes) == 16 ? 'a'
                                                   : 'u');
  return text;
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

std::optional<TuningProblem> fusec::getTuningProblem(StepOp step,
                                                     Products products) {
  TuningProblem problem;
  problem.sizes = getKernelFamily(step.getFamily()).getSizes(step);
  if (problem.sizes.empty())
    return std::nullopt;
  problem.key.family = stringifyFamily(step.getFamily()).str();
  std::string &operands = problem.key.operands;
  bool hasProductsOf32 = false;
  for (BlockArgument argument : step.getBody().getArguments()) {
    BufferOp buffer = step.getInputBuffer(argument);
    operands += getLayout(buffer) + " ";
    hasProductsOf32 |= buffer.getElementType().isF32();
  }
  operands += "->";
  for (unsigned i = 0; i != step.getOutputs().size(); ++i)
    operands += " " + getLayout(step.getOutputBuffer(i));
  // Exact products by FMA alone have other candidates than those by 3xTF32.
  bool isProductOf32 = hasProductsOf32 && step.getFamily() == Family::Gemm;
  problem.key.precision =
      stringify(isProductOf32 ? products : Products::Ieee).str();
  std::string text = getRegionText(step);
  problem.key.region =
      llvm::toHex(llvm::SHA256::hash(llvm::arrayRefFromStringRef(text)),
                  /*LowerCase=*/true)
          .substr(0, 16);
  return problem;
}

/// The dimensions of a size that are not known.
static std::set<std::string>
getUnknown(Expr size, const std::map<std::string, int64_t> &known) {
  std::set<std::string> unknown;
  size.walkLeaves([&](Expr leaf) {
    if (leaf.getKind() == ExprKind::Symbol &&
        !known.count(leaf.getName().str()))
      unknown.insert(leaf.getName().str());
  });
  return unknown;
}

std::optional<std::map<std::string, int64_t>>
fusec::solveSizes(const TuningProblem &problem,
                  const std::map<std::string, int64_t> &sizes) {
  if (problem.sizes.size() != sizes.size())
    return std::nullopt;
  std::map<std::string, int64_t> dims;
  auto evaluate = [&](Expr size, StringRef name, int64_t value) {
    return size.evaluate([&](Expr leaf) -> std::optional<int64_t> {
      if (leaf.getKind() != ExprKind::Symbol)
        return std::nullopt;
      if (leaf.getName() == name)
        return value;
      auto it = dims.find(leaf.getName().str());
      return it == dims.end() ? std::nullopt : std::optional(it->second);
    });
  };
  for (const auto &[name, size] : problem.sizes)
    if (!sizes.count(name))
      return std::nullopt;
  // Two points say what a straight line is; the last check says whether it is
  // one.
  auto solveOne = [&](const std::string &unknown, Expr size, int64_t value) {
    std::optional<int64_t> at0 = evaluate(size, unknown, 0),
                           at1 = evaluate(size, unknown, 1);
    if (at0 && at1 && *at0 != *at1 && value >= *at0 &&
        (value - *at0) % (*at1 - *at0) == 0)
      dims[unknown] = (value - *at0) / (*at1 - *at0);
  };
  for (size_t before = SIZE_MAX; before != dims.size();) {
    before = dims.size();
    for (const auto &[name, size] : problem.sizes)
      if (auto unknown = getUnknown(size, dims); unknown.size() == 1)
        solveOne(*unknown.begin(), size, sizes.at(name));
    if (before != dims.size())
      continue;
    for (const auto &[name, size] : problem.sizes)
      if (auto unknown = getUnknown(size, dims); unknown.size() > 1) {
        dims[*unknown.begin()] = 1;
        break;
      }
  }
  for (const auto &[name, size] : problem.sizes)
    if (evaluate(size, "", 0) != std::optional(sizes.at(name)))
      return std::nullopt;
  return dims;
}
