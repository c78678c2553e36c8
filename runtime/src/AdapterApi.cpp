// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C functions of adapters.

#include "runtime/src/Handles.h"
#include "runtime/src/Safetensors.h"

using namespace fusec;
using namespace fusec::rt;

namespace {
// The i-th struct of a caller's array, whose elements may be of another version
// than ours.
template <typename T>
T readElement(const T *array, size_t index, const char *name) {
  const char *at = reinterpret_cast<const char *>(array);
  size_t size = array->struct_size;
  return readStruct(reinterpret_cast<const T *>(at + index * size), name);
}

template <typename T>
void requireArray(const T *array, size_t count, const char *name) {
  if (count == 0)
    return;
  requireResult(array, name);
  if (array->struct_size % alignof(T) != 0)
    fail(FUSEC_INVALID_ARGUMENT,
         std::string(name) + ": expected a struct_size that is a multiple of " +
             std::to_string(alignof(T)) + ", found " +
             std::to_string(array->struct_size));
}

// A matrix of the caller's, of which one size may be anything, as what the host
// can read; device memory is copied to `copy`.
HostMatrix readMatrix(const Model &model, const fusec_tensor *given,
                      std::vector<int64_t> expected, const std::string &what,
                      std::vector<uint8_t> &copy) {
  fusec_tensor tensor = readTensorStruct(given, what);
  if (tensor.dtype != FUSEC_F16 && tensor.dtype != FUSEC_BF16 &&
      tensor.dtype != FUSEC_F32) {
    const char *name = fusec_dtype_name(tensor.dtype);
    fail(FUSEC_INVALID_ARGUMENT,
         what + ": expected element type f16, bf16 or f32, found " +
             (name ? name : std::to_string(tensor.dtype)));
  }
  format::TensorSpec spec{what, format::DType(tensor.dtype), {}};
  for (int64_t size : expected)
    spec.sizes.push_back(size < 0 ? format::Expr::dim("r")
                                  : format::Expr(size));
  BoundTensor bound = checkTensor(&tensor, spec, model.device().ordinal(), what,
                                  Memory::DeviceOrHost);
  HostMatrix matrix{
      spec.dtype, bound.sizes[0], bound.sizes[1],
      reinterpret_cast<const uint8_t *>(static_cast<uintptr_t>(bound.address))};
  if (!bound.onHost && bound.bytes != 0) {
    copy.resize(bound.bytes);
    SetUpScope scope(model.device());
    OwnStream own(model.device());
    const cuda::Driver &driver = model.device().driver();
    driver.check(driver.copyToHostAsync(copy.data(), bound.address, bound.bytes,
                                        own.stream()),
                 "reading " + what);
    own.synchronize("reading " + what);
    matrix.bytes = copy.data();
  }
  return matrix;
}
} // namespace

uint32_t fusec_model_adapter_count(const fusec_model *model) {
  return uint32_t(model->model->adapters().size());
}

fusec_status fusec_model_adapter_info(const fusec_model *model, uint32_t index,
                                      fusec_adapter_info *info, char *message,
                                      size_t capacity) {
  return guard(message, capacity, [&] {
    requireResult(model, "model");
    const std::vector<AdapterSite> &sites = model->model->adapters();
    requireInfo(info, index, sites.size());
    const format::Weight &a = model->model->plan().weights[sites[index].a];
    const format::Weight &b = model->model->plan().weights[sites[index].b];
    fusec_adapter_info value = {};
    value.name = sites[index].name.c_str();
    value.dtype = fusec_dtype(a.dtype);
    value.rank = a.rank();
    value.k = a.width();
    value.n = b.width();
    writeStruct(value, "fusec_adapter_info", info);
  });
}

fusec_status fusec_adapter_create(const fusec_model *model,
                                  const fusec_update *updates, size_t count,
                                  fusec_adapter **adapter, char *message,
                                  size_t capacity) {
  return guard(message, capacity, [&] {
    requireResult(model, "model");
    requireResult(adapter, "adapter");
    requireArray(updates, count, "updates");
    const Model &loaded = *model->model;
    std::vector<std::vector<uint8_t>> copies(2 * count);
    std::vector<HostUpdate> host;
    for (size_t i = 0; i != count; ++i) {
      fusec_update given = readElement(updates, i, "fusec_update");
      requireResult(given.name, "name");
      HostUpdate &update = host.emplace_back();
      update.name = given.name;
      update.scale = given.scale;
      update.isTransposed = given.transposed != 0;
      const AdapterSite &site = findAdapter(loaded, update.name);
      int64_t k = loaded.plan().weights[site.a].width();
      int64_t n = loaded.plan().weights[site.b].width();
      std::vector<int64_t> a = {k, -1}, b = {-1, n};
      if (update.isTransposed) {
        std::swap(a[0], a[1]);
        std::swap(b[0], b[1]);
      }
      std::string what = "adapter '" + update.name + "': ";
      update.a = readMatrix(loaded, given.a, a, what + "a", copies[2 * i]);
      update.b = readMatrix(loaded, given.b, b, what + "b", copies[2 * i + 1]);
    }
    *adapter = new fusec_adapter{Adapter(model->model, host)};
  });
}

fusec_status fusec_adapter_load(const fusec_model *model,
                                const fusec_update_file *files, size_t count,
                                fusec_adapter **adapter, char *message,
                                size_t capacity) {
  return guard(message, capacity, [&] {
    requireResult(model, "model");
    requireResult(adapter, "adapter");
    requireArray(files, count, "files");
    std::vector<format::MappedFile> mapped(count);
    std::vector<HostUpdate> host;
    for (size_t i = 0; i != count; ++i) {
      fusec_update_file given = readElement(files, i, "fusec_update_file");
      requireResult(given.name, "name");
      requireResult(given.path, "path");
      findAdapter(*model->model, given.name);
      std::string error, origin = std::string(given.path) + ": ";
      if (!mapped[i].open(given.path, error))
        fail(FUSEC_UNREADABLE, error);
      try {
        host.push_back(findPeftUpdate(readSafetensors(mapped[i].bytes()),
                                      given.name, given.layer));
      } catch (const Failure &failure) {
        fail(failure.status, origin + failure.message);
      }
      host.back().scale = given.scale;
      host.back().origin = origin;
    }
    *adapter = new fusec_adapter{Adapter(model->model, host)};
  });
}

fusec_status fusec_adapter_own(const fusec_model *model,
                               fusec_adapter **adapter, char *message,
                               size_t capacity) {
  return guard(message, capacity, [&] {
    requireResult(model, "model");
    requireResult(adapter, "adapter");
    if (model->model->adapters().empty())
      fail(FUSEC_INVALID_ARGUMENT,
           "the model has no adapters: compile it with --adapter");
    *adapter = new fusec_adapter{Adapter(model->model)};
  });
}

void fusec_adapter_free(fusec_adapter *adapter) { delete adapter; }
