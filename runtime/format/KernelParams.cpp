// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading and comparing parameter tables. Section ".nv.info.<kernel>" belongs
// to ".text.<kernel>" and is a row of records, each aligned to 4 bytes:
//   format 1 byte, attribute 1 byte, value 2 bytes; of format 4 the value is
//   the number of bytes that follow
// of which these say what the kernel takes:
//   EIATTR_KPARAM_INFO: index 4, ordinal 2, offset 2, and 4 whose upper 14
//   bits are the size
//   EIATTR_KPARAM_INFO_V2, where one has 16384 bytes or more: index 4, ordinal
//   2, offset 2, size 2, and 2 more
//   EIATTR_CBANK_PARAM_SIZE: its value is where the last one ends, which is
//   missing where there is none

#include "runtime/format/KernelParams.h"

#include "runtime/format/ElfFile.h"
#include "runtime/format/ForEachLaunch.h"

#include <algorithm>

namespace fusec::format {

namespace {
constexpr std::string_view infoPrefix = ".nv.info.", textPrefix = ".text.";
constexpr size_t maxSectionName = maxSymbol + infoPrefix.size();
constexpr uint8_t lastValueFormat = 3, bytesFormat = 4;
constexpr uint8_t paramInfo = 0x17, paramInfo2 = 0x45, blockBytes = 0x19;
constexpr size_t recordBytes = 4, paramInfoBytes = 12;

std::string text(uint64_t number) { return std::to_string(number); }

// One kernel's table.
class ParamTable {
public:
  ParamTable(const ElfFile &elf, std::string_view kernel, ByteSpan bytes)
      : elf(elf), kernel(kernel), bytes(bytes) {}

  KernelParams read() {
    for (size_t at = 0; at < bytes.size;)
      at = readRecord(at);
    KernelParams params;
    unsigned end = 0;
    for (const auto &[ordinal, param] : found) {
      if (ordinal != params.sizes.size() || param.offset < end)
        fail("expected parameters one behind the other, found number " +
             text(ordinal) + " at offset " + text(param.offset) +
             " behind number " + text(params.sizes.size()) + " up to " +
             text(end));
      end = param.offset + param.size;
      params.sizes.push_back(param.size);
    }
    if (end != total)
      fail("expected parameters up to byte " + text(total) + ", found " +
           text(end));
    params.bytes = end;
    return params;
  }

private:
  struct Place {
    unsigned offset, size;
  };

  [[noreturn]] void fail(const std::string &what) const {
    elf.fail("parameters of kernel '" + shorten(kernel) + "': " + what);
  }
  template <typename T> T load(size_t at) const {
    return loadLittle<T>(bytes.data + at);
  }

  // Returns where the next one is.
  size_t readRecord(size_t at) {
    if (bytes.size - at < recordBytes)
      fail("expected a record of 4 bytes at " + text(at) + ", found the end");
    uint8_t format = load<uint8_t>(at), attribute = load<uint8_t>(at + 1);
    unsigned value = load<uint16_t>(at + 2);
    at += recordBytes;
    if (format == 0 || format > bytesFormat)
      fail("expected a format of 1 to 4, found " + text(format));
    if (format <= lastValueFormat) {
      if (attribute == blockBytes)
        total = value;
      return at;
    }
    if (value > bytes.size - at)
      fail("expected " + text(value) + " bytes at " + text(at) +
           ", found the end");
    if (attribute == paramInfo || attribute == paramInfo2)
      readParam(at, value, attribute == paramInfo2);
    size_t aligned = (value + recordBytes - 1) / recordBytes * recordBytes;
    return std::min(at + aligned, bytes.size);
  }

  void readParam(size_t at, unsigned size, bool isSecond) {
    if (size != paramInfoBytes)
      fail("expected " + text(paramInfoBytes) +
           " bytes of a parameter, found " + text(size));
    unsigned ordinal = load<uint16_t>(at + 4);
    Place place = {load<uint16_t>(at + 6), isSecond
                                               ? load<uint16_t>(at + 8)
                                               : load<uint32_t>(at + 8) >> 18};
    if (!found.emplace(ordinal, place).second)
      fail("parameter " + text(ordinal) + " occurs twice");
  }

  const ElfFile &elf;
  std::string_view kernel;
  ByteSpan bytes;
  std::map<unsigned, Place> found; // by ordinal
  unsigned total = 0;
};

void compare(const Launch &launch, const KernelParams &kernel,
             const Where &where) {
  std::string takes = ", as kernel '" + launch.symbol + "' takes, found ";
  if (!takesParamsOneByOne(launch)) {
    if (paramBytes(launch) != kernel.bytes)
      where.fail("expected " + text(kernel.bytes) + " bytes in all" + takes +
                 text(paramBytes(launch)));
    return;
  }
  if (launch.params.size() != kernel.sizes.size())
    where.fail("expected " + text(kernel.sizes.size()) + " parameters" + takes +
               text(launch.params.size()));
  for (size_t i = 0; i != kernel.sizes.size(); ++i)
    if (paramLayout(launch.params[i]).size != kernel.sizes[i])
      where.at(i).fail("expected " + text(kernel.sizes[i]) + " bytes" + takes +
                       text(paramLayout(launch.params[i]).size));
}
} // namespace

std::map<std::string, KernelParams> readKernelParams(ByteSpan cubin,
                                                     const std::string &name) {
  ElfFile elf(cubin, name);
  std::map<std::string, KernelParams> kernels;
  size_t left = cubin.size;
  for (unsigned i = 0; i != elf.sectionCount(); ++i) {
    std::string_view section = elf.sectionName(i, maxSectionName);
    if (section.substr(0, infoPrefix.size()) != infoPrefix)
      continue;
    std::string_view kernel = section.substr(infoPrefix.size());
    // Tables that overlap could be read again and again.
    ByteSpan bytes = elf.sectionBytes(i);
    if (bytes.size > left)
      elf.fail("ELF sections '" + std::string(infoPrefix) + "*' overlap");
    left -= bytes.size;
    uint32_t code = elf.sectionInfo(i);
    if (code >= elf.sectionCount() ||
        elf.sectionName(code, maxSectionName) !=
            std::string(textPrefix).append(kernel))
      elf.fail("ELF section header " + text(i) +
               ": expected the section of the kernel's code, found " +
               text(code));
    if (!kernels.emplace(kernel, ParamTable(elf, kernel, bytes).read()).second)
      elf.fail("ELF section header " + text(i) + ": kernel '" +
               shorten(kernel) + "' occurs twice");
  }
  return kernels;
}

void checkKernelParams(const Manifest &manifest,
                       const std::vector<Section> &sections) {
  std::map<unsigned, std::map<std::string, KernelParams>> read; // by section
  auto checkLaunch = [&](const Launch &launch, const Where &where) {
    if (sections[launch.section].kind != SectionKind::Cubin)
      return;
    auto [place, isNew] = read.try_emplace(launch.section);
    if (isNew)
      place->second = readKernelParams(sections[launch.section].bytes,
                                       "section " + text(launch.section));
    auto kernel = place->second.find(launch.symbol);
    if (kernel == place->second.end())
      where.member("symbol").fail("expected a kernel of section " +
                                  text(launch.section) + ", found '" +
                                  launch.symbol + "'");
    compare(launch, kernel->second, where.member("params"));
  };
  Where plans("plans");
  for (size_t i = 0; i != manifest.plans.size(); ++i)
    forEachLaunch(manifest.plans[i], plans.at(i), checkLaunch);
}

} // namespace fusec::format
