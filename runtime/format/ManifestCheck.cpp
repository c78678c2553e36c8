// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the values of a manifest must satisfy by themselves: names, indices,
// ranges and limits. Launches are checked in LaunchCheck.cpp.

#include "runtime/format/ManifestChecker.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

namespace fusec::format {

namespace {
constexpr unsigned maxRank = 32;
constexpr unsigned maxExprDepth = 48;
constexpr unsigned maxExprNodes = 4096;
constexpr unsigned maxPlanSharedMemory = 1u << 20;
// That of memory as devices allocate it.
constexpr unsigned maxWeightAlignment = 256;

void checkShape(const Expr &expr, const Where &where, unsigned depth,
                unsigned &nodes) {
  if (depth > maxExprDepth || ++nodes > maxExprNodes)
    where.fail("expected an expression of at most " +
               std::to_string(maxExprNodes) + " terms nested at most " +
               std::to_string(maxExprDepth) + " deep");
  bool leaf = expr.op == Expr::Op::Constant || expr.op == Expr::Op::Dim;
  bool nary = expr.op == Expr::Op::Add || expr.op == Expr::Op::Mul ||
              expr.op == Expr::Op::Min || expr.op == Expr::Op::Max;
  size_t count = expr.operands.size();
  if (leaf ? count != 0 : nary ? count == 0 : count != 2)
    where.fail("operator '" + std::string(leaf ? "leaf" : exprOpName(expr.op)) +
               "' expects " +
               (leaf   ? "no operands"
                : nary ? "at least one operand"
                       : "two operands") +
               ", found " + std::to_string(count));
  for (const Expr &operand : expr.operands)
    checkShape(operand, where, depth + 1, nodes);
}

void checkNames(const std::vector<TensorSpec> &tensors, const Where &where) {
  std::vector<std::string_view> names;
  for (const TensorSpec &tensor : tensors)
    names.push_back(tensor.name);
  std::sort(names.begin(), names.end());
  auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end())
    where.fail("name '" + std::string(*twice) + "' occurs twice");
}

// Weights of a section are equal ranges (shared content) or do not overlap.
void checkOverlaps(const std::vector<Weight> &weights, const Where &where) {
  std::vector<size_t> order(weights.size());
  for (size_t i = 0; i != order.size(); ++i)
    order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t lhs, size_t rhs) {
    const Weight &a = weights[lhs], &b = weights[rhs];
    return std::tie(a.section, a.offset, a.size, lhs) <
           std::tie(b.section, b.offset, b.size, rhs);
  });
  const Weight *last = nullptr;
  for (size_t index : order) {
    const Weight &weight = weights[index];
    if (weight.size == 0)
      continue;
    if (last && last->section == weight.section &&
        weight.offset < last->offset + last->size) {
      bool same = last->offset == weight.offset && last->size == weight.size;
      auto isChanged = [](const Weight &weight) {
        return weight.replaceable || weight.updatable;
      };
      if (!same || isChanged(*last) || isChanged(weight))
        where.at(index).fail("weight '" + weight.name + "' overlaps weight '" +
                             last->name + "'");
    }
    last = &weight;
  }
}
} // namespace

Bounds ManifestChecker::checkExpr(Expr &expr, const Where &where) {
  unsigned nodes = 0;
  checkShape(expr, where, 0, nodes);
  std::string unknown;
  if (!resolveDims(expr, manifest.dims, unknown))
    where.fail("unknown dimension '" + unknown + "'");
  std::optional<Bounds> bounds = findBounds(expr);
  if (!bounds)
    where.fail("expected a number of 64 bits, found " +
               shorten(toString(expr)) +
               ", which overflows or divides by zero");
  return *bounds;
}

void ManifestChecker::checkSize(Expr &expr, const Where &where) {
  if (checkExpr(expr, where).isNegative())
    where.fail("expected a size of at least 0, found " +
               shorten(toString(expr)));
}

void ManifestChecker::checkDims() {
  Where where("dims");
  for (size_t i = 0; i != manifest.dims.size(); ++i) {
    if (manifest.dims[i].empty())
      where.at(i).fail("expected a name, found ''");
    if (i != 0 && !(manifest.dims[i - 1] < manifest.dims[i]))
      where.at(i).fail("expected names in ascending order, found '" +
                       manifest.dims[i] + "' after '" + manifest.dims[i - 1] +
                       "'");
  }
}

void ManifestChecker::checkTensors(std::vector<TensorSpec> &tensors,
                                   const char *key) {
  Where list(key);
  for (size_t i = 0; i != tensors.size(); ++i) {
    Where where = list.at(i);
    if (tensors[i].name.empty())
      where.fail("expected a name, found ''");
    Where sizes = where.member("sizes");
    if (tensors[i].sizes.size() > maxRank)
      sizes.fail("expected a rank of at most " + std::to_string(maxRank) +
                 ", found " + std::to_string(tensors[i].sizes.size()));
    for (size_t d = 0; d != tensors[i].sizes.size(); ++d)
      checkSize(tensors[i].sizes[d], sizes.at(d));
    checkIndexRanges(tensors[i], where.member("index_ranges"));
  }
  checkNames(tensors, list);
}

static bool isInteger(DType type) {
  return type >= DType::I8 && type <= DType::U64;
}

void ManifestChecker::checkIndexRanges(const TensorSpec &tensor,
                                       const Where &where) {
  const std::vector<IndexRange> &ranges = tensor.indexRanges;
  if (ranges.empty())
    return;
  if (!isInteger(tensor.dtype))
    where.fail("expected none of what has no integers");
  int64_t columns = 0;
  for (size_t i = 0; i != ranges.size(); ++i) {
    if (ranges[i].begin < 0 || ranges[i].end < ranges[i].begin)
      where.at(i).fail("expected 0 <= begin <= end, found " +
                       std::to_string(ranges[i].begin) + " and " +
                       std::to_string(ranges[i].end));
    bool isAll = ranges[i].columns == 0 && ranges.size() == 1;
    if (isAll)
      return;
    if (ranges[i].columns <= 0 || ranges[i].columns > INT32_MAX)
      where.at(i).fail("expected 1 to 2147483647 columns, or one range with 0, "
                       "found " +
                       std::to_string(ranges[i].columns));
    columns += ranges[i].columns;
  }
  if (tensor.sizes.empty() || !tensor.sizes.back().isConstant() ||
      tensor.sizes.back().value != columns)
    where.fail("expected as many columns as the last size, found " +
               std::to_string(columns));
}

void ManifestChecker::checkWeight(const Weight &weight, const Where &where) {
  if (weight.name.empty())
    where.fail("expected a name, found ''");
  bool powerOfTwo =
      weight.alignment != 0 && (weight.alignment & (weight.alignment - 1)) == 0;
  if (!powerOfTwo || weight.alignment > maxWeightAlignment)
    where.member("alignment")
        .fail("expected a power of two of at most " +
              std::to_string(maxWeightAlignment) + ", found " +
              std::to_string(weight.alignment));
  if (weight.offset % weight.alignment != 0)
    where.member("offset").fail("expected a multiple of the alignment " +
                                std::to_string(weight.alignment) + ", found " +
                                std::to_string(weight.offset));
  uint64_t end = 0;
  if (__builtin_add_overflow(weight.offset, weight.size, &end))
    where.fail("offset " + std::to_string(weight.offset) + " plus size " +
               std::to_string(weight.size) + " exceeds 64 bits");
  for (size_t d = 0; d != weight.sizes.size(); ++d)
    if (weight.sizes[d] < 0)
      where.member("sizes").at(d).fail("expected a size of at least 0, found " +
                                       std::to_string(weight.sizes[d]));
  if (!nlohmann::json::accept(weight.layout))
    where.member("layout").fail("expected JSON text");
  if (!nlohmann::json::accept(weight.pack))
    where.member("pack").fail("expected JSON text");
  if (!weight.adapter.empty())
    checkFactor(weight, where);
  if (weight.updatable && weight.replaceable)
    where.member("updatable").fail("expected false, as of what is replaceable");
  if (weight.table && (weight.replaceable || weight.sizes.empty()))
    where.member("table").fail(
        "expected false, as of what is replaceable or has no rows");
  if (weight.updatable && weight.sizes.empty())
    where.member("sizes").fail("expected at least one size, the rows");
  if (weight.replaceable || weight.updatable || weight.table)
    checkDense(weight, where);
}

// What is replaced or updated has the bytes of a dense tensor.
void ManifestChecker::checkDense(const Weight &weight, const Where &where) {
  uint64_t bytes = dtypeSize(weight.dtype);
  bool overflows = false;
  for (int64_t size : weight.sizes)
    overflows |= __builtin_mul_overflow(bytes, uint64_t(size), &bytes);
  if (overflows || bytes != weight.size)
    where.member("size").fail("expected the bytes of all elements, found " +
                              std::to_string(weight.size));
}

void ManifestChecker::checkFactor(const Weight &weight, const Where &where) {
  if (!weight.replaceable)
    where.member("replaceable").fail("expected true, as of every adapter");
  if (weight.dtype != DType::F16 && weight.dtype != DType::BF16 &&
      weight.dtype != DType::F32)
    where.member("dtype").fail("expected f16, bf16 or f32, found " +
                               std::string(dtypeName(weight.dtype)));
  if (weight.sizes.size() != 2)
    where.member("sizes").fail("expected two sizes, found " +
                               std::to_string(weight.sizes.size()));
}

// Each adapter has one A and one B, which multiply.
void ManifestChecker::checkAdapters(const Plan &plan, const Where &where) {
  std::map<std::string_view, std::array<const Weight *, 2>> adapters;
  for (size_t i = 0; i != plan.weights.size(); ++i) {
    const Weight &weight = plan.weights[i];
    if (weight.adapter.empty())
      continue;
    const Weight *&place =
        adapters[weight.adapter][weight.part == AdapterPart::B];
    if (place)
      where.at(i).member("adapter").fail(
          "adapter '" + weight.adapter +
          "' has this part already, in weight '" + place->name + "'");
    place = &weight;
  }
  for (const auto &[name, parts] : adapters) {
    if (!parts[0] || !parts[1])
      where.fail("adapter '" + std::string(name) +
                 "': expected a part a and a part b, found one of them");
    if (parts[0]->rank() != parts[1]->rank() ||
        parts[0]->dtype != parts[1]->dtype)
      where.fail("adapter '" + std::string(name) +
                 "': expected parts of one rank and type, found " +
                 std::to_string(parts[0]->rank()) + " and " +
                 std::to_string(parts[1]->rank()) + ", " +
                 std::string(dtypeName(parts[0]->dtype)) + " and " +
                 std::string(dtypeName(parts[1]->dtype)));
  }
}

// Callers replace and update weights by their names.
void ManifestChecker::checkWeightNames(const Plan &plan, const Where &where) {
  std::set<std::string_view> names;
  for (size_t i = 0; i != plan.weights.size(); ++i) {
    const Weight &weight = plan.weights[i];
    bool isNamed =
        weight.updatable || (weight.replaceable && weight.adapter.empty());
    if (isNamed && !names.insert(weight.name).second)
      where.at(i).fail("name '" + weight.name + "' occurs twice");
  }
}

void ManifestChecker::checkBuffer(Plan &plan, Buffer &buffer,
                                  const Where &where) {
  if (buffer.slot >= plan.slots.size())
    where.member("slot").fail("expected an index below " +
                              std::to_string(plan.slots.size()) + ", found " +
                              std::to_string(buffer.slot));
  checkSize(buffer.offset, where.member("offset"));
  checkSize(buffer.size, where.member("size"));
  if (!nlohmann::json::accept(buffer.layout))
    where.member("layout").fail("expected JSON text");
}

void ManifestChecker::checkPlan(Plan &plan, const Where &where) {
  std::optional<Target> target = parseTarget(plan.target);
  if (!target)
    where.member("target").fail(
        "expected a name such as 'sm_80', 'sm_90a' or 'ptx', found '" +
        plan.target + "'");
  if (plan.smem > maxPlanSharedMemory)
    where.member("smem").fail("expected at most " +
                              std::to_string(maxPlanSharedMemory) +
                              " bytes, found " + std::to_string(plan.smem));
  for (size_t i = 0; i != plan.slots.size(); ++i)
    checkSize(plan.slots[i], where.member("slots").at(i));
  for (size_t i = 0; i != plan.buffers.size(); ++i)
    checkBuffer(plan, plan.buffers[i], where.member("buffers").at(i));
  for (size_t i = 0; i != plan.weights.size(); ++i)
    checkWeight(plan.weights[i], where.member("weights").at(i));
  checkOverlaps(plan.weights, where.member("weights"));
  checkAdapters(plan, where.member("weights"));
  checkWeightNames(plan, where.member("weights"));
  for (size_t i = 0; i != plan.steps.size(); ++i)
    checkStep(plan, *target, plan.steps[i], where.member("steps").at(i));
}

void ManifestChecker::check() {
  Where format("format");
  bool known = manifest.major == formatMajor && manifest.minor <= formatMinor &&
               manifest.minor + 1 >= formatMinor;
  if (!known)
    format.fail("expected version " + std::to_string(formatMajor) + "." +
                std::to_string(formatMinor) +
                " or the minor version before it, found " +
                std::to_string(manifest.major) + "." +
                std::to_string(manifest.minor));
  checkDims();
  checkTensors(manifest.inputs, "inputs");
  checkTensors(manifest.outputs, "outputs");
  Where constraints("constraints");
  for (size_t i = 0; i != manifest.constraints.size(); ++i) {
    Where where = constraints.at(i);
    checkExpr(manifest.constraints[i].lhs, where.member("lhs"));
    checkExpr(manifest.constraints[i].rhs, where.member("rhs"));
  }
  Where plans("plans");
  if (manifest.plans.empty())
    plans.fail("expected at least one plan, found none");
  for (size_t i = 0; i != manifest.plans.size(); ++i) {
    for (size_t j = 0; j != i; ++j)
      if (manifest.plans[i].target == manifest.plans[j].target)
        plans.at(i).fail("target '" + manifest.plans[i].target +
                         "' occurs twice");
    checkPlan(manifest.plans[i], plans.at(i));
  }
}

bool checkManifest(Manifest &manifest, std::string &error) {
  try {
    ManifestChecker(manifest).check();
  } catch (const ReadError &failure) {
    error = failure.message;
    return false;
  }
  return true;
}

} // namespace fusec::format
