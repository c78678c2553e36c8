// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Remarks.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace fusec;

StringRef fusec::getName(RemarkTopic topic) {
  switch (topic) {
  case RemarkTopic::Rewrite:
    return "rewrite";
  case RemarkTopic::Fusion:
    return "fusion";
  case RemarkTopic::Schedule:
    return "schedule";
  case RemarkTopic::Storage:
    return "storage";
  }
  return "";
}

remark::detail::InFlightRemark fusec::remarkPassed(RemarkKind kind,
                                                   Location loc) {
  return remark::passed(
      loc, remark::RemarkOpts::name(kind.name).category(getName(kind.topic)));
}

remark::detail::InFlightRemark fusec::remarkMissed(RemarkKind kind,
                                                   Location loc) {
  return remark::missed(
      loc, remark::RemarkOpts::name(kind.name).category(getName(kind.topic)));
}

namespace {
class Collector final : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit Collector(std::vector<CollectedRemark> &remarks)
      : remarks(remarks) {}

  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    std::string message;
    for (const remark::detail::Remark::Arg &arg : remark.getArgs())
      message += arg.val;
    remarks.push_back({remark.getRemarkType() == llvm::remarks::Type::Passed,
                       remark.getCategoryName().str(),
                       remark.getRemarkName().str(), std::move(message),
                       remark.getLocation()});
  }

private:
  std::vector<CollectedRemark> &remarks;
};
} // namespace

LogicalResult fusec::collectRemarks(MLIRContext &context,
                                    std::vector<CollectedRemark> &remarks) {
  remark::RemarkCategories categories;
  // `all` alone only widens the filters of kinds that have one.
  categories.passed = categories.missed = ".*";
  return remark::enableOptimizationRemarks(
      context, std::make_unique<Collector>(remarks),
      std::make_unique<remark::RemarkEmittingPolicyAll>(), categories);
}

std::vector<std::string> fusec::getSourceNames(Location loc) {
  std::vector<std::string> names;
  llvm::StringSet<> seen;
  loc->walk([&](Location part) {
    if (auto name = dyn_cast<NameLoc>(part))
      if (seen.insert(name.getName()).second)
        names.push_back(name.getName().str());
    return WalkResult::advance();
  });
  return names;
}
