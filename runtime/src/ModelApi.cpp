// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C functions of models, and those that need neither model nor session.

#include "runtime/format/WeightsCheck.h"
#include "runtime/src/Handles.h"
#include "runtime/src/Lap.h"
#include "runtime/src/UpdateRows.h"

#include <future>

using namespace fusec;
using namespace fusec::rt;

namespace {
format::HashWeights hashMode(int32_t mode) {
  switch (mode) {
  case FUSEC_HASH_WEIGHTS_AUTO:
    return format::HashWeights::Auto;
  case FUSEC_HASH_WEIGHTS_ALWAYS:
    return format::HashWeights::Always;
  case FUSEC_HASH_WEIGHTS_NEVER:
    return format::HashWeights::Never;
  }
  fail(FUSEC_INVALID_ARGUMENT,
       "hash_weights: expected 0, 1 or 2, found " + std::to_string(mode));
}

// Bytes that take ten times as long to hash as a thread to start.
constexpr uint64_t leastForThread = uint64_t(4) << 20;
constexpr size_t mostHashThreads = 8;

// Hashes a bundle's weights beside what else loading does, if they are many and
// a thread is to be had; else when it is asked for. Where those that upload
// hash as well, more than one thread would be in their way.
std::future<void> startHashing(format::WeightsCheck &check, uint64_t bytes) {
  std::launch policy = bytes >= leastForThread
                           ? std::launch::async | std::launch::deferred
                           : std::launch::deferred;
  size_t threads = bytes < leastStagedBytes ? mostHashThreads : 1;
  return std::async(policy, [&check, threads] { check.hashRest(threads); });
}

Progress progressOf(const fusec_load_options &options) {
  return [call = options.progress,
          context = options.progress_context](uint64_t done, uint64_t total) {
    if (call)
      call(context, done, total);
  };
}

MemoryBudget budgetOf(const fusec_load_options &options) {
  MemoryBudget budget;
  budget.deviceBytes = options.device_memory;
  if (options.device_row_count != 0)
    requireResult(options.device_rows, "device_rows");
  for (size_t i = 0; i != options.device_row_count; ++i) {
    const fusec_table_rows &table = options.device_rows[i];
    requireResult(table.name, "device_rows: name");
    if (!budget.rows.emplace(table.name, table.rows).second)
      fail(FUSEC_INVALID_ARGUMENT,
           "device_rows: table '" + std::string(table.name) + "' occurs twice");
  }
  return budget;
}

// `release` is called with what is not read again.
fusec_model *load(format::ByteSpan file,
                  std::function<void(format::ByteSpan)> release,
                  const fusec_load_options *given, const std::string &origin,
                  Lap lap) {
  fusec_load_options options = readStruct(given, "fusec_load_options");
  format::HashWeights mode = hashMode(options.hash_weights);
  format::Bundle bundle;
  std::string error;
  if (!format::Bundle::open(file, format::HashWeights::Never, bundle, error))
    fail(FUSEC_MALFORMED, origin + error);
  format::WeightsCheck check(bundle, mode);
  std::future<void> hashing = startHashing(check, bundle.weightsSize());
  auto finishCheck = [&] {
    hashing.get();
    if (!check.finish(error))
      fail(FUSEC_MALFORMED, origin + error);
  };
  auto made = std::make_unique<fusec_model>();
  made->times.check = lap.next();
  try {
    Source source = {[&](format::ByteSpan bytes) { check.hash(bytes); },
                     std::move(release)};
    made->model = std::make_shared<Model>(
        bundle, options.driver, options.device, budgetOf(options), source,
        progressOf(options), made->times);
  } catch (...) {
    // That the file is damaged says more than what came of it.
    finishCheck();
    throw;
  }
  lap.next();
  finishCheck();
  made->times.hash = lap.next();
  return made.release();
}

void describe(const std::vector<format::TensorSpec> &specs,
              const std::vector<TensorTexts> &allTexts, uint32_t index,
              fusec_tensor_info *info) {
  requireInfo(info, index, specs.size());
  const TensorTexts &texts = allTexts[index];
  fusec_tensor_info value = {};
  value.name = specs[index].name.c_str();
  value.dtype = int32_t(specs[index].dtype);
  value.rank = int32_t(specs[index].sizes.size());
  value.sizes = texts.sizes.data();
  value.expressions = texts.pointers.data();
  writeStruct(value, "fusec_tensor_info", info);
}
} // namespace

uint32_t fusec_api_version(void) { return FUSEC_API_VERSION; }

const char *fusec_status_name(fusec_status status) {
  switch (status) {
  case FUSEC_OK:
    return "ok";
  case FUSEC_INVALID_ARGUMENT:
    return "invalid argument";
  case FUSEC_UNREADABLE:
    return "unreadable file";
  case FUSEC_MALFORMED:
    return "malformed file";
  case FUSEC_UNSUPPORTED:
    return "unsupported";
  case FUSEC_DRIVER_ERROR:
    return "driver error";
  case FUSEC_OUT_OF_MEMORY:
    return "out of memory";
  case FUSEC_NOT_READY:
    return "not ready";
  case FUSEC_INTERNAL_ERROR:
    return "internal error";
  }
  return "unknown status";
}

const char *fusec_dtype_name(fusec_dtype dtype) {
  // The names are literals, and so end with a zero.
  bool known = dtype >= 0 && uint32_t(dtype) < format::numDTypes;
  return known ? format::dtypeName(format::DType(dtype)).data() : nullptr;
}

size_t fusec_dtype_size(fusec_dtype dtype) {
  bool known = dtype >= 0 && uint32_t(dtype) < format::numDTypes;
  return known ? format::dtypeSize(format::DType(dtype)) : 0;
}

fusec_status fusec_model_load(const char *path,
                              const fusec_load_options *options,
                              fusec_model **model, char *message,
                              size_t capacity) {
  return guard(message, capacity, [&] {
    requireResult(path, "path");
    requireResult(model, "model");
    Lap lap;
    format::MappedFile file;
    std::string error;
    if (!file.open(path, error))
      fail(FUSEC_UNREADABLE, error);
    *model = load(
        file.bytes(), [&](format::ByteSpan bytes) { file.release(bytes); },
        options, std::string(path) + ": ", lap);
  });
}

fusec_status fusec_model_load_memory(const void *data, size_t size,
                                     const fusec_load_options *options,
                                     fusec_model **model, char *message,
                                     size_t capacity) {
  return guard(message, capacity, [&] {
    requireResult(data, "data");
    requireResult(model, "model");
    *model = load(
        {static_cast<const uint8_t *>(data), size}, [](format::ByteSpan) {},
        options, "", Lap());
  });
}

void fusec_model_free(fusec_model *model) { delete model; }

const char *fusec_model_target(const fusec_model *model) {
  return model->model->plan().target.c_str();
}

int32_t fusec_model_device(const fusec_model *model) {
  return model->model->device().ordinal();
}

uint32_t fusec_model_input_count(const fusec_model *model) {
  return uint32_t(model->model->manifest().inputs.size());
}

uint32_t fusec_model_output_count(const fusec_model *model) {
  return uint32_t(model->model->manifest().outputs.size());
}

fusec_status fusec_model_input_info(const fusec_model *model, uint32_t index,
                                    fusec_tensor_info *info, char *message,
                                    size_t capacity) {
  return guard(message, capacity, [&] {
    requireResult(model, "model");
    describe(model->model->manifest().inputs, model->model->inputTexts(), index,
             info);
  });
}

fusec_status fusec_model_output_info(const fusec_model *model, uint32_t index,
                                     fusec_tensor_info *info, char *message,
                                     size_t capacity) {
  return guard(message, capacity, [&] {
    requireResult(model, "model");
    describe(model->model->manifest().outputs, model->model->outputTexts(),
             index, info);
  });
}

uint32_t fusec_model_replaceable_count(const fusec_model *model) {
  return uint32_t(model->model->replaceables().size());
}

fusec_status fusec_model_replaceable_info(const fusec_model *model,
                                          uint32_t index,
                                          fusec_tensor_info *info,
                                          char *message, size_t capacity) {
  return guard(message, capacity, [&] {
    requireResult(model, "model");
    const NamedWeights &replaceables = model->model->replaceables();
    describe(replaceables.specs(), replaceables.texts(), index, info);
  });
}

uint32_t fusec_model_updatable_count(const fusec_model *model) {
  return uint32_t(model->model->updatables().size());
}

fusec_status fusec_model_updatable_info(const fusec_model *model,
                                        uint32_t index, fusec_tensor_info *info,
                                        char *message, size_t capacity) {
  return guard(message, capacity, [&] {
    requireResult(model, "model");
    const NamedWeights &updatables = model->model->updatables();
    describe(updatables.specs(), updatables.texts(), index, info);
  });
}

fusec_status fusec_model_update_rows(fusec_model *model, const char *name,
                                     const int64_t *ids,
                                     const fusec_tensor *rows, void *stream,
                                     char *message, size_t capacity) {
  return guard(message, capacity, [&] {
    requireResult(model, "model");
    requireResult(name, "name");
    updateRows(*model->model, name, ids, rows,
               static_cast<cuda::Stream>(stream));
  });
}

uint32_t fusec_model_table_count(const fusec_model *model) {
  return uint32_t(model->model->tables().size());
}

fusec_status fusec_model_table_info(const fusec_model *model, uint32_t index,
                                    fusec_table_info *info, char *message,
                                    size_t capacity) {
  return guard(message, capacity, [&] {
    requireResult(model, "model");
    const NamedWeights &tables = model->model->tables();
    requireInfo(info, index, tables.size());
    size_t weight = tables.weight(index);
    const format::Weight &table = model->model->plan().weights[weight];
    fusec_table_info value = {};
    value.name = table.name.c_str();
    value.dtype = int32_t(table.dtype);
    value.rows = table.sizes[0];
    value.bytes = table.size;
    value.device_rows = model->model->deviceRows(weight);
    writeStruct(value, "fusec_table_info", info);
  });
}

uint32_t fusec_model_dim_count(const fusec_model *model) {
  return uint32_t(model->model->manifest().dims.size());
}

const char *fusec_model_dim_name(const fusec_model *model, uint32_t index) {
  const std::vector<std::string> &dims = model->model->manifest().dims;
  return index < dims.size() ? dims[index].c_str() : nullptr;
}

fusec_status fusec_model_output_sizes(const fusec_model *model, uint32_t index,
                                      const fusec_dim *dims, size_t dimCount,
                                      int64_t *sizes, int32_t rank,
                                      char *message, size_t capacity) {
  return guard(message, capacity, [&] {
    requireResult(model, "model");
    const format::Manifest &manifest = model->model->manifest();
    checkOutput(manifest, index, sizes, rank);
    const format::TensorSpec &spec = manifest.outputs[index];
    std::vector<int64_t> values =
        computeSizes(manifest, spec, lookUpDims(manifest, dims, dimCount),
                     tensorText(false, spec.name));
    std::copy(values.begin(), values.end(), sizes);
  });
}

fusec_status fusec_model_arena_size(const fusec_model *model,
                                    const fusec_dim *dims, size_t dimCount,
                                    uint64_t *bytes, char *message,
                                    size_t capacity) {
  return guard(message, capacity, [&] {
    requireResult(model, "model");
    requireResult(bytes, "bytes");
    const format::Manifest &manifest = model->model->manifest();
    *bytes = layOutArena(manifest, model->model->plan(),
                         lookUpDims(manifest, dims, dimCount))
                 .total;
  });
}
