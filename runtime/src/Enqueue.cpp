// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a run does with launches that are ready: choose, patch, launch.

#include "runtime/src/Launches.h"

#include <algorithm>
#include <cstring>

namespace fusec::rt {

namespace {
uint64_t addressOf(const TensorPatch &patch,
                   const std::vector<BoundTensor> &inputs,
                   const std::vector<BoundTensor> &outputs) {
  const BoundTensor &tensor = (patch.input ? inputs : outputs)[patch.index];
  return tensor.address + patch.offset;
}
} // namespace

size_t chooseVariant(const ReadyStep &step,
                     const std::vector<BoundTensor> &inputs,
                     const std::vector<BoundTensor> &outputs) {
  auto holds = [&](const AlignmentGuard &guard) {
    const BoundTensor &tensor = (guard.input ? inputs : outputs)[guard.index];
    return !tensor.bound || tensor.address % guard.bytes == 0;
  };
  auto chosen =
      std::find_if(step.begin(), step.end(), [&](const ReadyVariant &variant) {
        return std::all_of(variant.guards.begin(), variant.guards.end(), holds);
      });
  return size_t(chosen - step.begin());
}

void patchAddresses(const Model &model, ReadyLaunch &ready,
                    const std::vector<BoundTensor> &inputs,
                    const std::vector<BoundTensor> &outputs) {
  char *block = reinterpret_cast<char *>(ready.block.data());
  for (const TensorPatch &patch : ready.pointers) {
    uint64_t address = addressOf(patch, inputs, outputs), before = 0;
    std::memcpy(&before, block + patch.blockOffset, sizeof(before));
    if (address == before)
      continue;
    std::memcpy(block + patch.blockOffset, &address, sizeof(address));
    ready.stale = true;
  }
  for (MapPatch &patch : ready.maps) {
    uint64_t address = addressOf(patch.where, inputs, outputs);
    if (address == patch.address)
      continue;
    cuda::TensorMap map{};
    encodeMap(model.device().driver(), patch.shape, address, map);
    std::memcpy(block + patch.where.blockOffset, &map, sizeof(map));
    patch.address = address;
    ready.stale = true;
  }
}

bool startsEarly(const Model &model, const format::Launch &launch) {
  return launch.pdl && model.device().capability() >= 90;
}

void launchKernel(const Model &model, ReadyLaunch &ready, bool isFirst,
                  cuda::Stream stream) {
  const format::Launch &launch = *ready.launch;
  cuda::LaunchAttribute attributes[3] = {};
  unsigned numAttributes = 0;
  if (ready.hasCluster()) {
    cuda::LaunchAttribute &attribute = attributes[numAttributes++];
    attribute.id = cuda::LaunchClusterDimension;
    std::memcpy(attribute.value.clusterDim, launch.cluster.data(),
                sizeof(launch.cluster));
  }
  if (launch.cooperative) {
    cuda::LaunchAttribute &attribute = attributes[numAttributes++];
    attribute.id = cuda::LaunchCooperative;
    attribute.value.cooperative = 1;
  }
  if (!isFirst && startsEarly(model, launch)) {
    cuda::LaunchAttribute &attribute = attributes[numAttributes++];
    attribute.id = cuda::LaunchProgrammaticSerialization;
    attribute.value.programmaticSerializationAllowed = 1;
  }
  cuda::LaunchConfig config = {
      {ready.grid[0], ready.grid[1], ready.grid[2]},
      {launch.block[0], launch.block[1], launch.block[2]},
      launch.smem,
      stream,
      numAttributes ? attributes : nullptr,
      numAttributes};
  ParamBlock params(ready);
  const cuda::Driver &driver = model.device().driver();
  cuda::Result result = driver.launchKernel(&config, ready.function,
                                            params.params, params.block());
  if (result != cuda::success)
    driver.check(result, "launching " + launchText(ready));
}

std::string launchText(const ReadyLaunch &ready) {
  const format::Launch &launch = *ready.launch;
  return "kernel '" + launch.symbol + "' of step '" +
         format::shorten(ready.step->name) + "' with a grid of " +
         sizesText({ready.grid[0], ready.grid[1], ready.grid[2]}) +
         " blocks of " +
         sizesText({launch.block[0], launch.block[1], launch.block[2]}) +
         " threads";
}

} // namespace fusec::rt
