// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes what the fuzzers start from, a folder a target: models of the tests
// and of random nodes, bundles and manifests of them, tuning files that fit,
// and arrays.

#include "compiler/Compiler.h"
#include "compiler/schedule/Schedules.h"
#include "test/fuzz/BundleParts.h"
#include "test/fuzz/TunedModel.h"
#include "test/unit/damaged/RandomNodes.h"
#include "test/unit/runtime/TestBundle.h"
#include "tools/data/Npy.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace fusec;

static std::string folder;

static void write(const std::string &target, const std::string &name,
                  llvm::StringRef bytes) {
  llvm::cantFail(llvm::errorCodeToError(
      llvm::sys::fs::create_directories(folder + "/" + target)));
  std::error_code error;
  llvm::raw_fd_ostream(folder + "/" + target + "/" + name, error) << bytes;
  llvm::cantFail(llvm::errorCodeToError(error));
}

static llvm::StringRef toText(const std::vector<uint8_t> &bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

static void writeBundle(const std::string &name,
                        const std::vector<uint8_t> &file) {
  write("bundle", name, toText(file));
  format::Bundle bundle;
  std::string error;
  if (!format::Bundle::open({file.data(), file.size()},
                            format::HashWeights::Always, bundle, error))
    llvm::report_fatal_error(llvm::StringRef(error));
  write("manifest", name, format::writeManifest(bundle.manifest()));
}

/// Gives a bundle's kernels images that the fake driver reads.
static std::vector<uint8_t> putImages(llvm::StringRef bytes) {
  std::string error;
  auto parts = fuzz::takeApart(bytes);
  format::Manifest manifest;
  if (!parts || !format::parseManifest(parts->front().content, manifest, error))
    llvm::report_fatal_error(llvm::StringRef(error));
  std::map<unsigned, std::map<std::string, std::vector<unsigned>>> kernels;
  for (const format::Plan &plan : manifest.plans)
    for (const format::Step &step : plan.steps)
      for (const format::Variant &variant : step.variants)
        for (const format::Launch &launch : variant.launches) {
          auto &sizes = kernels[launch.section][launch.symbol];
          sizes.clear();
          for (const format::Param &param : launch.params)
            sizes.push_back(format::paramLayout(param).size);
        }
  for (auto &[section, symbols] : kernels) {
    fuzz::BundlePart &part = (*parts)[section];
    std::vector<test::TestKernel> list;
    part.content = ".version 8.0";
    for (auto &[symbol, sizes] : symbols) {
      part.content += " " + symbol + "(";
      for (unsigned size : sizes)
        part.content += std::to_string(size) + ",";
      part.content += ")";
      list.push_back({symbol, sizes});
    }
    if (part.kind == uint32_t(format::SectionKind::Cubin))
      part.content = toText(test::makeCubin(list)).str();
  }
  return fuzz::putTogether(*parts);
}

/// A bundle whose kernels are images of the fake driver, if the model compiles.
static void writeCompiled(const std::string &name, llvm::StringRef model,
                          CompileOptions options) {
  options.targets = {"sm_90a", "ptx"};
  auto compilation = Compilation::importBytes(model, std::move(options));
  llvm::Error error =
      compilation ? (*compilation)->emit() : compilation.takeError();
  if (error)
    return llvm::consumeError(std::move(error));
  std::vector<CompiledKernel> answers;
  for (const CompileRequest &request : (*compilation)->getRequests()) {
    CompiledKernel kernel;
    kernel.name = request.name;
    kernel.target = request.target;
    kernel.isPtx = request.target == "ptx";
    kernel.image = "image";
    answers.push_back(std::move(kernel));
  }
  if (llvm::Error refused = (*compilation)->addImages(std::move(answers)))
    return llvm::consumeError(std::move(refused));
  auto bytes = (*compilation)->getBundle({13, 0, ""});
  if (!bytes)
    return llvm::consumeError(bytes.takeError());
  if (bytes->size() < 60000)
    writeBundle(name, putImages(*bytes));
}

static void writeModel(const std::string &name, llvm::StringRef bytes) {
  write("import", name, bytes);
  write("compile", name, bytes);
}

static void writeModels() {
  for (const char *name :
       {"rope_fwd.legacy.onnx", "rope_fwd.dynbatch.onnx",
        "lora_mlp_seed.dynbatch.onnx", "lora_mlp_seed.dynamo.onnx",
        "add_mul_sigmoid.dynbatch.onnx", "rmsnorm_linear.legacy.onnx"}) {
    auto file =
        llvm::MemoryBuffer::getFile(std::string(FUSEC_TEST_MODELS "/") + name);
    if (!file)
      llvm::report_fatal_error("a model of the tests cannot be read");
    llvm::StringRef bytes = (*file)->getBuffer();
    writeModel(name, bytes);
    CompileOptions options;
    options.replaceable = {"*"};
    writeCompiled(name, bytes, options);
  }
  std::mt19937 random(1);
  for (unsigned i = 0; i != 200; ++i) {
    std::string bytes = test::makeRandomNodes(random);
    writeModel("nodes" + std::to_string(i), bytes);
    if (i < 40)
      writeCompiled("nodes" + std::to_string(i), bytes, CompileOptions());
  }
}

static void writeTestBundles() {
  writeBundle("plain", test::makeBundle());
  writeBundle("adapter", test::makeBundle(test::addAdapter));
  writeBundle("replaceable", test::makeBundle([](format::Manifest &manifest) {
                for (format::Plan &plan : manifest.plans)
                  for (format::Weight &weight : plan.weights)
                    weight.replaceable = true;
              }));
  // Manifests of the corpus, in a file whose hashes are right.
  std::error_code error;
  llvm::sys::fs::directory_iterator end;
  for (llvm::sys::fs::directory_iterator it(FUSEC_FUZZ_CORPUS "/manifest",
                                            error);
       it != end && !error; it.increment(error)) {
    auto text = llvm::MemoryBuffer::getFile(it->path());
    if (text)
      write("bundle", llvm::sys::path::filename(it->path()).str(),
            toText(test::replaceManifest((*text)->getBuffer().str())));
  }
}

/// Every schedule of every step, as if it had been measured.
static void writeTuning() {
  CompileOptions options;
  options.targets = {"sm_90a"};
  auto compilation =
      llvm::cantFail(Compilation::parse(fuzz::getTunedModel(), options));
  llvm::cantFail(compilation->advance(Stage::Planned));
  TuningFile file;
  TuningDevice &device = file.devices.emplace_back();
  device.target = "sm_90a";
  device.name = "NVIDIA H100";
  device.multiprocessors = 132;
  unsigned number = 0;
  compilation->getModule().walk([&](StepOp step) {
    auto problem = getTuningProblem(step, Products::Ieee);
    if (!problem)
      return;
    for (mlir::Attribute variant : step.getVariants()) {
      std::string schedule =
          getScheduleText(mlir::cast<VariantAttr>(variant).getSchedule());
      TuningEntry entry;
      entry.key = problem->key;
      for (const auto &[name, size] : problem->sizes)
        entry.sizes[name] = size.getConstant().value_or(128 << number % 4);
      entry.kernel = "k";
      entry.tuned = {schedule, 900};
      entry.model = {schedule, 1000};
      setEntry(device, entry);
      write("tuning", "schedule" + std::to_string(number++), file.print());
    }
  });
}

static void writeArrays() {
  static const double values[12] = {1, 2, 3};
  using data::DType;
  data::TensorView matrix(DType::F32, {2, 3}, values),
      scalar(DType::F64, {}, values), empty(DType::I64, {0, 5}, values),
      half(DType::BF16, {2, 1, 4}, values), flags(DType::Bool, {7}, values);
  std::string path = folder + "/arrays/";
  llvm::cantFail(
      llvm::errorCodeToError(llvm::sys::fs::create_directories(path)));
  data::writeNpy(path + "matrix.npy", matrix);
  data::writeNpy(path + "scalar.npy", scalar);
  data::writeNpy(path + "empty.npy", empty);
  data::writeNpz(path + "one.npz", {{"x", matrix}});
  data::writeNpz(
      path + "all.npz",
      {{"x", matrix}, {"s", scalar}, {"e", empty}, {"h", half}, {"f", flags}});
}

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  folder = argv[1];
  writeModels();
  writeTestBundles();
  writeTuning();
  writeArrays();
}
