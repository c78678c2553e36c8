// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/codegen/nvrtc/KernelCache.h"
#include "compiler/PartFile.h"
#include "compiler/codegen/nvrtc/CacheFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"

#include <cstdlib>
#include <fmt/core.h>

using namespace llvm;

namespace fusec {

// A payload is a list of strings and numbers, each string preceded by its
// length.
namespace {
class Writer {
public:
  void number(uint64_t value) {
    char bytes[8];
    support::endian::write64le(bytes, value);
    payload.append(bytes, sizeof bytes);
  }
  void string(StringRef text) {
    number(text.size());
    payload.append(text.data(), text.size());
  }
  std::string payload;
};

/// Reads what Writer wrote; `failed` sticks once anything is out of range.
class Reader {
public:
  explicit Reader(StringRef payload) : rest(payload) {}
  uint64_t number() {
    if (rest.size() < 8) {
      failed = true;
      return 0;
    }
    uint64_t value = support::endian::read64le(rest.data());
    rest = rest.drop_front(8);
    return value;
  }
  std::string string() {
    uint64_t size = number();
    if (size > rest.size()) {
      failed = true;
      return {};
    }
    std::string text = rest.take_front(size).str();
    rest = rest.drop_front(size);
    return text;
  }
  bool done() const { return !failed && rest.empty(); }
  bool failed = false;

private:
  StringRef rest;
};
} // namespace

static std::string hexDigest(StringRef text) {
  return toHex(SHA256::hash(arrayRefFromStringRef(text)), /*LowerCase=*/true);
}

std::string defaultCacheDirectory() {
  auto under = [](const char *variable, StringRef folder) -> std::string {
    const char *value = std::getenv(variable);
    return value && *value ? fmt::format("{}{}", value, folder) : std::string();
  };
  for (std::string path :
       {under("FUSEC_CACHE_DIR", ""), under("XDG_CACHE_HOME", "/fusec"),
        under("HOME", "/.cache/fusec")})
    if (!path.empty())
      return path;
  return {};
}

KernelCache::KernelCache(std::string directory, uint64_t limit)
    : directory(std::move(directory)), limit(limit) {
  refusal = makeCacheFolder(this->directory);
  if (!refusal.empty())
    refusal +=
        "; kernels are compiled without the cache\nnote: remove it, take "
        "write permission from others (chmod go-w), or name a folder of "
        "your own with FUSEC_CACHE_DIR";
}

std::string KernelCache::key(const CompileRequest &request,
                             const NvrtcVersion &version) {
  Writer writer;
  writer.string(version.str());
  writer.string(request.target);
  writer.string(request.name); // The log names it.
  for (const std::string &option : nvrtcOptions(request))
    writer.string(option);
  writer.string("source");
  writer.string(request.source);
  for (const KernelHeader &header :
       collectHeaders(request.source, request.headers)) {
    writer.string(header.name);
    writer.string(header.text);
  }
  return hexDigest(writer.payload);
}

static std::string entryPath(StringRef directory, StringRef key) {
  SmallString<256> path(directory);
  sys::path::append(path, key.take_front(2), key);
  return std::string(path);
}

std::optional<std::string> KernelCache::read(const std::string &path,
                                             std::string *warning) const {
  if (!refusal.empty())
    return std::nullopt;
  CacheRefusal refusal;
  std::optional<std::string> payload = readCacheFile(path, refusal);
  if (warning && !refusal.empty())
    *warning = refusal + "; what it holds is made anew";
  return payload;
}

std::optional<CompiledKernel> KernelCache::lookup(StringRef key,
                                                  std::string *warning) const {
  std::optional<std::string> payload = read(entryPath(directory, key), warning);
  if (!payload)
    return std::nullopt;
  Reader reader(*payload);
  if (reader.string() != key)
    return std::nullopt;
  CompiledKernel kernel;
  kernel.name = reader.string();
  kernel.target = reader.string();
  kernel.isPtx = reader.number();
  kernel.serializedMma = reader.number();
  kernel.image = reader.string();
  kernel.log = reader.string();
  for (uint64_t left = reader.number(); left > 0 && !reader.failed; --left) {
    KernelUsage usage;
    usage.symbol = reader.string();
    for (unsigned *value : {&usage.registers, &usage.spillBytes,
                            &usage.stackBytes, &usage.sharedBytes})
      *value = reader.number();
    kernel.kernels.push_back(std::move(usage));
  }
  kernel.fromCache = true;
  if (!reader.done())
    return std::nullopt;
  return kernel;
}

void KernelCache::store(StringRef key, const CompiledKernel &kernel) const {
  if (!refusal.empty())
    return;
  Writer writer;
  writer.string(key);
  writer.string(kernel.name);
  writer.string(kernel.target);
  writer.number(kernel.isPtx);
  writer.number(kernel.serializedMma);
  writer.string(kernel.image);
  writer.string(kernel.log);
  writer.number(kernel.kernels.size());
  for (const KernelUsage &usage : kernel.kernels) {
    writer.string(usage.symbol);
    for (unsigned value : {usage.registers, usage.spillBytes, usage.stackBytes,
                           usage.sharedBytes})
      writer.number(value);
  }
  writeCacheFile(entryPath(directory, key), writer.payload);
}

void KernelCache::trim() const {
  if (!refusal.empty())
    return;
  struct Entry {
    sys::TimePoint<> used;
    uint64_t size;
    std::string path;
  };
  std::vector<Entry> found;
  uint64_t total = 0;
  std::error_code code, inner;
  // Only folders and files that look like ours are touched: the directory may
  // be any that the user named.
  for (sys::fs::directory_iterator it(directory, code), end; it != end && !code;
       it.increment(code)) {
    StringRef folder = sys::path::filename(it->path());
    if (folder.size() != 2 || !all_of(folder, isHexDigit))
      continue;
    for (sys::fs::directory_iterator file(it->path(), inner);
         file != end && !inner; file.increment(inner)) {
      StringRef name = sys::path::filename(file->path());
      sys::fs::file_status status;
      if (name.size() < 64 || !all_of(name.take_front(64), isHexDigit) ||
          sys::fs::status(file->path(), status, /*follow=*/false))
        continue;
      // What a killed process left.
      if (name.size() > 64)
        PartFile::removeAbandoned(
            StringRef(file->path()).drop_back(name.size() - 64));
      total += status.getSize();
      found.push_back(
          {status.getLastModificationTime(), status.getSize(), file->path()});
    }
  }
  if (total <= limit)
    return;
  llvm::sort(found, [](const Entry &a, const Entry &b) {
    return std::tie(a.used, a.path) < std::tie(b.used, b.path);
  });
  // A tenth below the limit, so that not every compilation trims again.
  for (const Entry &entry : found) {
    if (total <= limit - limit / 10)
      break;
    if (!sys::fs::remove(entry.path))
      total -= entry.size;
  }
}

/// Where the identity of the library at `file` is recorded, and the stamp
/// that tells a replaced library from the recorded one.
static bool identityRecord(StringRef directory, StringRef file,
                           std::string &path, std::string &stamp) {
  sys::fs::file_status status;
  if (sys::fs::status(file, status))
    return false;
  Writer writer;
  writer.string(file);
  writer.number(status.getSize());
  writer.number(status.getLastModificationTime().time_since_epoch().count());
  stamp = writer.payload;
  SmallString<256> buffer(directory);
  sys::path::append(buffer, "nvrtc", StringRef(hexDigest(file)).take_front(16));
  path = std::string(buffer);
  return true;
}

std::optional<NvrtcIdentity>
KernelCache::lookupIdentity(StringRef file, std::string *warning) const {
  std::string path, stamp;
  if (!identityRecord(directory, file, path, stamp))
    return std::nullopt;
  std::optional<std::string> payload = read(path, warning);
  if (!payload)
    return std::nullopt;
  Reader reader(*payload);
  if (reader.string() != stamp)
    return std::nullopt;
  NvrtcIdentity identity;
  identity.version.major = reader.number();
  identity.version.minor = reader.number();
  identity.version.build = reader.string();
  for (uint64_t left = reader.number(); left > 0 && !reader.failed; --left)
    identity.archs.push_back(reader.number());
  if (!reader.done())
    return std::nullopt;
  return identity;
}

void KernelCache::storeIdentity(StringRef file,
                                const NvrtcIdentity &identity) const {
  std::string path, stamp;
  if (!refusal.empty() || !identityRecord(directory, file, path, stamp))
    return;
  Writer writer;
  writer.string(stamp);
  writer.number(identity.version.major);
  writer.number(identity.version.minor);
  writer.string(identity.version.build);
  writer.number(identity.archs.size());
  for (int arch : identity.archs)
    writer.number(arch);
  writeCacheFile(path, writer.payload);
}

} // namespace fusec
