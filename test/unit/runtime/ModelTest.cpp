// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loading a bundle: what a model says of itself, and every way it can fail.

#include "test/unit/runtime/LibraryTest.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>
#include <unistd.h>

using namespace fusec;
using namespace fusec::test;

namespace {
class ModelTest : public LibraryTest {};
} // namespace

TEST_F(ModelTest, DescribesItself) {
  Model model = load();
  EXPECT_EQ(model.target(), "sm_90a");
  EXPECT_EQ(model.device(), 0);
  EXPECT_EQ(model.dims(), (std::vector<std::string>{"batch", "n"}));
  std::vector<TensorInfo> inputs = model.inputs();
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_EQ(inputs[1].name, "y");
  EXPECT_EQ(inputs[0].dtype, FUSEC_F32);
  EXPECT_EQ(inputs[0].sizes, (std::vector<int64_t>{-1, 4}));
  EXPECT_EQ(inputs[1].expressions, (std::vector<std::string>{"batch", "n"}));
  EXPECT_EQ(model.outputs()[0].expressions[0], "2 * batch");
  EXPECT_EQ(model.outputSizes(0, {{"batch", 7}}),
            (std::vector<int64_t>{14, 4}));
  // Slots of 16 * 7 and 100 bytes, each rounded up to 256.
  EXPECT_EQ(model.arenaSize({{"batch", 7}}), 512u);
  EXPECT_EQ(model.arenaSize({{"batch", 17}}), 768u);
}

TEST_F(ModelTest, UploadsWeightsAndEncodesTheirMaps) {
  Model model = load();
  ASSERT_EQ(fake->maps.size(), 1u);
  EXPECT_EQ(fake->maps[0].rank, 1u);
  EXPECT_EQ(fake->maps[0].promotion, 3) << "256 bytes unless a map says less";
  const uint8_t *weight =
      reinterpret_cast<const uint8_t *>(fake->maps[0].address);
  EXPECT_EQ(weight[0], 1);
  EXPECT_EQ(weight[15], 16);
  EXPECT_EQ(weight[256], uint8_t(257));
}

TEST_F(ModelTest, LoadsFromAFile) {
  std::vector<uint8_t> file = makeBundle();
  std::string path = testing::TempDir() + "model-test.fusec";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(file.data()), long(file.size()));
  EXPECT_EQ(Model::load(path, options()).target(), "sm_90a");
  setenv("FUSEC_DRIVER", FUSEC_FAKE_DRIVER, 1);
  EXPECT_EQ(Model::load(path).target(), "sm_90a");
  unsetenv("FUSEC_DRIVER");
  std::remove(path.c_str());
  EXPECT_NE(messageOf(FUSEC_UNREADABLE, [&] { Model::load(path, options()); })
                .find("cannot be opened"),
            std::string::npos);
}

TEST_F(ModelTest, ChoosesThePlanOfTheDevice) {
  fake->capabilityMajor = 8;
  fake->capabilityMinor = 6;
  EXPECT_EQ(load().target(), "sm_80");
  fake->capabilityMajor = 12;
  fake->capabilityMinor = 0;
  EXPECT_EQ(load().target(), "ptx");
  fake->capabilityMajor = 7;
  fake->capabilityMinor = 5;
  EXPECT_EQ(messageOf(FUSEC_UNSUPPORTED, [&] { load(); }),
            "no plan of this bundle fits device 0, Fake device (sm_75), driver "
            "13.0: sm_80 runs on "
            "devices of major version 8 only; sm_90a runs on sm_90 only; ptx "
            "needs sm_80 or later; "
            "compile the model again: fusec compile MODEL.onnx -o MODEL.fusec "
            "--arch=sm_75");
}

TEST_F(ModelTest, OldDriver) {
  fake->driverVersion = 12030;
  EXPECT_NE(messageOf(FUSEC_UNSUPPORTED, [&] { load(); })
                .find("sm_90a needs driver 12.4"),
            std::string::npos);
}

TEST_F(ModelTest, NoDriver) {
  LoadOptions missing;
  missing.driver = "no-such-driver.so";
  std::vector<uint8_t> file = makeBundle();
  EXPECT_NE(
      messageOf(FUSEC_DRIVER_ERROR,
                [&] { Model::loadMemory(file.data(), file.size(), missing); })
          .find("the CUDA driver cannot be loaded"),
      std::string::npos);
  missing.driver = "libm.so.6";
  EXPECT_NE(
      messageOf(FUSEC_DRIVER_ERROR,
                [&] { Model::loadMemory(file.data(), file.size(), missing); })
          .find("has no cuInit"),
      std::string::npos);
}

TEST_F(ModelTest, DeviceOutOfRange) {
  LoadOptions second = options();
  second.device = 1;
  std::vector<uint8_t> file = makeBundle();
  EXPECT_EQ(
      messageOf(FUSEC_INVALID_ARGUMENT,
                [&] { Model::loadMemory(file.data(), file.size(), second); }),
      "expected a device below 1, the number of devices, found 1");
}

TEST_F(ModelTest, MalformedBundleNeedsNoDriver) {
  LoadOptions missing;
  missing.driver = "no-such-driver.so";
  std::vector<uint8_t> file(100, 1);
  EXPECT_NE(
      messageOf(FUSEC_MALFORMED,
                [&] { Model::loadMemory(file.data(), file.size(), missing); })
          .find("not a fusec bundle"),
      std::string::npos);
}

// Large weights are hashed on a thread, while they are uploaded.
TEST_F(ModelTest, DamagedLargeWeights) {
  std::vector<uint8_t> file = makeBundle(nullptr, 3 << 20);
  auto loadFile = [&] {
    return Model::loadMemory(file.data(), file.size(), options());
  };
  EXPECT_EQ(loadFile().target(), "sm_90a");
  lastByteOf(file, 3) ^= 1;
  EXPECT_NE(messageOf(FUSEC_MALFORMED, loadFile)
                .find("section 3 (weights): expected the hash"),
            std::string::npos);
  failNext("cuMemAlloc", 2);
  EXPECT_NE(messageOf(FUSEC_MALFORMED, loadFile).find("the file is damaged"),
            std::string::npos);
  LoadOptions unhashed = options();
  unhashed.hashWeights = FUSEC_HASH_WEIGHTS_NEVER;
  EXPECT_EQ(Model::loadMemory(file.data(), file.size(), unhashed).target(),
            "sm_90a");
}

// What is in memory does not change when the file is cut short.
TEST_F(ModelTest, FilesMayGoOnceRead) {
  std::vector<uint8_t> file = makeBundle();
  std::string path = testing::TempDir() + "short-test.fusec";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(file.data()), long(file.size()));
  format::MappedFile mapped;
  std::string error;
  ASSERT_TRUE(mapped.open(path, error)) << error;
  ASSERT_EQ(truncate(path.c_str(), 1), 0);
  EXPECT_EQ(mapped.bytes().size, file.size());
  EXPECT_EQ(mapped.bytes().data[file.size() - 1], file.back());
  EXPECT_EQ(messageOf(FUSEC_MALFORMED, [&] { Model::load(path, options()); }),
            path + ": bundle: expected a header of 64 bytes, found 1");
  std::remove(path.c_str());
}

TEST_F(ModelTest, MissingKernel) {
  fake->capabilityMajor = 10;
  auto rename = [](format::Manifest &manifest) {
    manifest.plans[2].steps[0].variants[0].launches[0].symbol = "absent";
  };
  EXPECT_EQ(messageOf(FUSEC_DRIVER_ERROR, [&] { load(rename); }),
            "finding kernel 'absent' of step 'scale': CUDA_ERROR_NOT_FOUND");
}

// Those of cubins are compared when a bundle is read.
TEST_F(ModelTest, ParametersOfAnotherKernel) {
  auto pop = [](format::Manifest &manifest) {
    manifest.plans[1].steps[1].variants[0].launches[0].params.pop_back();
  };
  EXPECT_EQ(messageOf(FUSEC_MALFORMED, [&] { load(pop); }),
            "bundle: plans[1].steps[1].variants[0].launches[0].params: "
            "expected 6 parameters, as kernel 'fake_vector' takes, found 5");
}

// Of PTX only the driver knows.
TEST_F(ModelTest, ParametersOfAnotherKernelInPtx) {
  fake->capabilityMajor = 10;
  auto cooperative = [](const std::function<void(format::Launch &)> &edit) {
    return [edit](format::Manifest &manifest) {
      format::Plan &plan = manifest.plans[2];
      plan.minDriver = 12000;
      format::Launch &launch = plan.steps[1].variants[0].launches[0];
      launch.cooperative = true;
      edit(launch);
    };
  };
  auto refuse = [&](const std::function<void(format::Launch &)> &edit) {
    return messageOf(FUSEC_MALFORMED, [&] { load(cooperative(edit)); });
  };
  EXPECT_EQ(load(cooperative([](format::Launch &) {})).target(), "ptx");
  EXPECT_EQ(refuse([](format::Launch &launch) { launch.params.pop_back(); }),
            "kernel 'fake_pair': expected 1 parameters, as the manifest says, "
            "found more");
  EXPECT_EQ(
      refuse([](format::Launch &launch) { launch.params.emplace_back(); }),
      "kernel 'fake_pair': expected 3 parameters, as the manifest says, "
      "found 2");
  EXPECT_EQ(refuse([](format::Launch &launch) {
              launch.params[1] =
                  format::SizeParam{format::DType::I32, format::Expr(1)};
            }),
            "kernel 'fake_pair': expected 4 bytes for parameter 1, as the "
            "manifest says, found 8");
  failNext("cuFuncGetParamInfo", 999);
  EXPECT_EQ(messageOf(FUSEC_DRIVER_ERROR,
                      [&] { load(cooperative([](format::Launch &) {})); }),
            "cuFuncGetParamInfo: CUDA error 999");
}

// What a file has moves no terminal's cursor.
TEST_F(ModelTest, MessagesAreText) {
  auto rename = [](format::Manifest &manifest) {
    manifest.plans[1].steps[1].name = "a\x1b[2J\nb" + std::string(200, 'c');
    manifest.plans[1].steps[1].variants[0].launches[0].grid[0] =
        format::Expr::dim("batch");
    manifest.inputs[0].name = "x\x07";
  };
  Session session(load(rename));
  EXPECT_EQ(messageOf(FUSEC_MALFORMED,
                      [&] {
                        session.prepare({{"batch", 1}, {"n", 4}});
                      }),
            "kernel 'fake_vector' of step 'a\\x1b[2J\\x0ab" +
                std::string(90, 'c') +
                "...': expected a grid that is a multiple of the cluster, 2, "
                "in dimension 0, found 1");
  EXPECT_EQ(messageOf(FUSEC_NOT_READY,
                      [&] {
                        session.prepare({{"batch", 2}, {"n", 4}});
                        session.run();
                      }),
            "input 'x\\x07' is not bound");
}

// Whatever call fails while loading, the error is reported and nothing leaks
// (which TearDown checks).
TEST_F(ModelTest, EveryCallThatFailsWhileLoading) {
  load();
  std::map<std::string, int> calls = fake->calls;
  ASSERT_GT(calls.size(), 10u);
  // Loading and making a stream make the context current; what follows frees,
  // which carries on, as does every second exchange.
  calls["cuCtxPushCurrent"] = 2;
  calls["cuThreadExchangeStreamCaptureMode"] = 1;
  for (const auto &[name, count] : calls) {
    for (int at = 1; at <= count; ++at) {
      failNext(name, name == "cuMemAlloc" ? 2 : 999, at);
      std::string message = messageOf(name == "cuMemAlloc" ? FUSEC_OUT_OF_MEMORY
                                                           : FUSEC_DRIVER_ERROR,
                                      [&] { load(); });
      EXPECT_FALSE(message.empty());
      EXPECT_EQ(fake->liveAllocations + fake->liveModules + fake->liveContexts,
                0)
          << name;
    }
  }
  failNext("cuMemAlloc", 2);
  EXPECT_EQ(messageOf(FUSEC_OUT_OF_MEMORY, [&] { load(); }),
            "allocating 264 bytes for weights: CUDA_ERROR_OUT_OF_MEMORY (out "
            "of memory)");
}

TEST_F(ModelTest, CallersBuffer) {
  fusec_model *model = nullptr;
  char small[8];
  EXPECT_EQ(
      fusec_model_load("/no/such/file", nullptr, &model, small, sizeof(small)),
      FUSEC_UNREADABLE);
  EXPECT_STREQ(small, "/no/suc");
  EXPECT_EQ(fusec_model_load("/no/such/file", nullptr, &model, nullptr, 0),
            FUSEC_UNREADABLE);
  EXPECT_EQ(fusec_model_load(nullptr, nullptr, &model, small, sizeof(small)),
            FUSEC_INVALID_ARGUMENT);
  fusec_load_options old = {};
  old.struct_size = 4;
  char message[256];
  EXPECT_EQ(
      fusec_model_load_memory("x", 1, &old, &model, message, sizeof(message)),
      FUSEC_INVALID_ARGUMENT);
  EXPECT_NE(std::string(message).find("struct_size"), std::string::npos);
  fusec_model_free(nullptr);
  EXPECT_EQ(fusec_api_version(), uint32_t(FUSEC_API_VERSION));
  EXPECT_STREQ(fusec_status_name(FUSEC_OUT_OF_MEMORY), "out of memory");
  EXPECT_STREQ(fusec_dtype_name(FUSEC_BF16), "bf16");
  EXPECT_EQ(fusec_dtype_name(13), nullptr);
  EXPECT_EQ(fusec_dtype_size(FUSEC_F64), 8u);
}

// A program of another version passes structs that end elsewhere: what is
// behind their end is neither read nor written.
TEST_F(ModelTest, StructsOfOtherVersions) {
  Model model = load(addAdapter);
  struct Longer {
    fusec_tensor_info info;
    uint64_t more = 77;
  } longer = {};
  longer.info.struct_size = sizeof(longer);
  ASSERT_EQ(fusec_model_input_info(model.handle(), 0, &longer.info, nullptr, 0),
            FUSEC_OK);
  EXPECT_STREQ(longer.info.name, "x");
  EXPECT_EQ(longer.info.struct_size, sizeof(longer));
  EXPECT_EQ(longer.more, 77u);

  char message[256];
  fusec_tensor_info info = {};
  info.struct_size = sizeof(info) - 1;
  EXPECT_EQ(fusec_model_input_info(model.handle(), 0, &info, message, 256),
            FUSEC_INVALID_ARGUMENT);
  EXPECT_STREQ(message, "fusec_tensor_info: expected a struct_size of at least "
                        "40, found 39");
  fusec_adapter_info adapter = {};
  EXPECT_EQ(fusec_model_adapter_info(model.handle(), 0, &adapter, message, 256),
            FUSEC_INVALID_ARGUMENT);
  EXPECT_STREQ(message, "fusec_adapter_info: expected a struct_size of at "
                        "least 48, found 0");
}

TEST_F(ModelTest, DimensionsAreChecked) {
  Model model = load();
  EXPECT_EQ(messageOf(FUSEC_INVALID_ARGUMENT, [&] { model.arenaSize({}); }),
            "arena slot 0 depends on dimension 'batch', which is not known: "
            "give it, or bind an "
            "input that has it");
  EXPECT_EQ(messageOf(FUSEC_INVALID_ARGUMENT,
                      [&] {
                        model.arenaSize({{"rows", 1}});
                      }),
            "unknown dimension 'rows'; the model has batch, n");
  EXPECT_EQ(messageOf(FUSEC_INVALID_ARGUMENT,
                      [&] {
                        model.arenaSize({{"batch", -1}});
                      }),
            "dimension 'batch': expected at least 0, found -1");
  EXPECT_EQ(messageOf(FUSEC_INVALID_ARGUMENT,
                      [&] {
                        model.arenaSize({{"batch", INT64_MAX}});
                      }),
            "arena slot 0: batch * 16 overflows 64 bits or divides by zero "
            "with batch = "
            "9223372036854775807");
  EXPECT_EQ(
      messageOf(FUSEC_INVALID_ARGUMENT, [&] { model.outputSizes(3, {}); }),
      "expected an index below the number of outputs, 1, found 3");
}

TEST_F(ModelTest, ThreadsLoadAndRun) {
  Model shared = load();
  std::vector<std::thread> threads;
  for (int t = 0; t != 8; ++t)
    threads.emplace_back([&] {
      for (int round = 0; round != 20; ++round) {
        Model own = load();
        for (const Model &model : {shared, own}) {
          Session session = model.session();
          auto tensors = std::make_unique<Tensors>();
          tensors->bind(session, 100);
          tensors->x[399] = 21;
          session.prepare();
          session.run();
          EXPECT_EQ(tensors->z[399], 42);
        }
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}
