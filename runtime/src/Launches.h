// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The launches of a plan for known dimensions and a known arena. What is left
// for a run: alignment guards and the addresses of bound tensors.

#ifndef FUSEC_RUNTIME_SRC_LAUNCHES_H
#define FUSEC_RUNTIME_SRC_LAUNCHES_H

#include "runtime/src/Model.h"
#include "runtime/src/Tensor.h"

#include <array>

namespace fusec::rt {

// An address within a bound tensor, to be written into a parameter block.
struct TensorPatch {
  bool input;
  unsigned index;
  uint64_t offset;    // bytes from the tensor's first element
  size_t blockOffset; // of the pointer or tensor map in the block
};
struct MapPatch {
  TensorPatch where;
  MapShape shape;
  uint64_t address = 0; // that the block's map was encoded for
};

struct ReadyLaunch {
  const format::Launch *launch;
  const format::Step *step;
  cuda::Function function;
  std::array<unsigned, 3> grid;
  // The parameter block; of this type for its alignment.
  std::vector<cuda::TensorMap> block;
  size_t blockBytes = 0;
  // Of parameters passed one by one: each one's place in the block, which
  // moving keeps.
  std::vector<void *> params;
  std::vector<TensorPatch> pointers;
  std::vector<MapPatch> maps;
  // The block has changed since a graph's node was given it.
  bool stale = false;

  ReadyLaunch() = default;
  ReadyLaunch(ReadyLaunch &&) = default;

  bool empty() const { return grid[0] == 0 || grid[1] == 0 || grid[2] == 0; }
  bool hasCluster() const {
    return launch->cluster[0] * launch->cluster[1] * launch->cluster[2] > 1;
  }
};

// The arguments by which the driver takes a launch's parameters: as one block,
// or one by one.
struct ParamBlock {
  explicit ParamBlock(ReadyLaunch &ready)
      : bytes(ready.blockBytes), extra{cuda::paramBufferPointer(),
                                       ready.block.data(),
                                       cuda::paramBufferSize(), &bytes,
                                       cuda::paramEnd()},
        params(ready.params.empty() ? nullptr : ready.params.data()) {}
  ParamBlock(const ParamBlock &) = delete;
  ParamBlock &operator=(const ParamBlock &) = delete;

  void **block() { return params ? nullptr : extra; }

  size_t bytes;
  void *extra[5];
  void **params;
};

// The alignment conditions that a variant still needs.
struct AlignmentGuard {
  bool input;
  unsigned index;
  unsigned bytes;
};
struct ReadyVariant {
  std::vector<AlignmentGuard> guards;
  std::vector<ReadyLaunch> launches;
};
// The last variant has no guards.
using ReadyStep = std::vector<ReadyVariant>;

struct LaunchAddresses {
  uint64_t arena;
  uint64_t faultCounter;
  uint64_t flags;
  uint64_t replaceable; // the session's copy of Model::ownReplaceable()
};

// Throws Failure where an expression, a range or a grid is wrong for these
// dimensions. Needs a SetUpScope.
std::vector<ReadyStep> readyLaunches(const Model &model, const DimValues &dims,
                                     const ArenaLayout &arena,
                                     const LaunchAddresses &addresses);

// The place in `step` of the variant that runs: the first whose guards hold.
// Tensors that are not bound yet count as aligned.
size_t chooseVariant(const ReadyStep &step,
                     const std::vector<BoundTensor> &inputs,
                     const std::vector<BoundTensor> &outputs);

// Writes the bound tensors' addresses into the parameter block. Allocates
// nothing unless it fails.
void patchAddresses(const Model &model, ReadyLaunch &ready,
                    const std::vector<BoundTensor> &inputs,
                    const std::vector<BoundTensor> &outputs);

// Whether the kernel may be placed before the one ahead of it, which must be of
// the same run, has ended.
bool startsEarly(const Model &model, const format::Launch &launch);

// Launches a kernel whose addresses are patched and whose grid is not empty.
// The first of a run waits for whatever is ahead of it in the stream. Allocates
// nothing unless it fails.
void launchKernel(const Model &model, ReadyLaunch &ready, bool isFirst,
                  cuda::Stream stream);

// "kernel 'k' of step 's' with a grid of [4, 1, 1] blocks of [128, 1, 1]
// threads"
std::string launchText(const ReadyLaunch &ready);

} // namespace fusec::rt

#endif
