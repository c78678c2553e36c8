// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fusec-gpu-batches MODELS: every export with a named batch, at batches from
// none to many, against the reference; one bundle serves all of them. Exactly,
// and with tensor cores that round to tf32.

#include "compiler/analysis/StepBytes.h"
#include "test/gpu/Harness.h"
#include "tools/fusec/Compare.h"
#include "tools/fusec/Failure.h"
#include "tools/fusec/RandomInputs.h"
#include "tools/fusec/ReferenceRun.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace fusec;

/// Bounds relative to the norm of the output.
struct Rounding {
  Precision precision;
  const char *suffix;
  double bound;
};
static const Rounding roundings[] = {{Precision::Ieee, "", 1e-5},
                                     {Precision::Tf32, ".tf32", 2e-3}};
/// Below the number of rows of the smallest tables.
constexpr int64_t indexLimit = 3;

static std::vector<data::Tensor> makeInputs(ModelOp model, int64_t batch) {
  std::vector<data::Tensor> inputs;
  Interface interface = getInterface(model);
  mlir::Block &body = model.getBody().front();
  for (auto [type, argument] :
       llvm::zip_equal(interface.inputs, body.getArguments())) {
    std::vector<int64_t> sizes;
    for (Expr size : getSizes(argument))
      sizes.push_back(
          size.evaluate([&](Expr) { return std::optional<int64_t>(batch); })
              .value_or(0));
    inputs.push_back(makeRandomTensor(type.dtype, sizes,
                                      inputs.size() + batch + 1, indexLimit));
  }
  return inputs;
}

static void testModel(Harness &harness, const std::string &path,
                      const Rounding &rounding) {
  std::string name = llvm::sys::path::stem(path).str() + rounding.suffix;
  auto compiled = harness.compile(name, [&](CompileOptions options) {
    options.precision = rounding.precision;
    return Compilation::importFile(path, std::move(options));
  });
  if (!compiled || !compiled->run)
    return;
  for (int64_t batch : {0, 1, 7, 128, 4096}) {
    std::string label = name + ".b" + std::to_string(batch);
    if (!harness.isWanted(label))
      continue;
    harness.check(label, [&] {
      ModelOp model = compiled->original->getModel();
      std::vector<data::Tensor> inputs = makeInputs(model, batch);
      Dims dims;
      for (const std::string &dim : getDimNames(model))
        dims.emplace_back(dim, batch);
      std::vector<data::Tensor> got = compiled->run->run(inputs, dims);
      std::vector<data::Tensor> expected = runReference(model, inputs);
      double worst = 0;
      for (size_t i = 0; i != got.size(); ++i) {
        Difference difference = compare(got[i], expected[i]);
        if (!difference.mismatch.empty())
          fail(ExitCode::VerificationFailed, difference.mismatch);
        if (difference.notFinite)
          fail(ExitCode::VerificationFailed,
               std::to_string(difference.notFinite) +
                   " elements differ in being finite");
        worst = std::max(worst, difference.norm);
      }
      return std::pair(worst, rounding.bound);
    });
  }
}

int main(int argc, char **argv) {
  Harness harness(argc, argv);
  if (harness.getArguments().size() != 1)
    return Harness::printUsage("fusec-gpu-batches MODELS");
  std::vector<std::string> paths;
  std::error_code code;
  for (llvm::sys::fs::directory_iterator it(harness.getArguments()[0], code),
       end;
       it != end && !code; it.increment(code))
    if (llvm::StringRef(it->path()).ends_with(".dynbatch.onnx") &&
        harness.isWanted(it->path()))
      paths.push_back(it->path());
  std::sort(paths.begin(), paths.end());
  if (paths.empty()) {
    llvm::errs() << harness.getArguments()[0]
                 << ": expected *.dynbatch.onnx, found none\n";
    return 1;
  }
  for (const std::string &path : paths)
    for (const Rounding &rounding : roundings)
      testModel(harness, path, rounding);
  return harness.finish();
}
