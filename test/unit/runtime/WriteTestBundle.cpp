// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes the test bundle to the file named on the command line.

#include "test/unit/runtime/TestBundle.h"

#include <fstream>

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  std::vector<uint8_t> file = fusec::test::makeBundle();
  std::ofstream stream(argv[1], std::ios::binary);
  stream.write(reinterpret_cast<const char *>(file.data()),
               std::streamsize(file.size()));
  return stream.flush() ? 0 : 1;
}
