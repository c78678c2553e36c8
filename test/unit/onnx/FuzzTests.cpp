// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Damaged models import or are refused with a problem; nothing else happens.
// The damage is the same in each run.

#include "frontends/onnx/Importer.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"
#include <filesystem>
#include <random>

using namespace fusec::onnx;

static std::string readModel(llvm::StringRef name) {
  auto path = std::filesystem::path(FUSEC_TEST_MODELS) / name.str();
  auto file = llvm::MemoryBuffer::getFile(path.string());
  return file ? (*file)->getBuffer().str() : std::string();
}

static void importDamaged(llvm::StringRef bytes) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  ProblemList problems;
  auto module = importOnnx(bytes, ImportOptions(), context, problems);
  EXPECT_EQ(failed(module), !problems.empty());
}

static const char *const models[] = {"rope_fwd.legacy.onnx",
                                     "lora_mlp_seed.dynbatch.onnx",
                                     "add_mul_sigmoid.dynbatch.onnx"};

TEST(Fuzz, Truncated) {
  for (const char *name : models) {
    std::string bytes = readModel(name);
    ASSERT_FALSE(bytes.empty());
    for (size_t length = 0; length < bytes.size();
         length += 1 + bytes.size() / 500)
      importDamaged(llvm::StringRef(bytes).take_front(length));
  }
}

TEST(Fuzz, FlippedBits) {
  std::mt19937 random(1);
  for (const char *name : models) {
    std::string bytes = readModel(name);
    ASSERT_FALSE(bytes.empty());
    for (int i = 0; i < 1000; ++i) {
      std::string damaged = bytes;
      for (int flips = 1 + i % 4; flips > 0; --flips)
        damaged[random() % bytes.size()] ^= 1 << random() % 8;
      importDamaged(damaged);
    }
  }
}

TEST(Fuzz, MovedBytes) {
  std::mt19937 random(2);
  for (const char *name : models) {
    std::string bytes = readModel(name);
    for (int i = 0; i < 300; ++i) {
      std::string damaged = bytes;
      size_t from = random() % bytes.size(), to = random() % bytes.size();
      size_t length = random() % 64;
      damaged.replace(to, length, bytes.substr(from, length));
      importDamaged(damaged);
    }
  }
}
