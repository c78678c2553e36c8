// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options of every command that compiles.

#ifndef FUSEC_TOOLS_FUSEC_MODELOPTIONS_H
#define FUSEC_TOOLS_FUSEC_MODELOPTIONS_H

#include "compiler/Compiler.h"
#include "tools/fusec/Command.h"
#include "tools/fusec/CompileFailure.h"

namespace fusec {

/// A named dimension, and the sizes that it has one after the other.
struct SizeList {
  std::string name;
  std::vector<int64_t> sizes;
};

class ModelOptions {
public:
  /// Whether kernels are compiled too; without it no option of NVRTC is added.
  void addTo(CLI::App &app, bool compilesKernels);
  void addArch(CLI::App &app);
  void addTuning(CLI::App &app);
  /// Those that mark weights and low-rank updates as ones that change.
  void addReplaceable(CLI::App &app);

  /// Reads the files of --const; throws Failure.
  CompileOptions getOptions() const;
  KernelCompilerOptions getCompilerOptions() const;
  /// The files that the options name.
  std::vector<std::string> getFiles() const;
  /// Takes those of --dim away that list several sizes, so that compiling fixes
  /// none of them. Throws Failure.
  std::vector<SizeList> takeSizeLists();
  /// For a bundle that takes the same sizes.
  ModelOptions forBundle(std::string file) const;
  /// Throws Failure where an option is given that a bundle has behind it.
  void checkForBundle() const;
  bool hasArch() const { return !arch.empty(); }

  std::string model;
  std::vector<std::string> arch;
  std::string tuning;
  std::map<std::string, int64_t> getDims() const;
  Precision getPrecision() const { return *symbolizePrecision(precision); }

private:
  std::vector<AdapterRequest> getAdapters() const;

  std::vector<std::string> constants, dims, errors, adapters, replaceable,
      updatable;
  int64_t maxRank = 0;
  std::string numerics = "default", precision = "ieee", gather = "flag",
              tableType = "model", nvrtc;
  bool noFusion = false, noCache = false;
};

/// A tuning file that is there; throws Failure where it is not, or is
/// malformed.
TuningFile readTuning(const std::string &path);
/// Says what of the tuning file was of no use to the compiled plans.
void noteTuning(const std::string &path, Compilation &compilation,
                Report &report);

/// "name=value" of an option, split; throws Failure.
std::pair<std::string, std::string> splitPair(const std::string &option,
                                              const std::string &text);
std::map<std::string, int64_t> parseDims(const std::vector<std::string> &texts);

/// All that --arch may name, a comma between them.
std::string getTargetNames();

/// Throws Failure where --arch has no such target.
void checkArch(const std::string &target);

/// Whether the file is a bundle, by its first bytes; throws Failure where there
/// is no regular file.
bool isBundle(const std::string &path);

} // namespace fusec

#endif // FUSEC_TOOLS_FUSEC_MODELOPTIONS_H
