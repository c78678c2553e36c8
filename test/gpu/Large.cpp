// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors of more than 2^31 elements, for which 32 bits do not count, against
// closed forms: the reference would take hours. All inputs are one: small
// integers that repeat after a prime number of elements, and whose sum over
// such a period is 0. Sums of any of them are exact in fp32 so, in any order.

#include "test/gpu/Large.h"
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
  Session session(model);
  session.bindInput(0, Tensor(input.data(), FUSEC_F16, test.sizes));
  std::unique_ptr<FencedMemory> rows;
  if (!test.rows.empty()) {
    rows = std::make_unique<FencedMemory>(
        device, test.rows.size() * sizeof(int64_t), "rows");
    rows->upload(test.rows.data());
    session.bindInput(
        1, Tensor(rows->data(), FUSEC_I64, {int64_t(test.rows.size())}));
  }
  session.prepare();
  TensorInfo info = model.outputs()[0];
  std::vector<int64_t> sizes = session.outputSizes(0, info.sizes.size());
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  FencedMemory output(device, count * fusec_dtype_size(info.dtype),
                      "a large output");
  output.poison();
  session.bindOutput(0, Tensor(output.data(), info.dtype, sizes));
  session.run();
  std::vector<uint8_t> host(output.size());
  output.download(host.data());
  return double(test.countWrong(host.data(), count)) + !output.isIntact() +
         double(session.faults());
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
