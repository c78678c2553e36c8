// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluating a plan's launches and packing their parameters.

#include "runtime/src/Launches.h"

#include "runtime/format/AlignUp.h"

#include <algorithm>
#include <cstring>

namespace fusec::rt {

namespace {
constexpr uint64_t maxGrid[3] = {2147483647, 65535, 65535};

bool holds(const format::Manifest &manifest, const format::Condition &condition,
           const DimValues &dims, const std::string &what) {
  int64_t lhs = computeValue(manifest, condition.lhs, dims, what);
  int64_t rhs = computeValue(manifest, condition.rhs, dims, what);
  switch (condition.kind) {
  case format::Condition::Kind::Le:
    return lhs <= rhs;
  case format::Condition::Kind::Lt:
    return lhs < rhs;
  case format::Condition::Kind::Ge:
    return lhs >= rhs;
  case format::Condition::Kind::Gt:
    return lhs > rhs;
  case format::Condition::Kind::Eq:
    return lhs == rhs;
  default:
    return lhs != rhs;
  }
}

// Readies the launches of one plan.
class Packer {
public:
  Packer(const Model &model, const DimValues &dims, const ArenaLayout &arena,
         const LaunchAddresses &addresses)
      : model(model), manifest(model.manifest()), dims(dims), arena(arena),
        addresses(addresses) {}

  std::vector<ReadyStep> pack() {
    layOutBuffers();
    std::vector<ReadyStep> steps;
    for (const format::Step &step : model.plan().steps)
      steps.push_back(packStep(step));
    return steps;
  }

private:
  // Address and size of what a pointer points into; bound tensors have
  // address 0 here.
  struct Range {
    uint64_t address, size;
  };

  void layOutBuffers() {
    for (const format::Buffer &buffer : model.plan().buffers) {
      std::string what = "buffer '" + format::shorten(buffer.name) + "'";
      uint64_t offset =
          uint64_t(computeSize(manifest, buffer.offset, dims, what));
      uint64_t size = uint64_t(computeSize(manifest, buffer.size, dims, what));
      uint64_t slot = arena.sizes[buffer.slot];
      // Nothing lies in an empty buffer, wherever its slice would begin.
      if (size != 0 && (offset > slot || size > slot - offset))
        fail(FUSEC_MALFORMED,
             what + ": expected a range within the " + std::to_string(slot) +
                 " bytes of its slot, found " + std::to_string(size) +
                 " bytes at offset " + std::to_string(offset));
      buffers.push_back(
          {addresses.arena + arena.offsets[buffer.slot] + offset, size});
    }
    for (const format::TensorSpec &input : manifest.inputs)
      inputs.push_back({0, tensorBytes(input, tensorText(true, input.name))});
    for (const format::TensorSpec &output : manifest.outputs)
      outputs.push_back(
          {0, tensorBytes(output, tensorText(false, output.name))});
    for (size_t i = 0; i != model.plan().weights.size(); ++i) {
      std::optional<uint64_t> offset = model.replaceableOffset(i);
      weights.push_back(
          {offset ? addresses.replaceable + *offset : model.weight(i),
           model.plan().weights[i].size});
    }
  }

  uint64_t tensorBytes(const format::TensorSpec &tensor,
                       const std::string &what) {
    return computeBytes(computeSizes(manifest, tensor, dims, what),
                        tensor.dtype, what);
  }

  ReadyStep packStep(const format::Step &step) {
    std::string what = "step '" + format::shorten(step.name) + "'";
    ReadyStep ready;
    for (const format::Variant &variant : step.variants) {
      ReadyVariant candidate;
      bool possible = true;
      for (const format::Condition &condition : variant.guard) {
        if (condition.kind == format::Condition::Kind::Aligned)
          candidate.guards.push_back(
              {condition.pointerKind == format::Pointer::Kind::Input,
               condition.pointerIndex, condition.bytes});
        else
          possible = possible && holds(manifest, condition, dims, what);
      }
      if (!possible)
        continue;
      for (const format::Launch &launch : variant.launches)
        candidate.launches.push_back(packLaunch(step, launch));
      ready.push_back(std::move(candidate));
      if (ready.back().guards.empty())
        break;
    }
    return ready;
  }

  ReadyLaunch packLaunch(const format::Step &step,
                         const format::Launch &launch) {
    std::string what = "kernel '" + launch.symbol + "' of step '" +
                       format::shorten(step.name) + "'";
    ReadyLaunch ready;
    ready.launch = &launch;
    ready.step = &step;
    ready.function = model.function(launch);
    for (size_t i = 0; i != 3; ++i) {
      uint64_t extent = uint64_t(
          computeSize(manifest, launch.grid[i], dims, what + ": grid"));
      if (extent > maxGrid[i])
        fail(FUSEC_INVALID_ARGUMENT,
             what + ": expected a grid of at most " +
                 std::to_string(maxGrid[i]) + " blocks in dimension " +
                 std::to_string(i) + ", found " + std::to_string(extent));
      if (extent % launch.cluster[i] != 0)
        fail(FUSEC_MALFORMED,
             what + ": expected a grid that is a multiple of the cluster, " +
                 std::to_string(launch.cluster[i]) + ", in dimension " +
                 std::to_string(i) + ", found " + std::to_string(extent));
      ready.grid[i] = unsigned(extent);
    }
    if (ready.empty())
      return ready;
    if (launch.cooperative)
      keepResident(ready, what);
    checkTeam(ready, what);
    // The block ends with its last parameter: the driver refuses a size that is
    // not the kernel's own, even one rounded up to the alignment.
    ready.blockBytes = format::paramBytes(launch);
    ready.block.resize(
        format::alignUp(ready.blockBytes, sizeof(cuda::TensorMap)) /
        sizeof(cuda::TensorMap));
    bool oneByOne = format::takesParamsOneByOne(launch);
    size_t end = 0;
    for (const format::Param &param : launch.params) {
      format::ParamLayout layout = format::paramLayout(param);
      size_t offset = format::alignUp(end, layout.alignment);
      packParam(ready, param, offset, what);
      if (oneByOne)
        ready.params.push_back(reinterpret_cast<char *>(ready.block.data()) +
                               offset);
      end = offset + layout.size;
    }
    return ready;
  }

  // Whether those that wait for one another run at the same time.
  void checkTeam(const ReadyLaunch &ready, const std::string &what) {
    unsigned team = 1;
    for (const format::Param &param : ready.launch->params)
      if (const auto *flags = std::get_if<format::FlagsParam>(&param))
        team = std::max(team, flags->team);
    uint64_t room = team == 1 ? 1 : countResident(ready);
    if (room < team)
      fail(FUSEC_UNSUPPORTED,
           what + ": " + std::to_string(team) +
               " blocks wait for one another, and the device has room for " +
               std::to_string(room));
  }

  // No more blocks than run at the same time.
  void keepResident(ReadyLaunch &ready, const std::string &what) {
    uint64_t most = countResident(ready);
    if (most < 1)
      fail(FUSEC_UNSUPPORTED, what + ": the device has no room for its blocks");
    ready.grid[0] = unsigned(std::min<uint64_t>(ready.grid[0], most));
  }

  // Blocks that the device runs at the same time, in whole clusters.
  uint64_t countResident(const ReadyLaunch &ready) {
    const cuda::Driver &driver = model.device().driver();
    const format::Launch &launch = *ready.launch;
    int most = 0;
    if (ready.hasCluster()) {
      cuda::LaunchAttribute attribute = {};
      attribute.id = cuda::LaunchClusterDimension;
      std::memcpy(attribute.value.clusterDim, launch.cluster.data(),
                  sizeof(launch.cluster));
      cuda::LaunchConfig config = {
          {ready.grid[0], ready.grid[1], ready.grid[2]},
          {launch.block[0], launch.block[1], launch.block[2]},
          launch.smem,
          nullptr,
          &attribute,
          1};
      driver.check(driver.maxActiveClusters(&most, ready.function, &config),
                   "cuOccupancyMaxActiveClusters");
      return uint64_t(most) * launch.cluster[0];
    }
    driver.check(driver.maxActiveBlocks(&most, ready.function,
                                        int(launch.block[0]), launch.smem),
                 "cuOccupancyMaxActiveBlocksPerMultiprocessor");
    return uint64_t(most) * model.device().multiprocessors();
  }

  template <typename T>
  void store(ReadyLaunch &ready, size_t offset, const T &value) {
    std::memcpy(reinterpret_cast<char *>(ready.block.data()) + offset, &value,
                sizeof(value));
  }

  void packParam(ReadyLaunch &ready, const format::Param &param, size_t offset,
                 const std::string &what) {
    if (const auto *pointer = std::get_if<format::Pointer>(&param)) {
      uint64_t address = resolve(*pointer, what);
      if (isBound(*pointer))
        ready.pointers.push_back(patch(*pointer, address, offset));
      else
        store(ready, offset, address);
    } else if (const auto *size = std::get_if<format::SizeParam>(&param)) {
      int64_t value = computeValue(manifest, size->value, dims, what);
      if (size->type == format::DType::I64) {
        store(ready, offset, value);
      } else if (value >= 0 && value <= format::mostSize32) {
        store(ready, offset, int32_t(value));
      } else {
        fail(FUSEC_INVALID_ARGUMENT,
             what + ": expected " + format::toString(size->value) +
                 " from 0 to " + std::to_string(format::mostSize32) +
                 ", found " + std::to_string(value));
      }
    } else if (const auto *map = std::get_if<format::TensorMapParam>(&param)) {
      packMap(ready, *map, offset, what);
    } else {
      store(ready, offset,
            std::holds_alternative<format::FaultParam>(param)
                ? addresses.faultCounter
                : addresses.flags);
    }
  }

  void packMap(ReadyLaunch &ready, const format::TensorMapParam &map,
               size_t offset, const std::string &what) {
    if (const cuda::TensorMap *encoded = model.weightMap(map)) {
      store(ready, offset, *encoded);
      return;
    }
    MapShape shape = shapeMap(manifest, map, dims, what);
    uint64_t address = resolve(map.of, what);
    if (shape.empty())
      return;
    if (isBound(map.of)) {
      ready.maps.push_back({patch(map.of, address, offset), shape});
      return;
    }
    cuda::TensorMap encoded{};
    encodeMap(model.device().driver(), shape, address, encoded);
    store(ready, offset, encoded);
  }

  static bool isBound(const format::Pointer &pointer) {
    return pointer.kind == format::Pointer::Kind::Input ||
           pointer.kind == format::Pointer::Kind::Output;
  }

  static TensorPatch patch(const format::Pointer &pointer, uint64_t offset,
                           size_t blockOffset) {
    return {pointer.kind == format::Pointer::Kind::Input, pointer.index, offset,
            blockOffset};
  }

  // The address, or for a bound tensor the offset, checked against its bytes.
  uint64_t resolve(const format::Pointer &pointer, const std::string &what) {
    const std::vector<Range> *tables[] = {&buffers, &weights, &inputs,
                                          &outputs};
    const Range &range = (*tables[unsigned(pointer.kind)])[pointer.index];
    uint64_t offset =
        uint64_t(computeSize(manifest, pointer.offset, dims, what));
    // Of an empty tensor nothing is read.
    if (range.size != 0 && offset > range.size)
      fail(FUSEC_MALFORMED,
           what + ": expected an offset within the " +
               std::to_string(range.size) + " bytes of " +
               std::string(format::pointerKindName(pointer.kind)) + " " +
               std::to_string(pointer.index) + ", found " +
               std::to_string(offset));
    return range.address + offset;
  }

  const Model &model;
  const format::Manifest &manifest;
  const DimValues &dims;
  const ArenaLayout &arena;
  const LaunchAddresses &addresses;
  std::vector<Range> buffers, weights, inputs, outputs;
};
} // namespace

std::vector<ReadyStep> readyLaunches(const Model &model, const DimValues &dims,
                                     const ArenaLayout &arena,
                                     const LaunchAddresses &addresses) {
  return Packer(model, dims, arena, addresses).pack();
}

} // namespace fusec::rt
