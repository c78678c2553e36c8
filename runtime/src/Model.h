// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loaded bundle on a device: the chosen plan, its code and its weights.
// Immutable once made, so that any number of threads may read it; rows of
// updatable weights change on the device, in the order of streams.

#ifndef FUSEC_RUNTIME_SRC_MODEL_H
#define FUSEC_RUNTIME_SRC_MODEL_H

#include "runtime/format/Bundle.h"
#include "runtime/src/Device.h"
#include "runtime/src/Failure.h"
#include "runtime/src/NamedWeights.h"
#include "runtime/src/SplitMemory.h"
#include "runtime/src/TablePlacement.h"
#include "runtime/src/TensorMaps.h"
#include "runtime/src/Upload.h"

#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace fusec::rt {

// A low-rank update whose factors sessions replace.
struct AdapterSite {
  std::string name;
  size_t a = 0, b = 0; // indices of weights
};

// Where the time of loading went, in milliseconds. Weights are hashed beside
// code and weights, if there are many.
struct LoadTimes {
  double check = 0; // reading, hashing and parsing the bundle
  double code = 0;
  double weights = 0; // and their tensor maps
  double hash = 0;    // waiting for the weights' hash
};

class Model {
public:
  // Throws Failure. The bundle is needed during the call only.
  Model(const format::Bundle &bundle, const char *driverPath, int device,
        const MemoryBudget &budget, const Source &source,
        const Progress &progress, LoadTimes &times);
  Model(const Model &) = delete;
  Model &operator=(const Model &) = delete;

  const Device &device() const { return theDevice; }
  const format::Manifest &manifest() const { return theManifest; }
  const format::Plan &plan() const { return *thePlan; }
  cuda::Function function(const format::Launch &launch) const {
    return functions.at(&launch);
  }
  cuda::DevicePointer weight(size_t index) const {
    return weightPointers[index];
  }
  // What sessions replace lies in one range, of which each has a copy: first
  // the factors of all adapters, then whole weights.
  uint64_t replaceableBytes() const { return theReplaceableBytes; }
  // An offset in it, or nothing for other weights.
  std::optional<uint64_t> replaceableOffset(size_t weight) const {
    if (!thePlan->weights[weight].replaceable)
      return std::nullopt;
    return weightPointers[weight] - replaceable;
  }
  // The range with the values of the bundle.
  cuda::DevicePointer ownReplaceable() const { return replaceable; }
  const std::vector<AdapterSite> &adapters() const { return sites; }
  uint64_t adapterBytes() const { return theAdapterBytes; }
  // Whole weights that sessions replace, and those that are changed in place.
  const NamedWeights &replaceables() const { return theReplaceables; }
  const NamedWeights &updatables() const { return theUpdatables; }
  // Weights that kernels read by rows, and how many of their first rows lie on
  // the device as a whole.
  const NamedWeights &tables() const { return theTables; }
  int64_t deviceRows(size_t weight) const;
  // The map of a weight that does not depend on dimensions, and is not
  // replaceable; else null.
  const cuda::TensorMap *weightMap(const format::TensorMapParam &param) const;
  // The index of the input or output of this name.
  std::optional<size_t> findInput(std::string_view name) const {
    return find(inputsByName, name);
  }
  std::optional<size_t> findOutput(std::string_view name) const {
    return find(outputsByName, name);
  }
  const std::vector<TensorTexts> &inputTexts() const { return inputs; }
  const std::vector<TensorTexts> &outputTexts() const { return outputs; }

private:
  using ByName = std::map<std::string_view, size_t>;
  static std::optional<size_t> find(const ByName &names,
                                    std::string_view name) {
    auto found = names.find(name);
    return found == names.end() ? std::nullopt
                                : std::optional<size_t>(found->second);
  }

  void loadCode(const format::Bundle &bundle);
  void findAdapters();
  // Allocates the weights, and says where the bytes of the bundle go.
  std::vector<Destination> layOutWeights(const format::Bundle &bundle);
  // Those that are not all on the device.
  void layOutSplitTables(const format::Bundle &bundle,
                         std::vector<Destination> &all);
  void encodeWeightMaps();

  Device theDevice;
  format::Manifest theManifest;
  const format::Plan *thePlan = nullptr;
  // Unloads its modules when the model ends or its making fails.
  struct Modules {
    explicit Modules(const Device &device) : device(device) {}
    ~Modules();
    const Device &device;
    std::unordered_map<unsigned, cuda::Module> bySection;
  } modules;
  std::unordered_map<const format::Launch *, cuda::Function> functions;
  DeviceMemory weights;
  std::vector<SplitMemory> splitTables;
  // Of each weight of the plan: where it lies, and how much on the device.
  std::vector<cuda::DevicePointer> weightPointers;
  std::vector<uint64_t> deviceBytes;
  std::unordered_map<const format::TensorMapParam *, cuda::TensorMap>
      weightMaps;
  std::vector<AdapterSite> sites; // by name
  NamedWeights theReplaceables, theUpdatables, theTables;
  cuda::DevicePointer replaceable = 0;
  uint64_t theReplaceableBytes = 0, theAdapterBytes = 0;
  std::vector<TensorTexts> inputs, outputs;
  ByName inputsByName, outputsByName;
};

} // namespace fusec::rt

#endif
