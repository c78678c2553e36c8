// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Retaining a primary context and owning device memory.

#include "runtime/src/Device.h"

#include "runtime/src/Failure.h"

#include <utility>

namespace fusec::rt {

namespace {
unsigned attribute(const cuda::Driver &driver, cuda::Device device, int which) {
  int value = 0;
  driver.check(driver.deviceAttribute(&value, which, device),
               "cuDeviceGetAttribute");
  return unsigned(value);
}
} // namespace

std::string driverVersionText(unsigned version) {
  return std::to_string(version / 1000) + "." +
         std::to_string(version % 1000 / 10);
}

DeviceIdentity::DeviceIdentity(const char *driverPath, int ordinal)
    : theOrdinal(ordinal) {
  std::string error;
  if (!theDriver.open(driverPath, error))
    fail(FUSEC_DRIVER_ERROR, error);
  int count = 0;
  theDriver.check(theDriver.deviceCount(&count), "cuDeviceGetCount");
  if (ordinal < 0 || ordinal >= count)
    fail(FUSEC_INVALID_ARGUMENT,
         "expected a device below " + std::to_string(count) +
             ", the number of devices, found " + std::to_string(ordinal));
  theDriver.check(theDriver.deviceGet(&device, ordinal), "cuDeviceGet");
  char text[256] = {};
  theDriver.check(theDriver.deviceName(text, sizeof(text) - 1, device),
                  "cuDeviceGetName");
  theName = text;
  theCapability =
      10 * attribute(theDriver, device, cuda::AttributeCapabilityMajor) +
      attribute(theDriver, device, cuda::AttributeCapabilityMinor);
  theMaxSharedMemory =
      attribute(theDriver, device, cuda::AttributeMaxSharedMemoryOptin);
}

unsigned DeviceIdentity::multiprocessors() const {
  return attribute(theDriver, device, cuda::AttributeMultiprocessors);
}

bool DeviceIdentity::sharesMemory() const {
  return attribute(theDriver, device, cuda::AttributeConcurrentManagedAccess);
}

Device::Device(const char *driverPath, int ordinal)
    : DeviceIdentity(driverPath, ordinal) {
  theDriver.check(theDriver.primaryRetain(&context, device),
                  "cuDevicePrimaryCtxRetain");
}

Device::~Device() { theDriver.primaryRelease(device); }

std::string DeviceIdentity::describe() const {
  return "device " + std::to_string(theOrdinal) + ", " + theName + " (sm_" +
         std::to_string(theCapability) + "), driver " +
         driverVersionText(unsigned(theDriver.version));
}

ContextScope::ContextScope(const Device &device) : device(device) {
  device.driver().check(device.driver().contextPush(device.context),
                        "cuCtxPushCurrent");
}

ContextScope::~ContextScope() {
  cuda::Context popped = nullptr;
  device.driver().contextPop(&popped);
}

SetUpScope::SetUpScope(const Device &device)
    : context(device), driver(device.driver()) {
  driver.check(driver.exchangeCaptureMode(&captureMode),
               "cuThreadExchangeStreamCaptureMode");
}

SetUpScope::~SetUpScope() { driver.exchangeCaptureMode(&captureMode); }

DeviceMemory::DeviceMemory(const Device &device, uint64_t bytes,
                           const char *purpose) {
  if (bytes == 0)
    return;
  device.driver().check(device.driver().memAlloc(&thePointer, bytes),
                        "allocating " + std::to_string(bytes) + " bytes for " +
                            purpose);
  this->device = &device;
  this->bytes = bytes;
}

void DeviceMemory::swap(DeviceMemory &other) noexcept {
  std::swap(device, other.device);
  std::swap(thePointer, other.thePointer);
  std::swap(bytes, other.bytes);
}

DeviceMemory &DeviceMemory::operator=(DeviceMemory &&other) noexcept {
  swap(other);
  return *this;
}

DeviceMemory::~DeviceMemory() {
  if (!device)
    return;
  try {
    SetUpScope scope(*device);
    device->driver().memFree(thePointer);
  } catch (const Failure &) {
    // The context is gone, and its memory with it.
  }
}

OwnStream::OwnStream(const Device &device) : device(device) {
  SetUpScope scope(device);
  device.driver().check(
      device.driver().streamCreate(&theStream, cuda::StreamNonBlocking),
      "cuStreamCreate");
}

OwnStream::~OwnStream() {
  try {
    SetUpScope scope(device);
    device.driver().streamDestroy(theStream);
  } catch (const Failure &) {
    // The context is gone, and its streams with it.
  }
}

void OwnStream::synchronize(const std::string &what) const {
  device.driver().check(device.driver().streamSynchronize(theStream), what);
}

} // namespace fusec::rt
