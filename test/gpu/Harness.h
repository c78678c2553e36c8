// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the programs of this folder share: models compiled for the device at
// hand, and results judged against the reference.

#ifndef FUSEC_TEST_GPU_HARNESS_H
#define FUSEC_TEST_GPU_HARNESS_H

#include "test/gpu/Shard.h"
#include "tools/fusec/DeviceRun.h"

#include <functional>

namespace fusec {

class Harness {
public:
  /// Reads `--filter=REGEX`, `--shard=I/N`, `--arch=TARGET` (instead of the
  /// device's own) and `--compile-only=TARGET` (without a device: all is
  /// compiled, nothing is run); the rest are positional.
  Harness(int argc, char **argv);

  /// Says how to call a program, given with its own arguments, and returns the
  /// exit status for one that was called otherwise.
  static int printUsage(const std::string &program);

  const std::vector<std::string> &getArguments() const { return arguments; }
  bool isWanted(const std::string &test) const;

  /// A model with what is needed to run it. Null, after a failure was
  /// reported for `test`, where it does not compile.
  struct Compiled {
    std::unique_ptr<Compilation> compilation;
    std::unique_ptr<Compilation> original; // as imported, for the reference
    std::string bundle;
    std::unique_ptr<DeviceRun> run; // null without a device
  };
  using Import = std::function<llvm::Expected<std::unique_ptr<Compilation>>(
      CompileOptions)>;
  std::unique_ptr<Compiled> compile(const std::string &test,
                                    const Import &import);

  /// As compile(), with another first variant of the plan's last matmul
  /// (earlier steps prepare its operands, later ones add its parts); of its
  /// last step where it has none.
  using Choice = std::function<VariantAttr(VariantAttr)>;
  std::unique_ptr<Compiled> compileWith(const std::string &test,
                                        const Import &import,
                                        const Choice &choose);

  /// Runs `check`, which returns error and bound in one measure, and reports.
  /// Everything that it throws is a failure.
  void check(const std::string &test,
             const std::function<std::pair<double, double>()> &check);

  bool hasDevice() const { return device != nullptr; }
  /// Whether kernels are PTX, which has no schedules of one device alone.
  bool isPortable() const { return target == "ptx"; }
  /// Only where there is one.
  const rt::Device &getDevice() const { return *device; }
  /// 0 all passed, 1 not, 77 no device.
  int finish() const;

private:
  void report(const std::string &test, const std::string &result,
              const std::string &message,
              std::optional<std::pair<double, double>> measured = std::nullopt);

  std::vector<std::string> arguments;
  std::string filter, target;
  Shard shard;
  bool compileOnly = false, good = true;
  size_t programs = 0;
  std::unique_ptr<rt::Device> device;
  KernelCompiler compiler;
};

} // namespace fusec

#endif // FUSEC_TEST_GPU_HARNESS_H
