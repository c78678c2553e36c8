// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A bundle small enough to read that uses every part of the manifest.

#ifndef FUSEC_TEST_UNIT_RUNTIME_TESTBUNDLE_H
#define FUSEC_TEST_UNIT_RUNTIME_TESTBUNDLE_H

#include "runtime/format/Bundle.h"

#include <functional>
#include <string>
#include <vector>

namespace fusec::test {

// z = f(x, y) with x [batch, 4], y [batch, n] (n must be 4), z [2 * batch, 4]:
//   step "scale": fake_double from x to z if batch > 64, else fake_small
//   step "mix": fake_vector (of sm_90a, else fake_pair) if x is aligned to 16
//   bytes, else fake_scalar
constexpr uint64_t MiB = uint64_t(1) << 20;

// Plans for sm_90a (with a cluster and tensor maps), sm_80 and ptx.
format::Manifest makeManifest();

// Edits the manifest before it is written.
using Edit = std::function<void(format::Manifest &)>;

// Makes the weights w and v the factors of an adapter "up": a is [2, 2] and b
// is [2, 1], of which the rank is the common 2.
void addAdapter(format::Manifest &manifest);

struct TestKernel {
  std::string name;
  std::vector<unsigned> params; // bytes of each
};
// Those of the test bundle.
const std::vector<TestKernel> &testKernels();

// An ELF file of one segment and, behind the null one, sections of code and of
// parameters a kernel, one of no bytes, and their names.
std::vector<uint8_t>
makeCubin(const std::vector<TestKernel> &kernels = testKernels());

// The bytes of the bundle, with zeros behind the weights where they are to be
// more; fails the test if it cannot be written.
std::vector<uint8_t> makeBundle(const Edit &edit = nullptr,
                                uint64_t weightsSize = 264);

// Writes to memory, which must live as long as the sink is used.
format::BundleWriter::Sink sinkTo(std::vector<uint8_t> &file);

inline format::ByteSpan spanOf(const std::vector<uint8_t> &bytes) {
  return {bytes.data(), bytes.size()};
}

// Of a section's content.
uint8_t &lastByteOf(std::vector<uint8_t> &file, size_t section);

// The sections one behind the other in this order, with right hashes.
std::vector<uint8_t> layOut(const std::vector<uint8_t> &bundle,
                            const std::vector<size_t> &order);

// Says of a section that it begins where another does, with right hashes.
void moveSection(std::vector<uint8_t> &file, size_t section, size_t onto);

// Puts other bytes into a section, as many as it has, with right hashes.
void replaceSection(std::vector<uint8_t> &file, size_t section,
                    const std::vector<uint8_t> &bytes);

// Makes the hash of weights that were changed right.
void rehashWeights(std::vector<uint8_t> &file, size_t section);

// Puts another manifest text into a bundle, with right hashes.
std::vector<uint8_t> replaceManifest(const std::string &json);

} // namespace fusec::test

#endif
