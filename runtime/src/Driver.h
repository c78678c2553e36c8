// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of the CUDA driver API that fusec uses, loaded at run time. Types
// and numbers are those of the driver's stable binary interface, so that no
// CUDA header is needed to build.

#ifndef FUSEC_RUNTIME_SRC_DRIVER_H
#define FUSEC_RUNTIME_SRC_DRIVER_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace fusec::rt::cuda {

using Result = int;
using Device = int;
using DevicePointer = uint64_t;
using Context = struct CUctx_st *;
using Module = struct CUmod_st *;
using Function = struct CUfunc_st *;
using Stream = struct CUstream_st *;
using Event = struct CUevent_st *;
using Graph = struct CUgraph_st *;
using GraphNode = struct CUgraphNode_st *;
using GraphExec = struct CUgraphExec_st *;

inline constexpr Result success = 0;
inline constexpr Result invalidValue = 1;
inline constexpr Result outOfMemory = 2;

enum DeviceAttribute : int {
  AttributeMultiprocessors = 16,
  AttributeCapabilityMajor = 75,
  AttributeCapabilityMinor = 76,
  // Both may use managed memory at the same time, wherever it lies.
  AttributeConcurrentManagedAccess = 89,
  AttributeMaxSharedMemoryOptin = 97
};
enum ManagedFlag : unsigned { ManagedByAll = 1 };
enum MemAdvice : int { AdvicePreferredLocation = 3, AdviceAccessedBy = 5 };
inline constexpr Device hostDevice = -1; // in advice
enum FunctionAttribute : int { FunctionMaxDynamicSharedSize = 8 };
enum JitOption : int { JitErrorLog = 5, JitErrorLogSize = 6 };
enum StreamFlag : unsigned { StreamNonBlocking = 1 };
enum CaptureStatus : int { CaptureNone = 0 };
enum CaptureMode : int { CaptureModeGlobal = 0, CaptureModeRelaxed = 2 };
enum LaunchAttributeId : int {
  LaunchCooperative = 2,
  LaunchClusterDimension = 4,
  LaunchProgrammaticSerialization = 6
};

union LaunchAttributeValue {
  char pad[64];
  int cooperative;
  unsigned clusterDim[3];
  int programmaticSerializationAllowed;
};
struct LaunchAttribute {
  int id;
  char pad[4];
  LaunchAttributeValue value;
};
struct LaunchConfig {
  unsigned grid[3];
  unsigned block[3];
  unsigned sharedBytes;
  Stream stream;
  LaunchAttribute *attributes;
  unsigned numAttributes;
};
// What an edge of a graph waits for. From port 1: the kernel's blocks have all
// let their dependents start, or have ended.
struct GraphEdge {
  unsigned char fromPort, toPort, type, reserved[5];
};
inline constexpr GraphEdge programmaticEdge = {1, 0, 1, {}};
struct KernelNodeParams {
  Function function;
  unsigned grid[3];
  unsigned block[3];
  unsigned sharedBytes;
  void **params;
  void **extra;
  void *kernel;    // null: `function` says it
  Context context; // null: the current one
};
// The driver of CUDA 13 declares it with this alignment, earlier ones with 64,
// which is enough for a parameter.
struct alignas(128) TensorMap {
  uint64_t opaque[16];
};
static_assert(sizeof(LaunchAttribute) == 72 && sizeof(LaunchConfig) == 56 &&
              sizeof(KernelNodeParams) == 72 && sizeof(GraphEdge) == 8);

// Marks of the `extra` argument of a launch.
inline void *paramEnd() { return nullptr; }
inline void *paramBufferPointer() { return reinterpret_cast<void *>(1); }
inline void *paramBufferSize() { return reinterpret_cast<void *>(2); }

// clang-format off
// member, symbol, parameters: what every driver since 12.0 has.
#define FUSEC_DRIVER_FUNCTIONS(X)                                                                  \
  X(init, "cuInit", (unsigned flags))                                                              \
  X(driverVersion, "cuDriverGetVersion", (int *version))                                           \
  X(errorName, "cuGetErrorName", (Result error, const char **name))                                \
  X(errorString, "cuGetErrorString", (Result error, const char **text))                            \
  X(deviceCount, "cuDeviceGetCount", (int *count))                                                 \
  X(deviceGet, "cuDeviceGet", (Device *device, int ordinal))                                       \
  X(deviceName, "cuDeviceGetName", (char *name, int size, Device device))                          \
  X(deviceAttribute, "cuDeviceGetAttribute", (int *value, int attribute, Device device))           \
  X(primaryRetain, "cuDevicePrimaryCtxRetain", (Context *context, Device device))                  \
  X(primaryRelease, "cuDevicePrimaryCtxRelease_v2", (Device device))                               \
  X(contextPush, "cuCtxPushCurrent_v2", (Context context))                                         \
  X(contextPop, "cuCtxPopCurrent_v2", (Context *context))                                          \
  X(moduleLoad, "cuModuleLoadDataEx", (Module *module, const void *image, unsigned count,          \
                                       int *options, void **values))                               \
  X(moduleUnload, "cuModuleUnload", (Module module))                                               \
  X(moduleFunction, "cuModuleGetFunction", (Function *function, Module module, const char *name))  \
  X(functionSetAttribute, "cuFuncSetAttribute", (Function function, int attribute, int value))     \
  X(maxActiveBlocks, "cuOccupancyMaxActiveBlocksPerMultiprocessor", (int *blocks,                  \
       Function function, int threads, size_t sharedBytes))                                        \
  X(maxActiveClusters, "cuOccupancyMaxActiveClusters", (int *clusters, Function function,          \
                                                        const LaunchConfig *config))               \
  X(memAlloc, "cuMemAlloc_v2", (DevicePointer *pointer, size_t size))                              \
  X(memAllocManaged, "cuMemAllocManaged", (DevicePointer *pointer, size_t size, unsigned flags))     \
  X(memAdvise, "cuMemAdvise", (DevicePointer pointer, size_t size, int advice, Device device))     \
  X(memPrefetchAsync, "cuMemPrefetchAsync", (DevicePointer pointer, size_t size, Device device,    \
                                             Stream stream))                                       \
  X(memFree, "cuMemFree_v2", (DevicePointer pointer))                                              \
  X(hostAlloc, "cuMemAllocHost_v2", (void **pointer, size_t size))                                 \
  X(hostFree, "cuMemFreeHost", (void *pointer))                                                    \
  X(copyToDevice, "cuMemcpyHtoD_v2", (DevicePointer to, const void *from, size_t size))            \
  X(copyToHost, "cuMemcpyDtoH_v2", (void *to, DevicePointer from, size_t size))                    \
  X(copyToDeviceAsync, "cuMemcpyHtoDAsync_v2", (DevicePointer to, const void *from, size_t size,   \
                                                Stream stream))                                    \
  X(copyToHostAsync, "cuMemcpyDtoHAsync_v2", (void *to, DevicePointer from, size_t size,           \
                                              Stream stream))                                      \
  X(copyOnDeviceAsync, "cuMemcpyDtoDAsync_v2", (DevicePointer to, DevicePointer from, size_t size,   \
                                                 Stream stream))                                   \
  X(setBytesAsync, "cuMemsetD8Async", (DevicePointer to, unsigned char byte, size_t size,          \
                                       Stream stream))                                             \
  X(streamCreate, "cuStreamCreate", (Stream *stream, unsigned flags))                              \
  X(streamDestroy, "cuStreamDestroy_v2", (Stream stream))                                          \
  X(streamSynchronize, "cuStreamSynchronize", (Stream stream))                                     \
  X(exchangeCaptureMode, "cuThreadExchangeStreamCaptureMode", (int *mode))                         \
  X(eventCreate, "cuEventCreate", (Event *event, unsigned flags))                                  \
  X(eventRecord, "cuEventRecord", (Event event, Stream stream))                                    \
  X(eventElapsed, "cuEventElapsedTime", (float *milliseconds, Event start, Event end))             \
  X(eventDestroy, "cuEventDestroy_v2", (Event event))                                              \
  X(launchKernel, "cuLaunchKernelEx", (const LaunchConfig *config, Function function,              \
                                       void **params, void **extra))                               \
  X(tensorMapEncode, "cuTensorMapEncodeTiled", (TensorMap *map, int dtype, unsigned rank,          \
       void *address, const uint64_t *sizes, const uint64_t *strides, const unsigned *box,         \
       const unsigned *elementStrides, int interleave, int swizzle, int promotion, int oob))

// Those of CUDA graphs, without which launches are enqueued one by one.
#define FUSEC_DRIVER_GRAPH_FUNCTIONS(X)                                                            \
  X(streamIsCapturing, "cuStreamIsCapturing", (Stream stream, int *status))                        \
  X(graphCreate, "cuGraphCreate", (Graph *graph, unsigned flags))                                  \
  X(graphDestroy, "cuGraphDestroy", (Graph graph))                                                 \
  X(graphAddKernelNode, "cuGraphAddKernelNode_v2", (GraphNode *node, Graph graph,                  \
       const GraphNode *dependencies, size_t count, const KernelNodeParams *params))               \
  X(graphKernelNodeSetAttribute, "cuGraphKernelNodeSetAttribute", (GraphNode node, int attribute,  \
       const LaunchAttributeValue *value))                                                         \
  X(graphInstantiate, "cuGraphInstantiateWithFlags", (GraphExec *exec, Graph graph,                \
                                                      unsigned long long flags))                   \
  X(graphExecDestroy, "cuGraphExecDestroy", (GraphExec exec))                                      \
  X(graphExecKernelNodeSetParams, "cuGraphExecKernelNodeSetParams_v2", (GraphExec exec,            \
       GraphNode node, const KernelNodeParams *params))                                            \
  X(graphUpload, "cuGraphUpload", (GraphExec exec, Stream stream))                                 \
  X(graphLaunch, "cuGraphLaunch", (GraphExec exec, Stream stream))

// Since 12.3 and 12.4. Without the first every edge of a graph waits for a kernel's end, without
// the second cooperative kernels in PTX are refused, since nobody says what they take.
#define FUSEC_DRIVER_OPTIONAL_FUNCTIONS(X)                                                         \
  X(graphAddDependencies, "cuGraphAddDependencies_v2", (Graph graph, const GraphNode *from,        \
       const GraphNode *to, const GraphEdge *edges, size_t count))                                 \
  X(functionParamInfo, "cuFuncGetParamInfo", (Function function, size_t index, size_t *offset,     \
                                              size_t *size))
// clang-format on

struct Driver {
#define FUSEC_MEMBER(member, symbol, parameters)                               \
  Result(*member) parameters = nullptr;
  FUSEC_DRIVER_FUNCTIONS(FUSEC_MEMBER)
  FUSEC_DRIVER_GRAPH_FUNCTIONS(FUSEC_MEMBER)
  FUSEC_DRIVER_OPTIONAL_FUNCTIONS(FUSEC_MEMBER)
#undef FUSEC_MEMBER

  // Whether all functions of graphs were found.
  bool hasGraphs = false;
  // As cuDriverGetVersion says it: 13000 for 13.0.
  int version = 0;

  // Loads and initialises the driver: `path`, or where it is null or empty
  // $FUSEC_DRIVER, else libcuda.so.1. The library is never unloaded, since the
  // driver keeps threads of its own. False with `error` saying why.
  bool open(const char *path, std::string &error);

  // "cuMemAlloc of 4096 bytes: CUDA_ERROR_OUT_OF_MEMORY (out of memory)"
  std::string describe(const std::string &call, Result result) const;
  // Throws Failure unless the result is success; `what` names the call.
  void check(Result result, const char *what) const;
  void check(Result result, const std::string &what) const;
};

} // namespace fusec::rt::cuda

#endif
