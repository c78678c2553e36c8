// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows whose means, and squares of what is apart from them, a team of blocks
// finds: any that follow one another in the grid, on any multiprocessors, which
// hold a part of the row each and meet once, in memory. Of clusters a device
// has room for fewer blocks at a time, and of shorter rows.
//
// Blocks wait for others of their team, some of which may have begun later. A
// GPU begins blocks in the order of their numbers (placeOfBlock), and those of
// a grid before those of the next of the same priority (Amert and others, GPU
// Scheduling on the NVIDIA TX2: Hidden Details Revealed, 2017): one team of
// each priority at most is not all there, and all others end. So there is no
// waiting for ever where a device has room for these. Teams have at most a
// quarter of it; the loader refuses a device without room for one.

#ifndef FUSEC_KERNELS_REDUCE_TEAM_H
#define FUSEC_KERNELS_REDUCE_TEAM_H

#include "launch_words.h"
#include "reduce_blocks.h"
#include "reduce_kept.h"

namespace fusec {

/// A scope like those of reduce.h; rows by Team.
template <int Threads, int Blocks>
struct TeamScope : BlocksOfRow<Threads, Blocks> {};

template <int Threads, int Blocks>
constexpr bool isOfBlocks<TeamScope<Threads, Blocks>> = true;

/// Of a row: its sum, and that of squares of what is apart from its mean.
struct Moments {
  float sum, squares;
};

namespace detail {
/// The mean of some items, and the sum of squares of what is apart from it.
/// Those of parts are joined as Chan, Golub and LeVeque do (Updating Formulae
/// and a Pairwise Algorithm for Computing Sample Variances, 1979).
struct Spread {
  float mean, squares;

  /// The sum of squares of what the items, so many, are apart from `other`.
  FUSEC_DEVICE float squaresFrom(float other, float items) const {
    const float apart = mean - other;
    return squares + items * (apart * apart);
  }
};
} // namespace detail

/// The block in its team. Flags have FlagWords::ofTeamBlock words for each
/// block of the grid.
template <class Scope> class Team {
public:
  explicit FUSEC_DEVICE Team(u32 *flags) : told(flags) {
    if (launch::lanes() == 1)
      return;
    words = told.words() + Scope::group() * (Scope::blocks * ofBlock);
    if (launch::thread() == 0)
      told.ask();
    // Who asks for a word of a sector that is not in L2 waits for the memory.
    constexpr int sector = 4;
    const int word = launch::thread() * sector;
    if (word < Scope::blocks * ofBlock)
      primitive::fetch(words + word);
  }

  /// Calls body(row) of the team's only row.
  template <class Body> FUSEC_DEVICE void forRow(Body body) {
    if (launch::lanes() == 1 && Scope::rank() != 0)
      return;
    body(Scope::group());
    if (launch::lanes() > 1 && launch::thread() == 0)
      told.end();
  }

  /// Of a row of `count` items, of which each thread has `Steps` vectors:
  /// body(step, k, add) calls add(item) for those of a vector, and is called
  /// twice. What squares are apart from is the mean as a `Mean`. `fetch` is
  /// called once all items are there, before the block waits for others.
  template <int V, int Steps, class Mean = float, class Index, class Fetch,
            class Body>
  FUSEC_DEVICE Moments findMoments(Index count, Fetch fetch, Body body) {
    typedef BlockScope<Scope::threads> Block;
    auto addAll = [&](auto add) {
      float total = 0.0f;
      forEachKept<Scope, V, Steps, true>(count, [&](int step, Index k) {
        body(step, k, [&](float item) { add(total, item); });
      });
      return Block::template reduce<Sum<float>>(total);
    };
    const float items = float(count);
    detail::Spread own;
    own.mean = addAll([](float &sum, float item) { sum += item; }) /
               (items / float(Scope::blocks));
    own.squares = addAll([&](float &sum, float item) {
      const float apart = item - own.mean;
      sum += apart * apart;
    });
    fetch();
    return meet<Mean>(own, items);
  }
  template <int V, int Steps, class Mean = float, class Index, class Body>
  FUSEC_DEVICE Moments findMoments(Index count, Body body) {
    return findMoments<V, Steps, Mean>(
        count, [] {}, body);
  }

private:
  static constexpr int ofBlock = FlagWords::ofTeamBlock;

  template <class Mean> static FUSEC_DEVICE float round(float mean) {
    return cast<float>(cast<Mean>(mean));
  }

  template <class Mean>
  FUSEC_DEVICE Moments meet(detail::Spread own, float items) {
    if (launch::lanes() == 1)
      return {own.mean * items, own.squaresFrom(round<Mean>(own.mean), items)};
    FUSEC_SHARED Moments all;
    if (launch::warp() == 0) {
      told.setNumber(primitive::shuffle(told.getAsked(), 0));
      if (launch::lane() == 0) {
        u64 *word = words + Scope::block() * ofBlock;
        told.tell(word, own.mean);
        told.tell(word + 1, own.squares);
      }
      const Moments found = awaitAll<Mean>(items);
      if (launch::lane() == 0) {
        all = found;
        told.leave();
      }
    }
    launch::barrier();
    return all;
  }

  /// By a warp, each lane of which asks for what every 32nd block has found.
  template <class Mean> FUSEC_DEVICE Moments awaitAll(float items) const {
    constexpr int asked = (Scope::blocks + 31) / 32;
    detail::Spread found[asked];
    auto forEachAsked = [&](auto body) {
      FUSEC_UNROLL
      for (int n = 0; n < asked; ++n)
        if (const int block = n * 32 + launch::lane(); block < Scope::blocks)
          body(found[n], words + block * ofBlock);
    };
    float mean = 0.0f, squares = 0.0f;
    forEachAsked([&](detail::Spread &of, const u64 *word) {
      const auto both = told.template awaitTwo<float>(word);
      of = {both.first, both.second};
      mean += of.mean;
    });
    mean = reduceLanes<Sum<float>>(mean) / float(Scope::blocks);
    const float rounded = round<Mean>(mean);
    forEachAsked([&](const detail::Spread &of, const u64 *) {
      squares += of.squaresFrom(rounded, items / float(Scope::blocks));
    });
    return {mean * items, reduceLanes<Sum<float>>(squares)};
  }

  LaunchWords told;
  u64 *words = nullptr;
};

} // namespace fusec

#endif // FUSEC_KERNELS_REDUCE_TEAM_H
