// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of neighbouring ids are one copy. Copies of a stream end in its order,
// so that the last of several rows for one id is the one that stays.

#include "runtime/src/UpdateRows.h"

#include "runtime/src/Tensor.h"

namespace fusec::rt {

static void checkIds(const int64_t *ids, int64_t count, int64_t rows,
                     const std::string &what) {
  if (count != 0 && !ids)
    fail(FUSEC_INVALID_ARGUMENT, what + ": expected " + std::to_string(count) +
                                     " ids, one a row, found a null pointer");
  for (int64_t i = 0; i != count; ++i)
    if (ids[i] < 0 || ids[i] >= rows)
      fail(FUSEC_INVALID_ARGUMENT, what + ": ids[" + std::to_string(i) +
                                       "]: expected a row from 0 to below " +
                                       std::to_string(rows) + ", found " +
                                       std::to_string(ids[i]));
}

void updateRows(const Model &model, const std::string &name, const int64_t *ids,
                const fusec_tensor *rows, cuda::Stream stream) {
  std::string what = "weight '" + name + "'";
  const NamedWeights &updatables = model.updatables();
  size_t index = updatables.find(name), weight = updatables.weight(index);
  int64_t allRows = model.plan().weights[weight].sizes[0];
  format::TensorSpec spec = updatables.specs()[index];
  spec.sizes[0] = format::Expr::dim("rows");
  BoundTensor from = checkTensor(rows, spec, model.device().ordinal(), what,
                                 Memory::DeviceOrHost);
  int64_t count = from.sizes[0];
  checkIds(ids, count, allRows, what);
  if (from.bytes == 0)
    return;

  uint64_t rowBytes = from.bytes / uint64_t(count);
  ContextScope scope(model.device());
  const cuda::Driver &driver = model.device().driver();
  cuda::Result result = cuda::success;
  for (int64_t i = 0, end; i != count && result == cuda::success; i = end) {
    for (end = i + 1; end != count && ids[end] == ids[end - 1] + 1;)
      ++end;
    cuda::DevicePointer to = model.weight(weight) + uint64_t(ids[i]) * rowBytes;
    uint64_t source = from.address + uint64_t(i) * rowBytes;
    uint64_t bytes = uint64_t(end - i) * rowBytes;
    result = from.onHost
                 ? driver.copyToDeviceAsync(to,
                                            reinterpret_cast<const void *>(
                                                static_cast<uintptr_t>(source)),
                                            bytes, stream)
                 : driver.copyOnDeviceAsync(to, source, bytes, stream);
  }
  // Those that are enqueued may read memory that the caller then frees.
  cuda::Result waited =
      from.onHost ? driver.streamSynchronize(stream) : cuda::success;
  driver.check(result, "updating " + what);
  driver.check(waited, "updating " + what);
}

} // namespace fusec::rt
