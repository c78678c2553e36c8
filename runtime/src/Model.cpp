// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loading: choose a plan, load its code, upload its weights.

#include "runtime/src/Model.h"

#include "runtime/format/AlignUp.h"
#include "runtime/src/Lap.h"
#include "runtime/src/Launches.h"
#include "runtime/src/PlanChoice.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace fusec::rt {

namespace {
// Parameter blocks beyond this many bytes need driver 12.1.
constexpr uint64_t smallParamBytes = 4096;
constexpr int largeParamDriver = 12010;
constexpr size_t jitLogBytes = 8192;

// In the order that they lie in on the device.
enum class Kind { Fixed, Factor, Whole };
Kind kindOf(const format::Weight &weight) {
  return !weight.replaceable       ? Kind::Fixed
         : !weight.adapter.empty() ? Kind::Factor
                                   : Kind::Whole;
}

template <typename Visit>
void forEachLaunch(const format::Plan &plan, Visit visit) {
  for (const format::Step &step : plan.steps)
    for (const format::Variant &variant : step.variants)
      for (const format::Launch &launch : variant.launches)
        visit(step, launch);
}

std::map<std::string_view, size_t>
indexNames(const std::vector<format::TensorSpec> &tensors) {
  std::map<std::string_view, size_t> names;
  for (size_t i = 0; i != tensors.size(); ++i)
    names.emplace(tensors[i].name, i);
  return names;
}

cuda::Module loadModule(const cuda::Driver &driver,
                        const format::Section &section,
                        const std::string &step) {
  // PTX is text and must end with a zero; a cubin says where it ends, which was
  // checked.
  std::string text;
  const void *image = section.bytes.data;
  if (section.kind == format::SectionKind::Ptx) {
    text.assign(reinterpret_cast<const char *>(section.bytes.data),
                section.bytes.size);
    image = text.c_str();
  }
  std::vector<char> log(jitLogBytes, 0);
  int options[] = {cuda::JitErrorLog, cuda::JitErrorLogSize};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size() - 1)};
  cuda::Module module = nullptr;
  cuda::Result result = driver.moduleLoad(&module, image, 2, options, values);
  if (result != cuda::success)
    driver.check(result,
                 "loading the code of step '" + step + "' " +
                     (log[0] ? "(" + std::string(log.data()) + ")" : ""));
  return module;
}
} // namespace

Model::Modules::~Modules() {
  if (bySection.empty())
    return;
  try {
    SetUpScope scope(device);
    for (const auto &[section, module] : bySection)
      device.driver().moduleUnload(module);
  } catch (const Failure &) {
    // The context is gone, and its modules with it.
  }
}

// Of parameters passed one by one the driver reads as many bytes as the kernel
// takes, which of PTX it alone knows; of cubins it was checked.
static void checkParams(const cuda::Driver &driver, cuda::Function function,
                        const format::Launch &launch) {
  if (!format::takesParamsOneByOne(launch))
    return;
  std::string what = "kernel '" + launch.symbol + "': ";
  if (!driver.functionParamInfo)
    fail(FUSEC_UNSUPPORTED,
         what + "cooperative kernels in PTX need driver 12.4, found " +
             driverVersionText(unsigned(driver.version)));
  for (size_t i = 0;; ++i) {
    size_t offset = 0, size = 0;
    cuda::Result result = driver.functionParamInfo(function, i, &offset, &size);
    bool isLast = i == launch.params.size();
    if (isLast && result == cuda::invalidValue)
      return;
    if (result != cuda::invalidValue)
      driver.check(result, "cuFuncGetParamInfo");
    if (isLast || result == cuda::invalidValue)
      fail(FUSEC_MALFORMED, what + "expected " +
                                std::to_string(launch.params.size()) +
                                " parameters, as the manifest says, found " +
                                (isLast ? "more" : std::to_string(i)));
    size_t expected = format::paramLayout(launch.params[i]).size;
    if (size != expected)
      fail(FUSEC_MALFORMED, what + "expected " + std::to_string(expected) +
                                " bytes for parameter " + std::to_string(i) +
                                ", as the manifest says, found " +
                                std::to_string(size));
  }
}

Model::Model(const format::Bundle &bundle, const char *driverPath, int device,
             const MemoryBudget &budget, const Source &source,
             const Progress &progress, LoadTimes &times)
    : theDevice(driverPath, device), theManifest(bundle.manifest()),
      modules(theDevice) {
  DeviceLimits limits = {theDevice.capability(), theDevice.maxSharedMemory(),
                         unsigned(theDevice.driver().version)};
  std::string reasons;
  std::optional<size_t> choice = choosePlan(theManifest, limits, reasons);
  if (!choice)
    fail(FUSEC_UNSUPPORTED,
         "no plan of this bundle fits " + theDevice.describe() + ": " +
             reasons + "; compile the model again: " +
             compileCommand(theManifest, theDevice.capability()));
  thePlan = &theManifest.plans[*choice];
  inputs = describeTensors(theManifest.inputs);
  outputs = describeTensors(theManifest.outputs);
  inputsByName = indexNames(theManifest.inputs);
  outputsByName = indexNames(theManifest.outputs);
  findAdapters();
  theReplaceables =
      NamedWeights(*thePlan, "replaceable", [](const format::Weight &weight) {
        return kindOf(weight) == Kind::Whole;
      });
  theUpdatables =
      NamedWeights(*thePlan, "updatable", [](const format::Weight &weight) {
        return weight.updatable;
      });
  theTables = NamedWeights(
      *thePlan, "table",
      [](const format::Weight &weight) { return weight.table; },
      /*hasOption=*/false);
  deviceBytes = placeWeights(*thePlan, budget);

  SetUpScope scope(theDevice);
  Lap lap;
  loadCode(bundle);
  times.code = lap.next();
  upload(theDevice, layOutWeights(bundle), "weights", source, progress);
  encodeWeightMaps();
  times.weights = lap.next();
}

void Model::loadCode(const format::Bundle &bundle) {
  const cuda::Driver &driver = theDevice.driver();
  std::unordered_map<cuda::Function, unsigned> sharedMemory;
  forEachLaunch(
      *thePlan, [&](const format::Step &step, const format::Launch &launch) {
        cuda::Module &module = modules.bySection[launch.section];
        if (!module) {
          modules.bySection.erase(launch.section);
          cuda::Module loaded =
              loadModule(driver, bundle.sections()[launch.section], step.name);
          modules.bySection[launch.section] = loaded;
        }
        cuda::Function function = nullptr;
        driver.check(driver.moduleFunction(&function,
                                           modules.bySection[launch.section],
                                           launch.symbol.c_str()),
                     "finding kernel '" + launch.symbol + "' of step '" +
                         format::shorten(step.name) + "'");
        if (bundle.sections()[launch.section].kind == format::SectionKind::Ptx)
          checkParams(driver, function, launch);
        functions[&launch] = function;
        unsigned &most = sharedMemory[function];
        most = std::max(most, launch.smem);
        uint64_t bytes = format::paramBytes(launch);
        if (bytes > smallParamBytes && driver.version < largeParamDriver)
          fail(FUSEC_UNSUPPORTED,
               "kernel '" + launch.symbol + "' has " + std::to_string(bytes) +
                   " bytes of parameters, which needs driver 12.1, found " +
                   driverVersionText(unsigned(driver.version)));
      });
  // Also makes the driver load code it would otherwise load in the first run.
  for (const auto &[function, bytes] : sharedMemory)
    driver.check(driver.functionSetAttribute(
                     function, cuda::FunctionMaxDynamicSharedSize, int(bytes)),
                 "setting " + std::to_string(bytes) +
                     " bytes of shared memory");
}

void Model::findAdapters() {
  std::map<std::string, AdapterSite> byName;
  for (size_t i = 0; i != thePlan->weights.size(); ++i) {
    const format::Weight &weight = thePlan->weights[i];
    if (weight.adapter.empty())
      continue;
    AdapterSite &site = byName[weight.adapter];
    site.name = weight.adapter;
    (weight.part == format::AdapterPart::A ? site.a : site.b) = i;
  }
  for (auto &[name, site] : byName)
    sites.push_back(std::move(site));
}

std::vector<Destination> Model::layOutWeights(const format::Bundle &bundle) {
  // Weights of equal content share their bytes on the device as in the file.
  std::map<std::tuple<unsigned, uint64_t, uint64_t>, uint64_t> offsets;
  std::vector<format::Piece> pieces;
  uint64_t total = 0, begin = 0;
  for (Kind kind : {Kind::Fixed, Kind::Factor, Kind::Whole}) {
    if (kind == Kind::Factor) {
      if (!sites.empty() || theReplaceables.size() != 0)
        total = format::alignUp(total, arenaAlignment);
      begin = total;
    }
    for (size_t i = 0; i != thePlan->weights.size(); ++i) {
      const format::Weight &weight = thePlan->weights[i];
      if (kindOf(weight) != kind || deviceBytes[i] != weight.size)
        continue;
      // At least the weight's own alignment.
      uint64_t offset = format::alignUp(total, arenaAlignment);
      std::tuple range(weight.section, weight.offset, weight.size);
      if (!offsets.emplace(range, offset).second)
        continue;
      pieces.push_back({offset, bundle.weightBytes(weight)});
      total = offset + weight.size;
    }
    if (kind == Kind::Factor)
      theAdapterBytes = total - begin;
  }
  theReplaceableBytes = total - begin;
  weights = DeviceMemory(theDevice, total,
                         theTables.size() == 0
                             ? "weights"
                             : "weights (of tables, which a budget of device "
                               "memory lets lie in the host's, too)");
  replaceable = weights.pointer() + begin;
  for (const format::Weight &weight : thePlan->weights) {
    auto found = offsets.find({weight.section, weight.offset, weight.size});
    weightPointers.push_back(
        found == offsets.end() ? 0 : weights.pointer() + found->second);
  }
  std::vector<Destination> all = {
      {weights.pointer(), total, std::move(pieces)}};
  layOutSplitTables(bundle, all);
  return all;
}

void Model::layOutSplitTables(const format::Bundle &bundle,
                              std::vector<Destination> &all) {
  std::map<std::tuple<unsigned, uint64_t, uint64_t>, size_t> made;
  for (size_t i = 0; i != thePlan->weights.size(); ++i) {
    const format::Weight &weight = thePlan->weights[i];
    if (deviceBytes[i] == weight.size)
      continue;
    auto [it, isNew] =
        made.emplace(std::tuple(weight.section, weight.offset, weight.size),
                     splitTables.size());
    if (isNew) {
      const SplitMemory &table =
          splitTables.emplace_back(theDevice, weight.size, deviceBytes[i],
                                   "table '" + weight.name + "'");
      format::ByteSpan bytes = bundle.weightBytes(weight);
      uint64_t first = table.deviceBytes();
      all.push_back({table.pointer(), first, {{0, {bytes.data, first}}}});
      all.push_back({table.pointer() + first,
                     weight.size - first,
                     {{0, {bytes.data + first, weight.size - first}}},
                     /*isHosts=*/true});
    }
    const SplitMemory &table = splitTables[it->second];
    weightPointers[i] = table.pointer();
    deviceBytes[i] = table.deviceBytes();
  }
}

int64_t Model::deviceRows(size_t weight) const {
  const format::Weight &of = thePlan->weights[weight];
  if (deviceBytes[weight] == of.size)
    return of.sizes[0];
  return int64_t(deviceBytes[weight] / (of.size / uint64_t(of.sizes[0])));
}

void Model::encodeWeightMaps() {
  const DimValues noDims(theManifest.dims.size(), unknownDim);
  forEachLaunch(*thePlan, [&](const format::Step &step,
                              const format::Launch &launch) {
    for (const format::Param &param : launch.params) {
      const auto *map = std::get_if<format::TensorMapParam>(&param);
      bool fixed = map && map->of.kind == format::Pointer::Kind::Weight &&
                   !replaceableOffset(map->of.index) &&
                   map->of.offset.isConstant() &&
                   std::all_of(map->sizes.begin(), map->sizes.end(),
                               [](const format::Expr &size) {
                                 return size.isConstant();
                               }) &&
                   std::all_of(map->strides.begin(), map->strides.end(),
                               [](const format::Expr &stride) {
                                 return stride.isConstant();
                               });
      if (!fixed)
        continue;
      MapShape shape = shapeMap(theManifest, *map, noDims,
                                "step '" + format::shorten(step.name) + "'");
      cuda::TensorMap &encoded = weightMaps[map];
      encoded = {};
      if (!shape.empty())
        encodeMap(theDevice.driver(), shape,
                  weightPointers[map->of.index] +
                      uint64_t(map->of.offset.value),
                  encoded);
    }
  });
}

const cuda::TensorMap *
Model::weightMap(const format::TensorMapParam &param) const {
  auto found = weightMaps.find(&param);
  return found == weightMaps.end() ? nullptr : &found->second;
}

} // namespace fusec::rt
