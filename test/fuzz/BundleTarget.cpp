// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/fuzz/BundleTarget.h"
#include "fusec/fusec.hpp"
#include "runtime/format/Bundle.h"
#include "runtime/format/Printable.h"
#include "test/fuzz/BundleParts.h"
#include "test/fuzz/FuzzTarget.h"
#include "test/unit/runtime/FakeDriver.h"

#include <dlfcn.h>
#include <memory>

using namespace fusec;
using namespace fusec::fuzz;

namespace {
/// The fake driver, which lies beside the program.
struct FakeDriver {
  FakeDriver() : path(getProgramFolder() + "libfusec_fake_driver.so") {
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    auto get = library ? reinterpret_cast<FakeState *(*)()>(
                             dlsym(library, "fusecFakeState"))
                       : nullptr;
    if (!get)
      fail("the fake driver cannot be loaded from " + path);
    state = get();
    state->isTrusted = false;
    state->memoryBytes = size_t(4) << 20;
  }

  void reset(int capability) {
    state->capabilityMajor = capability;
    state->calls.clear();
    state->launches.clear();
    state->maps.clear();
    state->copies.clear();
  }
  void expectNothingLeft() const {
    if (state->liveAllocations || state->liveModules || state->liveContexts ||
        state->pushedContexts || state->liveStreams || state->liveGraphs ||
        state->liveGraphExecs)
      fail("something of the device is left behind");
  }

  std::string path;
  FakeState *state;
};
} // namespace

/// Runs what may throw an error; any but an internal one is an answer.
template <typename Function> static bool attempt(Function function) {
  try {
    function();
    return true;
  } catch (const Error &error) {
    if (error.status() == FUSEC_INTERNAL_ERROR)
      fail(std::string("internal error: ") + error.what());
    if (!*error.what())
      fail("an error without a message");
    if (format::printable(error.what()) != error.what())
      fail("a message that is no text");
    return false;
  }
}

/// Memory that no one reads: kernels of the fake driver do nothing here.
alignas(256) static char memory[512];

static bool bindTensor(const format::TensorSpec &spec, const int64_t *dims,
                       size_t offset, Session &session) {
  std::vector<int64_t> sizes;
  for (const format::Expr &size : spec.sizes) {
    auto value = format::evaluate(size, dims);
    sizes.push_back(value ? *value : 1);
  }
  return attempt([&] {
    session.bind(spec.name,
                 Tensor(memory + offset, fusec_dtype(spec.dtype), sizes));
  });
}

static void replaceWeights(const Model &model, Session &session) {
  for (const TensorInfo &weight : model.replaceables()) {
    uint64_t count = 1;
    for (int64_t size : weight.sizes)
      if (size < 0 || __builtin_mul_overflow(count, uint64_t(size), &count))
        return;
    if (count > 65536)
      return;
    std::vector<double> values(count + 1);
    attempt([&] {
      session.setWeight(weight.name,
                        Tensor(values.data(), weight.dtype, weight.sizes));
      session.resetWeight(weight.name);
    });
  }
  for (const TensorInfo &weight : model.updatables()) {
    std::vector<int64_t> sizes = weight.sizes;
    uint64_t bytes = fusec_dtype_size(weight.dtype);
    for (size_t d = 1; d != sizes.size(); ++d)
      if (__builtin_mul_overflow(bytes, uint64_t(sizes[d]), &bytes))
        return;
    if (bytes > 65536)
      return;
    std::vector<uint64_t> row(bytes / 8 + 1);
    int64_t last = std::exchange(sizes[0], 1) - 1;
    attempt([&] {
      Model(model).updateRows(weight.name, {last},
                              Tensor(row.data(), weight.dtype, sizes));
    });
  }
  if (model.adapters().empty())
    return;
  attempt([&] {
    session.setAdapter(Adapter::own(model));
    session.setAdapter(Adapter::create(model, {}));
    session.clearAdapter();
  });
}

static void runOnce(const format::Manifest &manifest, int64_t size,
                    size_t offset, bool graph, Session &session) {
  std::vector<int64_t> dims(manifest.dims.size(), size);
  for (const format::TensorSpec &input : manifest.inputs)
    if (!bindTensor(input, dims.data(), offset, session))
      return;
  for (const format::TensorSpec &output : manifest.outputs)
    if (!bindTensor(output, dims.data(), offset, session))
      return;
  attempt([&] {
    session.prepare({}, nullptr, 0, graph ? FUSEC_GRAPH_ON : FUSEC_GRAPH_OFF);
    session.run();
    session.run();
    session.faults();
  });
}

static void load(const std::vector<uint8_t> &file, const FakeDriver &driver) {
  LoadOptions options;
  options.driver = driver.path;
  std::unique_ptr<Model> model;
  if (!attempt([&] {
        model = std::make_unique<Model>(
            Model::loadMemory(file.data(), file.size(), options));
      }))
    return;
  format::Bundle bundle;
  std::string error;
  if (!format::Bundle::open({file.data(), file.size()},
                            format::HashWeights::Always, bundle, error))
    fail("a bundle that is refused was loaded: " + error);
  std::unique_ptr<Session> session;
  if (!attempt([&] { session = std::make_unique<Session>(*model); }))
    return;
  replaceWeights(*model, *session);
  runOnce(bundle.manifest(), 4, 0, false, *session);
  runOnce(bundle.manifest(), 100, 4, true, *session);
  runOnce(bundle.manifest(), 1, 16, false, *session);
  Dims dims;
  for (const std::string &name : model->dims())
    dims.emplace_back(name, 4);
  attempt([&] {
    model->arenaSize(dims);
    for (uint32_t i = 0; i != model->outputs().size(); ++i)
      model->outputSizes(i, dims);
  });
}

void fusec::fuzz::runBundle(std::string_view bytes) {
  static FakeDriver driver;
  // The device is another one for about a third of the inputs each.
  static constexpr int capabilities[] = {9, 9, 8, 10};
  driver.reset(capabilities[bytes.size() % 4]);
  std::vector<uint8_t> file(bytes.begin(), bytes.end());
  std::vector<uint8_t> hashed = file;
  rehash(hashed);
  if (hashed != file)
    load(file, driver);
  load(hashed, driver);
  driver.expectNothingLeft();
}
