// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RotaryEmbedding: pairs of elements of each head, rotated by an angle that
// depends on the position.

#include "frontends/onnx/handlers/Handlers.h"
#include <fmt/core.h>

using namespace mlir;

namespace fusec::onnx {

/// The operand as [batch, sequence, heads, size of a head].
static FailureOr<Value> splitHeads(Node &node) {
  Value x = node.getInput(0);
  int64_t heads = node.getInt("num_heads", 0);
  if (getRank(x) == 4)
    return node.b.transpose(x, {0, 2, 1, 3});
  if (getRank(x) != 3)
    return node.malformed(fmt::format(
        "expected input 0 to have rank 3 or 4, got rank {}", getRank(x)));
  Sizes sizes = getSizes(x);
  if (heads <= 0)
    return node.malformed(
        fmt::format("expected attribute 'num_heads' to be positive for an "
                    "operand of rank 3, got {}",
                    heads));
  Expr head = sizes[2].floorDiv(node.b.getExpr(heads));
  if (failed(node.agree(sizes[2], head * heads,
                        "hidden size as a multiple of num_heads")))
    return failure();
  x = node.b.retarget(x, {sizes[0], sizes[1], head * heads});
  return node.b.reshape(x, {sizes[0], sizes[1], node.b.getExpr(heads), head});
}

/// A cache at the positions, as [batch, sequence, heads, half].
static FailureOr<Value> getCache(Node &node, unsigned input,
                                 ArrayRef<Expr> result) {
  Value cache = node.getInput(input);
  Sizes sizes = getSizes(cache);
  bool indexed = node.hasInput(3);
  if (sizes.size() != (indexed ? 2 : 3))
    return node.malformed(fmt::format(
        "expected input {} to have rank {}{} position_ids, got rank {}", input,
        indexed ? 2 : 3, indexed ? " with" : " without", sizes.size()));
  if (failed(node.agree(result[3], sizes.back(),
                        "half of the rotated size and the cache")))
    return failure();
  sizes.back() = result[3];
  if (!indexed) {
    for (int i : {0, 1})
      if (!sizes[i].isConstant(1) &&
          failed(node.agree(result[i], sizes[i], "cache and operand")))
        return failure();
    return node.b.broadcast(cache, result, {0, 1, 3});
  }
  cache = node.b.retarget(cache, sizes);
  Value positions = node.getInput(3);
  Sizes positionSizes = getSizes(positions);
  if (positionSizes.size() != 2 || !node.getInputType(3).isSignlessInteger(64))
    return node.malformed("expected position_ids of rank 2 and type int64");
  for (int i : {0, 1})
    if (!positionSizes[i].isConstant(1) &&
        failed(node.agree(result[i], positionSizes[i],
                          "position_ids and operand")))
      return failure();
  Sizes looked = {result[0], result[1], result[3]};
  Value indices = node.b.broadcast(positions, looked, {0, 1});
  Value rows = GatherOp::create(
      node.b, getTensorType(looked, node.getInputType(input)), cache,
      ArrayRef<int64_t>{-1, 2}, indices, node.getGatherPolicy());
  return node.b.broadcast(rows, result, {0, 1, 3});
}

static LogicalResult importRotaryEmbedding(Node &node) {
  if (failed(node.checkSameTypes({0, 1, 2})))
    return failure();
  TensorBuilder &b = node.b;
  bool interleaved = node.getBool("interleaved", false);
  int64_t rotated = node.getInt("rotary_embedding_dim", 0);
  auto split = splitHeads(node);
  if (failed(split))
    return failure();
  Value x = *split;
  Sizes sizes = getSizes(x);
  auto head = sizes[3].getConstant();
  if (!head)
    return node.unsupported("expected the size of a head to be a number, got " +
                            sizes[3].str());
  if (rotated == 0)
    rotated = *head;
  if (rotated < 0 || rotated > *head || rotated % 2)
    return node.malformed(fmt::format(
        "expected an even number of rotated elements of at most {}, got {}",
        *head, rotated));
  Sizes half = sizes;
  half[3] = b.getExpr(rotated / 2);
  auto cosine = getCache(node, 1, half), sine = getCache(node, 2, half);
  if (failed(cosine) || failed(sine))
    return failure();
  int64_t second = interleaved ? 1 : rotated / 2, step = interleaved ? 2 : 1;
  Value x1 = b.sliceAxis(x, 3, b.getExpr(0), half[3], step);
  Value x2 = b.sliceAxis(x, 3, b.getExpr(second), half[3], step);
  Value real =
      b.binary<SubOp>(b.binary<MulOp>(*cosine, x1), b.binary<MulOp>(*sine, x2));
  Value imaginary =
      b.binary<AddOp>(b.binary<MulOp>(*sine, x1), b.binary<MulOp>(*cosine, x2));
  Value result;
  if (interleaved) {
    Value pairs =
        b.concat({b.unsqueeze(real, 4), b.unsqueeze(imaginary, 4)}, 4);
    Sizes joined = sizes;
    joined[3] = b.getExpr(rotated);
    result = b.reshape(pairs, joined);
  } else {
    result = b.concat({real, imaginary}, 3);
  }
  if (rotated < *head) {
    Value rest =
        b.sliceAxis(x, 3, b.getExpr(rotated), b.getExpr(*head - rotated));
    result = b.concat({result, rest}, 3);
  }
  if (node.getInputRank(0) == 4)
    return node.setOutput(0, b.transpose(result, {0, 2, 1, 3}));
  return node.setOutput(
      0, b.reshape(result, {sizes[0], sizes[1], sizes[2] * sizes[3]}));
}

llvm::ArrayRef<Handler> getRotaryHandlers() {
  static constexpr Handler handlers[] = {
      {"RotaryEmbedding", 23, 3, 4, 1, Types::Float, importRotaryEmbedding,
       "heads whose size is not a number"},
  };
  return handlers;
}

} // namespace fusec::onnx
