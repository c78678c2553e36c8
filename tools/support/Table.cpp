// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/support/Table.h"

#include <algorithm>
#include <fmt/core.h>
#include <iterator>

namespace fusec {

/// Characters of a UTF-8 text.
static size_t width(const std::string &text) {
  return size_t(std::count_if(text.begin(), text.end(),
                              [](char c) { return (c & 0xc0) != 0x80; }));
}

Table::Table(std::vector<Column> columns) : columns(std::move(columns)) {}

void Table::row(std::vector<std::string> cells) {
  cells.resize(columns.size());
  rows.push_back(std::move(cells));
}

std::string Table::str() const {
  std::vector<std::string> titles;
  for (const Column &column : columns)
    titles.push_back(column.title);
  std::vector<const std::vector<std::string> *> lines = {&titles};
  for (const std::vector<std::string> &row : rows)
    lines.push_back(&row);
  std::vector<size_t> widths(columns.size(), 0);
  for (const std::vector<std::string> *line : lines)
    for (size_t i = 0; i < columns.size(); ++i)
      widths[i] = std::max(widths[i], width((*line)[i]));

  std::string text;
  for (const std::vector<std::string> *line : lines) {
    std::string row;
    for (size_t i = 0; i < columns.size(); ++i) {
      const std::string &cell = (*line)[i];
      std::string space(widths[i] - width(cell), ' ');
      row += i ? "  " : "";
      row += columns[i].align == Align::Left ? cell + space : space + cell;
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

std::string formatBytes(unsigned long long bytes) {
  if (bytes < 1024)
    return fmt::format("{} B", bytes);
  constexpr const char *units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = double(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit)
    value /= 1024;
  return fmt::format("{:.{}f} {}", value, value < 10 ? 1 : 0, units[unit]);
}

} // namespace fusec
