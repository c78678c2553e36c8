// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A device, with or without its primary context retained, and memory on it.

#ifndef FUSEC_RUNTIME_SRC_DEVICE_H
#define FUSEC_RUNTIME_SRC_DEVICE_H

#include "runtime/src/Driver.h"

#include <string>

namespace fusec::rt {

// What the driver says of a device. Makes no context, which takes long.
class DeviceIdentity {
public:
  // Throws Failure where there is no driver or no such device.
  DeviceIdentity(const char *driverPath, int ordinal);

  const cuda::Driver &driver() const { return theDriver; }
  int ordinal() const { return theOrdinal; }
  const std::string &name() const { return theName; }
  unsigned capability() const { return theCapability; } // 10 * major + minor
  unsigned maxSharedMemory() const { return theMaxSharedMemory; }
  unsigned multiprocessors() const; // asks the driver
  // Whether managed memory may lie with the host and the device at the same
  // time. Asks the driver.
  bool sharesMemory() const;
  cuda::Device handle() const { return device; }
  // "device 0, NVIDIA H200 (sm_90), driver 13.0"
  std::string describe() const;

protected:
  cuda::Driver theDriver;
  int theOrdinal;
  cuda::Device device = 0;
  std::string theName;
  unsigned theCapability = 0;
  unsigned theMaxSharedMemory = 0;
};

// A device whose primary context is retained. Releasing it for the last time
// destroys it.
class Device : public DeviceIdentity {
public:
  Device(const char *driverPath, int ordinal);
  ~Device();
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

private:
  friend class ContextScope;
  cuda::Context context = nullptr;
};

// Makes the device's context current while it lives.
class ContextScope {
public:
  explicit ContextScope(const Device &device);
  ~ContextScope();
  ContextScope(const ContextScope &) = delete;
  ContextScope &operator=(const ContextScope &) = delete;

private:
  const Device &device;
};

// The same for what takes long, such as allocating or loading code, which the
// driver refuses while any thread captures a stream, unless told otherwise.
class SetUpScope {
public:
  explicit SetUpScope(const Device &device);
  ~SetUpScope();
  SetUpScope(const SetUpScope &) = delete;
  SetUpScope &operator=(const SetUpScope &) = delete;

private:
  ContextScope context;
  const cuda::Driver &driver;
  int captureMode = cuda::CaptureModeRelaxed; // then that of the thread
};

// Device memory; needs a SetUpScope to allocate, none to free.
class DeviceMemory {
public:
  DeviceMemory() = default;
  // Throws Failure naming `purpose` and the bytes. Zero bytes allocate nothing.
  DeviceMemory(const Device &device, uint64_t bytes, const char *purpose);
  DeviceMemory(DeviceMemory &&other) noexcept { swap(other); }
  DeviceMemory &operator=(DeviceMemory &&other) noexcept;
  ~DeviceMemory();

  cuda::DevicePointer pointer() const { return thePointer; }
  uint64_t size() const { return bytes; }

private:
  void swap(DeviceMemory &other) noexcept;

  const Device *device = nullptr;
  cuda::DevicePointer thePointer = 0;
  uint64_t bytes = 0;
};

// A stream of its own: work on the default stream waits for all others of the
// process, and breaks their captures.
class OwnStream {
public:
  explicit OwnStream(const Device &device);
  ~OwnStream();
  OwnStream(const OwnStream &) = delete;
  OwnStream &operator=(const OwnStream &) = delete;

  cuda::Stream stream() const { return theStream; }
  // Waits for what is on it. Throws Failure naming `what`.
  void synchronize(const std::string &what) const;

private:
  const Device &device;
  cuda::Stream theStream = nullptr;
};

// "13.0" of 13000.
std::string driverVersionText(unsigned version);

} // namespace fusec::rt

#endif
