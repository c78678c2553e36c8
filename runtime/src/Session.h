// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs of a model: bound tensors, an arena, and prepared runs, which lack the
// addresses of the bound tensors only.

#ifndef FUSEC_RUNTIME_SRC_SESSION_H
#define FUSEC_RUNTIME_SRC_SESSION_H

#include "runtime/src/Adapter.h"
#include "runtime/src/Nvtx.h"
#include "runtime/src/PreparedRun.h"
#include "runtime/src/Profile.h"

#include <memory>

namespace fusec::rt {

class Session {
public:
  explicit Session(std::shared_ptr<const Model> model);

  const Model &model() const { return *theModel; }
  void bind(bool input, size_t index, const fusec_tensor *tensor);
  void bind(const char *name, const fusec_tensor *tensor);
  // `graph` is FUSEC_GRAPH_AUTO, FUSEC_GRAPH_OFF or FUSEC_GRAPH_ON.
  void prepare(const DimValues &given, uint64_t arena, uint64_t arenaSize,
               int32_t graph);
  const std::vector<int64_t> &outputSizes(size_t index) const;
  void run(cuda::Stream stream);
  uint32_t launchCount() const { return launched; }
  // The bytes of its own arena.
  uint64_t arenaSize() const { return ownArena.size(); }
  bool replayed() const { return theReplayed; }
  uint64_t faults() const;
  // Enqueues one copy into the session's own factors, or zeros for null.
  void setAdapter(const Adapter *adapter, cuda::Stream stream);
  // The same of one weight; null: what the bundle has. Tensors of the host are
  // waited for.
  void setWeight(const std::string &name, const fusec_tensor *tensor,
                 cuda::Stream stream);
  // Measures runs of the prepared dimensions and the bound tensors.
  Profile profile(const ProfileOptions &options);

private:
  // Adds to `dims` what follows from the bound inputs; throws Failure where
  // two sources differ.
  void inferDims(DimValues &dims, const char *givenBy) const;
  void checkBound(bool input, size_t index,
                  const std::vector<int64_t> &expected) const;
  void checkOverlaps();
  void checkReady();
  // Of all runs from one event to another, in microseconds.
  std::vector<double> measureRuns(MeasuredStream &stream, unsigned count);
  // Rounds of runs, which give a profile its times. False with the profile's
  // reason set where CUPTI does not serve, whose method it is.
  bool measureInTurn(const ProfileOptions &options,
                     const std::vector<ReadyLaunch *> &launches,
                     MeasuredStream &stream, Profile &profile);
  // These add runs to the profile, and what each took from one event to
  // another.
  bool measureByActivity(const std::string &cupti, unsigned runs,
                         MeasuredStream &stream, Profile &profile,
                         std::vector<double> &times);
  void measureByEvents(const std::vector<ReadyLaunch *> &launches,
                       unsigned runs, MeasuredStream &stream, Profile &profile,
                       std::vector<double> &times);
  void growArena(uint64_t bytes);
  PreparedRun &findOrMake(DimValues values, const ArenaLayout &layout,
                          uint64_t address);
  void makeGraph(PreparedRun &run, int32_t mode);
  void launchDirectly(cuda::Stream stream);
  // Whether the run is enqueued; false where it must be launched directly.
  bool replay(cuda::Stream stream);

  std::shared_ptr<const Model> theModel;
  OwnStream own; // for what is waited for before a call returns
  std::vector<BoundTensor> inputs, outputs;
  std::vector<size_t> byAddress; // of checkOverlaps(), which allocates nothing
  // The fault counter, and from `flagsOffset` on the flags.
  DeviceMemory counters;
  // At one address for the session's life: prepared runs and graphs have it.
  DeviceMemory replaceable;
  DeviceMemory ownArena;
  PreparedRuns runs;
  PreparedRun *current = nullptr; // one of `runs`; null: not prepared
  int32_t graphMode = FUSEC_GRAPH_AUTO;
  bool checked = false; // the bound tensors agree with the prepared dimensions
  bool theReplayed = false;
  uint32_t launched = 0;
  const nvtx::Ranges *ranges = nvtx::Ranges::find();
};

} // namespace fusec::rt

#endif
