// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a compilation is asked for, in the types by which passes, schedules and
// tuning decide. Only here are they read from text and printed.

#ifndef FUSEC_COMPILER_OPTIONS_H
#define FUSEC_COMPILER_OPTIONS_H

#include "llvm/ADT/StringRef.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fusec {

struct TuningFile;
namespace reference {
class FoldBudget;
} // namespace reference

/// `Onnx`: every op rounds its result to its own type, as the standard says,
/// nothing contracts, and fp32 multiplies by FMA alone; else chains of 16-bit
/// ops compute in fp32 inside a kernel.
enum class Numerics { Default, Onnx };
/// How fp32 products multiply, as a user says it.
enum class Precision { Ieee, Tf32, Fp16, Bf16 };
/// What constant tables are kept as: the model's type, or integers.
enum class TableType { Model, Int8, Int4 };
/// How the kernels of fp32 matmuls multiply: by FMA alone, by FMA or 3xTF32, as
/// tf32. Narrower products have operands of other types.
enum class Products { Fma, Ieee, Tf32 };

/// "default" or "onnx"; "ieee", "tf32", "fp16" or "bf16"; "fma", "ieee" or
/// "tf32".
llvm::StringRef stringify(Numerics numerics);
llvm::StringRef stringify(Precision precision);
llvm::StringRef stringify(Products products);
/// "model", "int8" or "int4".
llvm::StringRef stringify(TableType type);
/// Nothing for other text.
std::optional<Numerics> symbolizeNumerics(llvm::StringRef text);
std::optional<Precision> symbolizePrecision(llvm::StringRef text);
std::optional<TableType> symbolizeTableType(llvm::StringRef text);

/// What the stages of a compilation are told.
struct PipelineOptions {
  /// Names of compiler/schedule/Targets.h: a plan each.
  std::vector<std::string> targets = {"sm_80", "sm_90a", "ptx"};
  /// Off: every op is a kernel of its own.
  bool fuse = true;
  Numerics numerics = Numerics::Default;
  Precision precision = Precision::Ieee;
  TableType tableType = TableType::Model;
  /// Schedules that a variant keeps; 0: all.
  unsigned candidates = 5;
  /// Measured schedules; null: none.
  std::shared_ptr<const TuningFile> tuning = nullptr;
  /// Of all stages together; null: a new one for each.
  std::shared_ptr<reference::FoldBudget> foldBudget = nullptr;
  /// For tests: reductions join their products wherever there is a kernel.
  bool joinAlways = false;

  /// Whether products multiply operands that were rounded to 16 bits.
  bool narrowsProducts() const {
    return precision == Precision::Fp16 || precision == Precision::Bf16;
  }
  Products getProducts() const {
    if (precision == Precision::Tf32)
      return Products::Tf32;
    return numerics == Numerics::Onnx ? Products::Fma : Products::Ieee;
  }
};

} // namespace fusec

#endif // FUSEC_COMPILER_OPTIONS_H
