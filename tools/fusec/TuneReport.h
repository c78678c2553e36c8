// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `fusec tune` says of contests: a table, JSON, and the file of --probe.

#ifndef FUSEC_TOOLS_FUSEC_TUNEREPORT_H
#define FUSEC_TOOLS_FUSEC_TUNEREPORT_H

#include "tools/fusec/RandomIds.h"
#include "tools/fusec/TuneContest.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace fusec {

/// `isCompared`: whether two schedules ran.
llvm::json::Object toJson(const Contest &contest, const RandomIds &ids,
                          bool isCompared);

/// The contests' table, with what tuning them gains.
std::string getTable(llvm::ArrayRef<Contest> contests, const RandomIds &ids);

/// What --probe writes: a row a candidate, of which a refused one has no time.
class ProbeFile {
public:
  /// Nothing is written where the path is empty.
  explicit ProbeFile(const std::string &path);
  void add(const Contest &contest);
  /// Fails where something could not be written.
  void finish();

private:
  void add(const TuningEntry &entry, const Contender &contender);
  void check(std::error_code code) const;

  std::string path;
  std::unique_ptr<llvm::raw_fd_ostream> csv;
};

} // namespace fusec

#endif // FUSEC_TOOLS_FUSEC_TUNEREPORT_H
