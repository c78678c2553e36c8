// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What all emitters share: the kernel's parameters, names, types and the text
// under construction.

#ifndef FUSEC_COMPILER_CODEGEN_KERNELWRITER_H
#define FUSEC_COMPILER_CODEGEN_KERNELWRITER_H

#include "compiler/analysis/ScalarProgram.h"
#include "compiler/codegen/KernelSource.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/core.h>

namespace fusec {

/// Storage type in memory and the type that values of it are computed in.
std::string storageType(mlir::Type elementType);
std::string computeType(mlir::Type elementType);
/// A value in memory as its compute type, and back.
std::string toCompute(mlir::Type elementType, llvm::StringRef text);
std::string toStorage(mlir::Type elementType, llvm::StringRef text);
/// A literal of the compute type.
std::string literal(mlir::TypedAttr value);

class KernelWriter {
public:
  KernelWriter(StepOp step, llvm::StringRef symbol, unsigned indexBits);

  StepOp getStep() const { return step; }
  mlir::MLIRContext *getContext() const { return step->getContext(); }
  std::string indexType() const {
    return indexBits == 32 ? "int" : "fusec::i64";
  }

  /// Whether every result is rounded to a 16-bit float.
  bool storesHalvesOnly() { return halvesOnly; }

  /// The pointer parameter of a buffer from an element on, added at its first
  /// use.
  std::string pointer(BufferOp buffer, bool isConst, int64_t first = 0);
  /// Pointers to what the step reads, in its order, then to what it writes but
  /// for `unused`: the signature reads as the region does.
  void declareBuffers(BufferOp unused = {});
  /// A struct of pointers and row counts: `name.at[i]`, `name.rows[i]`. Other
  /// counts may be given.
  std::string pointerTable(llvm::ArrayRef<BufferOp> buffers,
                           llvm::StringRef name,
                           llvm::ArrayRef<Expr> counts = {});
  /// A tensor map over a buffer: a parameter whose address the kernel uses.
  std::string tensorMap(BufferOp buffer, TensorMapShape shape);
  std::string faultCounter();
  /// Words that are zero before and after the launch.
  std::string flags(int64_t words = 64, int64_t team = 1);
  /// The parameter that holds a named dimension.
  std::string symbolParam(Expr symbol);
  /// C text of a size that the kernel counts with an `int`: a number, or a
  /// parameter called `name` that the launch checks against `mostExtent`.
  std::string extent(Expr size, llvm::StringRef name);
  /// C text of an expression; dims print as `dims[i]`, rows as `row<n>`.
  std::string print(Expr expr, llvm::ArrayRef<std::string> dims);

  std::string uniqueName(llvm::StringRef base) { return names.add(base); }
  void addHeader(llvm::StringRef name) { headers.insert(name.str()); }
  /// Text before the kernel: functions, structs.
  llvm::raw_ostream &declarations() { return declarationStream; }

  /// Writes a line of the kernel's body at the current depth: text, or a format
  /// and its arguments. A call is free to compute its arguments in any order:
  /// what adds parameters is computed before it.
  void line(const llvm::Twine &text);
  template <typename T, typename... Ts>
  void line(fmt::format_string<T, Ts...> format, T &&first, Ts &&...rest) {
    line(
        fmt::format(format, std::forward<T>(first), std::forward<Ts>(rest)...));
  }
  /// Such a line, its brace, and what follows one level deeper until `close`.
  void open(const llvm::Twine &text = "");
  template <typename T, typename... Ts>
  void open(fmt::format_string<T, Ts...> format, T &&first, Ts &&...rest) {
    open(
        fmt::format(format, std::forward<T>(first), std::forward<Ts>(rest)...));
  }
  void close(const llvm::Twine &text = "}");
  /// Opens a function that is returned, with what it needs by value: it
  /// outlives the body's variables. But for tables of pointers: of a copy,
  /// which is indexed at run time, every thread would have one in local memory.
  void openReturned(llvm::StringRef parameters = "");
  /// What `emit` writes, apart from the kernel's body.
  std::string capture(unsigned atDepth, llvm::function_ref<void()> emit);

  /// The kernel's template waits for earlier kernels, not its first statement.
  void waitInTemplate() { first = "fusec::launch::admitNext();"; }
  KernelSource finish(VariantAttr variant);

private:
  StepOp step;
  std::string symbol;
  unsigned indexBits;
  std::vector<std::pair<std::string, std::string>> signature; // type, name
  std::vector<KernelParam> params;
  std::map<std::pair<std::string, int64_t>, std::string> pointers;
  std::map<std::string, std::string> symbols, extents;
  UniqueNames names;
  std::set<std::string> headers;
  std::vector<std::string> tables; // by pointerTable()
  std::string declarationText, body;
  llvm::StringRef first = "fusec::launch::followPrevious();";
  llvm::raw_string_ostream declarationStream;
  unsigned depth = 1;
  bool halvesOnly;
  std::string fault;
};

} // namespace fusec

#endif // FUSEC_COMPILER_CODEGEN_KERNELWRITER_H
