// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The coefficients of the cost model: what a device does in a clock, and what
// each family's kernels make of it. Their values are data, a file a device in
// devices/; estimates of kernels/ are the formulas. All members are doubles:
// Targets.cpp counts them.
//
// What was measured or fitted on a device is here. In code are facts of all
// devices (lines of 128 bytes, sectors of 32, warps, register files), sizes
// that templates have and registers they are compiled for, which candidates
// there are, and by how much a prediction must be better than the usual choice.

#ifndef FUSEC_COMPILER_SCHEDULE_COSTS_H
#define FUSEC_COMPILER_SCHEDULE_COSTS_H

#include "compiler/schedule/ReduceCosts.h"

namespace fusec {

/// What a typical device of the target does.
struct Rates {
  double clock;    // GHz, under load
  double memory;   // GB/s, read and written together
  double l2;       // bytes a clock that a multiprocessor gets from L2
  double fma;      // fp32 flops a clock and multiprocessor
  double fp64Part; // clocks of a product in fp64, in those of one in fp32
  double tensor;   // dense 16-bit flops a clock and multiprocessor; tf32: half
  double launch;   // us from one kernel of a stream to the next
  double overlap;  // us that two short kernels in a row take less
  double place;    // us from placing one block to placing the next
  double memoryLatency; // clocks from a load to its value, from memory
  double l2Latency;     // the same from L2
  double issuedThreads; // instructions that a multiprocessor issues in a clock
  double mostBlocks;    // blocks that a multiprocessor has at a time
  double earlyMicros;   // longer kernels gain nothing by an early start
};

/// Instructions of what is computed of an element; others are one.
struct OpCosts {
  double special;   // a function of the special unit, such as exp or sqrt
  double logarithm; // with what makes one of it: log, sin
  double sigmoid;   // of two of them: sigmoid, tanh
  double erf;       // a long polynomial
  double power;     // pow, mod
  double gather;    // a place that an index names
  double find;      // to compare values and to keep a place, of ArgMax
};

/// What tiles of at least this size reach, as a part of the unit's peak. Tables
/// of these begin with the largest size and end with 0.
struct Reached {
  double size, part;
};

/// Kernels that read and write memory once, element by element.
struct StreamCosts {
  double narrowPart;  // of the memory's rate, of accesses of no width
  double widthBytes;  // by which accesses gain the whole rate
  double stridedPart; // of that rate, where threads take several vectors
  double exposed;     // the power in which latency and memory add up
  double firstPart;   // of what threads that run at once move: nothing hides it
  double fetchedBytes; // that come from memory together
};

/// Data that leaves L2 before other data, by what takes something else's place,
/// or behind it.
struct PassingCosts {
  double leastBytes; // of a tensor
  // Of a tensor whose lines leave first: of more L2 keeps so little that what
  // it saves is less than what loads that pass it by lose.
  double mostBytes;
  double heldBytes; // read and written by a kernel, of which L2 holds all
  // The same: of more what is read stays longer than what is stored.
  double leastStayingBytes;
  // The same and what a next kernel stores, where L2 holds what is moved: of
  // more that one loses as much by what stays as this one gains.
  double mostStayingBytes;
};

struct PointwiseCosts {
  double instructions; // a thread: an index, its bounds and some arithmetic
  double instructionClocks; // one of a function, that few threads do not hide
  double waitsPart;         // by which memory takes longer, as functions wait
  double narrowWaitsPart;   // the same of long ones, where halves are stored
  double rowWaitsPart;      // and of rows that indices name
  double pickedPart;        // of the memory's rate, elements in random places
  double rowBytes;          // that a row in a random place takes beside its own
  double singleFillClocks;  // of a warp that puts elements into a held row
  double widerBlocksPart;   // of the time, that wider blocks must promise
  double siblingMicros; // shorter ones gain by being one, whatever they read
};

/// Rows of parts, as of a concat.
struct PartsCosts {
  // What a part costs beside its own, by whether it has whole sectors, or
  // halves.
  double sectorBytes, halfBytes, anywhereBytes;
  // Where blocks put rows together.
  double registers;     // of a thread, for what it begins together
  double instructions;  // of an element, of idle threads, too
  double enoughThreads; // of a multiprocessor, to ask memory
  double fewPart;       // by which memory takes longer, with half as many
  double lastPart;      // and with one wave, of which nothing hides the ends
};

struct ScanCosts {
  double registers;     // of a thread that keeps a part, beside that
  double tileRegisters; // of one that walks along columns by tiles
  double itemRegisters; // and for each item of a tile
  double flagMicros;    // until a part is told that another one was summed
  double turnMicros;    // from one turn of a field to the next
  double runMicros;     // of a few columns, which pass shared memory twice
  double leastMicros;   // shorter ones end before flags are seen
  // Of so many bytes, what is longer than these and a flag take is exposed as a
  // whole, of more as much of it, and this part at least.
  double exposedBytes, exposedPart;
  // Of a multiprocessor, for which scans along rows are compiled that store
  // what they load: of 32 bits by parts, and of 16.
  double residentThreads, narrowResidentThreads;
  double aheadPart; // of the blocks that run together, L2 fetches as far ahead
  // Of clusters.
  double clusterRegisters; // of a thread, beside what it keeps
  double cutRowRegisters;  // and of rows that begin anywhere
  // Of halves that are summed forwards, wherever their rows begin, and in all,
  // where indices have 32 bits.
  double narrowClusterRegisters, leastNarrowRegisters;
  double stepClocks;  // of one of its accesses
  double placeMicros; // a block, with its cluster's others
  double mostOfShare; // of memory, that a multiprocessor moves of what it keeps
  // Where blocks hold rows.
  double itemClocks; // an item, which waits for the one before
  double heldBytes;  // that a multiprocessor has for rows
};

/// What tiles that are transposed lose.
struct TransposeCosts {
  double alongWaste, acrossWaste; // powers of the points they have too many
  double smallTileLoss;           // of those that are not full
  // What a single element counts as a vector of, where a block has so many
  // threads that others hide what each of them waits for.
  double manyThreadsWidth;
};

/// Of bags, in latencies of the memory.
struct BagCosts {
  double shuffledLatency;   // to join sums inside a warp
  double joinedWarpLatency; // in shared memory, a warp
  double reducedLatency;    // to reduce a row
  double operandLatency;    // of what an epilogue reads, which a cache has
};

struct ChainCosts {
  double memoryPart;       // of the memory's rate
  double scatteredClocks;  // an element that a thread copies alone
  double issueClocks;      // an instruction of a warp, one that waits included
  double stepClocks;       // a step of four ks waits for its loads
  double fmaClocks;        // and for each of its sums
  double roundClocks;      // a thread's next sums
  double phaseClocks;      // a barrier
  double codePhaseClocks;  // to fetch a phase's code once
  double codeSumClocks;    // and that of each unrolled sum
  double startMicros;      // until the first block runs
  double fillMicros;       // until all blocks have the same code and weights
  double copiedByteMicros; // a byte of these
  double registers;        // of a thread
  double rowRegisters;     // and for each of its rows
};

/// Of all units whose blocks compute tile after tile.
struct TileCosts {
  double memoryPart;  // of the memory's rate
  double farRowsPart; // of L2's rate, with rows in pages of their own
  /// Of ranges of K: the norm by which the memory's time and that of the blocks
  /// are added, as neither hides the other wholly.
  double beside;
  double stageLatency;        // of a load, in latencies of the memory
  double leastStepClocks;     // a step along K, where all loads are in time
  double reducedClocks;       // a reduced element of a thread's epilogue
  double reductionCodeClocks; // to fetch the code of reductions
  double spreadRowBytes;      // long rows, which lose by not beginning at lines
  double leastRangesK;        // shorter ones gain nothing as ranges
  double mostRangesBytes;     // of results that stay near L2
};

struct PairCosts {
  double memoryPart;          // of the memory's rate, while weights stream
  double reached, reachedMma; // of the tensor cores' peak, by wgmma and mma
  double startMicros;         // until the first products
};

struct SimtCosts {
  double registers;    // of a thread, beside its sums
  double storedClocks; // an element of a thread's epilogue
  Reached reached[4];  // by the elements of a thread: its loads an FMA
};

struct MmaCosts {
  double registers;          // of a thread, beside its sums
  double narrowCopies;       // times as long where copies are of one element
  double storedInstructions; // an element
  Reached reached[5];        // by the elements of all accumulators
  Reached reachedTf32[2];
};

/// fp32 as three products of tf32, by mma.
struct Tf32x3Costs {
  double exposed; // part that halving the threads below `threads` adds
  double threads; // that hide splits and loads
  double registers, sumRegisters; // of a thread, and for each of its sums
  Reached reached[5];             // by the elements of all accumulators
};

struct WgmmaCosts {
  double registers;           // of a thread
  double storedByteClocks;    // a byte of the last tile
  double storedPingPong;      // part of these that a ping-pong shows, of each
  double storedCooperative;   // part of those of tiles before the last
  double pingPongMicros;      // a ping-pong starts and ends later
  double pingPongMegaMicros;  // and for 1024 ks of 128 columns
  double pingPongAloneMicros; // instead of both, with one tile a block
  double clusterMicros;
  double meetingMicros;     // of two blocks' sums
  double writtenBackMicros; // as much of B as `writtenBackBytes` in L2
  double writtenBackBytes;
  double rowsAt32, rowsAt16; // times as long for L2, with rows that begin there
  double hiddenRows;         // rows of a box outside of A that cost nothing
  double outsideClocks;      // one of the others, a step and block
  double alonePart;          // a ping-pong with one tile a block
  double tf32Part;           // in tf32, of what 16 bits reach
  double tf32WidePart;       // what the widest tiles reach in tf32
  double tf32WideK;          // of so long a K
  double wideLongPart;       // and in 16 bits, with one tile a block
  double wideLongK;          // of so long a K
  double leastSplitK;        // shorter ones lose where two blocks divide them
  double bandK;              // from here on bands of few rows of tiles gain
  double manyWeightBytes;    // all of L2 is theirs, whatever leaves it first
  double driftingRowBytes;   // of so long rows misses fetch no more than a line
  double turnRowBytes;       // of so long ones ranges take turns
  double turnRows;           // where one matrix has no more rows
  // By the columns of all accumulators, which share what is read of A.
  Reached reached[6], reachedPingPong[4], reachedBy64Rows[2], reachedTf32x3[2];
};

/// Wgmma whose rows are columns of the result.
struct SwappedCosts {
  double mostPart;     // of the clocks in which shared memory is read
  double reached;      // with 128 rows
  double reachedBy192; // with 192
  double fewStages;    // part of it that fewer than `stages` reach
  double stages;
};

/// The part that long runs of tiles leave: blocks lose step, and L2 no longer
/// has what another block read, unless clusters share it.
struct LongRunCosts {
  double longK;         // from here on a K is long
  double longWaves;     // tiles a block, above which a long K loses
  double longPart;      // leaves this
  double longPingPong;  // a ping-pong of fewer has little to hide
  double narrowColumns; // tiles that read most
  double narrowLost;    // narrow ping-pongs lose this between
  double narrowFrom;    // so many tiles a block
  double narrowOver;    // and so many more
  double narrowTwoLost; // the same with several accumulators
  double narrowTwoFrom, narrowTwoOver;
  double narrowFromK, narrowOverK; // in full only of so long a K
  double narrowClusters;           // narrow ping-pongs in clusters leave this
  double waves;                    // above which others leave
  double part, partTwo;            // this, with one and several accumulators
};

/// An operand of wgmma that is made in registers.
struct MadeCosts {
  double elementInstructions; // beside those of what is computed
  double byteInstructions;    // the same of elements of 8 bits
  double convertInstructions; // all of those that only become fp16
  double exposed;             // part of the shorter of making and multiplying
  double sharedPart;          // of the clocks that shared memory has to take
  double start;               // clocks before the first product
  double alongK; // more of them where vectors along K are read, too
};

/// A narrow product inside a wide one's launch.
struct LeadCosts {
  double flagMicros; // until its flag is seen
  double stepClocks; // a step along its K
};

struct GemvCosts {
  double alongPart, acrossPart; // of the memory's rate, by the weights' layout
  double stepLatency;           // a step, in latencies of the memory
  double weightInstructions;    // a weight
  double narrowInstructions;    // and each row or column it is used for
  double fmaPart;               // of the peak, across
  // Of a multiprocessor at a time, along and across.
  double residentWarps, residentBlocks;
};

/// Few rows under a stream of weights.
struct SkinnyCosts {
  double memory;       // times as long as at the memory's rate
  double memoryTokens; // and for 64 tokens
  double ringBytes;    // a clock, that a block's ring keeps on their way
  double startMicros;  // a wave of blocks
  double sentClocks;   // a sum sent to the cluster
  double aloneMicros;  // a block without another beside it hides nothing
  double reductionCodeClocks;
  // With split factors, a step of a block beside another one, or alone.
  double besideClocks, besideTokenClocks;
  double aloneClocks, aloneTokenClocks, aloneLeastClocks;
};

/// Weights that stay in shared memory.
struct ResidentCosts {
  double instructions; // a sum
  double memoryPart;   // of the memory's rate
  double written;      // what a written byte adds
  double startMicros;
};

struct Costs {
  Rates rates;
  OpCosts ops;
  StreamCosts stream;
  PassingCosts passing;
  PointwiseCosts pointwise;
  PartsCosts parts;
  ReduceCosts reduce;
  ColumnCosts columns;
  KeptColumnCosts keptColumns;
  RowCosts row;
  NestedCosts nested;
  ScanCosts scan;
  TransposeCosts transpose;
  BagCosts bag;
  ChainCosts chain;
  PairCosts pairs;
  TileCosts tile;
  SimtCosts simt;
  MmaCosts mma;
  Tf32x3Costs tf32x3;
  WgmmaCosts wgmma;
  SwappedCosts swapped;
  LongRunCosts longRun;
  MadeCosts made;
  LeadCosts lead;
  GemvCosts gemv;
  SkinnyCosts skinny;
  ResidentCosts resident;
};

} // namespace fusec

#endif // FUSEC_COMPILER_SCHEDULE_COSTS_H
