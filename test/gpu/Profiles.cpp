// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fusec-gpu-profiles MODELS: kernels of a run that is long enough add up to
// what the run takes, by activity records and by events, in a graph and
// launched one by one; and the run computes what it did before.

#include "compiler/analysis/StepBytes.h"
#include "test/gpu/BoundSession.h"
#include "test/gpu/Harness.h"
#include "tools/fusec/Failure.h"
#include "tools/fusec/RandomInputs.h"

#include <cmath>

using namespace fusec;

static constexpr int64_t batch = 65536, indexLimit = 3;
/// How far the sum of kernels may be from the run.
static constexpr double bound = 0.15;

static void bindRandomTensors(BoundSession &session, const Model &model) {
  std::vector<TensorInfo> inputs = model.inputs();
  for (uint32_t i = 0; i != inputs.size(); ++i) {
    for (int64_t &size : inputs[i].sizes)
      size = size < 0 ? batch : size;
    data::Tensor tensor =
        makeRandomTensor(static_cast<format::DType>(inputs[i].dtype),
                         inputs[i].sizes, i + 1, indexLimit);
    session.bindInput(i, tensor.bytes.data(), tensor.sizes);
  }
  session.bindOutputs();
}

static void testModel(Harness &harness, const std::string &name,
                      const std::string &path) {
  auto compiled = harness.compile(name, [&](CompileOptions options) {
    return Compilation::importFile(path, std::move(options));
  });
  if (!compiled || !compiled->run)
    return;
  for (int32_t graph : {FUSEC_GRAPH_OFF, FUSEC_GRAPH_ON})
    for (int method : {FUSEC_PROFILE_ACTIVITY, FUSEC_PROFILE_EVENTS}) {
      // A sanitizer takes CUPTI's place and changes times.
      std::string test =
          "times." + name + (graph == FUSEC_GRAPH_ON ? ".graph" : ".direct") +
          (method == FUSEC_PROFILE_ACTIVITY ? ".activity" : ".events");
      harness.check(test, [&] {
        rt::ContextScope scope(harness.getDevice());
        const Model &model = compiled->run->getModel();
        BoundSession bound(model, harness.getDevice());
        bindRandomTensors(bound, model);
        Session &session = bound.getSession();
        session.prepare({}, nullptr, 0, graph);
        ProfileOptions options;
        options.method = method;
        Profile profile = session.profile(options);
        std::vector<uint8_t> profiled = bound.readLastOutput();
        session.run();
        if (bound.readLastOutput() != profiled)
          fail(ExitCode::VerificationFailed, "the outputs differ");
        for (const Profile::Step &step : profile.steps)
          if (step.median <= 0 || step.bytesRead < 0 || step.operations < 0)
            fail(ExitCode::VerificationFailed,
                 "expected a time and bytes of '" + step.step + "'");
        return std::pair(std::abs(profile.sum / profile.run - 1), ::bound);
      });
    }
}

int main(int argc, char **argv) {
  Harness harness(argc, argv);
  if (harness.getArguments().size() != 1)
    return Harness::printUsage("fusec-gpu-profiles MODELS");
  // Ten kernels of 15 to 230 us, some of which start early.
  const char *name = "dot_dlrm_kaggle";
  if (harness.isWanted(name))
    testModel(harness, name,
              harness.getArguments()[0] + "/" + name + ".dynbatch.onnx");
  return harness.finish();
}
