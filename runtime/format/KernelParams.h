// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the kernels of a cubin take, as its ELF file says: of parameters passed
// one by one the driver reads as many bytes as the kernel takes, so that a
// manifest that has fewer would make it read behind them.
//
// The layout of the tables is as nvdisasm of CUDA 13.0 prints it, and the same
// in what ptxas writes for sm_80, sm_90a, sm_100 and sm_120.

#ifndef FUSEC_RUNTIME_FORMAT_KERNELPARAMS_H
#define FUSEC_RUNTIME_FORMAT_KERNELPARAMS_H

#include "runtime/format/Bundle.h"

#include <map>
#include <string>
#include <vector>

namespace fusec::format {

struct KernelParams {
  std::vector<unsigned> sizes;
  unsigned bytes = 0; // of all in a block, up to the end of the last one
};

// Of all kernels, by their symbols. Throws ReadError, which begins with `name`,
// at what is no such file.
std::map<std::string, KernelParams> readKernelParams(ByteSpan cubin,
                                                     const std::string &name);

// Compares what launches pass to kernels of cubins with what those take. Throws
// ReadError at the first that differ. The manifest's references are checked.
void checkKernelParams(const Manifest &manifest,
                       const std::vector<Section> &sections);

} // namespace fusec::format

#endif
