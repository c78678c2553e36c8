// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packing adapters.

#include "runtime/src/Adapter.h"

#include "runtime/src/SmallFloat.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

namespace fusec::rt {

namespace {
float loadElement(const HostMatrix &matrix, uint64_t index) {
  const uint8_t *at = matrix.bytes + index * format::dtypeSize(matrix.dtype);
  if (matrix.dtype == format::DType::F32) {
    float value;
    std::memcpy(&value, at, sizeof(value));
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, at, sizeof(bits));
  return matrix.dtype == format::DType::F16 ? fromHalf(bits) : fromBFloat(bits);
}

// False where a finite value does not fit.
bool storeElement(format::DType dtype, float value, uint8_t *at) {
  if (dtype == format::DType::F32) {
    std::memcpy(at, &value, sizeof(value));
    return true;
  }
  bool isHalf = dtype == format::DType::F16;
  uint16_t bits = isHalf ? toHalf(value) : toBFloat(value);
  std::memcpy(at, &bits, sizeof(bits));
  return !std::isfinite(value) ||
         std::isfinite(isHalf ? fromHalf(bits) : fromBFloat(bits));
}

std::string shapeText(int64_t rows, int64_t columns) {
  return sizesText({rows, columns});
}

std::string adapterText(const HostUpdate &update) {
  return update.origin + "adapter '" + update.name + "'";
}

// Writes one factor into the corner of its place; the rest stays zero.
class Packer {
public:
  Packer(const HostUpdate &update, const format::Weight &weight)
      : update(update), weight(weight),
        isA(weight.part == format::AdapterPart::A),
        matrix(isA ? update.a : update.b),
        what(adapterText(update) + ": " + (isA ? "a" : "b")) {}

  void pack(uint8_t *to) const {
    // The sizes of the factor as it multiplies, [k, r] or [r, n].
    int64_t rows = update.isTransposed ? matrix.columns : matrix.rows;
    int64_t columns = update.isTransposed ? matrix.rows : matrix.columns;
    checkSizes(rows, columns);
    if (columns == 0)
      return; // of however many rows
    double scale = isA ? 1 : update.scale;
    uint64_t width = format::dtypeSize(weight.dtype);
    for (int64_t i = 0; i != rows; ++i)
      for (int64_t j = 0; j != columns; ++j) {
        uint64_t from = update.isTransposed ? j * rows + i : i * columns + j;
        uint64_t place = weight.isTransposed ? j * weight.sizes[1] + i
                                             : i * weight.sizes[1] + j;
        float exact = loadElement(matrix, from);
        float value = float(double(exact) * scale);
        if (!storeElement(weight.dtype, value, to + place * width) ||
            (std::isfinite(exact) && !std::isfinite(value)))
          fail(FUSEC_INVALID_ARGUMENT,
               what + ": element " + shapeText(i, j) + ", " +
                   std::to_string(exact) + " times " + std::to_string(scale) +
                   ", exceeds " + std::string(format::dtypeName(weight.dtype)));
      }
  }

  int64_t rank() const {
    return isA == update.isTransposed ? matrix.rows : matrix.columns;
  }

private:
  void checkSizes(int64_t rows, int64_t columns) const {
    int64_t width = isA ? rows : columns, most = weight.rank();
    if (width == weight.width() && rank() <= most)
      return;
    std::string expected = std::to_string(weight.width());
    std::string rankText = "r";
    bool widthFirst = isA != update.isTransposed;
    fail(FUSEC_INVALID_ARGUMENT,
         what + ": expected sizes [" + (widthFirst ? expected : rankText) +
             ", " + (widthFirst ? rankText : expected) +
             "] with a rank r of at most " + std::to_string(most) + ", found " +
             shapeText(matrix.rows, matrix.columns));
  }

  const HostUpdate &update;
  const format::Weight &weight;
  bool isA;
  const HostMatrix &matrix;
  std::string what;
};
} // namespace

const AdapterSite &findAdapter(const Model &model, const std::string &name) {
  const std::vector<AdapterSite> &sites = model.adapters();
  auto found =
      std::lower_bound(sites.begin(), sites.end(), name,
                       [](const AdapterSite &site, const std::string &name) {
                         return site.name < name;
                       });
  if (found != sites.end() && found->name == name)
    return *found;
  std::string known;
  for (const AdapterSite &site : sites)
    known += (known.empty() ? "'" : ", '") + site.name + "'";
  fail(FUSEC_INVALID_ARGUMENT,
       "the model has no adapter '" + name + "'; " +
           (known.empty() ? "it was compiled without --adapter"
                          : "it has " + known));
}

Adapter::Adapter(std::shared_ptr<const Model> model)
    : theModel(std::move(model)) {}

Adapter::Adapter(std::shared_ptr<const Model> model,
                 const std::vector<HostUpdate> &updates)
    : theModel(std::move(model)) {
  if (theModel->adapters().empty())
    fail(FUSEC_INVALID_ARGUMENT,
         "the model has no adapters: compile it with --adapter");
  std::vector<uint8_t> image(theModel->adapterBytes(), 0);
  std::set<const AdapterSite *> seen;
  for (const HostUpdate &update : updates) {
    const AdapterSite &site = findAdapter(*theModel, update.name);
    if (!seen.insert(&site).second)
      fail(FUSEC_INVALID_ARGUMENT, adapterText(update) + " is given twice");
    if (!std::isfinite(update.scale))
      fail(FUSEC_INVALID_ARGUMENT,
           adapterText(update) + ": expected a finite scale");
    Packer a(update, theModel->plan().weights[site.a]);
    Packer b(update, theModel->plan().weights[site.b]);
    a.pack(image.data() + *theModel->replaceableOffset(site.a));
    b.pack(image.data() + *theModel->replaceableOffset(site.b));
    if (a.rank() != b.rank())
      fail(FUSEC_INVALID_ARGUMENT,
           adapterText(update) + ": expected a and b of one rank, found " +
               std::to_string(a.rank()) + " and " + std::to_string(b.rank()));
  }
  const Device &device = theModel->device();
  SetUpScope scope(device);
  memory = DeviceMemory(device, image.size(), "an adapter");
  const cuda::Driver &driver = device.driver();
  OwnStream own(device);
  driver.check(driver.copyToDeviceAsync(memory.pointer(), image.data(),
                                        image.size(), own.stream()),
               "copying an adapter");
  own.synchronize("copying an adapter");
}

} // namespace fusec::rt
