// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A copy from pageable memory passes through a buffer of the driver's, which
// one thread fills. Many bytes are copied by several threads, each with pinned
// buffers of its own: while the device reads one it fills the other.

#include "runtime/src/Upload.h"

#include "runtime/src/Failure.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>

namespace fusec::rt {

namespace {
// What a buffer holds: with a chunk that was hashed before it is copied here it
// fits a core's second-level cache.
constexpr uint64_t partBytes = uint64_t(1) << 20;
constexpr unsigned buffersAThread = 2;
// 8 threads copy as fast as the bus where they do nothing else; those that hash
// what they copy, or make the pages of the host's rows, take 16 to.
constexpr unsigned mostThreads = 16;

// Host memory that the device copies from by itself.
class PinnedMemory {
public:
  PinnedMemory(const Device &device, uint64_t bytes, const std::string &what)
      : driver(device.driver()) {
    if (bytes != 0)
      driver.check(driver.hostAlloc(&pointer, bytes),
                   "pinning " + std::to_string(bytes) +
                       " bytes of host memory to copy " + what);
  }
  ~PinnedMemory() {
    if (pointer)
      driver.hostFree(pointer);
  }
  PinnedMemory(const PinnedMemory &) = delete;
  PinnedMemory &operator=(const PinnedMemory &) = delete;

  uint8_t *data() const { return static_cast<uint8_t *>(pointer); }

private:
  const cuda::Driver &driver;
  void *pointer = nullptr;
};

// A pinned buffer and the stream that it is copied on, so that waiting for the
// one is waiting for the other.
class Stage {
public:
  Stage(const Device &device, uint8_t *buffer, const std::string &what)
      : driver(device.driver()), what(what), own(device), buffer(buffer) {}
  ~Stage() {
    if (isCopying)
      driver.streamSynchronize(own.stream());
  }
  Stage(const Stage &) = delete;
  Stage &operator=(const Stage &) = delete;

  // The buffer, when nothing reads it any more.
  uint8_t *wait() {
    if (isCopying)
      own.synchronize("copying " + what);
    isCopying = false;
    return buffer;
  }
  void copyTo(cuda::DevicePointer to, uint64_t bytes) {
    isCopying = true;
    driver.check(driver.copyToDeviceAsync(to, buffer, bytes, own.stream()),
                 "copying " + what);
  }

private:
  const cuda::Driver &driver;
  const std::string &what;
  OwnStream own;
  uint8_t *buffer;
  bool isCopying = false;
};

// Copies in parts of the memory, which threads take one after the other.
class StagedUpload {
public:
  StagedUpload(const Device &device, const std::vector<Destination> &all,
               const std::string &what, const Source &source)
      : device(device), what(what), source(source) {
    for (const Destination &destination : all)
      for (uint64_t begin = 0; begin < destination.size; begin += partBytes) {
        uint64_t end = std::min(begin + partBytes, destination.size);
        (destination.isHosts ? onHost : onDevice)
            .push_back({&destination, begin, end});
        total += end - begin;
      }
  }

  void run(const Progress &progress) {
    size_t cores = std::thread::hardware_concurrency(),
           staging = std::min<size_t>({onDevice.size(), mostThreads, cores}),
           writing = std::min<size_t>({onHost.size(), mostThreads, cores});
    PinnedMemory pinned(device, staging * buffersAThread * partBytes, what);
    std::vector<std::thread> threads;
    try {
      threads.reserve(staging + writing);
      // This thread is one of the first kind, or the only one.
      for (size_t i = 1; i < staging; ++i)
        threads.emplace_back(
            [this, buffers = pinned.data() + i * buffersAThread * partBytes] {
              copyParts(buffers, [] {});
            });
      for (size_t i = staging == 0; i < writing; ++i)
        threads.emplace_back([this] { writeParts([] {}); });
    } catch (const std::exception &) {
      // No more threads, or no memory for one: those there are, and this one,
      // do the work.
    }
    copyParts(pinned.data(), [&] { progress(done, total); });
    for (std::thread &thread : threads)
      thread.join();
    if (failure)
      std::rethrow_exception(failure);
  }

private:
  // What one copy writes.
  struct Part {
    const Destination *of;
    uint64_t begin, end;
  };

  // Copies parts to the device, then writes those of the host, until there are
  // none, or a thread has failed.
  template <typename Report>
  void copyParts(uint8_t *buffers, Report report) noexcept {
    guard([&] {
      SetUpScope scope(device);
      if (!onDevice.empty())
        stageParts(buffers, report);
      writeAll(report);
    });
  }
  template <typename Report> void writeParts(Report report) noexcept {
    guard([&] {
      SetUpScope scope(device);
      writeAll(report);
    });
  }

  template <typename Report> void stageParts(uint8_t *buffers, Report report) {
    std::array<Stage, buffersAThread> stages = {
        Stage(device, buffers, what), Stage(device, buffers + partBytes, what)};
    size_t turn = 0;
    forEach(onDevice, nextOnDevice, report, [&](const Part &part) {
      gather(part, stages[turn].wait());
      stages[turn].copyTo(part.of->pointer + part.begin, part.end - part.begin);
      turn ^= 1;
    });
    for (Stage &stage : stages)
      stage.wait();
  }
  template <typename Report> void writeAll(Report report) {
    forEach(onHost, nextOnHost, report, [this](const Part &part) {
      gather(part, reinterpret_cast<uint8_t *>(
                       uintptr_t(part.of->pointer + part.begin)));
    });
  }

  template <typename Body> void guard(Body body) noexcept {
    try {
      body();
    } catch (...) {
      std::lock_guard<std::mutex> lock(mutex);
      if (!failure)
        failure = std::current_exception();
      hasFailed = true;
    }
  }

  // Those that no other thread has taken.
  template <typename Report, typename Body>
  void forEach(const std::vector<Part> &parts, std::atomic<size_t> &next,
               Report report, Body body) {
    while (!hasFailed) {
      size_t index = next++;
      if (index >= parts.size())
        return;
      body(parts[index]);
      done += parts[index].end - parts[index].begin;
      report();
    }
  }

  // The pieces' bytes of a part, and zeros between them.
  void gather(const Part &part, uint8_t *to) {
    uint64_t at = part.begin;
    format::forEachPiece(part.of->pieces, part.begin, part.end,
                         [&](uint64_t offset, format::ByteSpan bytes) {
                           source.willRead(bytes);
                           std::memset(to + (at - part.begin), 0, offset - at);
                           std::memcpy(to + (offset - part.begin), bytes.data,
                                       bytes.size);
                           source.hasRead(bytes);
                           at = offset + bytes.size;
                         });
    std::memset(to + (at - part.begin), 0, part.end - at);
  }

  const Device &device;
  const std::string &what;
  const Source &source;
  std::vector<Part> onDevice, onHost;
  uint64_t total = 0;
  std::atomic<size_t> nextOnDevice{0}, nextOnHost{0};
  std::atomic<uint64_t> done{0};
  std::atomic<bool> hasFailed{false};
  std::mutex mutex;
  std::exception_ptr failure; // the first
};

// For few bytes.
void copyPageable(const Device &device, const std::vector<Destination> &all,
                  const std::string &what) {
  OwnStream own(device);
  for (const Destination &to : all)
    for (const format::Piece &piece : to.pieces)
      if (piece.bytes.size != 0)
        device.driver().check(device.driver().copyToDeviceAsync(
                                  to.pointer + piece.offset, piece.bytes.data,
                                  piece.bytes.size, own.stream()),
                              "copying " + what);
  own.synchronize("copying " + what);
}
} // namespace

void upload(const Device &device, const std::vector<Destination> &all,
            const std::string &what, const Source &source,
            const Progress &progress) {
  uint64_t total = 0;
  for (const Destination &destination : all)
    total += destination.size;
  if (total < leastStagedBytes)
    copyPageable(device, all, what);
  else
    StagedUpload(device, all, what, source).run(progress);
  progress(total, total);
}

} // namespace fusec::rt
