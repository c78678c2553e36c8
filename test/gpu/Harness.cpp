// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/Harness.h"
#include "runtime/src/Failure.h"
#include "tools/fusec/Failure.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Regex.h"

#include <cmath>

namespace fusec {

Harness::Harness(int argc, char **argv) : compiler(KernelCompilerOptions()) {
  for (int i = 1; i != argc; ++i) {
    llvm::StringRef argument(argv[i]);
    if (argument.consume_front("--filter="))
      filter = argument.str();
    else if (argument.consume_front("--shard=")) {
      if (std::optional<Shard> one = Shard::parse(argument))
        shard = *one;
    } else if (argument.consume_front("--compile-only=")) {
      target = argument.str();
      compileOnly = true;
    } else if (argument.consume_front("--arch="))
      target = argument.str();
    else
      arguments.push_back(argument.str());
  }
  if (compileOnly)
    return;
  std::string reason;
  std::optional<DeviceInfo> info = findDevice(0, reason);
  if (!info) {
    llvm::errs() << "no device: " << reason << "\n";
    return;
  }
  if (target.empty())
    target = info->target;
  device = std::make_unique<rt::Device>(nullptr, 0);
}

int Harness::printUsage(const std::string &program) {
  llvm::errs() << "usage: " << program
               << " [--filter=REGEX] [--shard=I/N] [--arch=TARGET] "
                  "[--compile-only=TARGET]\n";
  return 2;
}

bool Harness::isWanted(const std::string &test) const {
  return (filter.empty() || llvm::Regex(filter).match(test)) && shard.has(test);
}

void Harness::report(const std::string &test, const std::string &result,
                     const std::string &message,
                     std::optional<std::pair<double, double>> measured) {
  good &= result != "fail";
  llvm::json::Object line{{"test", test}, {"result", result}, {"arch", target}};
  if (!message.empty())
    line["message"] = llvm::json::fixUTF8(message);
  if (measured) {
    line["error"] = std::isfinite(measured->first) ? measured->first : 1e300;
    line["bound"] = measured->second;
  }
  llvm::outs() << llvm::json::Value(std::move(line)) << "\n";
  llvm::outs().flush();
}

/// Kernels are named after their steps: apart from those of every other
/// program, so that a name in a sanitizer's report leads to one of them.
static llvm::Error nameApart(Compilation &compilation, size_t program) {
  if (llvm::Error error = compilation.advance(Stage::Planned))
    return error;
  for (PlanOp plan : compilation.getModule().getOps<PlanOp>())
    for (StepOp step : plan.getOps<StepOp>())
      step.setName((step.getName() + "_" + llvm::Twine(program)).str());
  return llvm::Error::success();
}

std::unique_ptr<Harness::Compiled> Harness::compile(const std::string &test,
                                                    const Import &import) {
  if (!device && !compileOnly)
    return nullptr;
  CompileOptions options;
  options.targets = {target};
  options.refuseSpills = true;
  auto fail = [&](llvm::Error error) {
    report(test, "fail", llvm::toString(std::move(error)));
    return nullptr;
  };
  auto compilation = import(options), original = import(options);
  if (!compilation)
    return fail(
        llvm::joinErrors(compilation.takeError(), original.takeError()));
  if (!original)
    return fail(original.takeError());
  if (llvm::Error error = nameApart(**compilation, ++programs))
    return fail(std::move(error));
  if (llvm::Error error = (*compilation)->compile(compiler))
    return fail(std::move(error));
  llvm::Expected<const NvrtcIdentity &> identity = compiler.getIdentity();
  if (!identity)
    return fail(identity.takeError());
  llvm::Expected<std::string> bundle =
      (*compilation)->getBundle(identity->version);
  if (!bundle)
    return fail(bundle.takeError());
  auto result = std::make_unique<Compiled>();
  result->compilation = std::move(*compilation);
  result->original = std::move(*original);
  result->bundle = std::move(*bundle);
  if (!device) {
    report(test, "pass", "compiled");
    return result;
  }
  try {
    result->run = std::make_unique<DeviceRun>(
        DeviceRun::loadBytes(result->bundle, device->ordinal()), *device);
  } catch (const Error &error) {
    report(test, "fail", error.what());
    return nullptr;
  }
  return result;
}

std::unique_ptr<Harness::Compiled> Harness::compileWith(const std::string &test,
                                                        const Import &import,
                                                        const Choice &choose) {
  // The first import is compiled, the second stays as it is.
  bool isFirst = true;
  return compile(
      test,
      [&](CompileOptions options)
          -> llvm::Expected<std::unique_ptr<Compilation>> {
        auto compilation = import(std::move(options));
        if (!compilation || !std::exchange(isFirst, false))
          return compilation;
        if (llvm::Error error = (*compilation)->advance(Stage::Planned))
          return error;
        PlanOp plan = *(*compilation)->getModule().getOps<PlanOp>().begin();
        // The last matmul, where there is one: what adds its parts comes after.
        StepOp root;
        for (StepOp step : plan.getOps<StepOp>())
          if (!root || root.getFamily() != Family::Gemm ||
              step.getFamily() == Family::Gemm)
            root = step;
        llvm::SmallVector<mlir::Attribute> variants(root.getVariants().begin(),
                                                    root.getVariants().end());
        variants[0] = choose(llvm::cast<VariantAttr>(variants[0]));
        root.setVariantsAttr(mlir::ArrayAttr::get(root.getContext(), variants));
        return compilation;
      });
}

void Harness::check(const std::string &test,
                    const std::function<std::pair<double, double>()> &check) {
  try {
    auto [error, bound] = check();
    report(test, error <= bound ? "pass" : "fail", "", std::pair(error, bound));
  } catch (const Failure &failure) {
    report(test, "fail", failure.message);
  } catch (const rt::Failure &failure) {
    report(test, "fail", failure.message);
  } catch (const Error &error) {
    report(test, "fail", error.what());
  }
}

int Harness::finish() const {
  if (!device && !compileOnly)
    return 77;
  return good ? 0 : 1;
}

} // namespace fusec
