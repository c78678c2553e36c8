// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/codegen/KernelWriter.h"
#include "compiler/codegen/KernelText.h"
#include "llvm/ADT/StringExtras.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

std::string fusec::storageType(Type type) {
  if (type.isF32())
    return "float";
  if (type.isF64())
    return "double";
  if (type.isF16())
    return "fusec::f16";
  if (type.isBF16())
    return "fusec::bf16";
  if (type.isInteger(1))
    return "fusec::boolean";
  return fmt::format("fusec::{}{}", type.isUnsignedInteger() ? 'u' : 'i',
                     type.getIntOrFloatBitWidth());
}

std::string fusec::computeType(Type type) {
  if (type.isF16() || type.isBF16())
    return "float";
  if (type.isInteger(1))
    return "bool";
  return storageType(type);
}

std::string fusec::toCompute(Type type, StringRef text) {
  if (type.isInteger(1))
    return fmt::format("bool({})", text);
  if (type.isF16() || type.isBF16())
    return fmt::format("fusec::cast<float>({})", text);
  return text.str();
}
std::string fusec::toStorage(Type type, StringRef text) {
  if (type.isInteger(1))
    return fmt::format("fusec::boolean({})", text);
  if (type.isF16() || type.isBF16())
    return fmt::format("fusec::cast<{}>({})", storageType(type), text);
  return text.str();
}

std::string fusec::literal(TypedAttr value) {
  Type type = value.getType();
  if (auto real = dyn_cast<FloatAttr>(value)) {
    bool isDouble = type.isF64();
    APFloat exact = real.getValue();
    bool lost;
    exact.convert(isDouble ? APFloat::IEEEdouble() : APFloat::IEEEsingle(),
                  APFloat::rmNearestTiesToEven, &lost);
    if (!exact.isFinite()) {
      uint64_t bits = exact.bitcastToAPInt().getZExtValue();
      return isDouble
                 ? fmt::format("fusec::primitive::doubleOf(0x{:X}ull)", bits)
                 : fmt::format("fusec::primitive::floatOf(0x{:X}u)", bits);
    }
    std::string text = isDouble
                           ? fmt::format("{:.17g}", exact.convertToDouble())
                           : fmt::format("{:.9g}", exact.convertToFloat());
    if (text.find_first_of(".e") == std::string::npos)
      text += ".0";
    return isDouble ? text : text + "f";
  }
  APInt integer = cast<IntegerAttr>(value).getValue();
  if (type.isInteger(1))
    return integer.isZero() ? "false" : "true";
  // Casts keep the most negative value from being a negated positive one.
  uint64_t bits = integer.isNegative() && !type.isUnsignedInteger()
                      ? integer.sext(64).getZExtValue()
                      : integer.getZExtValue();
  return fmt::format("{}({}ull)", storageType(type), bits);
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

KernelWriter::KernelWriter(StepOp step, StringRef symbol, unsigned indexBits)
    : step(step), symbol(symbol), indexBits(indexBits),
      declarationStream(declarationText) {
  names.add(symbol);
  halvesOnly = llvm::all_of(
      step.getBody().front().getTerminator()->getOperandTypes(), [](Type type) {
        Type element = cast<RankedTensorType>(type).getElementType();
        return element.isF16() || element.isBF16();
      });
}

std::string KernelWriter::pointer(BufferOp buffer, bool isConst,
                                  int64_t first) {
  std::string &name = pointers[{buffer.getSymName().str(), first}];
  if (!name.empty())
    return name;
  name = uniqueName(getTensorName(buffer.getSymName()));
  Type type = cast<RankedTensorType>(buffer.getType()).getElementType();
  signature.push_back(
      {(isConst ? "const " : "") + storageType(type) + " *", name});
  params.push_back({KernelParam::Kind::Buffer, buffer.getSymName().str(),
                    first * getElementBytes(type)});
  return name;
}

std::string KernelWriter::pointerTable(ArrayRef<BufferOp> buffers,
                                       StringRef base, ArrayRef<Expr> counts) {
  std::string name = uniqueName(base), type = uniqueName("Tables");
  std::string element = storageType(
      cast<RankedTensorType>(BufferOp(buffers[0]).getType()).getElementType());
  declarations() << "struct " << type << " {\n  const " << element << " *at["
                 << buffers.size() << "];\n  fusec::i64 rows[" << buffers.size()
                 << "];\n};\n\n";
  // Of another parameter that is indexed at run time each thread makes a copy.
  signature.push_back(
      {fmt::format("const FUSEC_GRID_CONSTANT {} ", type), name});
  tables.push_back(name);
  for (auto [i, buffer] : llvm::enumerate(buffers)) {
    params.push_back(
        {KernelParam::Kind::Buffer, BufferOp(buffer).getSymName().str()});
    params.back().continues = i > 0;
  }
  for (auto [i, buffer] : llvm::enumerate(buffers)) {
    KernelParam param{KernelParam::Kind::Size};
    param.size =
        counts.empty() ? getSizes(BufferOp(buffer).getType())[0] : counts[i];
    param.continues = true;
    params.push_back(param);
  }
  return name;
}

std::string KernelWriter::tensorMap(BufferOp buffer, TensorMapShape shape) {
  std::string name = uniqueName(getTensorName(buffer.getSymName()) + "_map");
  signature.push_back({"const FUSEC_GRID_CONSTANT fusec::TensorMap ", name});
  KernelParam param{KernelParam::Kind::TensorMap, buffer.getSymName().str()};
  param.map = std::move(shape);
  params.push_back(std::move(param));
  return name;
}

std::string KernelWriter::faultCounter() {
  if (fault.empty()) {
    fault = uniqueName("faults");
    signature.push_back({"fusec::u64 *", fault});
    params.push_back({KernelParam::Kind::Fault});
  }
  return fault;
}

std::string KernelWriter::flags(int64_t words, int64_t team) {
  std::string name = uniqueName("flags");
  signature.push_back({"fusec::u32 *", name});
  params.push_back({KernelParam::Kind::Flags});
  params.back().words = words;
  params.back().team = team;
  return name;
}

std::string KernelWriter::symbolParam(Expr symbol) {
  std::string &name = symbols[symbol.getName().str()];
  if (!name.empty())
    return name;
  name = uniqueName(getSizeName(symbol.getName()));
  signature.push_back({indexType() + " ", name});
  KernelParam param{KernelParam::Kind::Size};
  param.size = symbol;
  param.bits = indexBits;
  params.push_back(param);
  return name;
}

std::string KernelWriter::extent(Expr size, StringRef base) {
  if (size.isConstant())
    return std::to_string(size.getValue());
  std::string &name = extents[size.str()];
  if (!name.empty())
    return name;
  name = uniqueName(base);
  signature.push_back({"int ", name});
  KernelParam param{KernelParam::Kind::Size};
  param.size = size;
  param.bits = 32;
  params.push_back(param);
  return name;
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

std::string KernelWriter::print(Expr expr, ArrayRef<std::string> dims) {
  auto nested = [&](Expr operand) {
    std::string text = print(operand, dims);
    return operand.getOperands().empty() ? text : fmt::format("({})", text);
  };
  switch (expr.getKind()) {
  case ExprKind::Constant: {
    int64_t value = expr.getValue();
    bool wide = value > INT32_MAX || value < INT32_MIN;
    return fmt::format("{}{}", value, wide ? "ll" : "");
  }
  case ExprKind::Symbol:
    return symbolParam(expr);
  case ExprKind::Dim:
    return dims[expr.getIndex()];
  case ExprKind::Indirect:
    return fmt::format("row{}", expr.getIndex());
  case ExprKind::Add: {
    std::string text;
    for (Expr term : expr.getOperands()) {
      auto [coefficient, rest] = splitCoefficient(term);
      bool minus = !text.empty() && coefficient < 0;
      if (!text.empty())
        text += minus ? " - " : " + ";
      text += print(minus ? term * -1 : term, dims);
    }
    return text;
  }
  case ExprKind::Mul: {
    ArrayRef<Expr> factors = expr.getOperands();
    std::string text;
    for (Expr factor : factors.drop_front(factors[0].isConstant()))
      text += (text.empty() ? "" : " * ") + nested(factor);
    return factors[0].isConstant() ? text + " * " + print(factors[0], dims)
                                   : text;
  }
  case ExprKind::FloorDiv: {
    Expr numerator = expr.getOperands()[0], divisor = expr.getOperands()[1];
    // Leaves are not negative, so that without a minus sign C's division is
    // the floor.
    if (llvm::all_of(getTerms(numerator), [](Expr term) {
          return splitCoefficient(term).first >= 0;
        }))
      return nested(numerator) + " / " + nested(divisor);
    std::string above = print(numerator, dims), below = print(divisor, dims);
    return fmt::format("fusec::floorDivide<{}>({}, {})", indexType(), above,
                       below);
  }
  case ExprKind::Min:
  case ExprKind::Max: {
    StringRef name = expr.getKind() == ExprKind::Min ? "min" : "max";
    std::string a = print(expr.getOperands()[0], dims),
                b = print(expr.getOperands()[1], dims);
    return fmt::format("fusec::{0}({1}({2}), {1}({3}))", name, indexType(), a,
                       b);
  }
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

void KernelWriter::declareBuffers(BufferOp unused) {
  llvm::DenseSet<Value> tables;
  Block &block = step.getBody().front();
  for (auto lookup : block.getOps<LookupOp>())
    tables.insert(lookup.getTables().begin(), lookup.getTables().end());
  for (BlockArgument argument : block.getArguments())
    if (!tables.contains(argument))
      pointer(step.getInputBuffer(argument), true);
  for (unsigned i = 0; i < step.getOutputs().size(); ++i)
    if (step.getOutputBuffer(i) != unused)
      pointer(step.getOutputBuffer(i), false);
}

void KernelWriter::line(const Twine &text) {
  body.append(2 * depth, ' ');
  body += text.str();
  body += '\n';
}
void KernelWriter::open(const Twine &text) {
  std::string head = text.str();
  line(head.empty() ? "{" : head + " {");
  ++depth;
}
void KernelWriter::close(const Twine &text) {
  --depth;
  line(text);
}

std::string KernelWriter::capture(unsigned atDepth,
                                  llvm::function_ref<void()> emit) {
  std::string outer = std::exchange(body, "");
  unsigned outerDepth = std::exchange(depth, atDepth);
  emit();
  depth = outerDepth;
  return std::exchange(body, std::move(outer));
}

/// Stands for references to the kernel's tables, which its end knows.
static constexpr StringRef tablesMark = "@tables";

void KernelWriter::openReturned(StringRef parameters) {
  open(Twine("return [=") + tablesMark + "]" + parameters);
}

KernelSource KernelWriter::finish(VariantAttr variant) {
  std::string references;
  for (const std::string &table : tables)
    references += fmt::format(", &{}", table);
  for (size_t at = 0; (at = body.find(tablesMark, at)) != std::string::npos;)
    body.replace(at, tablesMark.size(), references);
  KernelSource kernel;
  kernel.symbol = symbol;
  kernel.names = names.getAll();
  kernel.params = params;
  LaunchAttr launch = variant.getLaunch();
  std::string text = describeKernel(step, variant);
  llvm::raw_string_ostream os(text);
  for (const std::string &header : headers)
    os << "#include \"" << header << "\"\n";
  os << "\n" << declarationText << "extern \"C\" FUSEC_KERNEL";
  if (launch.getResident() > 1)
    os << "_RESIDENT(" << launch.getThreads() << ", " << launch.getResident();
  else
    os << "(" << launch.getThreads();
  os << ") " << symbol << '(';
  llvm::interleave(
      signature, os, [&](auto &param) { os << param.first << param.second; },
      ",\n    ");
  os << ") {\n  " << first << "\n" << body << "}\n";
  kernel.text = breakLines(text);
  return kernel;
}
