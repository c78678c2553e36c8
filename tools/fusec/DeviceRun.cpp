// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/fusec/DeviceRun.h"
#include "compiler/schedule/Targets.h"
#include "runtime/src/Failure.h"
#include "runtime/src/PlanChoice.h"
#include "tools/fusec/Failure.h"

#include <algorithm>
#include <fmt/core.h>

namespace fusec {

/// The best target for a device: its own, the highest of its major version
/// below it, or PTX.
static std::string chooseTarget(unsigned capability) {
  std::string own = rt::archFor(capability);
  if (findTarget(own))
    return own;
  const Target *best = nullptr;
  for (const Target &target : getTargets()) {
    bool fits = target.name != "ptx" && !target.name.ends_with("a") &&
                target.major == capability / 10 &&
                target.minor <= capability % 10;
    if (fits && (!best || best->minor < target.minor))
      best = &target;
  }
  return best ? best->name.str() : "ptx";
}

std::optional<DeviceInfo> findDevice(int ordinal, std::string &reason) {
  try {
    rt::DeviceIdentity device(nullptr, ordinal);
    return DeviceInfo{device.describe(), chooseTarget(device.capability())};
  } catch (const rt::Failure &failure) {
    reason = failure.message;
    return std::nullopt;
  }
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

FencedMemory::FencedMemory(const rt::Device &device, uint64_t bytes,
                           const char *purpose, uint64_t shift)
    : device(device), bytes(bytes), shift(shift) {
  rt::ContextScope scope(device);
  memory = rt::DeviceMemory(device, bytes + 2 * fence + shift, purpose);
}

void FencedMemory::poison() {
  rt::ContextScope scope(device);
  const rt::cuda::Driver &driver = device.driver();
  driver.check(driver.setBytesAsync(memory.pointer(), poisonByte, memory.size(),
                                    nullptr),
               "cuMemsetD8Async");
  driver.check(driver.streamSynchronize(nullptr), "cuStreamSynchronize");
}

void FencedMemory::upload(const void *from) {
  if (bytes == 0)
    return;
  rt::ContextScope scope(device);
  const rt::cuda::Driver &driver = device.driver();
  driver.check(driver.copyToDevice(begin(), from, bytes), "cuMemcpyHtoD");
  // Of pageable memory it may have been taken but not have arrived, for which
  // streams that don't wait for the default one would not wait.
  driver.check(driver.streamSynchronize(nullptr), "cuStreamSynchronize");
}

void FencedMemory::download(void *to) const {
  if (bytes == 0)
    return;
  rt::ContextScope scope(device);
  const rt::cuda::Driver &driver = device.driver();
  driver.check(driver.copyToHost(to, begin(), bytes), "cuMemcpyDtoH");
}

bool FencedMemory::isIntact() const {
  rt::ContextScope scope(device);
  const rt::cuda::Driver &driver = device.driver();
  unsigned char fences[2 * fence];
  driver.check(driver.copyToHost(fences, begin() - fence, fence),
               "cuMemcpyDtoH");
  driver.check(driver.copyToHost(fences + fence, begin() + bytes, fence),
               "cuMemcpyDtoH");
  return std::all_of(std::begin(fences), std::end(fences),
                     [](unsigned char byte) { return byte == poisonByte; });
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

Model DeviceRun::loadBytes(const std::string &bytes, int ordinal) {
  LoadOptions options;
  options.device = ordinal;
  return Model::loadMemory(bytes.data(), bytes.size(), options);
}

DeviceRun::DeviceRun(const Model &model, const rt::Device &device)
    : model(model), device(device), session(model) {}

static Tensor view(const FencedMemory &memory, format::DType dtype,
                   std::vector<int64_t> sizes, int ordinal) {
  return Tensor(memory.data(), static_cast<fusec_dtype>(dtype),
                std::move(sizes), ordinal);
}

std::vector<data::Tensor>
DeviceRun::run(const std::vector<data::Tensor> &inputs, const Dims &dims) {
  std::vector<FencedMemory> memory;
  auto add = [&](const data::Tensor &tensor, const char *purpose) {
    memory.emplace_back(device, tensor.bytes.size(), purpose,
                        shift * format::dtypeSize(tensor.dtype));
  };
  for (uint32_t i = 0; i != inputs.size(); ++i) {
    add(inputs[i], "an input");
    memory.back().upload(inputs[i].bytes.data());
    session.bindInput(i, view(memory.back(), inputs[i].dtype, inputs[i].sizes,
                              device.ordinal()));
  }
  session.prepare(dims);
  std::vector<data::Tensor> outputs;
  std::vector<TensorInfo> infos = model.outputs();
  for (uint32_t i = 0; i != infos.size(); ++i) {
    outputs.push_back(
        allocateTensor(static_cast<format::DType>(infos[i].dtype),
                       session.outputSizes(i, infos[i].sizes.size())));
    add(outputs[i], "an output");
    memory.back().poison();
    session.bindOutput(i, view(memory.back(), outputs[i].dtype,
                               outputs[i].sizes, device.ordinal()));
  }
  session.run();
  {
    rt::ContextScope scope(device);
    device.driver().check(device.driver().streamSynchronize(nullptr),
                          "the run");
  }
  for (uint32_t i = 0; i != infos.size(); ++i) {
    const FencedMemory &output = memory[inputs.size() + i];
    output.download(outputs[i].bytes.data());
    if (!output.isIntact())
      fail(ExitCode::Internal,
           fmt::format("output '{}': a kernel wrote outside of it",
                       infos[i].name));
  }
  return outputs;
}

} // namespace fusec
