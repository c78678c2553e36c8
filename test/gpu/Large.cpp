// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors of more than 2^31 elements, for which 32 bits do not count, against
// closed forms: the reference would take hours. All inputs are one: small
// integers that repeat after a prime number of elements, and whose sum over
// such a period is 0. Sums of any of them are exact in fp32 so, in any order.

#include "test/gpu/Large.h"
#include "test/gpu/BoundSession.h"
#include "test/gpu/Harness.h"

using namespace fusec;

namespace {
/// The input on the device, from which the cases take as much as they need.
class LargeInput {
public:
  explicit LargeInput(const rt::Device &device)
      : memory(device, mostElements * sizeof(uint16_t), "a large input") {
    std::vector<uint16_t> host(mostElements);
    const Pattern &pattern = getPattern();
    forEachPart(mostElements, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i != end; ++i)
        host[i] = pattern.getBits(i);
    });
    memory.upload(host.data());
  }
  void *data() const { return memory.data(); }

private:
  FencedMemory memory;
};
} // namespace

/// Runs the case, and gives how many of its results are wrong.
static double countWrong(const LargeCase &test, const Model &model,
                         const rt::Device &device, const LargeInput &input) {
  rt::ContextScope scope(device);
  BoundSession bound(model, device);
  Session &session = bound.getSession();
  session.bindInput(0, Tensor(input.data(), FUSEC_F16, test.sizes));
  if (!test.rows.empty())
    bound.bindInput(1, test.rows.data(), {int64_t(test.rows.size())});
  bound.bindOutputs();
  session.run();
  std::vector<uint8_t> output = bound.readLastOutput();
  int64_t count =
      int64_t(output.size() / fusec_dtype_size(model.outputs()[0].dtype));
  return double(test.countWrong(output.data(), count)) +
         !bound.isLastOutputIntact() + double(session.faults());
}

int main(int argc, char **argv) {
  Harness harness(argc, argv);
  std::unique_ptr<LargeInput> input;
  for (const LargeCase &test : makeLargeCases()) {
    if (!harness.isWanted(test.name))
      continue;
    auto compiled = harness.compile(test.name, [&](CompileOptions options) {
      return Compilation::importBytes(test.model, std::move(options));
    });
    if (!compiled || !compiled->run)
      continue;
    harness.check(test.name, [&] {
      if (!input)
        input = std::make_unique<LargeInput>(harness.getDevice());
      double wrong = countWrong(test, compiled->run->getModel(),
                                harness.getDevice(), *input);
      return std::pair(wrong, 0.0);
    });
  }
  return harness.finish();
}
