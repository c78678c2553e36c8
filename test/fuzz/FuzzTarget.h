// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is fuzzed. A program holds several targets, which share what it links;
// `--target=NAME` picks one, and all else on the command line is libFuzzer's.

#ifndef FUSEC_TEST_FUZZ_FUZZTARGET_H
#define FUSEC_TEST_FUZZ_FUZZTARGET_H

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

/// libFuzzer's own mutation of bytes, which knows the dictionary; the new size.
extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

namespace fusec::fuzz {

using Random = std::mt19937;

struct Target {
  const char *name;
  /// Reads an input. What must not happen ends the process: a sanitizer, or
  /// fail().
  void (*run)(std::string_view input);
  /// Changes an input with the help of another one, which may be equal to it.
  /// Null: libFuzzer's own mutation.
  std::string (*mutate)(std::string_view input, std::string_view donor,
                        size_t maxSize, Random &random);
};

/// The targets of this program.
const std::vector<Target> &getTargets();

/// Ends the process as a find.
[[noreturn]] void fail(const std::string &what);

/// What libFuzzer makes of some bytes.
std::string mutateBytes(std::string_view bytes, size_t maxSize);

/// The folder of the program, with a trailing slash.
std::string getProgramFolder();

/// One of a list that is not empty.
template <typename List> auto &pick(List &&list, Random &random) {
  return list[random() % std::size(list)];
}

} // namespace fusec::fuzz

#endif // FUSEC_TEST_FUZZ_FUZZTARGET_H
