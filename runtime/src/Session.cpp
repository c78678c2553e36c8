// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Binding, preparing, running.

#include "runtime/src/Session.h"

#include <algorithm>

namespace fusec::rt {

namespace {
// Within the session's counters.
constexpr uint64_t flagsOffset = 256;

/// Of all flags that a launch asks for.
uint32_t countFlagWords(const format::Manifest &manifest) {
  uint32_t words = format::flagWords;
  for (const format::Plan &plan : manifest.plans)
    for (const format::Step &step : plan.steps)
      for (const format::Variant &variant : step.variants)
        for (const format::Launch &launch : variant.launches)
          for (const format::Param &param : launch.params)
            if (const auto *flags = std::get_if<format::FlagsParam>(&param))
              words = std::max(words, flags->words);
  return words;
}
} // namespace

Session::Session(std::shared_ptr<const Model> model)
    : theModel(std::move(model)), own(theModel->device()),
      inputs(theModel->manifest().inputs.size()),
      outputs(theModel->manifest().outputs.size()) {
  byAddress.reserve(inputs.size() + outputs.size() + 1);
  const Device &device = theModel->device();
  SetUpScope scope(device);
  const uint32_t flagWords = countFlagWords(theModel->manifest());
  const uint64_t counterBytes = flagsOffset + sizeof(uint32_t) * flagWords;
  counters = DeviceMemory(device, counterBytes, "the session's counters");
  replaceable = DeviceMemory(device, theModel->replaceableBytes(),
                             "what the session can replace");
  const cuda::Driver &driver = device.driver();
  if (replaceable.size() != 0)
    driver.check(driver.copyOnDeviceAsync(replaceable.pointer(),
                                          theModel->ownReplaceable(),
                                          replaceable.size(), own.stream()),
                 "copying the model's replaceable weights");
  driver.check(
      driver.setBytesAsync(counters.pointer(), 0, counterBytes, own.stream()),
      "clearing the session's counters");
  if (flagWords > format::flagSizeWord)
    driver.check(
        driver.copyToDeviceAsync(counters.pointer() + flagsOffset +
                                     sizeof(uint32_t) * format::flagSizeWord,
                                 &flagWords, sizeof(flagWords), own.stream()),
        "telling the session's flags how many they are");
  own.synchronize("clearing the session's counters");
}

void Session::bind(bool input, size_t index, const fusec_tensor *tensor) {
  const auto &specs =
      input ? model().manifest().inputs : model().manifest().outputs;
  if (index >= specs.size())
    fail(FUSEC_INVALID_ARGUMENT,
         std::string("expected an index below the number of ") +
             (input ? "inputs, " : "outputs, ") + std::to_string(specs.size()) +
             ", found " + std::to_string(index));
  BoundTensor bound =
      checkTensor(tensor, specs[index], model().device().ordinal(),
                  tensorText(input, specs[index].name));
  (input ? inputs : outputs)[index] = std::move(bound);
  checked = false;
}

void Session::bind(const char *name, const fusec_tensor *tensor) {
  if (!name)
    fail(FUSEC_INVALID_ARGUMENT, "expected a name, found a null pointer");
  std::optional<size_t> in = model().findInput(name),
                        out = model().findOutput(name);
  if (in && out)
    fail(FUSEC_INVALID_ARGUMENT,
         std::string("'") + name +
             "' is both an input and an output: bind it by its index");
  if (in || out)
    return bind(in.has_value(), in ? *in : *out, tensor);
  std::string known;
  for (const auto *specs :
       {&model().manifest().inputs, &model().manifest().outputs})
    for (const format::TensorSpec &spec : *specs)
      known += (known.empty() ? "'" : ", '") + spec.name + "'";
  fail(FUSEC_INVALID_ARGUMENT, std::string("no input or output is named '") +
                                   name + "'; the model has " + known);
}

void Session::inferDims(DimValues &dims, const char *givenBy) const {
  const format::Manifest &manifest = model().manifest();
  std::vector<std::string> origin(dims.size(), givenBy);
  for (size_t i = 0; i != inputs.size(); ++i) {
    const format::TensorSpec &spec = manifest.inputs[i];
    for (size_t d = 0; inputs[i].bound && d != spec.sizes.size(); ++d) {
      if (spec.sizes[d].op != format::Expr::Op::Dim)
        continue;
      size_t dim = size_t(spec.sizes[d].value);
      std::string here =
          "size " + std::to_string(d) + " of " + tensorText(true, spec.name);
      int64_t found = inputs[i].sizes[d];
      if (dims[dim] == unknownDim) {
        dims[dim] = found;
        origin[dim] = here;
      } else if (dims[dim] != found) {
        fail(FUSEC_INVALID_ARGUMENT,
             here + ": expected " + std::to_string(dims[dim]) +
                 ", the dimension '" + manifest.dims[dim] + "' as " +
                 origin[dim] + " has it, found " + std::to_string(found));
      }
    }
  }
}

void Session::checkBound(bool input, size_t index,
                         const std::vector<int64_t> &expected) const {
  const BoundTensor &tensor = (input ? inputs : outputs)[index];
  if (tensor.sizes == expected)
    return;
  const format::Manifest &manifest = model().manifest();
  const format::TensorSpec &spec =
      (input ? manifest.inputs : manifest.outputs)[index];
  size_t d = 0;
  while (tensor.sizes[d] == expected[d])
    ++d;
  fail(FUSEC_INVALID_ARGUMENT,
       tensorText(input, spec.name) + ": size " + std::to_string(d) +
           ": expected " + std::to_string(expected[d]) + " = " +
           format::toString(spec.sizes[d]) + ", found " +
           std::to_string(tensor.sizes[d]));
}

void Session::checkOverlaps() {
  // The arena comes last, after the inputs and the outputs.
  size_t count = inputs.size() + outputs.size() + 1;
  auto range = [&](size_t i) {
    if (i + 1 == count)
      return std::pair(current->arena, current->arena + current->arenaBytes);
    const BoundTensor &tensor =
        i < inputs.size() ? inputs[i] : outputs[i - inputs.size()];
    return std::pair(tensor.address, tensor.address + tensor.bytes);
  };
  auto text = [&](size_t i) {
    const format::Manifest &manifest = model().manifest();
    if (i + 1 == count)
      return std::string("the arena");
    return i < inputs.size()
               ? tensorText(true, manifest.inputs[i].name)
               : tensorText(false, manifest.outputs[i - inputs.size()].name);
  };
  auto isWritten = [&](size_t i) { return i >= inputs.size(); };
  byAddress.clear();
  for (size_t i = 0; i != count; ++i)
    if (range(i).first != range(i).second)
      byAddress.push_back(i);
  std::sort(byAddress.begin(), byAddress.end(), [&](size_t a, size_t b) {
    return std::pair(range(a), a) < std::pair(range(b), b);
  });
  // Of those that begin before: which reaches furthest, and of the written.
  size_t furthest = count, furthestWritten = count;
  auto reaches = [&](size_t i) { return i == count ? 0 : range(i).second; };
  for (size_t i : byAddress) {
    size_t other = isWritten(i) ? furthest : furthestWritten;
    if (range(i).first < reaches(other)) {
      size_t written = isWritten(i) && isWritten(other) ? std::min(i, other)
                       : isWritten(i)                   ? i
                                                        : other;
      fail(FUSEC_INVALID_ARGUMENT, text(written) + " overlaps " +
                                       text(written == i ? other : i) +
                                       ": expected memory of its own");
    }
    if (range(i).second > reaches(furthest))
      furthest = i;
    if (isWritten(i) && range(i).second > reaches(furthestWritten))
      furthestWritten = i;
  }
}

void Session::prepare(const DimValues &given, uint64_t userArena,
                      uint64_t userArenaSize, int32_t mode) {
  nvtx::Range range(ranges, "prepare");
  if (mode < FUSEC_GRAPH_AUTO || mode > FUSEC_GRAPH_ON)
    fail(FUSEC_INVALID_ARGUMENT,
         "graph: expected 0, 1 or 2, found " + std::to_string(mode));
  const format::Manifest &manifest = model().manifest();
  DimValues values = given;
  inferDims(values, "prepare()");
  checkConstraints(manifest, values);
  for (size_t i = 0; i != inputs.size(); ++i)
    if (inputs[i].bound)
      checkBound(true, i,
                 computeSizes(manifest, manifest.inputs[i], values,
                              tensorText(true, manifest.inputs[i].name)));
  ArenaLayout layout = layOutArena(manifest, model().plan(), values);
  if (userArena != 0 &&
      (userArena % arenaAlignment != 0 || userArenaSize < layout.total))
    fail(FUSEC_INVALID_ARGUMENT,
         "arena: expected " + std::to_string(layout.total) +
             " bytes aligned to " + std::to_string(arenaAlignment) +
             ", found " + std::to_string(userArenaSize) + " bytes that are " +
             std::to_string(userArena % arenaAlignment) + " beyond");

  SetUpScope scope(model().device());
  if (userArena == 0)
    growArena(layout.total);
  PreparedRun &run =
      findOrMake(std::move(values), layout,
                 userArena != 0 ? userArena : ownArena.pointer());
  checked = checked && current == &run;
  current = &run;
  graphMode = mode;
  makeGraph(run, mode);
}

void Session::growArena(uint64_t bytes) {
  if (ownArena.size() >= bytes)
    return;
  // The old arena goes first: both together may not fit.
  if (current && current->arena == ownArena.pointer())
    current = nullptr;
  runs.drop(ownArena.pointer());
  ownArena = DeviceMemory();
  ownArena = DeviceMemory(model().device(), bytes, "the arena");
}

PreparedRun &Session::findOrMake(DimValues values, const ArenaLayout &layout,
                                 uint64_t address) {
  if (PreparedRun *found = runs.find(values, address))
    return *found;
  const format::Manifest &manifest = model().manifest();
  PreparedRun made;
  for (const format::TensorSpec &spec : manifest.inputs)
    made.inputSizes.push_back(
        computeSizes(manifest, spec, values, tensorText(true, spec.name)));
  for (const format::TensorSpec &spec : manifest.outputs)
    made.outputSizes.push_back(
        computeSizes(manifest, spec, values, tensorText(false, spec.name)));
  made.steps =
      readyLaunches(model(), values, layout,
                    {address, counters.pointer(),
                     counters.pointer() + flagsOffset, replaceable.pointer()});
  made.dims = std::move(values);
  made.arena = address;
  made.arenaBytes = layout.total;
  return runs.add(std::move(made));
}

const std::vector<int64_t> &Session::outputSizes(size_t index) const {
  if (!current)
    fail(FUSEC_NOT_READY,
         "expected prepare() before the sizes of outputs are asked for");
  return current->outputSizes[index];
}

void Session::checkReady() {
  const format::Manifest &manifest = model().manifest();
  if (!current)
    fail(FUSEC_NOT_READY, "expected prepare() before run()");
  for (bool input : {true, false}) {
    const auto &tensors = input ? inputs : outputs;
    const auto &specs = input ? manifest.inputs : manifest.outputs;
    for (size_t i = 0; i != tensors.size(); ++i) {
      if (!tensors[i].bound)
        fail(FUSEC_NOT_READY,
             tensorText(input, specs[i].name) + " is not bound");
      checkBound(input, i,
                 (input ? current->inputSizes : current->outputSizes)[i]);
    }
  }
  checkOverlaps();
  checked = true;
}

void Session::run(cuda::Stream stream) {
  if (!checked || !current)
    checkReady();
  ContextScope scope(model().device());
  nvtx::Range range(ranges, "run");
  launched = 0;
  theReplayed = replay(stream);
  if (!theReplayed)
    launchDirectly(stream);
}

void Session::launchDirectly(cuda::Stream stream) {
  current->forEachLaunch(inputs, outputs, [&](ReadyLaunch &launch) {
    nvtx::Range range(ranges, launch.step->name.c_str());
    patchAddresses(model(), launch, inputs, outputs);
    launchKernel(model(), launch, /*isFirst=*/launched == 0, stream);
    ++launched;
  });
}

uint64_t Session::faults() const {
  SetUpScope scope(model().device());
  const cuda::Driver &driver = model().device().driver();
  uint64_t count = 0;
  driver.check(driver.copyToHostAsync(&count, counters.pointer(), sizeof(count),
                                      own.stream()),
               "reading the fault counter");
  own.synchronize("reading the fault counter");
  return count;
}

} // namespace fusec::rt
