// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/FusecAttributes.h"
#include "ir/FusecDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fusec;

VariantAttr VariantAttr::getNext() {
  ArrayRef<CandidateAttr> rest = getAlternatives();
  if (rest.empty())
    return nullptr;
  return get(getContext(), getGuards(), rest[0].getSchedule(),
             rest[0].getEstimate(), rest.drop_front());
}

LogicalResult
AccessesAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError, Walk,
                     int64_t width, DenseI64ArrayAttr loads,
                     DenseI64ArrayAttr stores, DenseI64ArrayAttr passing,
                     DenseI64ArrayAttr shifted) {
  auto isPowerOf2 = [](int64_t elements) {
    return elements > 0 && llvm::isPowerOf2_64(elements);
  };
  auto isWidth = [&](int64_t elements) {
    if (isPowerOf2(elements))
      return true;
    emitError() << "expected a power of two of elements an access, got "
                << elements;
    return false;
  };
  // Lanes may be three elements apart.
  auto isLoadWidth = [&](int64_t elements) {
    if (isPowerOf2(elements) ||
        (elements == 3 * width && isPowerOf2(width) && width > 1))
      return true;
    emitError() << "expected a power of two of elements a load, or three times "
                << width << " lanes, got " << elements;
    return false;
  };
  auto areWidths = [](DenseI64ArrayAttr all, auto isOne) {
    return !all || llvm::all_of(all.asArrayRef(), isOne);
  };
  int64_t reads = loads ? loads.size() : 0;
  auto areReads = [&](DenseI64ArrayAttr places, const char *what) {
    for (int64_t read : places ? places.asArrayRef() : ArrayRef<int64_t>())
      if (read < 0 || read >= reads) {
        emitError() << "expected the place of one of " << reads
                    << " loads, got " << what << ' ' << read;
        return false;
      }
    return true;
  };
  return success(isWidth(width) && areWidths(loads, isLoadWidth) &&
                 areWidths(stores, isWidth) && areReads(passing, "passing") &&
                 areReads(shifted, "shifted"));
}

LogicalResult
LaunchAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError, ExprAttr,
                   int64_t, int64_t, int64_t, int64_t, bool, bool, bool, bool,
                   ArrayAttr, ArrayAttr, ArrayAttr, ArrayAttr accesses) {
  if (accesses)
    for (Attribute loop : accesses)
      if (!isa<AccessesAttr>(loop))
        return emitError() << "expected accesses of a loop, got " << loop;
  return success();
}

LaunchAttr LaunchAttr::withAccesses(ArrayRef<AccessesAttr> accesses) const {
  return get(
      getContext(), getBlocks(), getThreads(), getShared(), getCluster(),
      getResident(), getCooperative(), getEarly(), getPrefetches(),
      getStreams(), getMatrices(), getOperands(), getResults(),
      ArrayAttr::get(getContext(), llvm::to_vector_of<Attribute>(accesses)));
}

//===----------------------------------------------------------------------===//
// Expression syntax
//===----------------------------------------------------------------------===//

namespace {
/// Recursive descent over `+ -`, then `* floordiv ceildiv mod`, then atoms.
class ExprParser {
  /// As many as the manifest takes.
  static constexpr unsigned mostNodes = 4096;

public:
  explicit ExprParser(AsmParser &parser)
      : parser(parser), context(parser.getContext()) {}

  FailureOr<Expr> parseSum() {
    if (++depth > maxExprDepth)
      return fail("expression nests deeper than " + Twine(maxExprDepth));
    FailureOr<Expr> result = parseProduct();
    while (succeeded(result)) {
      bool minus = false;
      if (failed(parser.parseOptionalPlus())) {
        if (failed(parser.parseOptionalMinus()))
          break;
        minus = true;
      }
      FailureOr<Expr> next = parseProduct();
      if (failed(next))
        return failure();
      result = minus ? *result - *next : *result + *next;
    }
    --depth;
    return result;
  }

private:
  FailureOr<Expr> fail(const Twine &message) {
    parser.emitError(parser.getCurrentLocation(), message);
    return failure();
  }

  FailureOr<Expr> parseProduct() {
    FailureOr<Expr> result = parseAtom();
    while (succeeded(result)) {
      enum { Times, Floor, Ceil, Mod } kind;
      if (succeeded(parser.parseOptionalStar()))
        kind = Times;
      else if (succeeded(parser.parseOptionalKeyword("floordiv")))
        kind = Floor;
      else if (succeeded(parser.parseOptionalKeyword("ceildiv")))
        kind = Ceil;
      else if (succeeded(parser.parseOptionalKeyword("mod")))
        kind = Mod;
      else
        break;
      FailureOr<Expr> next = parseAtom();
      if (failed(next))
        return failure();
      result = kind == Times   ? *result * *next
               : kind == Floor ? result->floorDiv(*next)
               : kind == Ceil  ? result->ceilDiv(*next)
                               : result->mod(*next);
      // Each `mod` has its operand twice.
      if (countNodes(*result, mostNodes) > mostNodes)
        return fail("expression has more than " + Twine(mostNodes) +
                    " operands and operators when it is written out");
    }
    return result;
  }

  FailureOr<Expr> parseAtom() {
    if (succeeded(parser.parseOptionalLParen())) {
      FailureOr<Expr> inner = parseSum();
      if (failed(inner) || failed(parser.parseRParen()))
        return failure();
      return inner;
    }
    int64_t value;
    OptionalParseResult integer = parser.parseOptionalInteger(value);
    if (integer.has_value()) {
      if (failed(*integer))
        return failure();
      return Expr::constant(context, value);
    }
    std::string quoted;
    if (succeeded(parser.parseOptionalString(&quoted)))
      return quoted.empty() ? fail("expected a dimension's name, got \"\"")
                            : Expr::symbol(context, quoted);
    StringRef word;
    if (failed(parser.parseOptionalKeyword(&word)))
      return fail("expected an integer, a dimension's name or '('");
    if (word == "min" || word == "max") {
      if (failed(parser.parseLParen()))
        return failure();
      FailureOr<Expr> a = parseSum();
      if (failed(a) || failed(parser.parseComma()))
        return failure();
      FailureOr<Expr> b = parseSum();
      if (failed(b) || failed(parser.parseRParen()))
        return failure();
      return word == "min" ? Expr::min(*a, *b) : Expr::max(*a, *b);
    }
    unsigned index;
    if (word.size() > 1 && !word.drop_front().getAsInteger(10, index)) {
      if (word[0] == 'd')
        return Expr::dim(context, index);
      if (word[0] == 'i')
        return Expr::indirect(context, index);
    }
    return Expr::symbol(context, word);
  }

  AsmParser &parser;
  MLIRContext *context;
  unsigned depth = 0;
};
} // namespace

Attribute ExprAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<Expr> expr = ExprParser(parser).parseSum();
  if (failed(expr) || parser.parseGreater())
    return {};
  return expr->getAttr();
}

void ExprAttr::print(AsmPrinter &printer) const {
  printer << "<" << Expr(*this).str() << ">";
}

Attribute SizesAttr::parse(AsmParser &parser, Type) {
  SmallVector<Expr> sizes;
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&]() -> ParseResult {
                                       auto size =
                                           ExprParser(parser).parseSum();
                                       if (failed(size))
                                         return failure();
                                       sizes.push_back(*size);
                                       return success();
                                     }) ||
      parser.parseGreater())
    return {};
  return get(parser.getContext(), sizes);
}

void SizesAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getSizes(), printer,
                        [&](Expr size) { printer << size.str(); });
  printer << "]>";
}

LogicalResult SizesAttr::verifyEncoding(
    ArrayRef<int64_t> shape, Type,
    llvm::function_ref<InFlightDiagnostic()> emitError) const {
  if (shape.size() != getSizes().size())
    return emitError() << "expected one size a dimension, got "
                       << getSizes().size() << " for rank " << shape.size();
  bool dynamic = false;
  for (auto [i, size] : llvm::enumerate(getSizes())) {
    auto constant = size.getConstant();
    dynamic |= !constant;
    if (constant ? *constant != shape[i] : !ShapedType::isDynamic(shape[i]))
      return emitError() << "size " << i << " is " << size.str()
                         << ", which does not agree with the type's shape";
  }
  if (!dynamic)
    return emitError() << "expected a dynamic size; a static type has no sizes";
  return success();
}

Attribute ConstraintAttr::parse(AsmParser &parser, Type) {
  std::string reason;
  if (parser.parseLess())
    return {};
  auto lhs = ExprParser(parser).parseSum();
  if (failed(lhs) || parser.parseEqual())
    return {};
  auto rhs = ExprParser(parser).parseSum();
  if (failed(rhs) || parser.parseComma() || parser.parseString(&reason) ||
      parser.parseGreater())
    return {};
  return get(parser.getContext(), *lhs, *rhs, reason);
}

void ConstraintAttr::print(AsmPrinter &printer) const {
  printer << "<" << getLhs().str() << " = " << getRhs().str() << ", ";
  printer.printString(getReason());
  printer << ">";
}

//===----------------------------------------------------------------------===//
// Tensor types
//===----------------------------------------------------------------------===//

SmallVector<Expr> fusec::getSizes(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  if (auto sizes = dyn_cast_if_present<SizesAttr>(tensor.getEncoding()))
    return llvm::to_vector(sizes.getSizes());
  return llvm::map_to_vector(tensor.getShape(), [&](int64_t size) {
    return Expr::constant(type.getContext(), size);
  });
}
SmallVector<Expr> fusec::getSizes(Value value) {
  return getSizes(value.getType());
}
unsigned fusec::getRank(Value value) {
  return cast<RankedTensorType>(value.getType()).getRank();
}
Type fusec::getElementType(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

RankedTensorType fusec::getTensorType(ArrayRef<Expr> sizes, Type elementType) {
  SmallVector<int64_t> shape;
  bool dynamic = false;
  for (Expr size : sizes) {
    auto constant = size.getConstant();
    shape.push_back(constant.value_or(ShapedType::kDynamic));
    dynamic |= !constant;
  }
  Attribute encoding;
  if (dynamic)
    encoding = SizesAttr::get(elementType.getContext(), sizes);
  return RankedTensorType::get(shape, elementType, encoding);
}

Expr fusec::getElementCount(ArrayRef<Expr> sizes, MLIRContext *context) {
  Expr count = Expr::constant(context, 1);
  for (Expr size : sizes)
    count = count * size;
  return count;
}

int64_t fusec::getElementBytes(Type elementType) {
  return (elementType.getIntOrFloatBitWidth() + 7) / 8;
}
