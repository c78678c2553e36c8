// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One emitted kernel: its CUDA C text, and what it is passed.

#ifndef FUSEC_COMPILER_CODEGEN_KERNELSOURCE_H
#define FUSEC_COMPILER_CODEGEN_KERNELSOURCE_H

#include "compiler/Names.h"
#include "compiler/analysis/TensorMapShape.h"
#include "ir/FusecOps.h"
#include <string>

namespace fusec {

/// A kernel parameter, in the order of the kernel's signature.
struct KernelParam {
  enum class Kind { Buffer, Size, Fault, Flags, TensorMap } kind;
  std::string buffer = {}; // symbol of the plan's buffer
  int64_t offset = 0;      // of a Buffer: bytes from its start
  Expr size = {};          // of a Size
  unsigned bits = 64;      // of a Size: 32 or 64
  int64_t words = 64;      // of Flags
  int64_t team = 1;        // blocks that wait for one another through them
  /// Whether it lies in the same struct parameter as the one before.
  bool continues = false;
  TensorMapShape map = {}; // of a TensorMap, over `buffer`
};

struct KernelSource {
  std::string symbol; // of the __global__ function, without "extern"
  std::string text;
  /// Names that the text declares: the symbol, parameters, types, variables.
  llvm::StringSet<> names;
  std::vector<KernelParam> params;
};

/// The texts of compiler/device/, by the names kernels include them by.
llvm::ArrayRef<std::pair<llvm::StringRef, llvm::StringRef>> getDeviceHeaders();

} // namespace fusec

#endif // FUSEC_COMPILER_CODEGEN_KERNELSOURCE_H
