// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A service loop around a compiled DLRM: clients ask for predictions of a few
// rows each; workers take what has queued up, run it as one batch, and answer.
// One model is shared by all workers, and each has a session and a stream.
//
//   dlrm-service dlrm.fusec [WORKERS [CLIENTS [SECONDS]]]

#include <fusec/fusec.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <future>
#include <mutex>
#include <random>
#include <thread>

namespace {

constexpr int64_t numDense = 13, numSparse = 26, maxBatch = 2048;
using Clock = std::chrono::steady_clock;

struct Request {
  std::vector<float> dense;
  std::vector<int64_t> sparse;
  std::promise<std::vector<float>> answer;
  int64_t rows() const { return dense.size() / numDense; }
};

class Queue {
public:
  // A request has at most maxBatch rows.
  std::future<std::vector<float>> push(Request request) {
    std::future<std::vector<float>> answer = request.answer.get_future();
    std::lock_guard lock(mutex);
    requests.push_back(std::move(request));
    ready.notify_one();
    return answer;
  }
  // Waits for a request, then takes as many as fit into a batch; none when
  // closed.
  std::vector<Request> pop() {
    std::unique_lock lock(mutex);
    ready.wait(lock, [&] { return closed || !requests.empty(); });
    std::vector<Request> batch;
    for (int64_t rows = 0; !requests.empty();) {
      rows += requests.front().rows();
      if (rows > maxBatch)
        break;
      batch.push_back(std::move(requests.front()));
      requests.pop_front();
    }
    return batch;
  }
  void close() {
    std::lock_guard lock(mutex);
    closed = true;
    ready.notify_all();
  }

private:
  std::mutex mutex;
  std::condition_variable ready;
  std::deque<Request> requests;
  bool closed = false;
};

void check(cudaError_t error, const char *what) {
  if (error == cudaSuccess)
    return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(4);
}

// Device memory and its pinned twin on the host.
template <typename T> struct Pair {
  explicit Pair(size_t count) {
    size_t bytes = count * sizeof(T);
    check(cudaMalloc(reinterpret_cast<void **>(&device), bytes), "cudaMalloc");
    check(cudaMallocHost(reinterpret_cast<void **>(&host), bytes),
          "cudaMallocHost");
  }
  ~Pair() {
    cudaFree(device);
    cudaFreeHost(host);
  }
  Pair(const Pair &) = delete;
  void upload(size_t count, cudaStream_t stream) {
    check(cudaMemcpyAsync(device, host, count * sizeof(T),
                          cudaMemcpyHostToDevice, stream),
          "upload");
  }
  void download(size_t count, cudaStream_t stream) {
    check(cudaMemcpyAsync(host, device, count * sizeof(T),
                          cudaMemcpyDeviceToHost, stream),
          "download");
  }
  T *device = nullptr, *host = nullptr;
};

void work(const fusec::Model &model, Queue &queue) {
  fusec::Session session = model.session();
  cudaStream_t stream;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
        "cudaStreamCreate");
  Pair<float> dense(maxBatch * numDense), prob(maxBatch);
  Pair<int64_t> sparse(maxBatch * numSparse);
  // Memory for the largest batch, so that no batch allocates.
  uint64_t arenaSize = model.arenaSize({{"batch", maxBatch}});
  Pair<char> arena(arenaSize + 1);

  for (;;) {
    std::vector<Request> batch = queue.pop();
    if (batch.empty())
      break;
    int64_t rows = 0;
    for (const Request &request : batch) {
      std::copy(request.dense.begin(), request.dense.end(),
                dense.host + rows * numDense);
      std::copy(request.sparse.begin(), request.sparse.end(),
                sparse.host + rows * numSparse);
      rows += request.rows();
    }
    dense.upload(rows * numDense, stream);
    sparse.upload(rows * numSparse, stream);
    session.bindInput(0,
                      fusec::Tensor(dense.device, FUSEC_F32, {rows, numDense}));
    session.bindInput(
        1, fusec::Tensor(sparse.device, FUSEC_I64, {rows, numSparse}));
    session.bindOutput(0, fusec::Tensor(prob.device, FUSEC_F32, {rows}));
    session.prepare({{"batch", rows}}, arena.device, arenaSize);
    session.run(stream);
    prob.download(rows, stream);
    check(cudaStreamSynchronize(stream), "the run");
    const float *result = prob.host;
    for (Request &request : batch) {
      request.answer.set_value({result, result + request.rows()});
      result += request.rows();
    }
  }
  cudaStreamDestroy(stream);
}

// Asks for random rows until it is time to stop; returns latencies in ms.
std::vector<double> ask(Queue &queue, unsigned seed, Clock::time_point end) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<double> latencies;
  while (Clock::now() < end) {
    Request request;
    int64_t rows = 1 + random() % 32;
    for (int64_t i = 0; i != rows * numDense; ++i)
      request.dense.push_back(normal(random));
    for (int64_t i = 0; i != rows * numSparse; ++i)
      request.sparse.push_back(random() >> 24);
    Clock::time_point start = Clock::now();
    queue.push(std::move(request)).wait();
    latencies.push_back(
        std::chrono::duration<double, std::milli>(Clock::now() - start)
            .count());
  }
  return latencies;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 2) {
    std::fprintf(
        stderr,
        "usage: dlrm-service dlrm.fusec [WORKERS [CLIENTS [SECONDS]]]\n");
    return 2;
  }
  int workers = argc > 2 ? std::atoi(argv[2]) : 2;
  int clients = argc > 3 ? std::atoi(argv[3]) : 16;
  int seconds = argc > 4 ? std::atoi(argv[4]) : 5;
  try {
    fusec::Model model = fusec::Model::load(argv[1], 0);
    Queue queue;
    std::vector<std::thread> pool;
    for (int i = 0; i != workers; ++i)
      pool.emplace_back([&] {
        try {
          work(model, queue);
        } catch (const fusec::Error &error) {
          std::fprintf(stderr, "%s\n", error.what());
          std::exit(4);
        }
      });
    Clock::time_point end = Clock::now() + std::chrono::seconds(seconds);
    std::vector<std::future<std::vector<double>>> asking;
    for (int i = 0; i != clients; ++i)
      asking.push_back(std::async(
          std::launch::async, [&queue, i, end] { return ask(queue, i, end); }));
    std::vector<double> latencies;
    for (auto &client : asking)
      for (double latency : client.get())
        latencies.push_back(latency);
    queue.close();
    for (std::thread &worker : pool)
      worker.join();
    std::sort(latencies.begin(), latencies.end());
    if (latencies.empty())
      return 1;
    std::printf("%zu requests in %d s; latency in ms: median %.3f, p99 %.3f\n",
                latencies.size(), seconds, latencies[latencies.size() / 2],
                latencies[latencies.size() * 99 / 100]);
    return 0;
  } catch (const fusec::Error &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 4;
  }
}
