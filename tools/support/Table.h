// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text tables: a header, aligned columns, two spaces between them.

#ifndef FUSEC_TOOLS_SUPPORT_TABLE_H
#define FUSEC_TOOLS_SUPPORT_TABLE_H

#include <string>
#include <vector>

namespace fusec {

class Table {
public:
  enum class Align { Left, Right };
  struct Column {
    std::string title;
    Align align = Align::Left;
  };

  explicit Table(std::vector<Column> columns);

  /// Missing cells are empty; cells beyond the columns are dropped.
  void row(std::vector<std::string> cells);
  /// Lines without trailing spaces.
  std::string str() const;

private:
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
};

/// "512 B", "1.5 KiB", "3.2 GiB".
std::string formatBytes(unsigned long long bytes);

} // namespace fusec

#endif // FUSEC_TOOLS_SUPPORT_TABLE_H
