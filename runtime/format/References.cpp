// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a manifest says about the other sections of its bundle.

#include "runtime/format/Bundle.h"
#include "runtime/format/ForEachLaunch.h"

namespace fusec::format {

namespace {
void checkSection(const std::vector<SectionShape> &sections, unsigned index,
                  SectionKind kind, const Where &where) {
  if (index >= sections.size())
    where.fail("expected a section below " + std::to_string(sections.size()) +
               ", found " + std::to_string(index));
  if (sections[index].kind != kind)
    where.fail(std::string("expected a section of kind '") +
               sectionKindName(kind) + "', found section " +
               std::to_string(index) + " of kind '" +
               sectionKindName(sections[index].kind) + "'");
}

void checkPlan(const Plan &plan, const std::vector<SectionShape> &sections,
               const Where &where) {
  Where weights = where.member("weights");
  for (size_t i = 0; i != plan.weights.size(); ++i) {
    const Weight &weight = plan.weights[i];
    checkSection(sections, weight.section, SectionKind::Weights,
                 weights.at(i).member("section"));
    uint64_t size = sections[weight.section].size;
    if (weight.offset > size || weight.size > size - weight.offset)
      weights.at(i).fail("expected a range within the " + std::to_string(size) +
                         " bytes of section " + std::to_string(weight.section) +
                         ", found " + std::to_string(weight.size) +
                         " bytes at offset " + std::to_string(weight.offset));
  }
  SectionKind code =
      plan.target == "ptx" ? SectionKind::Ptx : SectionKind::Cubin;
  forEachLaunch(plan, where, [&](const Launch &launch, const Where &place) {
    checkSection(sections, launch.section, code, place.member("section"));
  });
}
} // namespace

bool checkReferences(const Manifest &manifest,
                     const std::vector<SectionShape> &sections,
                     std::string &error) {
  try {
    Where plans("plans");
    for (size_t i = 0; i != manifest.plans.size(); ++i)
      checkPlan(manifest.plans[i], sections, plans.at(i));
  } catch (const ReadError &failure) {
    error = failure.message;
    return false;
  }
  return true;
}

} // namespace fusec::format
