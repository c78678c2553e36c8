// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loading the driver and naming its errors.

#include "runtime/src/Driver.h"

#include "runtime/src/Failure.h"

#include <cstdlib>
#include <dlfcn.h>

namespace fusec::rt::cuda {

bool Driver::open(const char *path, std::string &error) {
  std::string name = path ? path : "";
  if (name.empty()) {
    const char *variable = secure_getenv("FUSEC_DRIVER");
    name = variable && *variable ? variable : "libcuda.so.1";
  }
  void *library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = dlerror();
    error = "the CUDA driver cannot be loaded: " +
            std::string(reason ? reason : name.c_str()) +
            "; install NVIDIA's driver, or name its library in FUSEC_DRIVER";
    return false;
  }
#define FUSEC_LOAD(member, symbol, parameters)                                 \
  member = reinterpret_cast<decltype(member)>(dlsym(library, symbol));         \
  if (!member) {                                                               \
    error = "the CUDA driver '" + name +                                       \
            "' has no " symbol "; fusec needs driver 12.0 or later";           \
    return false;                                                              \
  }
  FUSEC_DRIVER_FUNCTIONS(FUSEC_LOAD)
#undef FUSEC_LOAD
  hasGraphs = true;
#define FUSEC_LOAD(member, symbol, parameters)                                 \
  member = reinterpret_cast<decltype(member)>(dlsym(library, symbol));         \
  hasGraphs = hasGraphs && member;
  FUSEC_DRIVER_GRAPH_FUNCTIONS(FUSEC_LOAD)
#undef FUSEC_LOAD
#define FUSEC_LOAD(member, symbol, parameters)                                 \
  member = reinterpret_cast<decltype(member)>(dlsym(library, symbol));
  FUSEC_DRIVER_OPTIONAL_FUNCTIONS(FUSEC_LOAD)
#undef FUSEC_LOAD
  Result result = init(0);
  if (result != success) {
    error = describe("cuInit", result);
    return false;
  }
  result = driverVersion(&version);
  if (result != success) {
    error = describe("cuDriverGetVersion", result);
    return false;
  }
  return true;
}

std::string Driver::describe(const std::string &call, Result result) const {
  const char *name = nullptr, *text = nullptr;
  if (errorName(result, &name) != success || !name)
    return call + ": CUDA error " + std::to_string(result);
  if (errorString(result, &text) != success || !text)
    return call + ": " + name;
  return call + ": " + name + " (" + text + ")";
}

void Driver::check(Result result, const char *what) const {
  if (result != success)
    check(result, std::string(what));
}

void Driver::check(Result result, const std::string &what) const {
  if (result != success)
    fail(result == outOfMemory ? FUSEC_OUT_OF_MEMORY : FUSEC_DRIVER_ERROR,
         describe(what, result));
}

} // namespace fusec::rt::cuda
