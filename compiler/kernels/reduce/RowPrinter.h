// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints the loop over rows, or over vectors of columns, and in it the region's
// reductions and stores.

#ifndef FUSEC_COMPILER_KERNELS_REDUCE_ROWPRINTER_H
#define FUSEC_COMPILER_KERNELS_REDUCE_ROWPRINTER_H

#include "compiler/codegen/Emitters.h"
#include "compiler/kernels/reduce/Reduce.h"

namespace fusec {

/// What a kernel calls the parts of its walk.
struct RowForm {
  bool ofColumns = false; // lanes lie across columns, else along rows
  bool hasPhases = false; // of columns, as in areColumnsPhased
  int64_t pitch = 0;      // as in RowWalk
  bool isPart = false;    // of a row, which its block stores
  Expr begin = {};        // there
  int64_t kept = 0;       // accesses of a row that a thread keeps
  int64_t vector = 0;     // items of these, else the schedule's
  unsigned loop = 0;      // whose accesses the launch lists
  llvm::StringRef scope = "Scope";
  llvm::StringRef length = "length"; // of the loops of reductions
  llvm::StringRef stored = "length"; // of those that store
  llvm::StringRef leader = "Scope::rank() == 0";
  std::vector<std::string> dims = {"row", ""};

  /// Whether steps that are kept are vectors or single items.
  bool hasEdges() const { return pitch || isPart; }
};

class RowPrinter {
public:
  RowPrinter(KernelWriter &writer, const RowIteration &iteration, RowForm form,
             VariantAttr variant);
  void print();

  // What print() is made of.
  /// Keeps what the node is at each of a thread's accesses, which it finds by
  /// another way than by loads.
  std::string keepFound(unsigned node, llvm::StringRef base);
  /// Loads the row's share of each thread, if it is to keep it.
  void keepLoads();
  void keepLoads(llvm::ArrayRef<unsigned> loads);
  void printReductions();
  void printStores();
  /// The results that the iteration stores, lane by lane.
  void
  forEachResult(llvm::function_ref<void(unsigned i, llvm::StringRef name)> use);

private:
  void openRows();
  void openWideRows();
  /// Keeps what blocks that store parts of wide rows read, and goes on by the
  /// first form where they reduce, by the second where they store.
  std::pair<RowForm, RowForm> keepWideRows();
  void openColumns();
  void openPieces();
  void printOwnColumns(llvm::ArrayRef<RegionStore> stores,
                       llvm::ArrayRef<int64_t> widths);
  /// Whether an access loads all of its lanes at once.
  bool isVectorLoad(unsigned load) const;
  std::string declareKept(unsigned node, llvm::StringRef base);
  void openLoop(llvm::StringRef call, llvm::StringRef parameters,
                llvm::StringRef length);
  void closeLoop();
  int64_t keptVector() const {
    return form.vector ? form.vector : schedule.getVector();
  }
  std::string keptSteps() const;
  std::string keptArguments() const;
  /// ", Own, Steps": how a thread walks along columns.
  std::string walkArguments() const;
  int64_t countStepsAhead() const;
  void printStoresBehindLoads(llvm::ArrayRef<RegionStore> stores,
                              llvm::ArrayRef<int64_t> widths);
  /// The 16-bit floats, as they are loaded, of which columns' extremes are
  /// found, two by an instruction; whatever they are cast to.
  std::optional<unsigned> findPairs(llvm::ArrayRef<RowReduction> pass) const;
  std::string nameLoop(llvm::ArrayRef<RowReduction> pass) const;
  /// What holds the items that the pass reduces, if later ones do well to have
  /// them; else nothing.
  std::string declareHeld(llvm::ArrayRef<RowReduction> pass);
  void printPass(llvm::ArrayRef<RowReduction> pass);
  void printFetches();
  void printOnlinePair(const RowReduction &most, mlir::Operation *sum,
                       bool isFinite);
  /// The combiner of a maximum and the sum of exponentials below it.
  std::string getOnlineCombiner();
  void openRowsOfTeams();
  /// Of what a team finds: the length, and what fetches a later row.
  std::string printTeamArguments();
  std::string printTeamFind(llvm::StringRef base, llvm::StringRef find,
                            unsigned node, llvm::StringRef held = "");
  void printTeamReductions();

  KernelWriter &writer;
  const RowIteration &iteration;
  RowForm form;
  ReduceScheduleAttr schedule;
  AccessesAttr accesses;
  ColumnSteps columnSteps; // of threads that walk along columns
  std::string index, pieceArguments;
  std::map<void *, std::string> results;
  std::optional<ScalarEmitter::Lanes> lanes;
  std::optional<ScalarEmitter> emitter;
  llvm::MapVector<unsigned, std::string> kept; // names of what is in registers
  std::function<ScalarEmitter::Access(mlir::Value)> getSource; // of loads
};

/// Prints the loop over rows whose items are results of reductions.
void printNested(KernelWriter &writer, const NestedIteration &nested,
                 VariantAttr variant);

} // namespace fusec

#endif // FUSEC_COMPILER_KERNELS_REDUCE_ROWPRINTER_H
