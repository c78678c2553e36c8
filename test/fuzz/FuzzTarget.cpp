// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libFuzzer's entry points for the target that the command line names.

#include "test/fuzz/FuzzTarget.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

using namespace fusec::fuzz;

static const Target *target = nullptr;

void fusec::fuzz::fail(const std::string &what) {
  // The script groups finds by this line.
  std::fprintf(stderr, "fusec-fuzz: %s: %s\n", target->name, what.c_str());
  std::abort();
}

std::string fusec::fuzz::mutateBytes(std::string_view bytes, size_t maxSize) {
  std::string changed(bytes.substr(0, maxSize));
  size_t size = changed.size();
  changed.resize(maxSize);
  auto *data = reinterpret_cast<uint8_t *>(changed.data());
  changed.resize(LLVMFuzzerMutate(data, size, maxSize));
  return changed;
}

std::string fusec::fuzz::getProgramFolder() {
  char path[4096];
  ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
  std::string program(path, length > 0 ? size_t(length) : 0);
  return program.substr(0, program.rfind('/') + 1);
}

static std::string_view viewOf(const uint8_t *data, size_t size) {
  return {reinterpret_cast<const char *>(data), size};
}

static size_t change(std::string_view input, std::string_view donor,
                     uint8_t *to, size_t maxSize, unsigned seed) {
  Random random(seed);
  std::string changed = target->mutate
                            ? target->mutate(input, donor, maxSize, random)
                            : mutateBytes(input, maxSize);
  // What got too large, or empty, says nothing: libFuzzer's own mutation then.
  if (changed.empty() || changed.size() > maxSize)
    changed = mutateBytes(input, maxSize);
  std::memcpy(to, changed.data(), changed.size());
  return changed.size();
}

extern "C" int LLVMFuzzerInitialize(int *argc, char ***argv) {
  std::string_view option = "--target=";
  std::string names;
  for (const Target &each : getTargets()) {
    names += (names.empty() ? "" : ", ") + std::string(each.name);
    for (int i = 1; i < *argc; ++i)
      if ((*argv)[i] == std::string(option) + each.name)
        target = &each;
  }
  if (!target) {
    std::fprintf(stderr, "expected --target=NAME, where NAME is one of %s\n",
                 names.c_str());
    std::exit(2);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  target->run(viewOf(data, size));
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t maxSize, unsigned seed) {
  std::string input(viewOf(data, size));
  return change(input, input, data, maxSize, seed);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t *data, size_t size,
                                            const uint8_t *other,
                                            size_t otherSize, uint8_t *to,
                                            size_t maxSize, unsigned seed) {
  return change(viewOf(data, size), viewOf(other, otherSize), to, maxSize,
                seed);
}
