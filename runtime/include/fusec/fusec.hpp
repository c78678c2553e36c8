// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C++17 over the C interface: owning handles, and exceptions in place of
// statuses. Header only, so that the library's binary interface stays C. One
// file, though long: programs include it alone, and most of it is what they
// read of each call.
//
//   auto model = fusec::Model::load("model.fusec", 0); // shared by threads
//   auto session = model.session();                    // one a thread
//   session.bind("dense", fusec::Tensor(pointer, FUSEC_F32, {2048, 13}));
//   session.bind("prob", fusec::Tensor(result, FUSEC_F32, {2048, 1}));
//   session.prepare();                                 // sizes from the inputs
//   session.run(stream);                               // allocates nothing

#ifndef FUSEC_FUSEC_HPP
#define FUSEC_FUSEC_HPP

#include "fusec/fusec.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace fusec {

class Error : public std::runtime_error {
public:
  Error(fusec_status status, const std::string &message)
      : std::runtime_error(message), theStatus(status) {}
  fusec_status status() const noexcept { return theStatus; }

private:
  fusec_status theStatus;
};

namespace detail {
// Calls a C function with a buffer for its message.
template <typename Function> void call(Function function) {
  char message[2048];
  fusec_status status = function(message, sizeof(message));
  if (status != FUSEC_OK)
    throw Error(status, message);
}
} // namespace detail

// A named dimension and its size.
using Dims = std::vector<std::pair<std::string, int64_t>>;

// Device memory of the caller: dense and row-major, or with strides in elements
// that say so.
class Tensor {
public:
  Tensor(void *data, fusec_dtype dtype, std::vector<int64_t> sizes,
         int device = 0)
      : data(data), dtype(dtype), device(device), sizes(std::move(sizes)) {}

  Tensor &setStrides(std::vector<int64_t> values) {
    strides = std::move(values);
    return *this;
  }
  Tensor &setByteOffset(uint64_t value) {
    byteOffset = value;
    return *this;
  }
  Tensor &setDeviceType(fusec_device_type value) {
    deviceType = value;
    return *this;
  }
  // Valid while this object is.
  fusec_tensor view() const {
    if (!strides.empty() && strides.size() != sizes.size())
      throw Error(FUSEC_INVALID_ARGUMENT,
                  "a tensor of " + std::to_string(sizes.size()) +
                      " sizes: expected as many strides or none, found " +
                      std::to_string(strides.size()));
    fusec_tensor tensor = {};
    tensor.struct_size = sizeof(tensor);
    tensor.dtype = dtype;
    tensor.device_type = deviceType;
    tensor.device_id = device;
    tensor.rank = static_cast<int32_t>(sizes.size());
    tensor.sizes = sizes.data();
    tensor.strides = strides.empty() ? nullptr : strides.data();
    tensor.data = data;
    tensor.byte_offset = byteOffset;
    return tensor;
  }

private:
  void *data;
  fusec_dtype dtype;
  fusec_device_type deviceType = FUSEC_DEVICE_CUDA;
  int device;
  std::vector<int64_t> sizes, strides;
  uint64_t byteOffset = 0;
};

// An input, an output, a replaceable or an updatable weight of a model.
struct TensorInfo {
  std::string name;
  fusec_dtype dtype;
  std::vector<int64_t> sizes;           // -1 where it depends on dimensions
  std::vector<std::string> expressions; // "batch", "2 * n"
};

// Of `total` bytes of weights `done` have been read; must not throw.
using LoadProgress = std::function<void(uint64_t done, uint64_t total)>;

struct LoadOptions {
  int device = 0;
  int hashWeights = FUSEC_HASH_WEIGHTS_AUTO;
  std::string driver;    // empty: $FUSEC_DRIVER, else libcuda.so.1
  LoadProgress progress; // empty: none
  // Bytes of device memory that weights may take; 0: as many as there are. Of
  // tables those rows that do not fit lie in the host's, see
  // fusec_load_options.
  uint64_t deviceMemory = 0;
  // Of tables by name: how many of their first rows lie on the device.
  std::vector<std::pair<std::string, int64_t>> deviceRows;
};

// A weight of which kernels read rows that ids name.
struct TableInfo {
  std::string name;
  fusec_dtype dtype;
  int64_t rows;
  uint64_t bytes;     // of all rows
  int64_t deviceRows; // the first ones, which lie on the device
};

// A low-rank update of a model that sessions can replace.
struct AdapterInfo {
  std::string name;
  fusec_dtype dtype;
  int64_t rank, k, n;
};

class Session;

// A loaded bundle: immutable but for updateRows(), cheap to copy, shared by
// threads.
class Model {
public:
  static Model load(const std::string &path, int device = 0) {
    LoadOptions options;
    options.device = device;
    return load(path, options);
  }
  static Model load(const std::string &path, const LoadOptions &options) {
    std::vector<fusec_table_rows> rows;
    fusec_load_options native = toNative(options, rows);
    fusec_model *model = nullptr;
    detail::call([&](char *message, size_t capacity) {
      return fusec_model_load(path.c_str(), &native, &model, message, capacity);
    });
    return Model(model);
  }
  // From memory, which may be freed afterwards.
  static Model loadMemory(const void *data, size_t size,
                          const LoadOptions &options = {}) {
    std::vector<fusec_table_rows> rows;
    fusec_load_options native = toNative(options, rows);
    fusec_model *model = nullptr;
    detail::call([&](char *message, size_t capacity) {
      return fusec_model_load_memory(data, size, &native, &model, message,
                                     capacity);
    });
    return Model(model);
  }

  Session session() const;

  std::string target() const { return fusec_model_target(handle()); }
  int device() const { return fusec_model_device(handle()); }
  std::vector<TensorInfo> inputs() const {
    return infos(fusec_model_input_count(handle()), fusec_model_input_info);
  }
  std::vector<TensorInfo> outputs() const {
    return infos(fusec_model_output_count(handle()), fusec_model_output_info);
  }
  // Weights that sessions can replace.
  std::vector<TensorInfo> replaceables() const {
    return infos(fusec_model_replaceable_count(handle()),
                 fusec_model_replaceable_info);
  }
  // Weights whose rows can be changed in place.
  std::vector<TensorInfo> updatables() const {
    return infos(fusec_model_updatable_count(handle()),
                 fusec_model_updatable_info);
  }
  // Weights that kernels read by rows, and where those lie.
  std::vector<TableInfo> tables() const {
    std::vector<TableInfo> all;
    for (uint32_t i = 0; i != fusec_model_table_count(handle()); ++i) {
      fusec_table_info info = {};
      info.struct_size = sizeof(info);
      detail::call([&](char *message, size_t capacity) {
        return fusec_model_table_info(handle(), i, &info, message, capacity);
      });
      all.push_back(
          {info.name, info.dtype, info.rows, info.bytes, info.device_rows});
    }
    return all;
  }
  // Row i of `rows` [ids.size(), ...] becomes row ids[i] of the weight, for the
  // runs of all sessions that are enqueued on the stream afterwards, see
  // fusec_model_update_rows(). Memory of the host is waited for.
  void updateRows(const std::string &name, const std::vector<int64_t> &ids,
                  const Tensor &rows, void *stream = nullptr) {
    fusec_tensor view = rows.view();
    if (view.rank < 1 || view.sizes[0] != static_cast<int64_t>(ids.size()))
      throw Error(FUSEC_INVALID_ARGUMENT,
                  "weight '" + name + "': expected as many rows as ids, " +
                      std::to_string(ids.size()));
    detail::call([&](char *message, size_t capacity) {
      return fusec_model_update_rows(handle(), name.c_str(), ids.data(), &view,
                                     stream, message, capacity);
    });
  }
  std::vector<std::string> dims() const {
    std::vector<std::string> names;
    for (uint32_t i = 0; i != fusec_model_dim_count(handle()); ++i)
      names.push_back(fusec_model_dim_name(handle(), i));
    return names;
  }
  // For given dimensions; nothing is allocated on the device.
  std::vector<int64_t> outputSizes(uint32_t index, const Dims &dims) const;
  uint64_t arenaSize(const Dims &dims) const;

  std::vector<AdapterInfo> adapters() const {
    std::vector<AdapterInfo> all;
    for (uint32_t i = 0; i != fusec_model_adapter_count(handle()); ++i) {
      fusec_adapter_info info = {};
      info.struct_size = sizeof(info);
      detail::call([&](char *message, size_t capacity) {
        return fusec_model_adapter_info(handle(), i, &info, message, capacity);
      });
      all.push_back({info.name, info.dtype, info.rank, info.k, info.n});
    }
    return all;
  }

  fusec_model *handle() const { return model.get(); }

private:
  explicit Model(fusec_model *model) : model(model, fusec_model_free) {}

  // `rows` lives as long as the result.
  static fusec_load_options toNative(const LoadOptions &options,
                                     std::vector<fusec_table_rows> &rows) {
    fusec_load_options native = {};
    native.struct_size = sizeof(native);
    native.device = options.device;
    native.hash_weights = options.hashWeights;
    native.driver = options.driver.empty() ? nullptr : options.driver.c_str();
    for (const auto &table : options.deviceRows)
      rows.push_back({table.first.c_str(), table.second});
    native.device_memory = options.deviceMemory;
    native.device_rows = rows.data();
    native.device_row_count = rows.size();
    if (options.progress) {
      native.progress = [](void *given, uint64_t done, uint64_t total) {
        (*static_cast<const LoadProgress *>(given))(done, total);
      };
      native.progress_context = const_cast<LoadProgress *>(&options.progress);
    }
    return native;
  }

  template <typename Query>
  std::vector<TensorInfo> infos(uint32_t count, Query query) const {
    std::vector<TensorInfo> all;
    for (uint32_t i = 0; i != count; ++i) {
      fusec_tensor_info info = {};
      info.struct_size = sizeof(info);
      detail::call([&](char *message, size_t capacity) {
        return query(handle(), i, &info, message, capacity);
      });
      all.push_back({info.name, info.dtype,
                     std::vector<int64_t>(info.sizes, info.sizes + info.rank),
                     std::vector<std::string>(info.expressions,
                                              info.expressions + info.rank)});
    }
    return all;
  }

  std::shared_ptr<fusec_model> model;
};

namespace detail {
inline std::vector<fusec_dim> toNative(const Dims &dims) {
  std::vector<fusec_dim> native;
  for (const auto &dim : dims)
    native.push_back({dim.first.c_str(), dim.second});
  return native;
}
} // namespace detail

// Values for one low-rank update: `scale * (x a) b`, a [k, r] and b [r, n], or
// where they are weights of linear layers a [r, k] and b [n, r].
struct Update {
  std::string name;
  Tensor a, b;
  double scale = 1;
  bool transposed = false;
};

// The same from a safetensors file as PEFT writes it. `layer` is a layer's name
// or its end; empty: as `name`, else the only layer of the file.
struct UpdateFile {
  std::string name, path;
  double scale = 1; // lora_alpha / r
  std::string layer = {};
};

// Values for all adapters of a model: immutable, cheap to copy, shared by
// threads. Synchronise the streams of its copies before the last one goes.
class Adapter {
public:
  // Adapters that no update names are zero.
  static Adapter create(const Model &model,
                        const std::vector<Update> &updates) {
    std::vector<fusec_tensor> tensors;
    for (const Update &update : updates) {
      tensors.push_back(update.a.view());
      tensors.push_back(update.b.view());
    }
    std::vector<fusec_update> native;
    for (size_t i = 0; i != updates.size(); ++i) {
      fusec_update update = {};
      update.struct_size = sizeof(update);
      update.name = updates[i].name.c_str();
      update.a = &tensors[2 * i];
      update.b = &tensors[2 * i + 1];
      update.scale = updates[i].scale;
      update.transposed = updates[i].transposed ? 1 : 0;
      native.push_back(update);
    }
    fusec_adapter *made = nullptr;
    detail::call([&](char *message, size_t capacity) {
      return fusec_adapter_create(model.handle(), native.data(), native.size(),
                                  &made, message, capacity);
    });
    return Adapter(made);
  }
  static Adapter load(const Model &model,
                      const std::vector<UpdateFile> &files) {
    std::vector<fusec_update_file> native;
    for (const UpdateFile &file : files) {
      fusec_update_file update = {};
      update.struct_size = sizeof(update);
      update.name = file.name.c_str();
      update.path = file.path.c_str();
      update.layer = file.layer.empty() ? nullptr : file.layer.c_str();
      update.scale = file.scale;
      native.push_back(update);
    }
    fusec_adapter *made = nullptr;
    detail::call([&](char *message, size_t capacity) {
      return fusec_adapter_load(model.handle(), native.data(), native.size(),
                                &made, message, capacity);
    });
    return Adapter(made);
  }
  // The values that the model was compiled with.
  static Adapter own(const Model &model) {
    fusec_adapter *made = nullptr;
    detail::call([&](char *message, size_t capacity) {
      return fusec_adapter_own(model.handle(), &made, message, capacity);
    });
    return Adapter(made);
  }

  fusec_adapter *handle() const { return adapter.get(); }

private:
  explicit Adapter(fusec_adapter *adapter)
      : adapter(adapter, fusec_adapter_free) {}

  std::shared_ptr<fusec_adapter> adapter;
};

struct ProfileOptions {
  int method = FUSEC_PROFILE_AUTO;
  int runs = 20;
  bool keepCache = false; // else it is flushed before each run
  std::string cupti;      // CUPTI's library; empty: looked for
};

// What the kernels of a run took, in microseconds; plain values.
struct Profile {
  struct Step { // a launch of the run
    std::string step, kernel;
    std::string lead; // the step whose result it computes first, or empty
    std::vector<std::string> sources; // nodes of the ONNX model
    uint32_t grid[3], block[3];
    double median, min, p90; // since the end of its predecessor, if it started
                             // before that
    double start;            // since the start of the run's first kernel
    int64_t bytesRead, bytesWritten, operations; // -1: not known
    std::string unit;     // "fma", "tf32", "tf32x3", "half"; empty: not known
    double predicted;     // 0: no prediction
    int64_t predictedDim; // the named dimensions it is for; 0: there are none
  };
  struct Kernel {
    uint64_t start, end; // nanoseconds
    uint32_t stream;
  };
  struct Run {
    uint64_t enqueueStart, enqueueEnd; // on the host, on the kernels' clock
    std::vector<Kernel> kernels;       // one a step
  };

  int method;         // FUSEC_PROFILE_ACTIVITY or FUSEC_PROFILE_EVENTS
  std::string reason; // why not by activity records; empty: by them
  bool replayed;
  double run;      // median of runs that are not profiled
  double profiled; // median of those that are, in rounds in turn
  double sum;      // of the kernels' medians
  std::vector<Step> steps;
  std::vector<Run> runs;
};

// Runs of a model, one at a time. Synchronise the streams of its runs before it
// goes.
class Session {
public:
  explicit Session(const Model &model) {
    fusec_session *created = nullptr;
    detail::call([&](char *message, size_t capacity) {
      return fusec_session_create(model.handle(), &created, message, capacity);
    });
    session.reset(created);
  }

  void bind(const std::string &name, const fusec_tensor &tensor) {
    detail::call([&](char *message, size_t capacity) {
      return fusec_session_bind(handle(), name.c_str(), &tensor, message,
                                capacity);
    });
  }
  void bind(const std::string &name, const Tensor &tensor) {
    bind(name, tensor.view());
  }
  void bindInput(uint32_t index, const fusec_tensor &tensor) {
    detail::call([&](char *message, size_t capacity) {
      return fusec_session_bind_input(handle(), index, &tensor, message,
                                      capacity);
    });
  }
  void bindInput(uint32_t index, const Tensor &tensor) {
    bindInput(index, tensor.view());
  }
  void bindOutput(uint32_t index, const fusec_tensor &tensor) {
    detail::call([&](char *message, size_t capacity) {
      return fusec_session_bind_output(handle(), index, &tensor, message,
                                       capacity);
    });
  }
  void bindOutput(uint32_t index, const Tensor &tensor) {
    bindOutput(index, tensor.view());
  }

  // Dimensions that are not given follow from the bound inputs. The arena is
  // the session's own unless one is given: device memory, 256-byte aligned.
  // `graph` is FUSEC_GRAPH_AUTO, FUSEC_GRAPH_OFF or FUSEC_GRAPH_ON.
  void prepare(const Dims &dims = {}, void *arena = nullptr,
               uint64_t arenaSize = 0, int32_t graph = FUSEC_GRAPH_AUTO) {
    std::vector<fusec_dim> native = detail::toNative(dims);
    fusec_prepare_options options = {};
    options.struct_size = sizeof(options);
    options.dims = native.data();
    options.dim_count = native.size();
    options.arena = arena;
    options.arena_size = arenaSize;
    options.graph = graph;
    detail::call([&](char *message, size_t capacity) {
      return fusec_session_prepare(handle(), &options, message, capacity);
    });
  }
  // Sizes of an output of this rank for the prepared dimensions.
  std::vector<int64_t> outputSizes(uint32_t index, size_t rank) const {
    std::vector<int64_t> sizes(rank);
    detail::call([&](char *message, size_t capacity) {
      return fusec_session_output_sizes(handle(), index, sizes.data(),
                                        static_cast<int32_t>(rank), message,
                                        capacity);
    });
    return sizes;
  }
  // `stream` is a CUstream or cudaStream_t; null is the default stream.
  void run(void *stream = nullptr) {
    detail::call([&](char *message, size_t capacity) {
      return fusec_session_run(handle(), stream, message, capacity);
    });
  }
  // Enqueues one copy; runs enqueued on the stream afterwards use the adapter.
  void setAdapter(const Adapter &adapter, void *stream = nullptr) {
    detail::call([&](char *message, size_t capacity) {
      return fusec_session_set_adapter(handle(), adapter.handle(), stream,
                                       message, capacity);
    });
  }
  // The same with zeros: updates add nothing.
  void clearAdapter(void *stream = nullptr) {
    detail::call([&](char *message, size_t capacity) {
      return fusec_session_set_adapter(handle(), nullptr, stream, message,
                                       capacity);
    });
  }
  // Enqueues one copy into the session's own weight; runs enqueued on the
  // stream afterwards use it. Memory of the host is waited for.
  void setWeight(const std::string &name, const Tensor &tensor,
                 void *stream = nullptr) {
    fusec_tensor view = tensor.view();
    detail::call([&](char *message, size_t capacity) {
      return fusec_session_set_weight(handle(), name.c_str(), &view, stream,
                                      message, capacity);
    });
  }
  // The value that the model was compiled with.
  void resetWeight(const std::string &name, void *stream = nullptr) {
    detail::call([&](char *message, size_t capacity) {
      return fusec_session_set_weight(handle(), name.c_str(), nullptr, stream,
                                      message, capacity);
    });
  }
  uint32_t launchCount() const { return fusec_session_launch_count(handle()); }
  // Whether the last run replayed a graph.
  bool replayed() const { return fusec_session_replayed(handle()) != 0; }
  // Out-of-range indices so far; synchronise the runs first.
  uint64_t faults() const {
    uint64_t count = 0;
    detail::call([&](char *message, size_t capacity) {
      return fusec_session_faults(handle(), &count, message, capacity);
    });
    return count;
  }

  // Measures runs of a prepared session, see fusec_session_profile().
  Profile profile(const ProfileOptions &options = {});

  fusec_session *handle() const { return session.get(); }

private:
  struct Deleter {
    void operator()(fusec_session *session) const {
      fusec_session_free(session);
    }
  };
  std::unique_ptr<fusec_session, Deleter> session;
};

namespace detail {
// Calls a C function that writes a struct.
template <typename Info, typename Query> Info query(Query query) {
  Info info = {};
  info.struct_size = sizeof(info);
  call([&](char *message, size_t capacity) {
    return query(&info, message, capacity);
  });
  return info;
}

inline Profile::Step toStep(const fusec_step_profile &info) {
  Profile::Step step = {};
  step.step = info.step;
  step.kernel = info.kernel;
  step.lead = info.lead ? info.lead : "";
  step.sources.assign(info.sources, info.sources + info.source_count);
  for (size_t i = 0; i != 3; ++i) {
    step.grid[i] = info.grid[i];
    step.block[i] = info.block[i];
  }
  step.median = info.median_us;
  step.min = info.min_us;
  step.p90 = info.p90_us;
  step.start = info.start_us;
  step.bytesRead = info.bytes_read;
  step.bytesWritten = info.bytes_written;
  step.operations = info.operations;
  step.unit = info.unit ? info.unit : "";
  step.predicted = info.predicted_us;
  step.predictedDim = info.predicted_dim;
  return step;
}

inline Profile toProfile(const fusec_profile *native) {
  auto summary = query<fusec_profile_summary>(
      [&](auto... to) { return fusec_profile_info(native, to...); });
  Profile profile = {};
  profile.method = summary.method;
  profile.reason = summary.reason;
  profile.replayed = summary.replayed != 0;
  profile.run = summary.run_us;
  profile.profiled = summary.profiled_us;
  profile.sum = summary.sum_us;
  for (uint32_t i = 0; i != summary.steps; ++i)
    profile.steps.push_back(toStep(query<fusec_step_profile>([&](auto... to) {
      return fusec_profile_step_info(native, i, to...);
    })));
  for (uint32_t i = 0; i != summary.runs; ++i) {
    auto info = query<fusec_run_profile>(
        [&](auto... to) { return fusec_profile_run_info(native, i, to...); });
    profile.runs.push_back({info.enqueue_start_ns, info.enqueue_end_ns, {}});
    for (uint32_t j = 0; j != summary.steps; ++j) {
      auto time = query<fusec_kernel_time>([&](auto... to) {
        return fusec_profile_kernel_time(native, i, j, to...);
      });
      profile.runs.back().kernels.push_back(
          {time.start_ns, time.end_ns, time.stream});
    }
  }
  return profile;
}
} // namespace detail

inline Profile Session::profile(const ProfileOptions &options) {
  fusec_profile_options native = {};
  native.struct_size = sizeof(native);
  native.method = options.method;
  native.runs = options.runs;
  native.keep_cache = options.keepCache ? 1 : 0;
  native.cupti = options.cupti.empty() ? nullptr : options.cupti.c_str();
  fusec_profile *made = nullptr;
  detail::call([&](char *message, size_t capacity) {
    return fusec_session_profile(handle(), &native, &made, message, capacity);
  });
  std::unique_ptr<fusec_profile, void (*)(fusec_profile *)> owned(
      made, fusec_profile_free);
  return detail::toProfile(made);
}

inline Session Model::session() const { return Session(*this); }

inline std::vector<int64_t> Model::outputSizes(uint32_t index,
                                               const Dims &dims) const {
  std::vector<TensorInfo> all = outputs();
  std::vector<int64_t> sizes(index < all.size() ? all[index].sizes.size() : 0);
  std::vector<fusec_dim> native = detail::toNative(dims);
  detail::call([&](char *message, size_t capacity) {
    return fusec_model_output_sizes(
        handle(), index, native.data(), native.size(), sizes.data(),
        static_cast<int32_t>(sizes.size()), message, capacity);
  });
  return sizes;
}

inline uint64_t Model::arenaSize(const Dims &dims) const {
  std::vector<fusec_dim> native = detail::toNative(dims);
  uint64_t bytes = 0;
  detail::call([&](char *message, size_t capacity) {
    return fusec_model_arena_size(handle(), native.data(), native.size(),
                                  &bytes, message, capacity);
  });
  return bytes;
}

} // namespace fusec

#endif
