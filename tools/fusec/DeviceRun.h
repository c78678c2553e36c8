// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a bundle on a device, with tensors in host memory. Outputs are poisoned
// and fenced before each run, so that what a kernel forgets to write, or writes
// beside its tensor, is found.

#ifndef FUSEC_TOOLS_FUSEC_DEVICERUN_H
#define FUSEC_TOOLS_FUSEC_DEVICERUN_H

#include "runtime/include/fusec/fusec.hpp"
#include "runtime/src/Device.h"
#include "tools/fusec/Arguments.h"

#include <optional>

namespace fusec {

struct DeviceInfo {
  std::string text; // "NVIDIA H200 (sm_90), driver 13.0"
  /// What to compile for: a name of compiler/schedule/Targets.h.
  std::string target;
};
/// Nothing where there is no driver or no such device, with `reason` set.
std::optional<DeviceInfo> findDevice(int ordinal, std::string &reason);

/// Device memory with fences on both sides. It begins `shift` bytes behind an
/// address that every access likes.
class FencedMemory {
public:
  FencedMemory(const rt::Device &device, uint64_t bytes, const char *purpose,
               uint64_t shift = 0);
  void *data() const { return reinterpret_cast<void *>(begin()); }
  uint64_t size() const { return bytes; }
  void poison();
  void upload(const void *from);
  void download(void *to) const;
  /// Whether the fences are as poison() left them.
  bool isIntact() const;

private:
  static constexpr uint64_t fence = 256;
  static constexpr unsigned char poisonByte = 0xFF;

  uint64_t begin() const { return memory.pointer() + shift + fence; }

  const rt::Device &device;
  uint64_t bytes, shift;
  rt::DeviceMemory memory;
};

class DeviceRun {
public:
  /// Throws Error of fusec.hpp.
  static Model loadBytes(const std::string &bytes, int ordinal);

  DeviceRun(const Model &model, const rt::Device &device);

  /// Inputs in the model's order. Throws Failure, Error.
  std::vector<data::Tensor> run(const std::vector<data::Tensor> &inputs,
                                const Dims &dims = {});
  const Model &getModel() const { return model; }
  /// In the runs that follow tensors begin so many elements behind an aligned
  /// address.
  void setShift(unsigned elements) { shift = elements; }
  /// For the runs that follow. Throws Error.
  void setAdapter(const Adapter &adapter) { session.setAdapter(adapter); }
  /// Of the last run.
  unsigned getLaunches() const { return session.launchCount(); }
  uint64_t getFaults() const { return session.faults(); }

private:
  Model model;
  const rt::Device &device;
  Session session;
  unsigned shift = 0;
};

} // namespace fusec

#endif // FUSEC_TOOLS_FUSEC_DEVICERUN_H
