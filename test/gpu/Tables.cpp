// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A table whose rows lie on the device, with the host, or with both: the same
// rows are read; and while eight threads read them, rows that are changed are
// either new or old.

#include "test/gpu/Harness.h"
#include "test/support/ModelBuilder.h"
#include "tools/fusec/Failure.h"

#include <atomic>
#include <mutex>
#include <thread>

using namespace fusec;

/// 16 MiB of rows of 256 bytes.
constexpr int64_t rowCount = 65536, width = 64, batch = 4096;
constexpr unsigned threadCount = 8;

static float getElement(int64_t row, int64_t column, int64_t version) {
  return float((row * width + column + version * 7919) % 65521);
}

static std::string makeModel() {
  std::vector<float> values;
  for (int64_t row = 0; row != rowCount; ++row)
    for (int64_t column = 0; column != width; ++column)
      values.push_back(getElement(row, column, 0));
  fusec::onnx::test::ModelBuilder model;
  model.input("ids", "int64[batch]")
      .output("out", "float[batch," + std::to_string(width) + "]");
  model.floats("table", {rowCount, width}, {})
      .set_raw_data(values.data(), values.size() * sizeof(float));
  model.node("Gather", {"table", "ids"}, {"rows"});
  model.node("Relu", {"rows"}, {"out"});
  return model.proto.SerializeAsString();
}

namespace {
/// A session with tensors of its own, which reads these rows.
class Reader {
public:
  Reader(const Model &model, const rt::Device &device,
         const std::vector<int64_t> &ids)
      : scope(device), ids(ids), stream(device), session(model),
        in(device, ids.size() * sizeof(int64_t), "ids"),
        out(device, ids.size() * width * sizeof(float), "rows"),
        rows(ids.size() * width) {
    int64_t count = int64_t(ids.size());
    in.upload(ids.data());
    session.bind("ids",
                 Tensor(in.data(), FUSEC_I64, {count}, device.ordinal()));
    session.bind(
        "out", Tensor(out.data(), FUSEC_F32, {count, width}, device.ordinal()));
    session.prepare();
  }
  void enqueue() { session.run(stream.stream()); }
  void wait() { stream.synchronize("reading rows"); }
  void download() {
    wait();
    out.download(rows.data());
  }
  /// Elements of other rows than those of the version; of any one, where it is
  /// negative.
  int64_t countWrong(int64_t version) const {
    int64_t wrong = 0;
    for (size_t i = 0; i != ids.size(); ++i) {
      const float *row = rows.data() + i * width;
      int64_t own = version;
      if (own < 0)
        for (own = 0; own != 65521 && getElement(ids[i], 0, own) != row[0];)
          ++own;
      for (int64_t column = 0; column != width; ++column)
        wrong += row[column] != getElement(ids[i], column, own);
    }
    return wrong;
  }

private:
  rt::ContextScope scope;
  std::vector<int64_t> ids;
  rt::OwnStream stream;
  Session session;
  FencedMemory in, out;
  std::vector<float> rows;
};
} // namespace

/// Ids at both ends, on both sides of the boundary, and everywhere.
static std::vector<int64_t> makeIds(int64_t deviceRows) {
  std::vector<int64_t> ids = {0, rowCount - 1};
  for (int64_t id : {deviceRows - 1, deviceRows})
    if (id >= 0 && id < rowCount)
      ids.push_back(id);
  while (int64_t(ids.size()) != batch)
    ids.push_back(int64_t(ids.size() * 2654435761u % rowCount));
  return ids;
}

/// Torn rows while eight threads read the rows that are changed. An update
/// waits for the runs before it, and those behind it for the update.
static int64_t countTorn(Model &model, const rt::Device &device,
                         const std::vector<int64_t> &ids) {
  std::vector<std::unique_ptr<Reader>> readers;
  for (unsigned i = 0; i != threadCount; ++i)
    readers.push_back(std::make_unique<Reader>(model, device, ids));
  std::mutex turn;
  std::atomic<bool> isOver{false};
  std::atomic<int64_t> torn{0}, runs{0};
  std::vector<std::thread> threads;
  for (auto &reader : readers)
    threads.emplace_back([&] {
      rt::ContextScope scope(device);
      while (!isOver) {
        {
          std::lock_guard<std::mutex> lock(turn);
          reader->enqueue();
        }
        reader->download();
        torn += reader->countWrong(-1);
        ++runs;
      }
    });
  std::vector<float> rows(ids.size() * width);
  for (int64_t version = 1; version < 60 || runs < 4 * threadCount; ++version) {
    for (size_t i = 0; i != ids.size(); ++i)
      for (int64_t column = 0; column != width; ++column)
        rows[i * width + column] = getElement(ids[i], column, version % 60);
    Tensor tensor(rows.data(), FUSEC_F32, {int64_t(ids.size()), width});
    std::lock_guard<std::mutex> lock(turn);
    for (auto &reader : readers)
      reader->wait();
    // Of memory of the host, so that it has ended when the call returns.
    model.updateRows("table", ids, tensor.setDeviceType(FUSEC_DEVICE_CPU));
  }
  isOver = true;
  for (std::thread &thread : threads)
    thread.join();
  return torn;
}

int main(int argc, char **argv) {
  Harness harness(argc, argv);
  std::string bytes = makeModel();
  auto compiled = harness.compile("tables", [&](CompileOptions options) {
    options.updatable = {"table"};
    return Compilation::importBytes(bytes, std::move(options));
  });
  if (!compiled || !compiled->run)
    return harness.finish();
  for (int64_t deviceRows : {rowCount, rowCount / 4, int64_t(0)}) {
    LoadOptions options;
    options.device = harness.getDevice().ordinal();
    options.deviceRows = {{"table", deviceRows}};
    std::string name = "tables.rows" + std::to_string(deviceRows);
    harness.check(name + ".read", [&] {
      Model model = Model::loadMemory(compiled->bundle.data(),
                                      compiled->bundle.size(), options);
      Reader reader(model, harness.getDevice(), makeIds(deviceRows));
      reader.enqueue();
      reader.download();
      return std::pair(double(reader.countWrong(0)), 0.0);
    });
    harness.check(name + ".update", [&] {
      Model model = Model::loadMemory(compiled->bundle.data(),
                                      compiled->bundle.size(), options);
      std::vector<int64_t> ids;
      int64_t first = std::clamp<int64_t>(deviceRows - 128, 0, rowCount - 256);
      for (int64_t i = 0; i != 256; ++i)
        ids.push_back(first + i);
      int64_t torn = countTorn(model, harness.getDevice(), ids);
      return std::pair(double(torn), 0.0);
    });
  }
  return harness.finish();
}
