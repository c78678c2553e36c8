// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The weights of a session's own: adapters and whole weights, replaced by one
// copy each.

#include "runtime/src/Session.h"

namespace fusec::rt {

void Session::setAdapter(const Adapter *adapter, cuda::Stream stream) {
  uint64_t bytes = model().adapterBytes();
  if (bytes == 0)
    fail(FUSEC_INVALID_ARGUMENT,
         "the model has no adapters: compile it with --adapter");
  if (adapter && &adapter->model() != &model())
    fail(FUSEC_INVALID_ARGUMENT,
         "expected an adapter that was made for this session's model");
  ContextScope scope(model().device());
  const cuda::Driver &driver = model().device().driver();
  if (adapter)
    driver.check(driver.copyOnDeviceAsync(replaceable.pointer(),
                                          adapter->pointer(), bytes, stream),
                 "copying an adapter");
  else
    driver.check(driver.setBytesAsync(replaceable.pointer(), 0, bytes, stream),
                 "clearing the adapters");
}

void Session::setWeight(const std::string &name, const fusec_tensor *tensor,
                        cuda::Stream stream) {
  std::string what = "weight '" + name + "'";
  const NamedWeights &replaceables = model().replaceables();
  size_t index = replaceables.find(name);
  size_t weight = replaceables.weight(index);
  uint64_t bytes = model().plan().weights[weight].size;
  cuda::DevicePointer to =
      replaceable.pointer() + *model().replaceableOffset(weight);
  BoundTensor from;
  if (tensor)
    from = checkTensor(tensor, replaceables.specs()[index],
                       model().device().ordinal(), what, Memory::DeviceOrHost);
  else
    from.address = model().weight(weight);
  if (bytes == 0)
    return;
  ContextScope scope(model().device());
  const cuda::Driver &driver = model().device().driver();
  if (!from.onHost) {
    driver.check(driver.copyOnDeviceAsync(to, from.address, bytes, stream),
                 "copying " + what);
    return;
  }
  driver.check(
      driver.copyToDeviceAsync(
          to,
          reinterpret_cast<const void *>(static_cast<uintptr_t>(from.address)),
          bytes, stream),
      "copying " + what);
  driver.check(driver.streamSynchronize(stream), "copying " + what);
}

} // namespace fusec::rt
