// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of reductions, and of scans, which share what says who walks a row.

#ifndef FUSEC_REDUCE_SCHEDULE_TD
#define FUSEC_REDUCE_SCHEDULE_TD

include "ir/FusecAttributes.td"

def Fusec_ReduceScope : Fusec_Enum<"ReduceScope", "who reduces a row together",
    ["Thread", "Warp", "Block", "Cluster", "Team", "Columns"]>;

def Fusec_ReduceScheduleAttr : Fusec_Attr<"ReduceSchedule", "reduce_schedule"> {
  let summary = "who reduces or scans a row, threads a block, index width, elements an access, blocks";
  let description = [{
    Accesses are along the row; of columns across rows, which then are
    neighbours in memory: threads beside each other take vectors of them, and
    `groups` threads share one. `groups` of a warp reduce as many rows at a
    time; a cluster has as many blocks, which reduce a row together; so has a
    team, whose blocks run on any multiprocessors and meet in memory; of a row of
    which more is stored than is reduced as many blocks store a part each, and
    all reduce it. `blocks` is
    the most that the grid has: whoever reduces a row of a larger problem takes
    several, one after another. 0: each takes one. With `kept`, a thread loads
    its share of a row, or of columns, once, so many accesses, and keeps it in registers for all
    that is computed of it; with `ahead` also what only the row's stores need,
    which is on its way while the row is reduced. With `resident`, a thread asks
    for no item that all have, so that the compiler orders loads and what is
    computed of them as it likes, and leaves registers for so many blocks of a
    multiprocessor; spans of rows and scans it bounds by registers alone; where what others reduced
    is reduced again, the threads that find it load all of its columns at once. With `fetched`, a block, or a
    cluster, that has its row in registers has L2 fetch the one so many behind it. With `online`, a maximum and the sum of exponentials
    below it are found in one pass. Where a thread scans a row, its block moves
    rows of all its threads to shared memory as one run of vectors; so it does where
    it scans a part of a few columns that are no whole vectors.
  }];
  let parameters = (ins EnumParameter<Fusec_ReduceScope>:$scope, "int64_t":$threads, "int64_t":$indexBits,
      DefaultValuedParameter<"int64_t", "1">:$vector, DefaultValuedParameter<"int64_t", "0">:$blocks,
      DefaultValuedParameter<"int64_t", "1">:$groups, DefaultValuedParameter<"int64_t", "0">:$kept,
      DefaultValuedParameter<"bool", "false">:$online, DefaultValuedParameter<"bool", "false">:$ahead,
      DefaultValuedParameter<"int64_t", "0">:$resident, DefaultValuedParameter<"int64_t", "0">:$fetched);
  let builders = [
    AttrBuilder<(ins "::fusec::ReduceScope":$scope, "int64_t":$threads, "int64_t":$indexBits,
                     "int64_t":$vector, CArg<"int64_t", "1">:$groups), [{
      return $_get($_ctxt, scope, threads, indexBits, vector, 0, groups, 0, false, false, 0, 0);
    }]>
  ];
  let extraClassDeclaration = [{
    bool isOfColumns() const { return getScope() == ::fusec::ReduceScope::Columns; }
    /// Which of rows, positions along them and columns accesses lie along.
    unsigned getLanesDim() const { return isOfColumns() ? 2 : 1; }
    /// Threads that reduce a row, or a vector of columns, together.
    int64_t getThreadsTogether() const {
      switch (getScope()) {
      case ::fusec::ReduceScope::Thread:
        return 1;
      case ::fusec::ReduceScope::Warp:
        return 32 / getGroups();
      case ::fusec::ReduceScope::Block:
        return getThreads();
      case ::fusec::ReduceScope::Cluster:
      case ::fusec::ReduceScope::Team:
        return getThreads() * getGroups();
      case ::fusec::ReduceScope::Columns:
        return getGroups();
      }
      return 1;
    }
    /// Blocks of a cluster.
    int64_t getCluster() const {
      return getScope() == ::fusec::ReduceScope::Cluster ? getGroups() : 1;
    }
    bool isOfTeam() const { return getScope() == ::fusec::ReduceScope::Team; }
    /// Blocks that reduce a row together, of a cluster or of a team.
    int64_t getBlocksTogether() const { return isOfTeam() ? getGroups() : getCluster(); }
    /// Blocks that store a part of a row each, which all of them reduce.
    int64_t getStoring() const {
      return getScope() == ::fusec::ReduceScope::Block ? getGroups() : 1;
    }
    /// Rows that a block, or those that reduce one together, reduce at a time.
    int64_t getRowsAtOnce() const {
      return getThreads() * getBlocksTogether() / getThreadsTogether() * (isOfColumns() ? getVector() : 1);
    }
    /// The same schedule on a grid of at most so many.
    ReduceScheduleAttr withBlocks(int64_t blocks) const {
      return get(getContext(), getScope(), getThreads(), getIndexBits(), getVector(), blocks, getGroups(),
                 getKept(), getOnline(), getAhead(), getResident(), getFetched());
    }
    /// The same schedule with so many accesses of a row in registers.
    ReduceScheduleAttr withKept(int64_t kept) const {
      return get(getContext(), getScope(), getThreads(), getIndexBits(), getVector(), getBlocks(), getGroups(), kept,
                 getOnline(), getAhead(), getResident(), getFetched());
    }
    ReduceScheduleAttr asOnline() const {
      return get(getContext(), getScope(), getThreads(), getIndexBits(), getVector(), getBlocks(), getGroups(),
                 getKept(), true, getAhead(), getResident(), getFetched());
    }
    ReduceScheduleAttr asAhead() const {
      return get(getContext(), getScope(), getThreads(), getIndexBits(), getVector(), getBlocks(), getGroups(),
                 getKept(), getOnline(), true, getResident(), getFetched());
    }
    /// The same schedule where L2 fetches the row so many behind a block's own.
    ReduceScheduleAttr withFetched(int64_t fetched) const {
      return get(getContext(), getScope(), getThreads(), getIndexBits(), getVector(), getBlocks(), getGroups(),
                 getKept(), getOnline(), getAhead(), getResident(), fetched);
    }
    ReduceScheduleAttr withResident(int64_t resident) const {
      return get(getContext(), getScope(), getThreads(), getIndexBits(), getVector(), getBlocks(), getGroups(),
                 getKept(), getOnline(), getAhead(), resident, getFetched());
    }
  }];
  let assemblyFormat = "`<` struct(params) `>`";
}

#endif // FUSEC_REDUCE_SCHEDULE_TD
