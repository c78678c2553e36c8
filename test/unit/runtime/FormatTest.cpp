// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hashes, expressions, names.

#include "runtime/format/Bounds.h"
#include "runtime/format/Printable.h"
#include "runtime/format/Sha256.h"
#include "runtime/format/Target.h"

#include <gtest/gtest.h>
#include <random>

using namespace fusec::format;

namespace {
std::string hashOf(const std::string &text) {
  return toHex(Sha256::hash(text.data(), text.size()));
}

Expr make(Expr::Op op, int64_t lhs, int64_t rhs) {
  return Expr::make(op, {Expr(lhs), Expr(rhs)});
}
int64_t value(const Expr &expr) {
  return evaluate(expr, nullptr).value_or(INT64_MIN);
}
} // namespace

// The examples of FIPS 180-4.
TEST(Sha256, KnownMessages) {
  EXPECT_EQ(hashOf(""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hashOf("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hashOf("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hashOf(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesGiveTheSameHash) {
  std::string text(1000, 'x');
  for (size_t piece : {1, 3, 63, 64, 65, 127, 999}) {
    Sha256 sha;
    for (size_t i = 0; i < text.size(); i += piece)
      sha.update(text.data() + i, std::min(piece, text.size() - i));
    EXPECT_EQ(toHex(sha.finish()), hashOf(text)) << piece;
  }
}

TEST(Expr, Arithmetic) {
  EXPECT_EQ(value(make(Expr::Op::Add, 3, 4)), 7);
  EXPECT_EQ(value(make(Expr::Op::Sub, 3, 4)), -1);
  EXPECT_EQ(value(make(Expr::Op::FloorDiv, -7, 2)), -4);
  EXPECT_EQ(value(make(Expr::Op::FloorDiv, 7, 2)), 3);
  EXPECT_EQ(value(make(Expr::Op::CeilDiv, 7, 2)), 4);
  EXPECT_EQ(value(make(Expr::Op::CeilDiv, -7, 2)), -3);
  EXPECT_EQ(value(make(Expr::Op::CeilDiv, 0, 128)), 0);
  EXPECT_EQ(value(make(Expr::Op::Mod, -7, 3)), 2);
  EXPECT_EQ(value(make(Expr::Op::Min, 3, 4)), 3);
  EXPECT_EQ(value(Expr::make(Expr::Op::Max, {Expr(1), Expr(9), Expr(4)})), 9);
}

TEST(Expr, ErrorsAreNoValue) {
  EXPECT_FALSE(evaluate(make(Expr::Op::Add, INT64_MAX, 1), nullptr));
  EXPECT_FALSE(evaluate(make(Expr::Op::Mul, INT64_MAX, 2), nullptr));
  EXPECT_FALSE(evaluate(make(Expr::Op::Sub, INT64_MIN, 1), nullptr));
  EXPECT_FALSE(evaluate(make(Expr::Op::FloorDiv, 1, 0), nullptr));
  EXPECT_FALSE(evaluate(make(Expr::Op::Mod, 1, 0), nullptr));
  EXPECT_FALSE(evaluate(make(Expr::Op::CeilDiv, INT64_MIN, -1), nullptr));
  EXPECT_FALSE(evaluate(Expr::dim("batch"), nullptr)) << "not resolved";
}

TEST(Expr, DimsAndText) {
  Expr expr =
      Expr::mul(Expr::make(Expr::Op::CeilDiv, {Expr::dim("batch"), Expr(128)}),
                Expr::add(Expr::dim("n"), Expr(1)));
  EXPECT_EQ(toString(expr), "ceildiv(batch, 128) * (n + 1)");
  std::string unknown;
  EXPECT_FALSE(resolveDims(expr, {"batch"}, unknown));
  EXPECT_EQ(unknown, "n");
  ASSERT_TRUE(resolveDims(expr, {"batch", "n"}, unknown));
  int64_t dims[] = {129, 4};
  EXPECT_EQ(evaluate(expr, dims), 10);
}

static Expr randomExpr(std::mt19937 &random, unsigned depth) {
  static const int64_t constants[] = {0,  1,  -1,        2,        3,
                                      -7, 64, INT64_MAX, INT64_MIN};
  if (depth == 0 || random() % 4 == 0) {
    if (random() % 2)
      return Expr(constants[random() % std::size(constants)]);
    Expr dim = Expr::dim("n");
    dim.value = int64_t(random() % 2);
    return dim;
  }
  auto op = Expr::Op(unsigned(Expr::Op::Add) + random() % 8);
  return Expr::make(
      op, {randomExpr(random, depth - 1), randomExpr(random, depth - 1)});
}

// They hold for all dimensions, and say nothing where no value is.
TEST(Expr, Bounds) {
  EXPECT_TRUE(findBounds(Expr(-4))->isNegative());
  EXPECT_TRUE(findBounds(make(Expr::Op::Sub, 3, 4))->isNegative());
  EXPECT_TRUE(findBounds(Expr::mul(Expr(-2), Expr::dim("n")))->isNegative());
  EXPECT_FALSE(findBounds(Expr(0))->isNegative());
  EXPECT_FALSE(findBounds(Expr::add(Expr(-5), Expr::dim("n")))->isNegative())
      << "what it needs is more";
  EXPECT_FALSE(findBounds(make(Expr::Op::Add, INT64_MAX, 1)));
  EXPECT_FALSE(findBounds(make(Expr::Op::Mod, 1, 0)));
  std::mt19937 random(8);
  unsigned known = 0;
  for (int round = 0; round != 20000; ++round) {
    Expr expr = randomExpr(random, 3);
    std::optional<Bounds> bounds = findBounds(expr);
    for (int64_t n : {0, 1, 7}) {
      int64_t dims[] = {n, round % 2 ? 3 : INT64_MAX};
      std::optional<int64_t> value = evaluate(expr, dims);
      if (!value)
        continue;
      ++known;
      ASSERT_TRUE(bounds) << toString(expr);
      EXPECT_LE(bounds->least, *value) << toString(expr);
      EXPECT_GE(bounds->most, *value) << toString(expr);
    }
  }
  EXPECT_GT(known, 10000u);
}

TEST(Printable, Characters) {
  EXPECT_EQ(printable("layer.0 'a\\b'"), "layer.0 'a\\b'");
  EXPECT_EQ(printable("\x1b[2J\n\x7f"), "\\x1b[2J\\x0a\\x7f");
  EXPECT_EQ(printable(std::string("a\0b", 3)), "a\\x00b");
  // Of two, three and four bytes, and C1's control characters.
  EXPECT_EQ(printable("\u00e9\u20ac\U0001f600"), "\u00e9\u20ac\U0001f600");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");
  // Cut short, longer than need be, surrogates, beyond Unicode, and alone.
  EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82");
  EXPECT_EQ(printable("\xc0\x8a"), "\\xc0\\x8a");
  EXPECT_EQ(printable("\xe0\x80\x8a"), "\\xe0\\x80\\x8a");
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(printable("\x80z"), "\\x80z");
}

TEST(Printable, CutBetweenCharacters) {
  EXPECT_EQ(shorten("abcdef", 6), "abcdef");
  EXPECT_EQ(shorten("abcdefg", 6), "abc...");
  EXPECT_EQ(shorten("ab\u20acdefg", 6), "ab...");
}

TEST(Target, Names) {
  EXPECT_EQ(parseTarget("sm_90a")->capability, 90u);
  EXPECT_TRUE(parseTarget("sm_90a")->archSpecific);
  EXPECT_EQ(parseTarget("sm_120")->major(), 12u);
  EXPECT_TRUE(parseTarget("ptx")->ptx);
  for (const char *name : {"", "sm_", "sm_9", "sm_09", "sm_1234", "sm_90b",
                           "sm_a", "SM_90", "ptx2"})
    EXPECT_FALSE(parseTarget(name)) << name;
}
