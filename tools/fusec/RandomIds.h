// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --ids: how the integers of made-up inputs are drawn from the rows of the
// tables that they index, and what part of them they touch.

#ifndef FUSEC_TOOLS_FUSEC_RANDOMIDS_H
#define FUSEC_TOOLS_FUSEC_RANDOMIDS_H

#include "tools/fusec/Arguments.h"
#include "llvm/Support/JSON.h"

#include <CLI/CLI.hpp>

namespace fusec {

/// Rows of the tables that inputs index, each table once.
struct TouchedRows {
  uint64_t touched = 0, all = 0;
};

class RandomIds {
public:
  /// With `mayBeList`, of several distributions, too: see split().
  void addTo(CLI::App &app, bool mayBeList = false);
  /// One for each distribution that is listed.
  std::vector<RandomIds> split() const;

  /// Random values for an input, see makeRandomTensor(). Throws Failure.
  data::Tensor draw(format::DType dtype, std::vector<int64_t> sizes,
                    uint64_t seed,
                    const std::vector<format::IndexRange> &ranges) const;
  /// "uniform", "zipf:1.05".
  const std::string &getText() const { return text; }

private:
  std::string text = "uniform";
  std::optional<int64_t> limit;
};

/// Of inputs, those that are given, too.
TouchedRows
countTouched(const std::vector<data::Tensor> &inputs,
             const std::vector<std::vector<format::IndexRange>> &ranges);

/// "ids: zipf:1.05, 3.1% of 26000000 rows of tables touched"; `distribution` is
/// empty where inputs are given. Some rows are there.
std::string describeIds(const std::string &distribution,
                        const TouchedRows &rows);
/// The same; null where no input indexes a table.
llvm::json::Value idsJson(const std::string &distribution,
                          const TouchedRows &rows);

} // namespace fusec

#endif // FUSEC_TOOLS_FUSEC_RANDOMIDS_H
