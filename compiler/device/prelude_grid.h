// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The PTX by which blocks of one grid wait for one another, or share out what
// there is to do, through flags in global memory. Whoever waits needs the
// others to be running: the whole grid is launched at once.

#ifndef FUSEC_DEVICE_PRELUDE_GRID_H
#define FUSEC_DEVICE_PRELUDE_GRID_H

#include "prelude.h"

#ifndef FUSEC_HOST
namespace fusec {
namespace primitive {

/// Adds one, after everything that this thread, and those it has met at a
/// barrier, wrote to global memory; the copy engine sees that too.
FUSEC_DEVICE void signal(u32 *flag) {
  asm volatile("fence.proxy.async.global;\n"
               "fence.acq_rel.gpu;\n"
               "red.relaxed.gpu.global.add.u32 [%0], 1;" ::"l"(flag)
               : "memory");
}
/// Waits until the flag holds `count`. Then this thread, and what it makes the
/// copy engine do, sees what was written before those signals.
FUSEC_DEVICE void awaitSignals(const u32 *flag, u32 count) {
  u32 value;
  do {
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                 : "=r"(value)
                 : "l"(flag)
                 : "memory");
  } while (value < count);
  asm volatile("fence.proxy.async.global;" ::: "memory");
}
/// The same without the copy engine, and of any number.
FUSEC_DEVICE void addToFlag(u32 *flag, u32 number) {
  asm volatile("fence.acq_rel.gpu;\n"
               "red.relaxed.gpu.global.add.u32 [%0], %1;" ::"l"(flag),
               "r"(number)
               : "memory");
}
/// Waits until isReady(what the flag holds). Many may wait for few flags: each
/// asks now and then, or those who signal would wait for those who ask.
template <class Ready>
FUSEC_DEVICE void awaitFlag(const u32 *flag, Ready isReady) {
  u32 value;
  while (true) {
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                 : "=r"(value)
                 : "l"(flag)
                 : "memory");
    if (isReady(value))
      return;
    asm volatile("nanosleep.u32 100;");
  }
}
/// Adds one and returns what there was.
FUSEC_DEVICE u32 countUp(u32 *flag) {
  u32 before;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;"
               : "=r"(before)
               : "l"(flag)
               : "memory");
  return before;
}
/// Returns what there was and adds one, or begins again at zero after `last`.
FUSEC_DEVICE u32 takeTurn(u32 *flag, u32 last) {
  u32 before;
  asm volatile("atom.relaxed.gpu.global.inc.u32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(flag), "r"(last)
               : "memory");
  return before;
}
/// The block's place in the order in which blocks begin, so that whom it waits
/// for has begun before it. A GPU begins them in the order of their numbers, on
/// which CUB's scans rely, too: to draw a number takes a microsecond before the
/// first load.
FUSEC_DEVICE u32 placeOfBlock(u32 *) { return u32(launch::block()); }
/// A word that holds all there is to tell, so that nothing else need be seen.
FUSEC_DEVICE void tellWord(u64 *word, u64 value) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(word), "l"(value)
               : "memory");
}
/// Has L2 fetch what lies there.
FUSEC_DEVICE void fetch(const void *place) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(place));
}
FUSEC_DEVICE void fetchStaying(const void *place) {
  asm volatile("prefetch.global.L2::evict_last [%0];" ::"l"(place));
}
FUSEC_DEVICE u64 peekWord(const u64 *word) {
  u64 value;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];"
               : "=l"(value)
               : "l"(word)
               : "memory");
  return value;
}
FUSEC_DEVICE u32 peekFlag(const u32 *flag) {
  u32 value;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];"
               : "=r"(value)
               : "l"(flag)
               : "memory");
  return value;
}

} // namespace primitive
} // namespace fusec
#else
namespace fusec {
namespace primitive {

// Blocks of a host run in order, on any number of threads.
inline u32 countUp(u32 *flag) {
  return __atomic_fetch_add(flag, 1u, __ATOMIC_ACQ_REL);
}
inline void addToFlag(u32 *flag, u32 number) {
  __atomic_fetch_add(flag, number, __ATOMIC_ACQ_REL);
}
template <class Ready> inline void awaitFlag(const u32 *flag, Ready isReady) {
  while (!isReady(__atomic_load_n(flag, __ATOMIC_ACQUIRE))) {
  }
}
inline u32 takeTurn(u32 *flag, u32 last) {
  u32 before = __atomic_load_n(flag, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(flag, &before,
                                      before >= last ? 0 : before + 1, false,
                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return before;
}
/// Threads take any blocks.
inline u32 placeOfBlock(u32 *turn) {
  return takeTurn(turn, u32(launch::blocks()) - 1);
}
inline void tellWord(u64 *word, u64 value) {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}
inline void fetch(const void *) {}
inline void fetchStaying(const void *) {}
inline u64 peekWord(const u64 *word) {
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}
inline u32 peekFlag(const u32 *flag) {
  return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

} // namespace primitive
} // namespace fusec
#endif // FUSEC_HOST

#endif // FUSEC_DEVICE_PRELUDE_GRID_H
