// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Requests in, kernels out: the cache first, then NVRTC on all cores, each
// distinct program once.

#include "compiler/codegen/nvrtc/KernelCache.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/ThreadPool.h"

#include <mutex>
#include <utility>

using namespace llvm;

namespace fusec {

struct KernelCompiler::State {
  KernelCompilerOptions options;
  std::optional<KernelCache> cache;
  std::string file;
  std::optional<NvrtcIdentity> identity;
  std::unique_ptr<Nvrtc> nvrtc;
  std::vector<std::string> warnings;
  bool hasWarned = false;

  /// The first only: where one file is another's, all may be.
  void warn(std::string warning) {
    if (warning.empty() || hasWarned)
      return;
    hasWarned = true;
    warnings.push_back("kernel cache: " + std::move(warning));
  }

  Error find() {
    if (!file.empty())
      return Error::success();
    Expected<std::string> found = findNvrtc(options.nvrtcPath);
    if (!found)
      return found.takeError();
    file = std::move(*found);
    return Error::success();
  }

  Error load() {
    if (nvrtc)
      return Error::success();
    if (Error error = find())
      return error;
    Expected<std::unique_ptr<Nvrtc>> loaded = Nvrtc::load(file);
    if (!loaded)
      return loaded.takeError();
    nvrtc = std::move(*loaded);
    identity = nvrtc->getIdentity();
    if (cache)
      cache->storeIdentity(file, *identity);
    return Error::success();
  }
};

KernelCompiler::KernelCompiler(KernelCompilerOptions options)
    : state(std::make_unique<State>()) {
  state->options = std::move(options);
  if (!state->options.useCache)
    return;
  std::string directory = state->options.cacheDirectory.empty()
                              ? defaultCacheDirectory()
                              : state->options.cacheDirectory;
  if (directory.empty())
    return;
  state->cache.emplace(std::move(directory), state->options.cacheLimit);
  state->warn(state->cache->getRefusal());
}

KernelCompiler::~KernelCompiler() = default;

Expected<const NvrtcIdentity &> KernelCompiler::getIdentity() {
  if (state->identity)
    return *state->identity;
  if (Error error = state->find())
    return error;
  if (state->cache) {
    std::string warning;
    state->identity = state->cache->lookupIdentity(state->file, &warning);
    state->warn(std::move(warning));
  }
  if (!state->identity)
    if (Error error = state->load())
      return error;
  return *state->identity;
}

Expected<std::string> KernelCompiler::getFile() {
  if (Error error = state->find())
    return error;
  return state->file;
}

namespace {
/// Of each distinct program.
struct Answer {
  std::string key;
  const CompileRequest *request;
  std::optional<CompiledKernel> kernel;
  std::optional<Error> error;
};
} // namespace

/// Of all text that is compiled.
static size_t getLength(const CompileRequest &request) {
  size_t total = request.source.size();
  for (const KernelHeader &header :
       collectHeaders(request.source, request.headers))
    total += header.text.size();
  return total;
}

Expected<std::vector<CompiledKernel>>
KernelCompiler::compileAll(ArrayRef<CompileRequest> requests,
                           const Progress &progress) {
  Expected<const NvrtcIdentity &> identity = getIdentity();
  if (!identity)
    return identity.takeError();
  std::optional<KernelCache> &cache = state->cache;

  // Requests point at their answers.
  std::vector<Answer> answers;
  std::vector<size_t> answerOf;
  StringMap<size_t> byKey;
  for (const CompileRequest &request : requests) {
    std::string key = KernelCache::key(request, identity->version);
    auto [it, isNew] = byKey.try_emplace(key, answers.size());
    answerOf.push_back(it->second);
    if (isNew) {
      answers.emplace_back();
      answers.back().key = std::move(key);
      answers.back().request = &request;
    }
  }

  size_t done = 0;
  std::mutex mutex;
  auto report = [&](const Answer &answer) {
    std::lock_guard<std::mutex> lock(mutex);
    ++done;
    if (progress && answer.kernel)
      progress(done, answers.size(), *answer.kernel);
  };

  auto takeErrors = [&] {
    Error errors = Error::success();
    for (Answer &answer : answers)
      if (answer.error)
        errors = joinErrors(std::move(errors), std::move(*answer.error));
    return errors;
  };

  std::vector<Answer *> missing;
  for (Answer &answer : answers) {
    // A damaged identity record must not make a wrong target pass.
    if (Error error = checkTarget(answer.request->target, *identity)) {
      answer.error = std::move(error);
      continue;
    }
    if (cache) {
      std::string warning;
      answer.kernel = cache->lookup(answer.key, &warning);
      state->warn(std::move(warning));
    }
    if (answer.kernel)
      report(answer);
    else
      missing.push_back(&answer);
  }

  if (!missing.empty()) {
    if (Error error = state->load())
      return joinErrors(takeErrors(), std::move(error));
    // A long one started last would leave cores idle.
    llvm::stable_sort(missing, [](const Answer *a, const Answer *b) {
      return getLength(*a->request) > getLength(*b->request);
    });
    DefaultThreadPool pool(hardware_concurrency(state->options.threads));
    for (Answer *answer : missing)
      pool.async([&, answer] {
        Expected<CompiledKernel> kernel =
            state->nvrtc->compile(*answer->request);
        if (!kernel) {
          answer->error = kernel.takeError();
        } else {
          answer->kernel = std::move(*kernel);
          if (cache)
            cache->store(answer->key, *answer->kernel);
        }
        report(*answer);
      });
    pool.wait();
    if (cache)
      cache->trim();
  }

  if (Error errors = takeErrors())
    return errors;
  std::vector<CompiledKernel> kernels;
  for (size_t index : answerOf)
    kernels.push_back(*answers[index].kernel);
  return kernels;
}

Expected<CompiledKernel>
KernelCompiler::compile(const CompileRequest &request) {
  Expected<std::vector<CompiledKernel>> kernels = compileAll(request);
  if (!kernels)
    return kernels.takeError();
  return std::move(kernels->front());
}

std::vector<std::string> KernelCompiler::takeWarnings() {
  return std::exchange(state->warnings, {});
}

} // namespace fusec
