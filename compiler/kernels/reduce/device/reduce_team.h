// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows that a team of blocks reduces: any that follow one another in the grid,
// on any multiprocessors, which hold a part of the row each and meet once, in
// memory. Of clusters a device has room for fewer blocks at a time, and of
// shorter rows.
//
// Blocks wait for others of their team, some of which may have begun later. A
// GPU begins blocks in the order of their numbers (placeOfBlock), and those of
// a grid before those of the next of the same priority, even where there is
// room for the next one's alone (Amert and others, GPU Scheduling on the NVIDIA
// TX2: Hidden Details Revealed, 2017; so does an H200): one team of each
// priority at most is not all there, and all others end. So there is no waiting
// for ever where a device has room for these. Teams have at most a quarter of
// it; the loader refuses a device without room for one.

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

  // Of a row of `count` items, of which each thread has `Steps` vectors:
  // body(step, k, add) calls add(item) for those of a vector. `fetch` is called
  // once all items are there, before the block waits for others. Every thread
  // gets the result.

  /// Combines them.
  template <class Op, int V, int Steps, class Index, class Fetch, class Body>
  FUSEC_DEVICE typename Op::Value reduce(Index count, Fetch fetch, Body body) {
    const auto own =
        reduceOwn<Op, V, Steps>(count, body, [](auto total, auto item) {
          return Op::combine(total, item);
        });
    fetch();
    return meet(own, combineAll<Op>);
  }

  /// Their sum, and that of squares of what they are apart from their mean as a
  /// `Mean`. The body is called twice.
  template <int V, int Steps, class Mean = float, class Index, class Fetch,
            class Body>
  FUSEC_DEVICE Moments findMoments(Index count, Fetch fetch, Body body) {
    const float items = float(count), ownItems = items / float(Scope::blocks);
    detail::Spread own;
    own.mean =
        reduceOwn<Sum<float>, V, Steps>(
            count, body, [](float sum, float item) { return sum + item; }) /
        ownItems;
    own.squares = reduceOwn<Sum<float>, V, Steps>(
        count, body, [&](float sum, float item) {
          const float apart = item - own.mean;
          return sum + apart * apart;
        });
    fetch();
    return meet(own, [&](const Found<detail::Spread> &found) -> Moments {
      float mean = 0.0f, squares = 0.0f;
      found.forEach([&](detail::Spread of) { mean += of.mean; });
      mean = reduceLanes<Sum<float>>(mean) / float(Scope::blocks);
      const float rounded = cast<float>(cast<Mean>(mean));
      found.forEach([&](detail::Spread of) {
        squares += of.squaresFrom(rounded, ownItems);
      });
      return {mean * items, reduceLanes<Sum<float>>(squares)};
    });
  }

  /// The largest, and the sum of exponentials below it, as reduceOnline
  /// (reduce_online.h) finds them. The body is called twice.
  template <class Op, int V, int Steps, bool isFinite = false, class Index,
            class Fetch, class Body>
  FUSEC_DEVICE MostAndSum findMostAndSum(Index count, Fetch fetch, Body body) {
    struct Nothing {
      FUSEC_DEVICE void put(int, int, float) {}
      FUSEC_DEVICE void scale(float) {}
    };
    return findMostAndSum<Op, V, Steps, isFinite>(count, fetch, body,
                                                  Nothing());
  }
  /// The same, which keeps the exponentials for what comes behind: in place of
  /// the items, if these are there.
  template <class Op, int V, int Steps, bool isFinite = false, class Index,
            class Fetch, int Kept, class Body>
  FUSEC_DEVICE MostAndSum findMostAndSum(Index count, Fetch fetch,
                                         Vec<float, V> (&kept)[Kept],
                                         Body body) {
    struct Powers {
      Vec<float, V> (&kept)[Kept];
      FUSEC_DEVICE void put(int step, int lane, float power) {
        kept[step][lane] = power;
      }
      FUSEC_DEVICE void scale(float factor) {
        FUSEC_UNROLL
        for (int step = 0; step < Kept; ++step)
          FUSEC_UNROLL
        for (int lane = 0; lane < V; ++lane)
          kept[step][lane] *= factor;
      }
    };
    return findMostAndSum<Op, V, Steps, isFinite>(count, fetch, body,
                                                  Powers{kept});
  }

private:
  static constexpr int ofBlock = FlagWords::ofTeamBlock,
                       asked = (Scope::blocks + 31) / 32;

  /// What a lane has learnt of some of the blocks.
  template <class T> struct Found {
    T values[asked];
    template <class Body> FUSEC_DEVICE void forEach(Body body) const {
      FUSEC_UNROLL
      for (int n = 0; n < asked; ++n)
        if (isAsked(n))
          body(values[n]);
    }
  };
  /// Whether the lane asks a block for the n-th time: every 32nd of them.
  static FUSEC_DEVICE bool isAsked(int n) {
    return n * 32 + launch::lane() < Scope::blocks;
  }
  /// The words in which a block tells what it found.
  template <class T> union Words {
    static constexpr int count = int(sizeof(T) / sizeof(u32));
    static_assert(count * sizeof(u32) == sizeof(T) && count <= ofBlock);
    T value;
    u32 words[count];
    FUSEC_DEVICE Words() {}
  };

  /// What add(total, item) makes of the block's own items.
  template <class Op, int V, int Steps, class Index, class Body, class Add>
  static FUSEC_DEVICE typename Op::Value reduceOwn(Index count, Body body,
                                                   Add add) {
    auto total = Op::identity();
    forEachKept<Scope, V, Steps, true>(count, [&](int step, Index k) {
      body(step, k, [&](typename Op::Value item) { total = add(total, item); });
    });
    return BlockScope<Scope::threads>::template reduce<Op>(total);
  }

  /// The block's exponentials are below its own largest until all have met.
  template <class Op, int V, int Steps, bool isFinite, class Index, class Fetch,
            class Body, class Powers>
  FUSEC_DEVICE MostAndSum findMostAndSum(Index count, Fetch fetch, Body body,
                                         Powers powers) {
    MostAndSum own;
    own.most =
        reduceOwn<Max<float>, V, Steps>(count, body, Max<float>::combine);
    const float from = Op::getFrom(own.most);
    own.sum = 0.0f;
    forEachKept<Scope, V, Steps, true>(count, [&](int step, Index k) {
      int lane = 0;
      body(step, k, [&](float item) {
        const float power = Op::Exp::of(item - from);
        powers.put(step, lane++, power);
        own.sum += power;
      });
    });
    own.sum = BlockScope<Scope::threads>::template reduce<Sum<float>>(own.sum);
    fetch();
    const MostAndSum all = meet(own, combineAll<Op>);
    powers.scale(Op::below(own.most, all.most));
    return Op::template getResult<isFinite>(all);
  }

  template <class Op>
  static FUSEC_DEVICE typename Op::Value
  combineAll(const Found<typename Op::Value> &found) {
    auto total = Op::identity();
    found.forEach([&](auto value) { total = Op::combine(total, value); });
    return reduceLanes<Op>(total);
  }

  /// What join(found) makes of what all blocks have, by the lanes of a warp.
  template <class T, class Join>
  FUSEC_DEVICE auto meet(const T &own, Join join)
      -> decltype(join(Found<T>())) {
    Found<T> found;
    if (launch::lanes() == 1) {
      found.values[0] = own;
      return join(found);
    }
    FUSEC_SHARED decltype(join(found)) all;
    if (launch::warp() == 0) {
      told.setNumber(primitive::shuffle(told.getAsked(), 0));
      if (launch::lane() == 0)
        tell(own);
      FUSEC_UNROLL
      for (int n = 0; n < asked; ++n)
        if (isAsked(n))
          found.values[n] = await<T>(n * 32 + launch::lane());
      const auto joined = join(found);
      if (launch::lane() == 0) {
        all = joined;
        told.leave();
      }
    }
    launch::barrier();
    return all;
  }

  template <class T> FUSEC_DEVICE void tell(const T &own) const {
    Words<T> sent;
    sent.value = own;
    FUSEC_UNROLL
    for (int word = 0; word < Words<T>::count; ++word)
      told.tell(words + Scope::block() * ofBlock + word, sent.words[word]);
  }
  template <class T> FUSEC_DEVICE T await(int block) const {
    Words<T> came;
    told.awaitAll(words + block * ofBlock, came.words);
    return came.value;
  }

  LaunchWords told;
  u64 *words = nullptr;
};

} // namespace fusec

#endif // FUSEC_KERNELS_REDUCE_TEAM_H
