// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Damaged models import or are refused with a problem; nothing else happens.
// The damage is the same in each run.

#include "frontends/onnx/Importer.h"
#include "frontends/onnx/RawData.h"
#include "frontends/onnx/proto/onnx.pb.h"
#include "test/unit/damaged/Bombs.h"
#include "test/unit/damaged/ModelFiles.h"
#include "test/unit/damaged/RandomNodes.h"
#include "test/unit/damaged/TimeLimit.h"
#include "test/unit/damaged/WireMessage.h"
#include "gtest/gtest.h"

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::test;

/// Whether the import succeeded.
static bool importDamaged(const std::string &name, llvm::StringRef bytes) {
  TimeLimit limit(name);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  ProblemList problems;
  // A copy of its own, so that a read past the end is one of the heap.
  std::vector<char> exact(bytes.begin(), bytes.end());
  auto module = importOnnx(llvm::StringRef(exact.data(), exact.size()),
                           ImportOptions(), context, problems);
  EXPECT_EQ(failed(module), !problems.empty()) << name;
  for (const Problem &problem : problems)
    EXPECT_FALSE(problem.message.empty()) << name;
  return succeeded(module);
}

static std::string getCase(llvm::StringRef model, size_t round) {
  return (model + ", round " + llvm::Twine(round)).str();
}

TEST(DamagedImport, Truncated) {
  for (const char *name : smallModels) {
    std::string bytes = readModel(name);
    ASSERT_FALSE(bytes.empty());
    for (size_t length = 0; length < bytes.size();
         length += 1 + bytes.size() / 500)
      importDamaged(getCase(name, length),
                    llvm::StringRef(bytes).take_front(length));
  }
}

TEST(DamagedImport, FlippedBits) {
  std::mt19937 random(1);
  for (const char *name : smallModels) {
    std::string bytes = readModel(name);
    ASSERT_FALSE(bytes.empty());
    for (int i = 0; i < 800; ++i) {
      std::string damaged = bytes;
      for (int flips = 1 + i % 4; flips > 0; --flips)
        damaged[random() % bytes.size()] ^= 1 << random() % 8;
      importDamaged(getCase(name, i), damaged);
    }
  }
}

TEST(DamagedImport, MovedBytes) {
  std::mt19937 random(2);
  for (const char *name : smallModels) {
    std::string bytes = readModel(name);
    for (int i = 0; i < 200; ++i) {
      std::string damaged = bytes;
      size_t from = random() % bytes.size(), to = random() % bytes.size();
      size_t length = random() % 64;
      damaged.replace(to, length, bytes.substr(from, length));
      importDamaged(getCase(name, i), damaged);
    }
  }
}

TEST(DamagedImport, Fields) {
  std::vector<WireMessage> models;
  for (const char *name : smallModels) {
    std::string bytes = readModel(name);
    auto message = parseWire(bytes);
    ASSERT_TRUE(message) << name;
    ASSERT_EQ(writeWire(*message), bytes) << name;
    models.push_back(std::move(*message));
  }
  std::mt19937 random(5);
  unsigned accepted = 0;
  for (int i = 0; i < 4000; ++i) {
    size_t index = random() % models.size();
    WireMessage message = models[index];
    WireMessage donor = models[random() % models.size()];
    for (int times = 1 + i % 3; times > 0; --times)
      damage(message, donor, random);
    accepted +=
        importDamaged(getCase(smallModels[index], i), writeWire(message));
  }
  // Else the damage is too coarse to get past the first checks.
  EXPECT_GT(accepted, 400u);
  EXPECT_LT(accepted, 3600u);
}

// Where protobuf reads a message in another way than the one who takes raw data
// out of it, initializers get each other's.
TEST(DamagedImport, LooseEncoding) {
  std::vector<WireMessage> models;
  for (const char *name : smallModels) {
    auto message = parseWire(readModel(name));
    ASSERT_TRUE(message) << name;
    models.push_back(std::move(*message));
  }
  std::mt19937 random(9);
  unsigned accepted = 0;
  for (int i = 0; i < 2000; ++i) {
    size_t index = random() % models.size();
    WireMessage message = models[index];
    if (random() % 2)
      damage(message, models[random() % models.size()], random);
    std::string bytes = writeLoosely(message, random);
    std::string name = getCase(smallModels[index], i);
    accepted += importDamaged(name, bytes);
    auto split = splitModel(bytes);
    ::onnx::ModelProto whole, rest;
    if (!split)
      continue;
    bool isModel = whole.ParseFromString(bytes);
    ASSERT_EQ(rest.ParseFromString(split->rest), isModel) << name;
    if (!isModel)
      continue;
    ASSERT_EQ(rest.has_graph(), whole.has_graph()) << name;
    if (!rest.has_graph())
      continue;
    auto &tensors = *rest.mutable_graph()->mutable_initializer();
    ASSERT_EQ(size_t(tensors.size()), split->rawData.size()) << name;
    for (auto [tensor, data] : llvm::zip(tensors, split->rawData))
      if (data)
        tensor.set_raw_data(data->str());
    EXPECT_EQ(rest.SerializeAsString(), whole.SerializeAsString()) << name;
  }
  EXPECT_GT(accepted, 200u);
  EXPECT_LT(accepted, 1800u);
}

TEST(DamagedImport, Bombs) {
  std::mt19937 random(10);
  for (int i = 0; i < 40; ++i)
    importDamaged(getCase("bomb", i), makeBomb(random, /*most=*/1 << 12));
}

TEST(DamagedImport, RandomNodes) {
  std::mt19937 random(6);
  unsigned accepted = 0;
  for (int i = 0; i < 15000; ++i)
    accepted += importDamaged(getCase("nodes", i), makeRandomNodes(random));
  EXPECT_GT(accepted, 1500u);
  EXPECT_LT(accepted, 13500u);
}
