// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a process without NVTX's header meets a tool: the tool's library, which
// NVTX_INJECTION64_PATH names, is given a table of places and writes its
// functions there. The protocol is that of version 3 (nvtxInit.h, nvtxTypes.h).

#include "runtime/src/Nvtx.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

namespace fusec::rt::nvtx {

// nvtxEventAttributes_t of version 3.
struct Ranges::EventAttributes {
  uint16_t version = 3, size = sizeof(EventAttributes);
  uint32_t category = 0;
  int32_t colorType = 0;
  uint32_t color = 0;
  int32_t payloadType = 0, reserved = 0;
  uint64_t payload = 0;
  int32_t messageType = 1; // ASCII; tools take UTF-8
  const char *message = nullptr;
};

namespace {
using Function = void (*)();

// NVTX_CBID_CORE2_*, of the module NVTX_CB_MODULE_CORE2.
constexpr unsigned rangePushId = 4, rangePopId = 5, domainCreateId = 12;
constexpr int core2Module = 5, lastModule = 6;
// No module has more; what is beyond a module's own, its tool leaves alone.
constexpr unsigned mostFunctions = 16;

// Where the tool's functions go, and the table of these places, which begins
// and ends with null.
struct Slots {
  Function functions[mostFunctions] = {};
  Function *places[mostFunctions + 1] = {};

  Slots() {
    for (unsigned i = 1; i != mostFunctions; ++i)
      places[i] = &functions[i];
  }
};
Slots core2, unused;

int getFunctions(int module, Function ***table, unsigned *size) {
  if (module < 1 || module > lastModule)
    return 0;
  if (table)
    *table = module == core2Module ? core2.places : unused.places;
  if (size)
    *size = mostFunctions;
  return 1;
}

// NvtxExportTableCallbacks and NvtxExportTableVersionInfo.
struct Callbacks {
  size_t size;
  int (*getFunctions)(int module, Function ***table, unsigned *size);
};
struct VersionInfo {
  size_t size;
  uint32_t version, reserved;
  void (*setToolVersion)(uint32_t version);
};

const void *getTable(uint32_t id) {
  static const Callbacks callbacks{sizeof(Callbacks), getFunctions};
  static const VersionInfo version{sizeof(VersionInfo), 3, 0, [](uint32_t) {}};
  return id == 1   ? static_cast<const void *>(&callbacks)
         : id == 3 ? static_cast<const void *>(&version)
                   : nullptr;
}

template <typename T> T getSlot(unsigned id) {
  return reinterpret_cast<T>(core2.functions[id]);
}
} // namespace

Ranges Ranges::load() {
  Ranges none;
  const char *wanted = secure_getenv("FUSEC_NVTX");
  const char *path = secure_getenv("NVTX_INJECTION64_PATH");
  if (!wanted || std::strcmp(wanted, "1") != 0 || !path || !*path)
    return none;
  void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (!library)
    return none;
  auto attach = reinterpret_cast<int (*)(const void *(*)(uint32_t))>(
      dlsym(library, "InitializeInjectionNvtx2"));
  if (!attach || attach(getTable) == 0)
    return none;
  auto create = getSlot<DomainCreate>(domainCreateId);
  Ranges found;
  found.rangePush = getSlot<RangePush>(rangePushId);
  found.rangePop = getSlot<RangePop>(rangePopId);
  if (!create || !found.rangePush || !found.rangePop)
    return none;
  found.domain = create("fusec");
  return found;
}

const Ranges *Ranges::find() {
  static const Ranges ranges = load();
  return ranges.rangePush ? &ranges : nullptr;
}

void Ranges::push(const char *name) const {
  EventAttributes event;
  event.message = name;
  rangePush(domain, &event);
}

void Ranges::pop() const { rangePop(domain); }

} // namespace fusec::rt::nvtx
