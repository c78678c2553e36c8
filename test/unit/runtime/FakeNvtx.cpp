// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tool as NVTX 3 attaches one: it writes the ranges that it is given into the
// file that FUSEC_FAKE_NVTX_LOG names, "+name" and "-", one a line.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {
using Function = void (*)();
struct Callbacks {
  size_t size;
  int (*getFunctions)(int module, Function ***table, unsigned *size);
};
// By the offsets of nvtxEventAttributes_t.
constexpr size_t eventBytes = 48, messageTypeOffset = 32, messageOffset = 40;

char domainName[64];

void log(const char *sign, const char *text) {
  FILE *file = std::fopen(std::getenv("FUSEC_FAKE_NVTX_LOG"), "a");
  std::fprintf(file, "%s%s\n", sign, text);
  std::fclose(file);
}

void *createDomain(const char *name) {
  std::snprintf(domainName, sizeof(domainName), "%s", name);
  return domainName;
}

int push(void *domain, const uint8_t *event) {
  uint16_t version, size;
  int32_t messageType;
  const char *message;
  std::memcpy(&version, event, 2);
  std::memcpy(&size, event + 2, 2);
  std::memcpy(&messageType, event + messageTypeOffset, 4);
  std::memcpy(&message, event + messageOffset, sizeof(message));
  bool isKnown = domain == domainName && version == 3 && size == eventBytes &&
                 messageType == 1;
  log("+", isKnown ? message : "an event that NVTX does not have");
  return 0;
}

int pop(void *) {
  log("-", "");
  return 0;
}
} // namespace

extern "C" int InitializeInjectionNvtx2(const void *(*getTable)(uint32_t)) {
  auto *callbacks = static_cast<const Callbacks *>(getTable(1));
  Function **table = nullptr;
  unsigned size = 0;
  // Tools ask for all modules, of which there are six.
  for (int module = 1; module != 7; ++module)
    if (!callbacks->getFunctions(module, &table, &size) || size < 16)
      return 0;
  if (callbacks->getFunctions(7, &table, &size) || getTable(4))
    return 0;
  if (!callbacks->getFunctions(5, &table, &size))
    return 0;
  if (!std::getenv("FUSEC_FAKE_NVTX_TAKES_NOTHING")) {
    *table[12] = reinterpret_cast<Function>(createDomain);
    *table[4] = reinterpret_cast<Function>(push);
    *table[5] = reinterpret_cast<Function>(pop);
  }
  return 1;
}
