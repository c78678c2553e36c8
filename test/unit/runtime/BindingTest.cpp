// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is refused of tensors, dimensions and expressions when they are bound,
// and when a run of them is prepared.

#include "test/unit/runtime/SessionFixture.h"

using namespace fusec;
using namespace fusec::test;

namespace {
class BindingTest : public SessionTest {};
} // namespace

TEST_F(BindingTest, TensorsAreChecked) {
  EXPECT_EQ(bindError("x", Tensor(tensors.x, FUSEC_F16, {10, 4})),
            "input 'x': expected element type f32, found f16");
  EXPECT_EQ(bindError("x", Tensor(tensors.x, 99, {10, 4})),
            "input 'x': expected element type f32, found 99");
  EXPECT_EQ(bindError("x", Tensor(tensors.x, FUSEC_F32, {10})),
            "input 'x': expected rank 2, found 1");
  EXPECT_EQ(bindError("x", Tensor(tensors.x, FUSEC_F32, {10, 5})),
            "input 'x': size 1: expected 4, found 5");
  EXPECT_EQ(bindError("x", Tensor(tensors.x, FUSEC_F32, {-1, 4})),
            "input 'x': size 0: expected batch, found -1");
  EXPECT_EQ(bindError("x", Tensor(tensors.x, FUSEC_F32, {10, 4}, 1)),
            "input 'x': expected memory of cuda:0, found cuda:1");
  EXPECT_EQ(bindError("x", Tensor(tensors.x, FUSEC_F32, {10, 4})
                               .setDeviceType(FUSEC_DEVICE_CPU)),
            "input 'x': expected memory of cuda:0, found cpu:0");
  EXPECT_EQ(
      bindError("x", Tensor(tensors.x, FUSEC_F32, {10, 4}).setStrides({8, 1})),
      "input 'x': expected dense row-major strides [4, 1], found [8, 1]; copy "
      "the tensor to "
      "a dense one first");
  EXPECT_EQ(
      bindError("x", Tensor(tensors.x, FUSEC_F32, {10, 4}).setStrides({4})),
      "a tensor of 2 sizes: expected as many strides or none, found 1");
  EXPECT_EQ(bindError("x", Tensor(nullptr, FUSEC_F32, {10, 4})),
            "input 'x': expected 160 bytes, found a null pointer");
  EXPECT_EQ(
      bindError("x", Tensor(tensors.x, FUSEC_F32, {10, 4}).setByteOffset(2)),
      "input 'x': expected an address aligned to its element, 4 bytes, found "
      "one that is 2 "
      "beyond");
  EXPECT_NE(bindError("x", Tensor(tensors.x, FUSEC_F32, {INT64_MAX, 4}))
                .find("exceed 2^63"),
            std::string::npos);
  EXPECT_EQ(bindError("w", Tensor(tensors.x, FUSEC_F32, {10, 4})),
            "no input or output is named 'w'; the model has 'x', 'y', 'z'");
  EXPECT_EQ(
      messageOf(
          FUSEC_INVALID_ARGUMENT,
          [&] {
            session().bindOutput(1, Tensor(tensors.x, FUSEC_F32, {10, 4}));
          }),
      "expected an index below the number of outputs, 1, found 1");
  fusec_tensor old = Tensor(tensors.x, FUSEC_F32, {10, 4}).view();
  old.struct_size = 16;
  EXPECT_NE(messageOf(FUSEC_INVALID_ARGUMENT, [&] { session().bind("x", old); })
                .find("struct_size"),
            std::string::npos);
}

TEST_F(BindingTest, StridesOfUnitSizesDoNotMatter) {
  session().bind("x", Tensor(tensors.x, FUSEC_F32, {1, 4}).setStrides({77, 1}));
  session().bind("x", Tensor(nullptr, FUSEC_F32, {0, 4}).setStrides({9, 9}));
  session().bind("x", Tensor(tensors.x, FUSEC_F32, {3, 4}).setStrides({4, 1}));
  session().bind("x", Tensor(tensors.x, FUSEC_F32, {3, 4})
                          .setDeviceType(FUSEC_DEVICE_CUDA_MANAGED));
}

TEST_F(BindingTest, DimensionsMustAgree) {
  session().bind("x", Tensor(tensors.x, FUSEC_F32, {10, 4}));
  session().bind("y", Tensor(tensors.y, FUSEC_F32, {11, 4}));
  EXPECT_EQ(messageOf(FUSEC_INVALID_ARGUMENT, [&] { session().prepare(); }),
            "size 0 of input 'y': expected 10, the dimension 'batch' as size 0 "
            "of input 'x' has "
            "it, found 11");
  EXPECT_EQ(messageOf(FUSEC_INVALID_ARGUMENT,
                      [&] {
                        session().prepare({{"batch", 12}});
                      }),
            "size 0 of input 'x': expected 12, the dimension 'batch' as "
            "prepare() has it, found "
            "10");
  session().bind("y", Tensor(tensors.y, FUSEC_F32, {10, 5}));
  EXPECT_EQ(messageOf(FUSEC_INVALID_ARGUMENT, [&] { session().prepare(); }),
            "dimension 'n' of input 'y' must equal dimension 1 of input 'x': n "
            "is 5, 4 is 4");
  Session unbound(load());
  EXPECT_NE(messageOf(FUSEC_INVALID_ARGUMENT,
                      [&] {
                        unbound.prepare({{"n", 4}});
                      })
                .find("depends on dimension 'batch'"),
            std::string::npos);
}

TEST_F(BindingTest, NotReady) {
  EXPECT_EQ(messageOf(FUSEC_NOT_READY, [&] { session().run(); }),
            "expected prepare() before run()");
  EXPECT_NE(messageOf(FUSEC_NOT_READY, [&] { session().outputSizes(0, 2); })
                .find("prepare()"),
            std::string::npos);
  session().prepare({{"batch", 10}, {"n", 4}});
  EXPECT_EQ(messageOf(FUSEC_NOT_READY, [&] { session().run(); }),
            "input 'x' is not bound");
  tensors.bind(session(), 10);
  session().run();
  session().bind("z", Tensor(tensors.z, FUSEC_F32, {10, 4}));
  EXPECT_EQ(messageOf(FUSEC_INVALID_ARGUMENT, [&] { session().run(); }),
            "output 'z': size 0: expected 20 = 2 * batch, found 10");
  tensors.bind(session(), 11);
  EXPECT_EQ(messageOf(FUSEC_INVALID_ARGUMENT, [&] { session().run(); }),
            "input 'x': size 0: expected 10 = batch, found 11");
}

TEST_F(BindingTest, OverlapsAreRefused) {
  tensors.bind(session(), 10);
  session().prepare();
  session().bind("z", Tensor(tensors.x + 36, FUSEC_F32, {20, 4}));
  EXPECT_EQ(messageOf(FUSEC_INVALID_ARGUMENT, [&] { session().run(); }),
            "output 'z' overlaps input 'x': expected memory of its own");
  session().bind("z", Tensor(tensors.x + 40, FUSEC_F32, {20, 4}));
  session().run();
  // Inputs may share memory.
  session().bind("y", Tensor(tensors.x, FUSEC_F32, {10, 4}));
  session().run();
}

TEST_F(BindingTest, WrongExpressionsAreFoundAtPrepare) {
  auto prepareWith = [&](fusec_status status, const Edit &edit, int64_t batch) {
    Session edited(load(edit));
    return messageOf(status, [&] {
      edited.prepare({{"batch", batch}, {"n", 4}});
    });
  };
  using format::Expr;
  EXPECT_EQ(
      prepareWith(
          FUSEC_MALFORMED,
          [](format::Manifest &m) { m.plans[1].buffers[1].size = Expr(37); },
          10),
      "buffer 'u': expected a range within the 100 bytes of its slot, found 37 "
      "bytes at "
      "offset 64");
  auto launchOf = [](format::Manifest &m) -> format::Launch & {
    return m.plans[1].steps[1].variants[0].launches[0];
  };
  EXPECT_EQ(prepareWith(
                FUSEC_MALFORMED,
                [&](format::Manifest &m) { launchOf(m).grid[0] = Expr(3); },
                10),
            "kernel 'fake_vector' of step 'mix': expected a grid that is a "
            "multiple of the "
            "cluster, 2, in dimension 0, found 3");
  EXPECT_EQ(prepareWith(
                FUSEC_INVALID_ARGUMENT,
                [&](format::Manifest &m) {
                  launchOf(m).cooperative = false;
                  launchOf(m).grid[1] = Expr::dim("batch");
                },
                70000),
            "kernel 'fake_vector' of step 'mix': expected a grid of at most "
            "65535 blocks in "
            "dimension 1, found 70000");
  EXPECT_EQ(prepareWith(
                FUSEC_INVALID_ARGUMENT,
                [&](format::Manifest &m) {
                  m.plans[1].steps[0].variants[1].launches[0].params[0] =
                      format::SizeParam{
                          format::DType::I32,
                          Expr::mul(Expr::dim("batch"), Expr(1 << 30))};
                },
                10),
            "kernel 'fake_small' of step 'scale': expected batch * 1073741824 "
            "from 0 to 2147482623, found 10737418240");
  EXPECT_EQ(prepareWith(
                FUSEC_MALFORMED,
                [&](format::Manifest &m) {
                  launchOf(m).params[0] = format::Pointer{
                      format::Pointer::Kind::Input, 0, Expr(161)};
                },
                10),
            "kernel 'fake_vector' of step 'mix': expected an offset within the "
            "160 bytes of input "
            "0, found 161");
}

TEST_F(BindingTest, NameOfAnInputAndAnOutput) {
  Session session(load([](format::Manifest &m) { m.outputs[0].name = "x"; }));
  EXPECT_EQ(
      messageOf(FUSEC_INVALID_ARGUMENT,
                [&] {
                  session.bind("x", Tensor(tensors.x, FUSEC_F32, {10, 4}));
                }),
      "'x' is both an input and an output: bind it by its index");
  session.bindInput(0, Tensor(tensors.x, FUSEC_F32, {10, 4}));
  session.bindOutput(0, Tensor(tensors.z, FUSEC_F32, {20, 4}));
}
