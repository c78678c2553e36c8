// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the importer lets through must not break what comes after it: damaged
// models that import are taken to the text of their kernels. They end there or
// with an error, and never with an internal one.

#include "compiler/Compiler.h"
#include "test/unit/damaged/Bombs.h"
#include "test/unit/damaged/ModelFiles.h"
#include "test/unit/damaged/RandomNodes.h"
#include "test/unit/damaged/TimeLimit.h"
#include "test/unit/damaged/WireMessage.h"
#include "gtest/gtest.h"
#include <sys/resource.h>

using namespace fusec;
using namespace fusec::test;

/// Whether the model compiled.
static bool compileDamaged(const std::string &name, llvm::StringRef bytes) {
  TimeLimit limit(name);
  CompileOptions options;
  options.targets = {"sm_90a"};
  auto compilation = Compilation::importBytes(bytes, options);
  llvm::Error error =
      compilation ? (*compilation)->emit() : compilation.takeError();
  if (!error)
    return true;
  llvm::handleAllErrors(std::move(error), [&](const CompileError &failure) {
    EXPECT_NE(failure.getKind(), ErrorKind::Internal) << name;
    ASSERT_FALSE(failure.getProblems().empty()) << name;
    if (failure.getKind() == ErrorKind::Internal)
      ADD_FAILURE() << failure.getProblems().front().message;
  });
  return false;
}

TEST(DamagedCompile, Fields) {
  std::vector<WireMessage> models;
  for (const char *name : smallModels) {
    auto message = parseWire(readModel(name));
    ASSERT_TRUE(message) << name;
    models.push_back(std::move(*message));
  }
  std::mt19937 random(7);
  unsigned compiled = 0;
  for (int i = 0; i < 6000; ++i) {
    size_t index = random() % models.size();
    WireMessage message = models[index];
    WireMessage donor = models[random() % models.size()];
    damage(message, donor, random);
    compiled += compileDamaged(std::string(smallModels[index]) + ", round " +
                                   std::to_string(i),
                               writeWire(message));
  }
  EXPECT_GT(compiled, 600u);
}

TEST(DamagedCompile, Bombs) {
  std::mt19937 random(11);
  unsigned compiled = 0;
  for (int i = 0; i < 60; ++i)
    compiled += compileDamaged("bomb, round " + std::to_string(i),
                               makeBomb(random, /*most=*/1 << 10));
  EXPECT_GT(compiled, 10u);
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  EXPECT_LT(usage.ru_maxrss, 1 << 20) << "kilobytes";
}

TEST(DamagedCompile, RandomNodes) {
  std::mt19937 random(8);
  unsigned compiled = 0;
  for (int i = 0; i < 20000; ++i)
    compiled += compileDamaged("nodes, round " + std::to_string(i),
                               makeRandomNodes(random));
  EXPECT_GT(compiled, 2000u);
}
