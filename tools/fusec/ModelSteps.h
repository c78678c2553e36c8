// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The steps of a compilation that commands share.

#ifndef FUSEC_TOOLS_FUSEC_MODELSTEPS_H
#define FUSEC_TOOLS_FUSEC_MODELSTEPS_H

#include "compiler/Compiler.h"
#include "tools/fusec/Command.h"

namespace fusec {

/// Imports, or ends the command.
std::unique_ptr<Compilation> importModel(const std::string &file,
                                         CompileOptions options);
void advanceModel(const std::string &file, Compilation &compilation,
                  Stage stage);
/// To the program that the reference evaluates: as imported, but where the
/// precision has products multiply rounded operands, or tables are quantised.
void advanceForReference(const std::string &file, Compilation &compilation);
void reportWarnings(const Compilation &compilation, Report &report);
/// What is not used of the kernel cache.
void reportWarnings(KernelCompiler &compiler, Report &report);
/// Compiles all kernels with progress on stderr, and reports warnings.
void compileModel(const std::string &file, Compilation &compilation,
                  KernelCompiler &compiler, bool quiet, Report &report);
const NvrtcIdentity &getNvrtc(KernelCompiler &compiler);

} // namespace fusec

#endif // FUSEC_TOOLS_FUSEC_MODELSTEPS_H
