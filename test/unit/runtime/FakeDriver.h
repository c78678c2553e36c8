// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state of the fake driver, a library with the entry points of the CUDA
// driver on host memory: what tests set, and what they look at afterwards.
//
// Kernels of a cubin are those that its ELF file has. PTX is text: ".version",
// then kernels as "name(8,8,4)", with the bytes of each parameter. The kernel
// fake_double (in, out, n: three 8-byte parameters) doubles n floats when
// launched; all others do nothing. As the real one does, this driver reads as
// many bytes as a kernel takes of parameters passed one by one, and refuses a
// block of another size than the kernel's.
//
// Programs that look at no state are given it by environment variables:
// FUSEC_FAKE_MEMORY=BYTES, FUSEC_FAKE_CLOCK=1 (or several factors, see
// `slowness`) and FUSEC_FAKE_FAIL="CALL AT CODE", where codes from 700 on are
// of a broken context and stay.

#ifndef FUSEC_TEST_UNIT_RUNTIME_FAKEDRIVER_H
#define FUSEC_TEST_UNIT_RUNTIME_FAKEDRIVER_H

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

struct FakeLaunch {
  std::string symbol;
  std::array<unsigned, 3> grid, block, cluster;
  unsigned smem;
  bool pdl, cooperative;
  bool oneByOne; // as its parameters were passed, not as a block
  void *stream;
  std::vector<uint8_t> params;
  bool replayed = false; // by a graph
};

struct FakeMap {
  int dtype;
  unsigned rank;
  uint64_t address;
  std::vector<uint64_t> sizes, strides;
  std::vector<unsigned> box;
  int swizzle, promotion;
};

// A copy from pinned memory that has not been done yet.
struct FakeUpload {
  uint64_t to;
  const uint8_t *from;
  size_t size;
  void *stream;
};

// A copy from device to device, or (from 0) memory that is set.
struct FakeCopy {
  uint64_t to, from;
  size_t size;
  void *stream;
};

// Bytes for which advice was given: to lie with the host or the device, and to
// be mapped for the device; and those that were prefetched to it.
struct FakeManaged {
  size_t size = 0, host = 0, device = 0, mapped = 0, prefetched = 0;
};

struct FakeState {
  std::mutex mutex;
  int driverVersion = 13000;
  int capabilityMajor = 9, capabilityMinor = 0;
  int maxSharedMemory = 232448;
  // Clusters, or blocks of a multiprocessor, that run at the same time.
  int activeClusters = 1000;
  // The failAt-th call from now (1: the next) of the named entry point returns
  // failCode.
  std::string failCall;
  int failAt = 0;
  int failCode = 0;
  // Whether all calls fail from then on that need a context.
  bool failForEver = false;
  // Copies from pinned memory read it when their stream is waited for, no
  // sooner.
  bool defersCopies = false;
  // The largest allocation.
  size_t memoryBytes = size_t(16) << 20;
  // Whether managed memory may lie with both at the same time.
  bool sharesMemory = true;

  // A stream that is being captured.
  void *capturing = nullptr;
  // Another thread captures one, so that calls that allocate are refused to
  // threads that do not say that they may, and work on the default stream is.
  bool capturedElsewhere = false;

  // Where bundles may say anything, kernels do nothing, and functions end with
  // their modules, since there are many.
  bool isTrusted = true;

  // Whether calls, launches and maps are kept, which allocates.
  bool record = true;
  std::map<std::string, int> calls;
  std::vector<FakeLaunch> launches;
  std::vector<FakeMap> maps;
  std::vector<FakeCopy> copies;
  std::map<const uint8_t *, size_t> pinned; // bytes
  std::vector<FakeUpload> uploads;
  // Managed memory by its address, and bytes of it that were prefetched.
  std::map<uint64_t, FakeManaged> managed;
  int liveAllocations = 0, livePinned = 0, liveModules = 0, liveContexts = 0,
      pushedContexts = 0;
  // Copies whose memory was freed, or whose stream ended, before they read.
  int lostCopies = 0;
  int liveStreams = 0, liveGraphs = 0, liveGraphExecs = 0, liveEvents = 0;

  // The device's clock, in microseconds. A kernel takes as many as its grid has
  // blocks, an event one. Without it a millisecond lies between any two events.
  bool hasClock = false;
  // By what a kernel's time is multiplied, in turn from launch to launch.
  std::vector<double> slowness;
  double clock = 0;
};

extern "C" FakeState *fusecFakeState();

#endif
