// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the compiler's log says: resources of each kernel, serialised wgmma,
// and where an error lies in the source. ptxas prints the same statistics
// through every NVRTC from 12.4 on, so that no cubin has to be taken apart.

#ifndef FUSEC_COMPILER_CODEGEN_NVRTC_NVRTCLOG_H
#define FUSEC_COMPILER_CODEGEN_NVRTC_NVRTCLOG_H

#include "compiler/codegen/nvrtc/Nvrtc.h"

namespace fusec {

/// The log without the lines that differ from run to run (compile times).
std::string stableLog(llvm::StringRef log);

/// The statistics of `--ptxas-options=-v`, sorted by symbol.
std::vector<KernelUsage> parseUsage(llvm::StringRef log);

/// The entries of a PTX text, sorted by symbol.
std::vector<KernelUsage> parsePtxEntries(llvm::StringRef ptx);

/// Whether the log holds a ptxas message C7500 to C7599.
bool reportsSerializedMma(llvm::StringRef log);

/// The log with the numbered lines around each of the first errors.
std::string explainErrors(llvm::StringRef log, const CompileRequest &request);

} // namespace fusec

#endif // FUSEC_COMPILER_CODEGEN_NVRTC_NVRTCLOG_H
