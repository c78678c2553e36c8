// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints a ScalarProgram. Values are emitted where they are first needed; what
// does not vary along the vectorised dim is emitted once for all lanes, loads
// that the plan says are vectors along it become vector loads, and the rest is
// computed lane by lane. The pieces of a concat and guarded rows are read only
// where their condition holds.

#ifndef FUSEC_COMPILER_CODEGEN_SCALAREMITTER_H
#define FUSEC_COMPILER_CODEGEN_SCALAREMITTER_H

#include "compiler/analysis/AccessWidths.h"
#include "compiler/codegen/KernelWriter.h"

namespace fusec {

class ScalarEmitter {
public:
  struct Access {
    std::string pointer;             // the buffer's parameter
    llvm::SmallVector<Expr> strides; // in elements
    bool isLate = false; // it is there once what loads first has loaded
  };
  /// Gives the buffer behind a loaded value, and a root's value in compute
  /// type, not yet rounded.
  struct Sources {
    std::function<Access(mlir::Value)> load;
    std::function<std::string(mlir::Value)> root;
    std::function<std::string(LookupOp)> tables;

    /// Loads the values by other pointers than before.
    void rename(llvm::DenseMap<mlir::Value, std::string> pointers);
  };

  /// Lanes 0..V-1 lie along the dim; V is `width`, or 1 in a tail. `loads` are
  /// the widths of the program's reads. Where `loadsFirst`, what is loaded is
  /// on its way before anything is computed.
  struct Lanes {
    Lanes(unsigned dim, AccessesAttr accesses, bool loadsFirst = false)
        : dim(dim), width(accesses.getWidth()), loads(accesses.getLoadWidths()),
          shifted(accesses.getShiftedReads()), loadsFirst(loadsFirst),
          beginAnywhere(accesses.getWalk() == Walk::Memory),
          choosesEnds(accesses.getWalk() == Walk::Linear) {}

    unsigned dim;
    int64_t width;
    llvm::ArrayRef<int64_t> loads, shifted;
    bool loadsFirst;
    bool beginAnywhere; // not at multiples of the width
    /// What changes between two lanes and nowhere else is computed for the
    /// first and the last one.
    bool choosesEnds;
  };
  /// `dims` are the names of the iteration's indices, empty for one that a loop
  /// names.
  ScalarEmitter(KernelWriter &writer, const ScalarProgram &program,
                std::vector<std::string> dims, std::optional<Lanes> lanes,
                Sources sources);

  /// Emits what the node needs outside the loop over lanes.
  void prepare(unsigned node) {
    Visited visited;
    prepare(node, visited);
  }
  /// Emits the indices that the node's rows are found by, of all lanes. Whether
  /// there are any.
  bool prepareIndices(unsigned node) {
    Visited visited;
    return prepareIndices(node, visited);
  }
  /// Emits the nodes, in a loop over the lanes where there are any, and calls
  /// back for each with its name; `inStorage`: with its value in storage type.
  void
  forEachLane(llvm::ArrayRef<unsigned> nodes,
              llvm::function_ref<void(unsigned i, llvm::StringRef name)> use,
              bool inStorage = false);
  /// Emits the node for the current lane (or, where nothing is vectorised, at
  /// once) and returns its name, in compute type.
  std::string emit(unsigned node);
  /// The same in storage type: what is only moved keeps its bits.
  std::string emitStored(unsigned node);
  /// Emits at once what does not vary along the dim and is needed for certain.
  void hoist(unsigned node, unsigned dim) {
    Visited visited;
    hoist(node, dim, visited);
  }
  /// Of these nodes, those that are read by no other node are not rounded to 16
  /// bits when they are emitted from now on: their stores do so.
  void leaveRoundingToStores(llvm::ArrayRef<unsigned> stored);
  /// Gives the node a name instead of emitting it: of a value in compute type,
  /// or of a vector in storage type.
  void bind(unsigned node, llvm::StringRef name);
  void bindVector(unsigned node, llvm::StringRef name);
  /// Prints what was left until the rows that are read are on their way: what a
  /// missing row does.
  void settleRows();
  /// What is emitted between is known to later code of the same scope only.
  void pushScope() {
    scopes.emplace_back();
    wholeLoads.emplace_back();
  }
  void popScope() {
    scopes.pop_back();
    wholeLoads.pop_back();
  }

  /// Names an index while a loop over it is emitted. What is emitted while it
  /// has no name runs on all threads of the loop, of which `leader` is true on
  /// one.
  void nameIndex(unsigned dim, llvm::StringRef name) { dims[dim] = name.str(); }
  void nameLeader(llvm::StringRef condition) { leader = condition.str(); }
  /// The row-major index of the iteration has this name.
  void nameLinearIndex(llvm::StringRef name) { linearIndex = name.str(); }
  std::string print(Expr expr);

private:
  struct Name {
    std::string text;
    bool isVector;
    /// Where lanes from `left` on have another value.
    std::string last = {}, left = {};
  };
  using Scope = std::map<unsigned, Name>;
  /// Nodes that a walk over operands has been to: many paths may lead to one.
  using Visited = llvm::SmallDenseSet<unsigned>;

  bool variesByLane(unsigned node) const;
  bool isOnlyMoved(unsigned node) const;
  const Name *find(unsigned node) const;
  std::string emitScalar(unsigned node);
  bool isFast(const ScalarNode &node) const;
  std::string spell(const ScalarNode &node,
                    llvm::ArrayRef<std::string> operands) const;
  /// Whether it is the sine or cosine of an angle whose other one is found
  /// beside it.
  bool isFoundWithOther(unsigned id) const;
  std::string spellWithOther(const ScalarNode &node,
                             llvm::ArrayRef<std::string> operands);
  std::string emitCompute(unsigned id);
  std::string declareResult(unsigned id, const std::string &type,
                            const std::string &value, bool isVector);
  std::string round(unsigned id, const std::string &value) const;
  std::string emitLoad(unsigned id);
  std::string emitLookup(unsigned id);
  std::string emitGather(unsigned id);
  /// An index, after what other rows were read for it.
  std::string emitIndex(unsigned id);
  std::string emitPiecewise(unsigned id, bool inStorage = false);
  void emitRow(unsigned id);
  /// The row that an index names, of `rows`, and whether it exists. Where a
  /// missing one is a fault, `owner` says where it is counted.
  void declareRow(unsigned id, llvm::StringRef index, llvm::StringRef rows,
                  llvm::StringRef owner);
  /// The row alone, where nothing of it is counted or guarded yet.
  void declareRowFirst(unsigned id, llvm::StringRef index, llvm::StringRef rows,
                       llvm::StringRef owner);
  /// Whether rows, of which each of these tables has one, can be read before it
  /// is known that they exist.
  bool canReadFirst(llvm::ArrayRef<Expr> tableRows) const;
  /// Names what was read of rows, zeros where one of them is missing.
  void keepIfFound(unsigned id, llvm::StringRef base, llvm::StringRef read,
                   llvm::ArrayRef<unsigned> rows);
  bool sharesRows(const ScalarNode &gather) const;
  bool readsIndices(const ScalarNode &gather) const;
  bool readGatherFirst(unsigned id);
  bool dependsOnRows(unsigned id, Visited &visited) const;
  bool prepareVectorLoad(unsigned id);
  void findPlacesOfChange();
  /// With names for the quotients of the lane's place, in the dims behind the
  /// others: the first lane's, or one more.
  Expr nameQuotients(Expr expr, std::vector<std::string> &names);
  /// Where lanes have at most two values.
  bool prepareEnds(unsigned id);
  /// The name of what the text says, in this scope.
  std::string declareOnce(const std::string &base, const std::string &text);
  /// Of the lanes that the condition holds for, where there is one.
  void prepareShiftedLoad(unsigned id, const IndexCondition *c = nullptr);
  /// Loads what lanes that the condition holds for need of the node.
  void prepareShiftedLoads(unsigned id, const IndexCondition &c,
                           Visited &visited);
  /// How the lanes of a read lie that are moved together; nothing where each
  /// is moved on its own.
  std::optional<LaneAccess> getWhole(unsigned id, Expr offset) const;
  std::string loadWhole(const std::string &pointer, const LaneAccess &access);
  void prepareGuarded(unsigned id);
  void prepare(unsigned id, Visited &visited);
  bool prepareIndices(unsigned id, Visited &visited);
  /// Whether all lanes are divided together.
  bool dividesVectors(const ScalarNode &node) const;
  /// Emits the node of all lanes, as float; returns the vector's name.
  std::string makeVector(unsigned id, llvm::StringRef base = "operand");
  void prepareFunctions(unsigned id, Visited &visited);
  void hoist(unsigned id, unsigned dim, Visited &visited);
  void fillVector(unsigned node, llvm::StringRef vector);
  std::string condition(const IndexCondition &c);
  std::string declare(unsigned id, llvm::StringRef base, llvm::StringRef value);
  std::string declareVector(unsigned id, llvm::StringRef base);
  std::string owner(unsigned id);
  Expr getLoadOffset(const ScalarNode &node, const Access &access) const;
  std::string getElement(const ScalarNode &node, const Access &access);

  KernelWriter &writer;
  const ScalarProgram &program;
  std::vector<std::string> dims;
  std::optional<Lanes> lanes;
  llvm::SmallDenseMap<unsigned, int64_t> widths; // of reads
  llvm::SmallDenseSet<unsigned> shifted;         // of reads
  Sources sources;
  std::vector<Scope> scopes;
  /// Vectors of which lanes take some elements, by their address, and other
  /// values that several need, by their text, in each scope.
  std::vector<std::map<std::string, std::string>> wholeLoads;
  llvm::SmallDenseSet<unsigned> roundedByStores;
  /// Lines that settleRows() prints.
  llvm::SmallVector<std::string> unsettled;
  std::string leader = "true";
  std::string linearIndex;
  bool inLanes = false;
  /// Of each node, once they are asked for: see getPlacesOfChange().
  std::vector<std::optional<int64_t>> places;
  bool asksPieces = false; // whose conditions are printed between branches
  bool hasEnds = false;    // has found where lanes change
  std::string firstPlace;  // of the lanes'
  bool atLast = false;     // emits what the last lane has, before the lanes
};

/// What gather.h calls the policy.
llvm::StringRef getPolicyName(IndexPolicy policy);
/// "valid3 && valid7": that all of the checked rows exist.
std::string getRowsCondition(llvm::ArrayRef<unsigned> rows);

} // namespace fusec

#endif // FUSEC_COMPILER_CODEGEN_SCALAREMITTER_H
