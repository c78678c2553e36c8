// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What Costs.h has of reductions: along rows, along columns, and of both.

#ifndef FUSEC_COMPILER_SCHEDULE_REDUCECOSTS_H
#define FUSEC_COMPILER_SCHEDULE_REDUCECOSTS_H

namespace fusec {

struct ReduceCosts {
  double treeClocks;  // a step of the tree in which partial results meet
  double blockClocks; // to meet in shared memory
  double laterPass;   // traffic of a pass behind the first, which hits L2
  double sectorReuse; // how often a sector that is read in parts is in L1
};

/// Of vectors of columns. What a thread does, in clocks of 128 lanes.
struct ColumnCosts {
  double levelClocks;       // until groups of threads have met, a level of them
  double laneClocks;        // a column that a thread and another one meet in
  double findTimes;         // as much where they meet with their places
  double stepClocks;        // a load, and what finds it
  double apartPart;         // of that, where a warp's is of more than four rows
  double itemPart;          // of an item's instructions
  double shiftInstructions; // of one in a vector that is shifted into place
  double shiftedPart;       // by which memory takes longer for those
  double phasesRate;        // GB/s that a multiprocessor loads by phases
  double threadClocks;      // begin and end
  double registers;         // of a thread
  double itemRegisters;     // and for each column of its vector
  double piecesLose;        // of the memory's rate, pieces of half a line
  double exposed;     // the power in which memory, latency and work add up
  double startMicros; // until the first loads have come
};

/// Of columns that registers keep: a block loads all of them at once, and while
/// it computes, only others beside it load.
struct KeptColumnCosts {
  // Of a thread, for each column of its vector, of 32 and of fewer bits, and
  // each item; of one pass halves take others.
  double registers, columnRegisters, narrowColumnRegisters, itemRegisters,
      halfColumnRegisters, halfItemRegisters;
  double spared;      // of a block, whose registers one more makes do without
  double memoryPart;  // of the memory's rate, that a block alone would reach
  double piecesLose;  // of that rate, pieces of half a line
  double besidePower; // of the blocks that it shares the memory with
  double waitMicros;  // of a block, which only others beside it hide
  double levelMicros; // the same, until groups of threads have met
  double stepMicros;  // and for the code of each step, in each pass
  double laneClocks;  // a column that a thread and another one meet in
  double itemPart;    // of an item's instructions
  double exposed;     // the power in which memory, waiting and work add up
  double startMicros;
  double fetchedBytes; // as those of rows
};

/// Of rows, whose latencies others of the multiprocessor hide in part. What a
/// thread does beside them, in clocks of 128 lanes.
struct RowCosts {
  double loadClocks;        // until what was asked for at once has come
  double laneClocks;        // a step in which neighbouring lanes meet
  double warpClocks;        // to meet in shared memory, a warp
  double clusterClocks;     // to meet in that of all blocks of a cluster
  double teamMicros;        // to meet in memory, for each doubling of a team
  double itemClocks;        // an item of a thread, in each pass
  double instructionClocks; // and an instruction of it
  double stepClocks;        // an access, in each pass
  double itemPart;          // of an item's instructions
  double laneStepClocks;    // a step in which neighbouring lanes meet
  double blockStepClocks;   // in which warps do
  double clusterStepClocks; // in which blocks do
  double threadClocks;      // begin and end
  double findTimes;         // as much where values meet with their places
  double onlineClocks;      // for two sums of exponentials to meet
  double accessClocks;      // an access in a line of its own
  double laterPass;         // traffic of a pass behind the first
  double lastPart;  // of the memory's time, where all rows begin at once
  double alonePart; // that a block without others beside it waits for
  double registers; // of a thread, beside what it keeps
  double keptRegisters, keptNarrowRegisters; // an item, of 32 and of fewer bits
  double keptSingleRegisters;       // and where accesses are of one item
  double keptSharedSingleRegisters; // the same, of rows that share a warp
  double keptSelectedRegisters;     // and of 32 bits, where conditions choose
  // Of so many items of 32 bits a thread has fewer registers beside them.
  double manyItems, manySpared;
  // But more where stores divide, and where a cluster stores.
  double quotientRegisters, turnRegisters;
  double freePart;    // of the time, where the compiler orders what is kept
  double pairPart;    // of the memory's time, where threads ask for two vectors
  double exposed;     // the power in which memory, latency and work add up
  double startMicros; // until the first loads have come
  // Of more bytes and rows than these, others hide what blocks wait for.
  double shownBytes, shownRows;
  double readMicros;  // of rows that leave little behind
  double wholeWaves;  // of fewer waves each ends before the next begins
  double mostOfShare; // of its share of memory, that a multiprocessor moves
  double mostAhead;   // items that a thread loads before its stores need them
  double mostAheadOfWarps;  // the same, where warps do so in any case
  double mostNarrowOfWarps; // and of halves, with what they keep anyway
  double aheadPart;         // of the time that they take then
  double rowsAheadPart;     // where each row has loads of its own for that
  // Of later rows, that L2 fetches for each multiprocessor while others are
  // reduced; 0: none.
  double fetchedBytes;
  double fetchedPart; // of the time that rows take then
  // Of a thread that keeps halves and asks for none that all have: registers
  // beside these, and how many of them.
  double freeRegisters, mostFreeItems;
};

/// Of rows of columns, clocks as those of rows.
struct NestedCosts {
  double laneClocks, blockClocks, warpClocks;
  double piecesTimes; // as long, by memory in pieces of less than a line
  double unmodelled;  // as long, by what the formula leaves out
};

} // namespace fusec

#endif // FUSEC_COMPILER_SCHEDULE_REDUCECOSTS_H
