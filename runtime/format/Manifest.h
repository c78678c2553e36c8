// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The manifest of a bundle as plain structs: what the compiler fills in and
// the loader follows. docs/bundle.md gives the meaning of every field.

#ifndef FUSEC_RUNTIME_FORMAT_MANIFEST_H
#define FUSEC_RUNTIME_FORMAT_MANIFEST_H

#include "runtime/format/DType.h"
#include "runtime/format/Expr.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace fusec::format {

inline constexpr unsigned formatMajor = 0;
inline constexpr unsigned formatMinor = 9;

// Memory that a kernel gets a pointer to, by index into the plan's buffers or
// weights or the model's inputs or outputs, plus a byte offset.
struct Pointer {
  enum class Kind : uint8_t { Buffer, Weight, Input, Output };
  Kind kind = Kind::Buffer;
  unsigned index = 0;
  Expr offset;
};

// One term of a guard: a comparison of size expressions, or the alignment of a
// user's tensor.
struct Condition {
  enum class Kind : uint8_t { Le, Lt, Ge, Gt, Eq, Ne, Aligned };
  Kind kind = Kind::Eq;
  Expr lhs, rhs;
  // Aligned only: an input or output pointer and the bytes it must be a
  // multiple of (a power of two).
  Pointer::Kind pointerKind = Pointer::Kind::Input;
  unsigned pointerIndex = 0;
  unsigned bytes = 0;

  static Condition compare(Kind kind, Expr lhs, Expr rhs);
  static Condition aligned(Pointer::Kind pointer, unsigned index,
                           unsigned bytes);
};

// Kernel parameters, packed in order, each at its natural alignment.
struct SizeParam {
  DType type = DType::I64; // I32 or I64
  Expr value;
};
// What a SizeParam of I32 is at most: kernels add the size of a tile to it.
inline constexpr int64_t mostSize32 = INT32_MAX - 1024;
// Element types of tensor maps; the values are those of CUtensorMapDataType.
enum class MapType : uint8_t {
  U8 = 0,
  U16 = 1,
  U32 = 2,
  I32 = 3,
  U64 = 4,
  I64 = 5,
  F16 = 6,
  F32 = 7,
  F64 = 8,
  BF16 = 9,
  TF32 = 11
};
// A 128-byte CUtensorMap over `of`. Sizes and box run from the innermost
// dimension outwards; strides are bytes and leave the innermost out.
struct TensorMapParam {
  Pointer of;
  MapType dtype = MapType::F16;
  std::vector<Expr> sizes;
  std::vector<Expr> strides;
  std::vector<unsigned> box;
  unsigned swizzle = 0;     // 0, 32, 64 or 128 bytes
  unsigned promotion = 256; // what a miss fetches: 0, 64, 128 or 256 bytes
};
// The address of the session's 64-bit fault counter.
struct FaultParam {};
// The address of the session's flags, words of 32 bits by which the blocks of a
// launch wait for one another: `flagWords` that are zero before it and after
// it; then, where a launch asks for more, one that is zero at first, one that
// holds how many words there are, and others that are zero at first. Only
// launches that ask for them change these.
inline constexpr unsigned flagWords = 64, flagSizeWord = flagWords + 1,
                          mostFlagWords = 1 << 22;
struct FlagsParam {
  unsigned words = flagWords;
  // Blocks that follow one another in the grid and wait for one another: a
  // device has to have room for so many at a time. Since 0.9.
  unsigned team = 1;
};

using Param =
    std::variant<Pointer, SizeParam, TensorMapParam, FaultParam, FlagsParam>;

// What multiplies in a kernel: fp32 units, or tensor cores on operands of tf32,
// on fp32 split into three products of tf32, or on 16-bit operands.
enum class MathUnit : uint8_t { Fma, Tf32, Tf32x3, Half };
// What a launch does, for those who measure it. Nothing that runs depends on
// it.
struct Work {
  Expr read, written; // bytes: each tensor once, of tables what is looked up
  Expr operations;    // additions, multiplications and functions
  MathUnit unit = MathUnit::Fma;
  // The compiler's prediction where every named dimension is `predictedDim`; 0:
  // none.
  uint64_t nanoseconds = 0, predictedDim = 0;
  // The step of the plan whose result the launch computes first.
  std::optional<unsigned> lead;
};

inline constexpr size_t maxSymbol = 1024; // bytes
struct Launch {
  unsigned section = 0; // a cubin, or PTX in the plan of target "ptx"
  std::string symbol;
  std::array<Expr, 3> grid = {Expr(1), Expr(1), Expr(1)};
  std::array<unsigned, 3> block = {1, 1, 1};
  std::array<unsigned, 3> cluster = {1, 1, 1};
  unsigned smem = 0; // dynamic shared memory, bytes
  bool pdl = false;  // may start before its predecessor in the stream has ended
  // All blocks run at the same time: the grid's x is the most there are, the
  // loader launches no more than the device holds.
  bool cooperative = false;
  std::vector<Param> params;
  std::optional<Work> work; // since 0.7
};

struct Variant {
  std::vector<Condition> guard; // all must hold; the last variant's is empty
  std::vector<Launch> launches;
};

struct Step {
  std::string name;
  std::vector<std::string> sources; // nodes of the ONNX model
  std::vector<Variant> variants;    // the first whose guard holds is launched
};

struct Buffer {
  std::string name;
  unsigned slot = 0;
  Expr offset;               // within the slot
  Expr size;                 // bytes
  std::string layout = "{}"; // JSON text of an object
};

// A factor of a low-rank update x A B: A is [k, rank], B is [rank, n].
enum class AdapterPart : uint8_t { A, B };

struct Weight {
  std::string name;
  unsigned section = 0;
  uint64_t offset = 0; // within the section
  uint64_t size = 0;   // bytes as stored
  unsigned alignment = 256;
  DType dtype = DType::F32;
  std::vector<int64_t> sizes; // logical
  std::string layout = "{}";  // JSON text of an object
  std::string pack = "[]";    // JSON text of an array
  bool replaceable = false;   // by sessions, each of which has a copy
  bool updatable = false;     // in place, by rows; since 0.8
  bool table = false;         // read by rows that indices name; since 0.8
  // Of a factor of an adapter, dense and row-major; else no name.
  std::string adapter;
  AdapterPart part = AdapterPart::A;
  bool isTransposed = false; // stored as [rank, k] or [n, rank]

  // Of a factor; the manifest is checked.
  int64_t rank() const {
    return sizes[(part == AdapterPart::A) != isTransposed];
  }
  // k of A, n of B.
  int64_t width() const {
    return sizes[(part == AdapterPart::A) == isTransposed];
  }
};

struct Plan {
  std::string target;      // "sm_90a", "sm_80", ... or "ptx"
  unsigned minDriver = 0;  // as cuDriverGetVersion says it, for example 12040
  unsigned cluster = 1;    // the largest number of blocks of a cluster
  unsigned smem = 0;       // the most dynamic shared memory of a launch
  std::vector<Expr> slots; // bytes of each slot of the arena
  std::vector<Buffer> buffers;
  std::vector<Weight> weights;
  std::vector<Step> steps;
};

// Rows of a table, from `begin` to below `end`, that values of an input stand
// for: those in as many neighbouring columns (places of the last dimension), or
// all of them where that is 0. None where begin and end are equal.
struct IndexRange {
  int64_t begin = 0, end = 0;
  int64_t columns = 0;
};

struct TensorSpec {
  std::string name;
  DType dtype = DType::F32;
  std::vector<Expr> sizes;
  // Of an input of integers that indexes tables: of its columns one after the
  // other. Nothing that runs depends on it; since 0.8.
  std::vector<IndexRange> indexRanges = {};
};

// lhs and rhs must be equal when inputs are bound.
struct Constraint {
  Expr lhs, rhs;
  std::string message; // names both dimensions
};

struct Manifest {
  unsigned major = formatMajor;
  unsigned minor = formatMinor;
  std::string compiler; // "fusec 0.1.0"
  std::string nvrtc;    // "13.0"
  std::map<std::string, std::string> options;
  std::vector<std::string> dims; // sorted, unique
  std::vector<Constraint> constraints;
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
  std::vector<Plan> plans;
};

// "buffer", "weight", "input", "output".
std::string_view pointerKindName(Pointer::Kind kind);
// "<=", "<", ..., "aligned".
std::string_view conditionName(Condition::Kind kind);
// "u8", ..., "f16", "tf32".
std::string_view mapTypeName(MapType type);
unsigned mapTypeSize(MapType type);
// "fma", "tf32", "tf32x3", "half".
std::string_view mathUnitName(MathUnit unit);

// Bytes and alignment of a parameter in the kernel's parameter block.
struct ParamLayout {
  unsigned size, alignment;
};
ParamLayout paramLayout(const Param &param);
// Of all parameters of a launch, up to the end of the last one.
uint64_t paramBytes(const Launch &launch);
inline constexpr unsigned maxParamBytes = 32764;
// In the constant bank tensor maps are aligned behind words of the driver's
// own, so that only the driver knows their places, and nodes of graphs take no
// blocks for cooperative kernels. Kernels of both kinds take no structs.
bool takesParamsOneByOne(const Launch &launch);

// JSON text; the same manifest gives the same bytes.
std::string writeManifest(const Manifest &manifest);

// Reads JSON text and checks it as checkManifest does. On failure returns
// false with `error` saying where, what was expected and what was found.
bool parseManifest(std::string_view json, Manifest &manifest,
                   std::string &error);

// Checks everything that does not need the bundle's other sections, and
// resolves the dimensions of every expression.
bool checkManifest(Manifest &manifest, std::string &error);

} // namespace fusec::format

#endif
