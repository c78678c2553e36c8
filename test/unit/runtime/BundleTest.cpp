// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The file: written the same every time, read back whole, refused when any of
// its bits is wrong.

#include "runtime/format/ChunkHash.h"
#include "runtime/format/WeightsCheck.h"
#include "test/unit/runtime/TestBundle.h"

#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <sys/stat.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace fusec::format;
using namespace fusec::test;

namespace {
std::string openError(const std::vector<uint8_t> &file) {
  Bundle bundle;
  std::string error;
  EXPECT_FALSE(Bundle::open(spanOf(file), HashWeights::Always, bundle, error));
  EXPECT_FALSE(error.empty());
  return error;
}
} // namespace

TEST(Bundle, RoundTrip) {
  std::vector<uint8_t> file = makeBundle();
  EXPECT_EQ(makeBundle(), file);
  Bundle bundle;
  std::string error;
  ASSERT_TRUE(Bundle::open(spanOf(file), HashWeights::Auto, bundle, error))
      << error;
  ASSERT_EQ(bundle.sections().size(), 4u);
  EXPECT_EQ(bundle.sections()[2].kind, SectionKind::Ptx);
  ByteSpan weight = bundle.weightBytes(bundle.manifest().plans[0].weights[1]);
  ASSERT_EQ(weight.size, 8u);
  EXPECT_EQ(weight.data[0], uint8_t(257));
  for (const Section &section : bundle.sections())
    EXPECT_EQ(uint64_t(section.bytes.data - file.data()) % sectionAlignment,
              0u);
}

TEST(Bundle, EveryTruncationIsRefused) {
  std::vector<uint8_t> file = makeBundle();
  for (size_t size = 0; size < file.size(); size += size < 512 ? 1 : 7)
    openError(std::vector<uint8_t>(file.begin(), file.begin() + long(size)));
  file.push_back(0);
  EXPECT_NE(openError(file).find("as the header says"), std::string::npos);
}

TEST(Bundle, EveryFlippedBitIsRefused) {
  std::vector<uint8_t> file = makeBundle();
  std::mt19937 random(1);
  for (size_t i = 0; i != file.size(); ++i) {
    bool header = i < 64 + 4 * 56;
    for (unsigned bit = header ? 0 : random() % 8, last = header ? 8 : bit + 1;
         bit != last; ++bit) {
      file[i] ^= uint8_t(1u << bit);
      Bundle bundle;
      std::string error;
      EXPECT_FALSE(
          Bundle::open(spanOf(file), HashWeights::Always, bundle, error))
          << "byte " << i << " bit " << bit;
      file[i] ^= uint8_t(1u << bit);
    }
  }
}

TEST(Bundle, UnhashedWeightsLoad) {
  std::vector<uint8_t> file = makeBundle();
  lastByteOf(file, 3) ^= 1;
  Bundle bundle;
  std::string error;
  EXPECT_FALSE(Bundle::open(spanOf(file), HashWeights::Auto, bundle, error));
  EXPECT_NE(error.find("section 3 (weights)"), std::string::npos) << error;
  EXPECT_TRUE(Bundle::open(spanOf(file), HashWeights::Never, bundle, error))
      << error;
}

TEST(Bundle, ReferencesToSections) {
  Manifest manifest = makeManifest();
  std::string error;
  std::vector<SectionShape> shapes = {{SectionKind::Manifest, 0},
                                      {SectionKind::Cubin, 10},
                                      {SectionKind::Ptx, 10},
                                      {SectionKind::Weights, 264}};
  EXPECT_TRUE(checkReferences(manifest, shapes, error)) << error;
  shapes[3].size = 260;
  EXPECT_FALSE(checkReferences(manifest, shapes, error));
  EXPECT_EQ(error, "plans[0].weights[1]: expected a range within the 260 bytes "
                   "of section 3, found "
                   "8 bytes at offset 256");
  shapes[3].size = 264;
  manifest.plans[0].steps[0].variants[0].launches[0].section = 2;
  EXPECT_FALSE(checkReferences(manifest, shapes, error));
  EXPECT_EQ(error, "plans[0].steps[0].variants[0].launches[0].section: "
                   "expected a section of kind "
                   "'cubin', found section 2 of kind 'ptx'");
  manifest.plans[0].steps[0].variants[0].launches[0].section = 9;
  EXPECT_FALSE(checkReferences(manifest, shapes, error));
  EXPECT_NE(error.find("expected a section below 4, found 9"),
            std::string::npos);
}

// A sealed bundle whose manifest was changed must load or be refused, and the
// bytes of a manifest that loads must be those of its own text.
TEST(Bundle, MutatedManifests) {
  std::string json = writeManifest(makeManifest());
  std::mt19937 random(2);
  const std::string alphabet = "0123456789-[]{},:\"\\.eE tfnabx\x80\xff";
  unsigned accepted = 0;
  for (unsigned round = 0; round != 4000; ++round) {
    std::string text = json;
    for (unsigned edits = 1 + random() % 3; edits != 0; --edits) {
      size_t place = random() % text.size();
      char letter = alphabet[random() % alphabet.size()];
      switch (random() % 3) {
      case 0:
        text[place] = letter;
        break;
      case 1:
        text.insert(place, 1, letter);
        break;
      default:
        text.erase(place, 1 + random() % 8);
      }
    }
    Manifest manifest;
    std::string error;
    if (parseManifest(text, manifest, error)) {
      ++accepted;
      Manifest again;
      EXPECT_TRUE(parseManifest(writeManifest(manifest), again, error))
          << error;
      EXPECT_EQ(writeManifest(again), writeManifest(manifest));
    } else {
      EXPECT_FALSE(error.empty());
    }
  }
  EXPECT_GT(accepted, 0u);
  EXPECT_LT(accepted, 4000u);
}

TEST(Bundle, SealedManifestIsRead) {
  std::vector<uint8_t> same = replaceManifest(writeManifest(makeManifest()));
  EXPECT_EQ(same, makeBundle());
  EXPECT_NE(openError(replaceManifest("{}")).find("is missing"),
            std::string::npos);
  EXPECT_NE(openError(replaceManifest("")).find("not valid JSON"),
            std::string::npos);
}

TEST(Bundle, WriterRefusesWhatWouldNotLoad) {
  std::vector<uint8_t> file;
  std::string error;
  BundleWriter empty(4, sinkTo(file));
  EXPECT_FALSE(empty.finish(makeManifest(), error));
  EXPECT_NE(error.find("expected a section below 1, found"), std::string::npos)
      << error;
  uint8_t bytes[8] = {};
  BundleWriter overlapping(4, sinkTo(file));
  overlapping.addWeights({{0, {bytes, 8}}, {4, {bytes, 8}}}, 64);
  EXPECT_FALSE(overlapping.finish(makeManifest(), error));
  EXPECT_EQ(error, "bundle: section 1: pieces overlap or exceed the section");
  BundleWriter exceeding(4, sinkTo(file));
  exceeding.addWeights({{60, {bytes, 8}}}, 64);
  EXPECT_FALSE(exceeding.finish(makeManifest(), error));
  BundleWriter full(1, sinkTo(file));
  full.addCode(SectionKind::Cubin, {bytes, 8});
  full.addCode(SectionKind::Cubin, {bytes, 8});
  EXPECT_FALSE(full.finish(makeManifest(), error));
  EXPECT_NE(error.find("expected at most 1 sections"), std::string::npos)
      << error;
}

TEST(Bundle, WritingEndsWhereTheSinkRefuses) {
  unsigned calls = 0;
  BundleWriter writer(4, [&](uint64_t, ByteSpan) {
    ++calls;
    return false;
  });
  uint8_t bytes[8] = {};
  writer.addCode(SectionKind::Cubin, {bytes, 8});
  writer.addCode(SectionKind::Cubin, {bytes, 8});
  std::string error;
  EXPECT_FALSE(writer.finish(makeManifest(), error));
  EXPECT_EQ(error, "bundle: writing stopped early");
  EXPECT_EQ(calls, 1u);
}

// As they were written before the weights came first.
TEST(Bundle, SectionsInTheOrderOfTheTable) {
  std::vector<uint8_t> file = makeBundle();
  Bundle bundle;
  std::string error;
  ASSERT_TRUE(Bundle::open(spanOf(file), HashWeights::Always, bundle, error));
  std::vector<uint8_t> ordered = layOut(file, {0, 1, 2, 3});
  EXPECT_NE(ordered, file);
  Bundle again;
  ASSERT_TRUE(Bundle::open(spanOf(ordered), HashWeights::Always, again, error))
      << error;
  for (size_t i = 0; i != 4; ++i)
    EXPECT_EQ(again.sections()[i].digest, bundle.sections()[i].digest);
  EXPECT_LT(again.sections()[0].bytes.data, again.sections()[3].bytes.data);
}

TEST(Bundle, BytesOfNoSection) {
  // The table has the second of the two; the first is nobody's.
  std::vector<uint8_t> file = layOut(makeBundle(), {3, 3, 1, 2, 0});
  EXPECT_NE(openError(file).find("expected zeros between"), std::string::npos);
}

TEST(Bundle, SectionsThatOverlap) {
  std::vector<uint8_t> file = makeBundle();
  moveSection(file, 2, 1);
  std::string error = openError(file);
  EXPECT_NE(error.find("section 2: offset"), std::string::npos) << error;
  EXPECT_NE(error.find("of what precedes it"), std::string::npos) << error;
}

TEST(Bundle, FilesAreMapped) {
  std::string path = testing::TempDir() + "bundle-test.fusec";
  std::vector<uint8_t> bytes = makeBundle();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(bytes.data()),
             std::streamsize(bytes.size()));
  std::string error;
  MappedFile file;
  ASSERT_TRUE(file.open(path, error)) << error;
  Bundle bundle;
  EXPECT_TRUE(Bundle::open(file.bytes(), HashWeights::Always, bundle, error))
      << error;
  EXPECT_FALSE(file.open(testing::TempDir() + "no-such-file", error));
  EXPECT_FALSE(file.open(testing::TempDir(), error));
  EXPECT_NE(error.find("not a regular file"), std::string::npos) << error;
  std::remove(path.c_str());
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_FALSE(file.open(path, error)); // and does not wait for a writer
  EXPECT_NE(error.find("not a regular file"), std::string::npos) << error;
  std::remove(path.c_str());
}

// As docs/bundle.md says, of bytes with a gap in the middle of a chunk: by the
// writer's threads, and by the older hash of larger chunks.
TEST(Bundle, HashOfManyChunks) {
  uint64_t size = 34 * MiB + 7, gap = 5 * MiB + 100;
  std::vector<uint8_t> weights(size);
  for (size_t i = 0; i < size; i += 64)
    weights[i] = uint8_t(i * 2654435761u >> 13);
  std::fill_n(weights.begin() + long(gap), 4096, uint8_t(0));
  std::vector<Piece> pieces = {
      {0, {weights.data(), gap}},
      {gap + 4096, {weights.data() + gap + 4096, size - gap - 4096}}};
  std::vector<uint8_t> digests;
  for (uint64_t at = 0; at < size; at += MiB) {
    XXH128_canonical_t digest;
    XXH128_canonicalFromHash(
        &digest, XXH3_128bits(weights.data() + at, std::min(MiB, size - at)));
    digests.insert(digests.end(), std::begin(digest.digest),
                   std::end(digest.digest));
  }
  uint64_t seen = 0;
  EXPECT_EQ(hashChunks(pieces, size,
                       [&](uint64_t, ByteSpan bytes) { seen += bytes.size; }),
            Sha256::hash(digests.data(), digests.size()));
  EXPECT_EQ(seen, size - 4096);

  std::vector<Digest> older;
  for (uint64_t at = 0; at < size; at += 4 * MiB)
    older.push_back(
        Sha256::hash(weights.data() + at, std::min(4 * MiB, size - at)));
  ChunkDigests made(chunkHashOf(8), size);
  for (size_t i = 0; i != made.count(); ++i)
    made.hash(i, pieces);
  EXPECT_EQ(made.finish(),
            Sha256::hash(older.data(), older.size() * sizeof(Digest)));
}

// The chunked hash is the same whether written in pieces or read whole.
TEST(Bundle, WeightsOfSeveralChunks) {
  std::vector<uint8_t> weights(2 * MiB + 12345);
  for (size_t i = 0; i < weights.size(); i += 4096)
    weights[i] = uint8_t(i >> 12);
  std::vector<uint8_t> file;
  BundleWriter writer(1, sinkTo(file));
  writer.addWeights({{0, {weights.data(), 1000}},
                     {4096, {weights.data() + 4096, weights.size() - 4096}}},
                    weights.size());
  Manifest manifest = makeManifest();
  manifest.plans.resize(1);
  manifest.plans[0].steps.clear();
  manifest.plans[0].weights.clear();
  std::string error;
  ASSERT_TRUE(writer.finish(manifest, error)) << error;
  Bundle bundle;
  ASSERT_TRUE(Bundle::open(spanOf(file), HashWeights::Auto, bundle, error))
      << error;
  ByteSpan written = bundle.sections()[1].bytes;
  EXPECT_EQ(std::vector<uint8_t>(written.data, written.data + written.size),
            weights);
  // A reader hashes what it is given, in any order, and then the rest.
  WeightsCheck check(bundle, HashWeights::Always);
  check.hash({written.data + MiB - 1, 2});
  check.hash({written.data + MiB, 1});
  check.hash({written.data, 0});
  check.hashRest(2);
  EXPECT_TRUE(check.finish(error)) << error;
  lastByteOf(file, 1) ^= 4;
  EXPECT_FALSE(Bundle::open(spanOf(file), HashWeights::Auto, bundle, error));
}
