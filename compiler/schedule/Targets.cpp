// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The files of devices/ as a table. A line of one is LIMIT for what a target
// can do, FIXED for a number of the cost model that the vendor states, or at
// which a formula or a kernel becomes another one, COST for one that is fitted,
// and REACHED for a row of a table.

#include "compiler/schedule/Targets.h"
#include "llvm/ADT/STLExtras.h"

using namespace fusec;

static constexpr unsigned kib = 1024;

#define TARGET(title) [] {                                                                         \
    Target target{};                                                           \
    target.name = #title;
#define LIMIT(member, value) target.member = value;
#define FIXED(member, value) target.member = value;
#define COST(member, value) target.member = value;
#define REACHED(table, row, from, reaches) target.table[row] = {from, reaches};
#define END_TARGET                                                             \
  return target;                                                               \
  }                                                                            \
  (),
static constexpr Target targets[] = {
#include "compiler/schedule/Devices.inc" // lists all of devices/
};
#undef TARGET
#undef LIMIT
#undef FIXED
#undef COST
#undef REACHED
#undef END_TARGET

// sm_90a runs every kernel, so that its file names every coefficient.
#define TARGET(title)
#define LIMIT(member, value)
#define FIXED(member, value)
#define COST(member, value)                                                    \
  {#member, [](Costs &costs) -> double & { return costs.member; }},
#define REACHED(table, row, from, reaches)                                     \
  {#table "[" #row "]",                                                        \
   [](Costs &costs) -> double & { return costs.table[row].part; }},
#define END_TARGET
static constexpr Coefficient coefficients[] = {
#include "compiler/schedule/devices/sm_90a.inc"
};
#undef FIXED
#undef COST
#undef REACHED

#define FIXED(member, value) +1
#define COST(member, value) +1
#define REACHED(table, row, from, reaches) +2
static constexpr size_t numbers = 0
#include "compiler/schedule/devices/sm_90a.inc"
    ;
static_assert(sizeof(Costs) == numbers * sizeof(double),
              "sm_90a.inc must give each member of Costs a value, once");

llvm::ArrayRef<Target> fusec::getTargets() { return targets; }

const Target *fusec::findTarget(llvm::StringRef name) {
  auto it =
      llvm::find_if(targets, [&](const Target &t) { return t.name == name; });
  return it == std::end(targets) ? nullptr : it;
}

llvm::ArrayRef<Coefficient> fusec::getCoefficients() { return coefficients; }
