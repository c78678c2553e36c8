// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/support/Progress.h"
#include "tools/support/Table.h"

#include <cstdint>
#include <gtest/gtest.h>
#include <vector>

using namespace fusec;

static std::string written(bool quiet) {
  std::FILE *file = std::tmpfile();
  {
    Progress progress("compiling", 2, quiet, file);
    progress.step("gate");
    progress.message("note");
    progress.step("up");
  }
  std::string text(size_t(std::ftell(file)), '\0');
  std::rewind(file);
  EXPECT_EQ(std::fread(text.data(), 1, text.size(), file), text.size());
  std::fclose(file);
  return text;
}

TEST(Progress, PrintsLinesElsewhereThanOnATerminal) {
  EXPECT_EQ(written(false), "compiling 1/2: gate\nnote\ncompiling 2/2: up\n");
  EXPECT_EQ(written(true), "note\n");
}

TEST(Table, AlignsColumns) {
  Table table({{"kernel"}, {"bytes", Table::Align::Right}, {"note"}});
  table.row({"gate\xc3\xa9", "1024", "fused"});
  table.row({"a", "7"});
  EXPECT_EQ(table.str(), "kernel  bytes  note\n"
                         "gate\xc3\xa9    1024  fused\n"
                         "a           7\n");
}

TEST(Table, FormatsBytes) {
  EXPECT_EQ(formatBytes(0), "0 B");
  EXPECT_EQ(formatBytes(1023), "1023 B");
  EXPECT_EQ(formatBytes(1536), "1.5 KiB");
  EXPECT_EQ(formatBytes(uint64_t(100) << 30), "100 GiB");
}
