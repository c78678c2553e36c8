// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints the kernel of a cumulative sum.

#ifndef FUSEC_COMPILER_KERNELS_SCAN_SCANPRINTER_H
#define FUSEC_COMPILER_KERNELS_SCAN_SCANPRINTER_H

#include "compiler/codegen/Emitters.h"
#include "compiler/kernels/scan/Scan.h"

namespace fusec {

class ScanPrinter {
public:
  /// `walked` is the scan as the schedule walks it.
  ScanPrinter(KernelWriter &writer, const ScanIteration &scan,
              const ScanIteration &walked, VariantAttr variant);
  void print();

private:
  void openRows();
  void openColumns();
  void openParts();
  void nameColumn();
  std::string getPart(llvm::StringRef number) const;
  bool fillsParts() const;
  void printLoad();
  void printStores();
  void printParts();
  std::string printFetch();
  void printLengths(llvm::StringRef part);
  void printSpan(llvm::StringRef length, llvm::StringRef items);
  void printStoredParts(std::string_view scan, std::string_view functions);
  void openRun();
  void printHeld();
  void printRow();
  /// Whether functions of a point are told how many items they take there.
  bool takesWidth() const {
    return isHeld(schedule) || pitch || isRun(iteration, schedule);
  }
  std::string getParameters() const {
    return takesWidth() ? ", auto width" : "";
  }
  bool sharesVectors() const { return ofColumns && !takesWidth(); }
  void declareWidth();
  /// The item at `k`, which parts count from their first one on.
  std::string getItem() const {
    return isRun(iteration, schedule)  ? "(begin + k)"
           : iteration.parts && !pitch ? "(first + k)"
                                       : "k";
  }

  KernelWriter &writer;
  const ScalarProgram &rows;
  const ScanIteration &iteration;
  ReduceScheduleAttr schedule;
  AccessesAttr accesses;
  bool ofColumns;
  std::optional<int64_t> pitch; // of rows that are spans
  std::string index;
  ScalarEmitter::Lanes lanes;
  ScalarEmitter::Sources sources;
  ScalarEmitter emitter;
};

} // namespace fusec

#endif // FUSEC_COMPILER_KERNELS_SCAN_SCANPRINTER_H
