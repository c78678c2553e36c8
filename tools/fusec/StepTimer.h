// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times kernels of one step against each other. Launches between two events
// follow one another on the device, on operands that rotate through copies, and
// begin with a flushed cache; rounds of the candidates alternate, so that a
// change of clocks meets all of them.

#ifndef FUSEC_TOOLS_FUSEC_STEPTIMER_H
#define FUSEC_TOOLS_FUSEC_STEPTIMER_H

#include "runtime/include/fusec/fusec.hpp"
#include "runtime/src/Device.h"
#include "tools/data/Npy.h"
#include "tools/fusec/RandomIds.h"

#include <map>

namespace fusec {

class StepTimer {
public:
  /// The device is busy for `duty` percent of the time: one that always is runs
  /// at its power limit, where other schedules win.
  StepTimer(const rt::Device &device, const RandomIds &ids,
            unsigned duty = 100);
  ~StepTimer();
  StepTimer(const StepTimer &) = delete;

  /// Allocates and fills the operands of models with this interface, whose
  /// sizes are all known. Throws Failure, rt::Failure.
  void setOperands(const Model &model);
  /// By the ids of the first copy.
  const TouchedRows &getTouched() const { return touched; }
  /// Drops them.
  void clear() { memory = {}; }

  /// The median time of a launch of each session, in microseconds, from one
  /// launch to the next; `rounds` at most, fewer where launches are long.
  /// Sessions are of the interface of setOperands().
  std::vector<double> measure(const std::vector<Session *> &sessions,
                              unsigned rounds);

private:
  /// A tensor of every copy: where it lies from the copy's start.
  struct Operand {
    fusec_dtype dtype;
    std::vector<int64_t> sizes;
    uint64_t offset, bytes;
    bool isInput;
    std::vector<format::IndexRange> indexRanges;
  };

  void fill(const Operand &operand, uint64_t address, uint64_t seed);
  void bind(Session &session);
  /// Microseconds between the events around the launches. Idles after them.
  double time(Session &session, unsigned launches);

  const rt::Device &device;
  rt::ContextScope scope;
  const RandomIds &ids;
  unsigned duty;
  rt::OwnStream stream;
  rt::cuda::Event start = nullptr, stop = nullptr;
  rt::DeviceMemory flushed, memory;
  std::map<fusec_dtype, data::Tensor> random;
  std::vector<Operand> operands;
  TouchedRows touched;
  uint64_t copyBytes = 0, copies = 0, next = 0;
  unsigned flushes = 1;
};

} // namespace fusec

#endif // FUSEC_TOOLS_FUSEC_STEPTIMER_H
