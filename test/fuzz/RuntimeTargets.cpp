// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the library and the tools read at run time: bundles, manifests, and
// files of tensors.

#include "runtime/format/Manifest.h"
#include "runtime/src/Failure.h"
#include "runtime/src/Safetensors.h"
#include "test/fuzz/ArrayMutator.h"
#include "test/fuzz/BundleMutator.h"
#include "test/fuzz/BundleTarget.h"
#include "test/fuzz/JsonMutator.h"
#include "tools/data/Npy.h"

#include <cstring>
#include <memory>

using namespace fusec;
using namespace fusec::fuzz;

static void readManifest(std::string_view text) {
  format::Manifest manifest;
  std::string error;
  if (!format::parseManifest(text, manifest, error)) {
    if (error.empty())
      fail("a manifest was refused without a reason");
    return;
  }
  std::string written = format::writeManifest(manifest);
  format::Manifest again;
  if (!format::parseManifest(written, again, error))
    fail("what was written is refused: " + error);
  if (format::writeManifest(again) != written)
    fail("what was written is written differently");
}

/// A copy of its own, so that a read past the end is one of the heap.
static std::unique_ptr<uint8_t[]> copyOf(std::string_view bytes) {
  auto copy = std::make_unique<uint8_t[]>(bytes.size());
  std::memcpy(copy.get(), bytes.data(), bytes.size());
  return copy;
}

/// So that reading all of a range is not optimised away.
static volatile uint8_t sum;

static void readSafetensors(std::string_view bytes) {
  auto file = copyOf(bytes);
  try {
    rt::StoredTensors tensors = rt::readSafetensors({file.get(), bytes.size()});
    for (const auto &[name, tensor] : tensors)
      for (size_t i = 0; i != tensor.bytes.size; ++i)
        sum = uint8_t(sum + tensor.bytes.data[i]);
    for (const char *layer : {"", "up", "model.layers.0.up"})
      try {
        rt::findPeftUpdate(tensors, "up", *layer ? layer : nullptr);
      } catch (const rt::Failure &failure) {
        if (failure.message.empty())
          fail("an update was refused without a reason");
      }
  } catch (const rt::Failure &failure) {
    if (failure.message.empty() || failure.status != FUSEC_MALFORMED)
      fail("refused without a reason, or as something else than malformed");
  }
}

static void checkTensor(const data::Tensor &tensor) {
  auto bytes = data::tensorBytes(tensor.dtype, tensor.sizes);
  if (!bytes || *bytes != tensor.bytes.size())
    fail("a tensor whose bytes are not those of its type and sizes");
  for (size_t i = 0; i != tensor.bytes.size(); ++i)
    sum = uint8_t(sum + uint8_t(tensor.bytes.data()[i]));
}

static void readArrays(std::string_view bytes) {
  auto file = copyOf(bytes);
  auto input = data::openMemory(
      "input", {reinterpret_cast<char *>(file.get()), bytes.size()});
  if (bytes.substr(0, 2) == "PK") {
    auto members = data::readNpz(*input);
    if (!members && members.error().empty())
      fail("an archive was refused without a reason");
    if (members)
      for (const data::NamedTensor &member : *members)
        checkTensor(member.tensor);
    return;
  }
  auto tensor = data::readNpy(*input);
  if (!tensor && tensor.error().empty())
    fail("an array was refused without a reason");
  if (tensor)
    checkTensor(*tensor);
}

const std::vector<Target> &fusec::fuzz::getTargets() {
  static const std::vector<Target> targets = {
      {"bundle", runBundle, mutateBundle},
      {"manifest", readManifest, mutateJson},
      {"safetensors", readSafetensors, mutateSafetensors},
      {"arrays", readArrays, mutateArrays}};
  return targets;
}
