// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels of an image.

#include "runtime/format/AlignUp.h"
#include "runtime/format/Where.h"
#include "test/unit/runtime/FakeDriverParts.h"

#include <algorithm>
#include <sstream>

using namespace fusec;

namespace {
/// The size of an image is not known: those that hold no cubin were refused.
FakeKernels readCubin(const uint8_t *image) {
  try {
    return format::readKernelParams({image, size_t(1) << 40}, "cubin");
  } catch (const format::ReadError &) {
    return {};
  }
}

FakeKernels readPtx(const std::string &text) {
  FakeKernels kernels;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    size_t open = word.find('(');
    if (open == std::string::npos)
      continue;
    format::KernelParams &kernel = kernels[word.substr(0, open)];
    std::istringstream sizes(word.substr(open + 1));
    for (unsigned size = 0; sizes >> size; sizes.ignore(1)) {
      kernel.sizes.push_back(size);
      kernel.bytes = unsigned(
          format::alignUp(kernel.bytes, std::clamp(size, 1u, 64u)) + size);
    }
  }
  return kernels;
}
} // namespace

FakeKernels readImage(const char *image, bool isElf) {
  return isElf ? readCubin(reinterpret_cast<const uint8_t *>(image))
               : readPtx(image);
}
