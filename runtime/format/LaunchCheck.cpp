// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What steps, launches and their parameters must satisfy.

#include "runtime/format/ManifestChecker.h"

namespace fusec::format {

namespace {
constexpr unsigned maxThreads = 1024;
constexpr unsigned maxBlockDepth = 64;
// The largest cluster that every device with clusters accepts.
constexpr unsigned maxCluster = 8;
constexpr unsigned clusterCapability = 90;
constexpr unsigned maxPointerAlignment = 4096;
constexpr size_t maxMapRank = 5;
constexpr unsigned maxMapBox = 256;

bool isSymbol(const std::string &name) {
  if (name.empty() || name.size() > maxSymbol)
    return false;
  for (char c : name) {
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!letter && !(c >= '0' && c <= '9') && c != '_' && c != '$' && c != '.')
      return false;
  }
  return true;
}

// Checks that each extent is at least 1 and returns their product.
uint64_t volume(const std::array<unsigned, 3> &extents, uint64_t limit,
                const Where &where) {
  uint64_t product = 1;
  for (size_t i = 0; i != extents.size(); ++i) {
    if (extents[i] < 1 || extents[i] > limit)
      where.at(i).fail("expected 1 to " + std::to_string(limit) + ", found " +
                       std::to_string(extents[i]));
    product *= extents[i];
  }
  if (product > limit)
    where.fail("expected a product of at most " + std::to_string(limit) +
               ", found " + std::to_string(product));
  return product;
}
} // namespace

// Of a cooperative launch the loader cuts the grid in x: the rest is 1.
static void checkLine(const Launch &launch, const Where &where) {
  for (size_t i : {1, 2}) {
    const Expr &extent = launch.grid[i];
    if (!extent.isConstant() || extent.value != 1)
      where.member("grid").at(i).fail("expected 1 of a cooperative launch, "
                                      "found " +
                                      toString(extent));
    if (launch.block[i] != 1)
      where.member("block").at(i).fail("expected 1 of a cooperative launch, "
                                       "found " +
                                       std::to_string(launch.block[i]));
    if (launch.cluster[i] != 1)
      where.member("cluster").at(i).fail("expected 1 of a cooperative launch, "
                                         "found " +
                                         std::to_string(launch.cluster[i]));
  }
}

void ManifestChecker::checkPointer(const Plan &plan, Pointer &pointer,
                                   const Where &where) {
  const size_t counts[] = {plan.buffers.size(), plan.weights.size(),
                           manifest.inputs.size(), manifest.outputs.size()};
  size_t count = counts[unsigned(pointer.kind)];
  if (pointer.index >= count)
    where.member("index").fail("expected an index below the number of " +
                               std::string(pointerKindName(pointer.kind)) +
                               "s, " + std::to_string(count) + ", found " +
                               std::to_string(pointer.index));
  checkSize(pointer.offset, where.member("offset"));
  if (pointer.kind == Pointer::Kind::Weight && pointer.offset.isConstant() &&
      uint64_t(pointer.offset.value) > plan.weights[pointer.index].size)
    where.member("offset").fail(
        "expected at most the size of weight '" +
        plan.weights[pointer.index].name + "', " +
        std::to_string(plan.weights[pointer.index].size) + ", found " +
        std::to_string(uint64_t(pointer.offset.value)));
}

void ManifestChecker::checkTensorMap(const Plan &plan, const Target &target,
                                     TensorMapParam &map, const Where &where) {
  if (target.ptx || target.capability < clusterCapability)
    where.fail("tensor maps need a target of sm_90 or later, found '" +
               plan.target + "'");
  checkPointer(plan, map.of, where.member("of"));
  size_t rank = map.sizes.size();
  if (rank < 1 || rank > maxMapRank)
    where.member("sizes").fail("expected 1 to 5 sizes, found " +
                               std::to_string(rank));
  if (map.strides.size() != rank - 1)
    where.member("strides").fail("expected " + std::to_string(rank - 1) +
                                 " strides, found " +
                                 std::to_string(map.strides.size()));
  if (map.box.size() != rank)
    where.member("box").fail("expected " + std::to_string(rank) +
                             " sizes, found " + std::to_string(map.box.size()));
  for (size_t i = 0; i != rank; ++i) {
    checkSize(map.sizes[i], where.member("sizes").at(i));
    if (i + 1 != rank)
      checkSize(map.strides[i], where.member("strides").at(i));
    if (map.box[i] < 1 || map.box[i] > maxMapBox)
      where.member("box").at(i).fail("expected 1 to 256, found " +
                                     std::to_string(map.box[i]));
  }
  if (map.swizzle != 0 && map.swizzle != 32 && map.swizzle != 64 &&
      map.swizzle != 128)
    where.member("swizzle").fail("expected 0, 32, 64 or 128, found " +
                                 std::to_string(map.swizzle));
  if (map.promotion != 0 && map.promotion != 64 && map.promotion != 128 &&
      map.promotion != 256)
    where.member("promotion")
        .fail("expected 0, 64, 128 or 256, found " +
              std::to_string(map.promotion));
  unsigned inner = map.box[0] * mapTypeSize(map.dtype);
  if (inner % 16 != 0 || (map.swizzle != 0 && inner > map.swizzle))
    where.member("box").at(0).fail(
        "expected a multiple of 16 bytes within the swizzle, found " +
        std::to_string(inner) + " bytes");
}

void ManifestChecker::checkParam(const Plan &plan, const Target &target,
                                 Param &param, const Where &where) {
  if (auto *pointer = std::get_if<Pointer>(&param)) {
    checkPointer(plan, *pointer, where);
  } else if (auto *size = std::get_if<SizeParam>(&param)) {
    if (size->type != DType::I32 && size->type != DType::I64)
      where.member("type").fail("expected 'i32' or 'i64', found '" +
                                std::string(dtypeName(size->type)) + "'");
    Bounds bounds = checkExpr(size->value, where.member("value"));
    if (size->type == DType::I32 &&
        (bounds.isNegative() || bounds.least > mostSize32))
      where.member("value").fail("expected 0 to " + std::to_string(mostSize32) +
                                 ", found " + shorten(toString(size->value)));
  } else if (auto *map = std::get_if<TensorMapParam>(&param)) {
    checkTensorMap(plan, target, *map, where);
  }
}

void ManifestChecker::checkLaunch(Plan &plan, const Target &target,
                                  Launch &launch, const Where &where) {
  if (!isSymbol(launch.symbol))
    where.member("symbol").fail(
        "expected letters, digits, '_', '$' and '.', found '" +
        shorten(launch.symbol, 60) + "'");
  for (size_t i = 0; i != 3; ++i)
    checkSize(launch.grid[i], where.member("grid").at(i));
  volume(launch.block, maxThreads, where.member("block"));
  if (launch.block[2] > maxBlockDepth)
    where.member("block").at(2).fail(
        "expected at most " + std::to_string(maxBlockDepth) + ", found " +
        std::to_string(launch.block[2]));
  uint64_t cluster =
      volume(launch.cluster, maxCluster, where.member("cluster"));
  if (cluster > 1 && (target.ptx || target.capability < clusterCapability))
    where.member("cluster").fail(
        "clusters need a target of sm_90 or later, found '" + plan.target +
        "'");
  if (cluster > plan.cluster)
    where.member("cluster").fail("expected at most the plan's cluster of " +
                                 std::to_string(plan.cluster) +
                                 " blocks, found " + std::to_string(cluster));
  if (launch.cooperative)
    checkLine(launch, where);
  if (launch.smem > plan.smem)
    where.member("smem").fail("expected at most the plan's " +
                              std::to_string(plan.smem) + " bytes, found " +
                              std::to_string(launch.smem));
  for (size_t i = 0; i != launch.params.size(); ++i)
    checkParam(plan, target, launch.params[i], where.member("params").at(i));
  if (paramBytes(launch) > maxParamBytes)
    where.member("params").fail(
        "expected at most " + std::to_string(maxParamBytes) +
        " bytes in all, found " + std::to_string(paramBytes(launch)));
  if (launch.work)
    checkWork(plan, *launch.work, where.member("work"));
}

void ManifestChecker::checkWork(const Plan &plan, Work &work,
                                const Where &where) {
  checkSize(work.read, where.member("read"));
  checkSize(work.written, where.member("written"));
  checkSize(work.operations, where.member("operations"));
  if (work.lead && *work.lead >= plan.steps.size())
    where.member("lead").fail("expected a step below " +
                              std::to_string(plan.steps.size()) + ", found " +
                              std::to_string(*work.lead));
}

void ManifestChecker::checkCondition(Condition &condition, const Where &where) {
  if (condition.kind != Condition::Kind::Aligned) {
    checkExpr(condition.lhs, where.member("lhs"));
    checkExpr(condition.rhs, where.member("rhs"));
    return;
  }
  Where pointer = where.member("pointer");
  bool input = condition.pointerKind == Pointer::Kind::Input;
  if (!input && condition.pointerKind != Pointer::Kind::Output)
    pointer.member("kind").fail(
        "expected 'input' or 'output', found '" +
        std::string(pointerKindName(condition.pointerKind)) + "'");
  size_t count = input ? manifest.inputs.size() : manifest.outputs.size();
  if (condition.pointerIndex >= count)
    pointer.member("index").fail("expected an index below " +
                                 std::to_string(count) + ", found " +
                                 std::to_string(condition.pointerIndex));
  bool powerOfTwo =
      condition.bytes != 0 && (condition.bytes & (condition.bytes - 1)) == 0;
  if (!powerOfTwo || condition.bytes > maxPointerAlignment)
    where.member("bytes").fail("expected a power of two of at most " +
                               std::to_string(maxPointerAlignment) +
                               ", found " + std::to_string(condition.bytes));
}

void ManifestChecker::checkStep(Plan &plan, const Target &target, Step &step,
                                const Where &where) {
  Where variants = where.member("variants");
  if (step.variants.empty())
    variants.fail("expected at least one variant, found none");
  for (size_t i = 0; i != step.variants.size(); ++i) {
    Variant &variant = step.variants[i];
    bool last = i + 1 == step.variants.size();
    if (variant.guard.empty() != last)
      variants.at(i).member("guard").fail(
          last ? "expected no condition in the last variant, found " +
                     std::to_string(variant.guard.size())
               : "expected a condition in every variant but the last, found "
                 "none");
    for (size_t c = 0; c != variant.guard.size(); ++c)
      checkCondition(variant.guard[c], variants.at(i).member("guard").at(c));
    for (size_t l = 0; l != variant.launches.size(); ++l)
      checkLaunch(plan, target, variant.launches[l],
                  variants.at(i).member("launches").at(l));
  }
}

} // namespace fusec::format
