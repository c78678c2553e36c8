// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DequantizeLinear, and Microsoft's gather of rows that are quantised by
// blocks: (x - zero) * scale, where a scale and a zero are of the whole tensor,
// of an index of an axis, or of a block along it. Rows are gathered before they
// are dequantised, so that tables stay narrow.

#include "frontends/onnx/Constants.h"
#include "frontends/onnx/handlers/Handlers.h"
#include "ir/Constants.h"
#include "llvm/Support/MathExtras.h"
#include <fmt/core.h>

using namespace mlir;

namespace fusec::onnx {

namespace {
/// How scales and zeros are spread over a tensor.
struct Spread {
  Sizes sizes; // of the tensor
  int64_t axis;
  int64_t blockSize; // 0: one of an index, or of all
};
} // namespace

/// A scale or a zero for each element, as fp32.
static FailureOr<Value> spread(Node &node, Value values, const Spread &how) {
  Value wide = node.b.cast(values, node.b.getF32Type());
  Sizes sizes = getSizes(values);
  if (how.blockSize == 0) {
    if (sizes.size() == 1 && !sizes[0].isConstant(1)) {
      auto size =
          node.agree(how.sizes[how.axis], sizes[0], "scales of an axis");
      if (failed(size))
        return failure();
      return node.b.broadcast(node.b.retarget(wide, {how.sizes[how.axis]}),
                              how.sizes, {how.axis});
    }
    if (!getElementCount(sizes, node.b.getContext()).isConstant(1))
      return node.malformed("expected scales of the tensor or of an axis, got "
                            "sizes " +
                            fusec::toString(sizes));
    return node.b.broadcastTo(node.b.reshape(wide, {}), how.sizes);
  }
  Sizes split = how.sizes;
  Expr blockSize = node.b.getExpr(how.blockSize);
  Expr blocks = how.sizes[how.axis].floorDiv(blockSize);
  Sizes expected = how.sizes;
  expected[how.axis] = blocks;
  if (blocks * how.blockSize != how.sizes[how.axis])
    return node.unsupported(fmt::format(
        "expected a size that is a multiple of the block's {}, got {}",
        how.blockSize, how.sizes[how.axis].str()));
  if (sizes != expected)
    return node.malformed("expected scales of sizes " +
                          fusec::toString(expected) + ", got " +
                          fusec::toString(sizes));
  SmallVector<int64_t> dimensions;
  for (int64_t i = 0, rank = sizes.size(); i < rank; ++i)
    dimensions.push_back(i <= how.axis ? i : i + 1);
  split[how.axis] = blocks;
  split.insert(split.begin() + how.axis + 1, blockSize);
  return node.b.reshape(node.b.broadcast(wide, split, dimensions), how.sizes);
}

/// `scales` and `zeros` (or none) of x, as wide as it.
static Value dequantize(Node &node, Value x, Value scales, Value zeros,
                        Type type) {
  Value wide = node.b.cast(x, node.b.getF32Type());
  if (zeros)
    wide = node.b.binary<SubOp>(wide, zeros);
  return node.b.cast(node.b.binary<MulOp>(wide, scales), type);
}

static LogicalResult importDequantizeLinear(Node &node) {
  int64_t axis = node.getInt("axis", 1);
  Spread how{node.getInputSizes(0), 0,
             node.opset >= 21 ? node.getInt("block_size", 0) : 0};
  Type type = node.getInputType(1);
  if (node.opset >= 23 && node.hasAttr("output_dtype") &&
      node.getInt("output_dtype", 0) != 0)
    type = node.getTypeAttr("output_dtype", 0);
  if (!type || how.blockSize < 0 || !isa<FloatType>(node.getInputType(1)) ||
      !isa<FloatType>(type))
    return node.unsupported("expected scales and a result of floats, and "
                            "blocks of positive sizes");
  if (node.hasInput(2) && (node.getInputType(2) != node.getInputType(0) ||
                           node.getInputSizes(2) != node.getInputSizes(1)))
    return node.malformed("expected zero points of the input's type and the "
                          "scales' sizes");
  bool isOfAxis = how.blockSize || (node.getInputRank(1) == 1 &&
                                    !node.getInputSizes(1)[0].isConstant(1));
  if (isOfAxis) {
    auto valid = node.getAxis(axis, how.sizes.size());
    if (failed(valid))
      return failure();
    how.axis = *valid;
  }
  auto scales = spread(node, node.getInput(1), how);
  FailureOr<Value> zeros = Value();
  if (node.hasInput(2))
    zeros = spread(node, node.getInput(2), how);
  if (failed(scales) || failed(zeros))
    return failure();
  return node.setOutput(
      0, dequantize(node, node.getInput(0), *scales, *zeros, type));
}

/// Rows of a matrix at indices.
static Value gatherRows(Node &node, Value matrix, Value index) {
  Sizes result = getSizes(index), sizes = getSizes(matrix);
  int64_t rank = result.size();
  result.push_back(sizes[1]);
  Value indices = node.b.broadcast(
      index, result, llvm::to_vector(llvm::seq<int64_t>(0, rank)));
  return GatherOp::create(node.b, getTensorType(result, getElementType(matrix)),
                          matrix, ArrayRef<int64_t>{-1, rank}, indices,
                          node.getGatherPolicy());
}

/// The columns of 4 bits that a constant matrix of bytes has two of in each.
/// Null where it is no constant.
static Value unpackColumns(Node &node, Value matrix, int64_t width) {
  auto constant = matrix.getDefiningOp<ConstantOp>();
  std::string error;
  auto data = constant ? getConstantData(constant.getValue(), error)
                       : FailureOr<ConstantData>(failure());
  auto columns = getSizes(matrix)[1].getConstant();
  if (failed(data) || width < 1 || columns != llvm::divideCeil(width, 2))
    return {};
  int64_t rows = data->bytes.size() / *columns;
  auto elements = std::make_shared<std::vector<char>>(rows * width);
  for (int64_t row = 0; row < rows; ++row)
    unpack4Bits(data->bytes.slice(row * *columns, *columns),
                /*isSigned=*/false,
                MutableArrayRef(*elements).slice(row * width, width));
  auto type = RankedTensorType::get({rows, width}, getElementType(matrix));
  return ConstantOp::create(node.b, type,
                            makeConstant(type, *elements, "table", elements));
}

namespace {
/// What is gathered of, a byte an element.
struct BlockQuantized {
  Value table, zeros;
  int64_t zero; // where there are no zeros
};
} // namespace

/// Elements of 8 bits, of 4 bits, or two of these in a byte.
static FailureOr<BlockQuantized> readBlockQuantized(Node &node, int64_t bits,
                                                    int64_t blockSize) {
  BlockQuantized read{node.getInput(0),
                      node.hasInput(3) ? node.getInput(3) : Value(), 0};
  auto blocks = node.getInputSizes(2).back().getConstant(),
       columns = node.getInputSizes(0)[1].getConstant();
  bool isUnsigned = node.getInputType(0).isUnsignedInteger(8);
  if (bits == 8 && isUnsigned) {
    read.zero = 128;
    return read;
  }
  if (bits != 4 || !node.getInputType(0).isInteger(8) || !blocks || !columns)
    return node.unsupported("expected elements of 8 bits, or constants of 4");
  int64_t width;
  if (llvm::MulOverflow(*blocks, blockSize, width))
    return node.unsupported("expected fewer columns");
  if (isUnsigned && *columns != width) {
    read.zero = 8;
    read.table = unpackColumns(node, read.table, width);
    if (read.zeros)
      read.zeros = unpackColumns(node, read.zeros, *blocks);
    if (!read.table || !!read.zeros != node.hasInput(3))
      return node.unsupported("expected constants of bytes with two elements "
                              "each, of as many columns as scales say");
  }
  return read;
}

static LogicalResult importGatherBlockQuantized(Node &node) {
  int64_t bits = node.getInt("bits", 4),
          blockSize = node.getInt("block_size", 128);
  int64_t gatherAxis = node.getInt("gather_axis", 0),
          quantizeAxis = node.getInt("quantize_axis", 1);
  Type indexType = node.getInputType(1);
  bool areMatrices = node.getInputRank(0) == 2 && node.getInputRank(2) == 2 &&
                     (!node.hasInput(3) || node.getInputRank(3) == 2);
  if (!areMatrices || gatherAxis != 0 ||
      (quantizeAxis != 1 && quantizeAxis != -1) || blockSize < 1 ||
      !isa<FloatType>(node.getInputType(2)) ||
      (!indexType.isSignlessInteger(64) && !indexType.isSignlessInteger(32)))
    return node.unsupported("expected rows of a matrix, quantised by blocks of "
                            "columns, with matrices of scales of floats and, "
                            "where there are any, of zeros");
  auto read = readBlockQuantized(node, bits, blockSize);
  if (failed(read))
    return failure();
  Value index = node.getInput(1);
  Spread how{getSizes(index), node.getInputRank(1), blockSize};
  how.sizes.push_back(getSizes(read->table)[1]);
  auto spreadRows = [&](Value matrix) {
    return spread(node, gatherRows(node, matrix, index), how);
  };
  auto scales = spreadRows(node.getInput(2));
  FailureOr<Value> zeros =
      read->zeros       ? spreadRows(read->zeros)
      : read->zero != 0 ? FailureOr<Value>(node.b.splat(read->zero, how.sizes,
                                                        node.b.getF32Type()))
                        : FailureOr<Value>(Value());
  if (failed(scales) || failed(zeros))
    return failure();
  return node.setOutput(0,
                        dequantize(node, gatherRows(node, read->table, index),
                                   *scales, *zeros, node.getInputType(2)));
}

llvm::ArrayRef<Handler> getQuantizationHandlers() {
  static constexpr Handler handlers[] = {
      {"DequantizeLinear", 13, 2, 3, 1, Types::Integer, importDequantizeLinear,
       "8-bit floats, 4-bit types but in constants"},
      {"com.microsoft.GatherBlockQuantized", 13, 3, 4, 1, Types::Integer,
       importGatherBlockQuantized,
       "4-bit types but in constants, other axes than rows"},
  };
  return handlers;
}

} // namespace fusec::onnx
