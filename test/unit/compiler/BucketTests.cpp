// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which schedule serves which sizes of a named batch.

#include "compiler/schedule/Schedules.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace fusec;

namespace {
/// The time of schedule i at a size.
typedef std::function<double(unsigned schedule, int64_t size)> Times;

class Buckets : public testing::Test {
protected:
  Buckets() { context.loadDialect<FusecDialect>(); }

  Attribute schedule(unsigned i) {
    return PointwiseScheduleAttr::get(&context, 256, 1 << i, 64);
  }
  /// Of the bucket of a size: the one that runs there.
  Attribute at(int64_t size) {
    for (VariantAttr variant : variants)
      if (llvm::all_of(variant.getGuards(), [&](GuardAttr guard) {
            return size > Expr(guard.getRhs()).getValue();
          }))
        return variant.getSchedule();
    return nullptr;
  }
  void choose(unsigned count, Times times) {
    variants.clear();
    addBuckets(
        Expr::symbol(&context, "m"), {},
        [&](int64_t size) {
          SmallVector<Candidate> candidates;
          for (unsigned i = 0; i < count; ++i)
            if (double time = times(i, size))
              candidates.push_back({schedule(i), {time, TimeBound::Tensor}});
          return candidates;
        },
        variants);
  }

  MLIRContext context;
  SmallVector<VariantAttr> variants;
};
} // namespace

TEST_F(Buckets, OneKernelWhereNoOtherGains) {
  choose(2, [](unsigned i, int64_t size) {
    return i == 0 ? 10 + size : (10 + size) * 1.001;
  });
  EXPECT_EQ(variants.size(), 1u);
  EXPECT_EQ(at(1), schedule(0));
}

TEST_F(Buckets, OneForFewAndOneForMany) {
  choose(2, [](unsigned i, int64_t size) {
    bool suits = (i == 0) == (size <= 128);
    return suits ? 10 : 20;
  });
  EXPECT_EQ(variants.size(), 2u);
  EXPECT_EQ(at(1), schedule(0));
  EXPECT_EQ(at(128), schedule(0));
  EXPECT_EQ(at(129), schedule(1));
  EXPECT_EQ(at(1000000), schedule(1));
}

// The third is never the fastest, and 0.2% behind everywhere, which two kernels
// more would not be worth.
TEST_F(Buckets, OneInPlaceOfSeveral) {
  choose(3, [](unsigned i, int64_t size) {
    bool suits = (i == 0) == (size <= 128 || size > 1024);
    return i == 2 ? 10.02 : suits ? 10.0 : 10.2;
  });
  EXPECT_EQ(variants.size(), 1u);
  EXPECT_EQ(at(500), schedule(2));
}

// However few the sizes, none is served much more slowly than it could be.
TEST_F(Buckets, NoSizeIsGivenUp) {
  choose(2, [](unsigned i, int64_t size) {
    return i == 0 ? 10 : size == 512 ? 7 : 1000;
  });
  EXPECT_EQ(at(448), schedule(0));
  EXPECT_EQ(at(512), schedule(1));
  EXPECT_EQ(at(640), schedule(0));
}

TEST_F(Buckets, SchedulesThatOnlySomeSizesHave) {
  choose(2, [](unsigned i, int64_t size) {
    return i == 0 ? 10 : size <= 64 ? 5 : 0;
  });
  EXPECT_EQ(variants.size(), 2u);
  EXPECT_EQ(at(64), schedule(1));
  EXPECT_EQ(at(65), schedule(0));
}
