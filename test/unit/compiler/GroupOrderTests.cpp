// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/transforms/fusion/GroupOrder.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"
#include <numeric>
#include <random>

using namespace fusec;

/// A list that does the same, element by element.
static void moveBehind(std::vector<unsigned> &list, unsigned place,
                       const std::vector<unsigned> &ids, bool toFront) {
  std::vector<unsigned> moved, kept;
  for (unsigned id : list)
    (llvm::is_contained(ids, id) ? moved : kept).push_back(id);
  auto at = toFront ? kept.begin() : std::next(llvm::find(kept, place));
  kept.insert(at, moved.begin(), moved.end());
  list = kept;
}

static std::vector<unsigned> countUp(unsigned count) {
  std::vector<unsigned> list(count);
  std::iota(list.begin(), list.end(), 0);
  return list;
}

static void expectOrder(const GroupOrder &order,
                        const std::vector<unsigned> &list) {
  for (size_t i = 0; i + 1 < list.size(); ++i) {
    EXPECT_TRUE(order.isBefore(list[i], list[i + 1]));
    EXPECT_FALSE(order.isBefore(list[i + 1], list[i]));
    EXPECT_EQ(order.getPrevious(list[i + 1]), list[i]);
  }
}

TEST(GroupOrder, movesGroupsInTheirOrder) {
  constexpr unsigned count = 40;
  std::mt19937 random(0);
  std::vector<unsigned> list = countUp(count);
  std::shuffle(list.begin(), list.end(), random);
  GroupOrder order(count, list);
  expectOrder(order, list);
  const unsigned end = order.getPrevious(list[0]);
  for (unsigned round = 0; round < 2000; ++round) {
    std::vector<unsigned> ids;
    for (unsigned id : list)
      if (random() % 8 == 0)
        ids.push_back(id);
    unsigned place = list[random() % list.size()];
    bool toFront = random() % 8 == 0;
    if (!toFront && llvm::is_contained(ids, place))
      continue;
    moveBehind(list, place, ids, toFront);
    std::shuffle(ids.begin(), ids.end(), random);
    order.moveBehind(toFront ? end : place, ids);
    expectOrder(order, list);
  }
}

/// Between two labels there is room for few: all are written anew then.
TEST(GroupOrder, findsRoomAgainAndAgain) {
  constexpr unsigned count = 1000;
  GroupOrder order(count, countUp(count));
  std::vector<unsigned> list;
  for (unsigned id = count; id-- > 1;) {
    unsigned moved[] = {count - id};
    order.moveBehind(0, moved);
    list.push_back(id);
  }
  list.insert(list.begin(), 0);
  expectOrder(order, list);
}

TEST(GroupOrder, removes) {
  GroupOrder order(3, {0, 1, 2});
  order.remove(1);
  EXPECT_EQ(order.getPrevious(2), 0u);
  EXPECT_TRUE(order.isBefore(0, 2));
}
