// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fusec inspect: what a bundle holds.

#include "runtime/format/Bundle.h"
#include "runtime/format/Printable.h"
#include "runtime/src/Failure.h"
#include "runtime/src/TablePlacement.h"
#include "tools/fusec/Command.h"
#include "tools/fusec/Json.h"
#include "tools/fusec/MemoryOptions.h"
#include "tools/fusec/WriteFile.h"
#include "tools/support/Table.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/core.h>

using namespace fusec;

namespace {
/// A weight that is read by rows alone, and what of it would lie on the device.
struct TableInBundle {
  const format::Weight *weight;
  uint64_t deviceBytes;

  int64_t getDeviceRows() const {
    uint64_t rows = weight->sizes[0];
    return weight->size == 0 ? 0 : deviceBytes * rows / weight->size;
  }
};

struct InspectCommand {
  std::string file, imageFolder;
  MemoryOptions memory;

  void addTo(CLI::App &app);
  void run(Report &report);

private:
  void print(const format::Bundle &bundle, uint64_t size) const;
  llvm::json::Object toJson(const format::Bundle &bundle, uint64_t size) const;
  void writeImages(const format::Bundle &bundle) const;
  std::vector<TableInBundle> listTables(const format::Manifest &) const;
  void printTables(const format::Manifest &manifest) const;
};
} // namespace

void InspectCommand::addTo(CLI::App &app) {
  app.add_option("bundle", file, "the bundle")->required()->type_name("FILE");
  app.add_option("--images", imageFolder,
                 "also write each kernel's machine code or PTX, as tools like "
                 "nvdisasm read it")
      ->type_name("DIR");
  memory.addTo(app);
}

// Names are whatever the file has.
static void addRow(Table &table, std::vector<std::string> cells) {
  for (std::string &cell : cells)
    cell = format::printable(cell);
  table.row(std::move(cells));
}

static std::string typeText(const format::TensorSpec &spec) {
  std::string text;
  for (const format::Expr &size : spec.sizes)
    text += (text.empty() ? "" : ", ") + format::toString(size);
  return fmt::format("{}[{}]", format::dtypeName(spec.dtype), text);
}

static std::string join(const std::vector<std::string> &parts,
                        const char *separator) {
  std::string text;
  for (const std::string &part : parts)
    text += (text.empty() ? "" : separator) + part;
  return text;
}

static std::string conditionText(const format::Manifest &manifest,
                                 const format::Condition &condition) {
  if (condition.kind != format::Condition::Kind::Aligned)
    return fmt::format("{} {} {}", format::toString(condition.lhs),
                       format::conditionName(condition.kind),
                       format::toString(condition.rhs));
  const auto &tensors = condition.pointerKind == format::Pointer::Kind::Input
                            ? manifest.inputs
                            : manifest.outputs;
  return fmt::format("{} aligned to {}", tensors[condition.pointerIndex].name,
                     condition.bytes);
}

static void printPlan(const format::Manifest &manifest,
                      const format::Plan &plan) {
  auto &os = llvm::outs();
  uint64_t weights = 0;
  for (const format::Weight &weight : plan.weights)
    weights += weight.size;
  std::vector<std::string> slots;
  for (const format::Expr &slot : plan.slots)
    slots.push_back(format::toString(slot));
  os << "\nplan " << plan.target << ": " << plan.steps.size() << " steps, "
     << plan.weights.size() << " weights (" << formatBytes(weights)
     << "), arena "
     << (slots.empty() ? "0" : format::printable(join(slots, " + ")))
     << " bytes, driver " << plan.minDriver / 1000 << "."
     << plan.minDriver % 1000 / 10 << " or newer\n";
  Table table({{"step"},
               {"when"},
               {"kernel"},
               {"grid"},
               {"block", Table::Align::Right},
               {"shared", Table::Align::Right},
               {"nodes"}});
  for (const format::Step &step : plan.steps)
    for (size_t v = 0; v != step.variants.size(); ++v)
      for (const format::Launch &launch : step.variants[v].launches) {
        std::vector<std::string> guard, grid;
        for (const format::Condition &condition : step.variants[v].guard)
          guard.push_back(conditionText(manifest, condition));
        for (const format::Expr &extent : launch.grid)
          if (!extent.isConstant() || extent.value != 1 || grid.empty())
            grid.push_back(format::toString(extent));
        addRow(table,
               {v ? "" : step.name,
                guard.empty() ? "always" : join(guard, " and "), launch.symbol,
                join(grid, " x "), std::to_string(launch.block[0]),
                formatBytes(launch.smem), v ? "" : join(step.sources, " ")});
      }
  os << table.str();
}

/// Plans have the same tables.
std::vector<TableInBundle>
InspectCommand::listTables(const format::Manifest &manifest) const {
  const format::Plan &plan = manifest.plans.front();
  LoadOptions options = memory.getLoadOptions(0);
  rt::MemoryBudget budget{options.deviceMemory, {}};
  for (const auto &[name, rows] : options.deviceRows)
    budget.rows[name] = rows;
  std::vector<uint64_t> placed;
  try {
    placed = rt::placeWeights(plan, budget);
  } catch (const rt::Failure &failure) {
    fail(ExitCode::Usage, file + ": " + failure.message);
  }
  std::vector<TableInBundle> tables;
  for (size_t i = 0; i != placed.size(); ++i)
    if (plan.weights[i].table)
      tables.push_back({&plan.weights[i], placed[i]});
  return tables;
}

void InspectCommand::printTables(const format::Manifest &manifest) const {
  std::vector<TableInBundle> tables = listTables(manifest);
  if (tables.empty())
    return;
  auto gather = manifest.options.find("gather");
  llvm::outs() << "\ntables, read by rows"
               << (gather == manifest.options.end()
                       ? ""
                       : "; ids out of range: " +
                             format::printable(gather->second))
               << "\n";
  Table table({{"table"},
               {"type"},
               {"bytes", Table::Align::Right},
               {"section", Table::Align::Right},
               {"offset", Table::Align::Right},
               {"rows on the device", Table::Align::Right}});
  for (const TableInBundle &each : tables) {
    const format::Weight &weight = *each.weight;
    format::TensorSpec spec{weight.name, weight.dtype, {}};
    spec.sizes.assign(weight.sizes.begin(), weight.sizes.end());
    addRow(table,
           {weight.name, typeText(spec), formatBytes(weight.size),
            std::to_string(weight.section), std::to_string(weight.offset),
            each.deviceBytes == weight.size
                ? "all"
                : std::to_string(each.getDeviceRows())});
  }
  llvm::outs() << table.str();
}

void InspectCommand::print(const format::Bundle &bundle, uint64_t size) const {
  const format::Manifest &manifest = bundle.manifest();
  auto &os = llvm::outs();
  os << file << ": " << formatBytes(size) << ", by "
     << format::printable(manifest.compiler) << " with NVRTC "
     << format::printable(manifest.nvrtc) << "\n";
  std::vector<std::string> options;
  for (const auto &[name, value] : manifest.options)
    options.push_back(name + "=" + value);
  os << "options: " << format::printable(join(options, " ")) << "\n";
  Table table({{""}, {"name"}, {"type"}});
  for (const format::TensorSpec &input : manifest.inputs)
    addRow(table, {"input", input.name, typeText(input)});
  for (const format::TensorSpec &output : manifest.outputs)
    addRow(table, {"output", output.name, typeText(output)});
  // Plans differ in how they keep them only.
  for (const format::Weight &weight : manifest.plans.front().weights)
    if (!weight.adapter.empty())
      addRow(
          table,
          {weight.part == format::AdapterPart::A ? "adapter a" : "adapter b",
           weight.adapter,
           fmt::format("{}[{}, {}], rank {}", format::dtypeName(weight.dtype),
                       weight.sizes[0], weight.sizes[1], weight.rank())});
  for (const format::Weight &weight : manifest.plans.front().weights)
    if (weight.updatable || (weight.replaceable && weight.adapter.empty())) {
      format::TensorSpec spec{weight.name, weight.dtype, {}};
      spec.sizes.assign(weight.sizes.begin(), weight.sizes.end());
      addRow(table, {weight.updatable ? "updatable" : "replaceable",
                     weight.name, typeText(spec)});
    }
  os << table.str();
  for (const format::Constraint &constraint : manifest.constraints)
    os << format::printable(fmt::format(
              "requires {} = {}: {}", format::toString(constraint.lhs),
              format::toString(constraint.rhs), constraint.message))
       << "\n";
  std::map<std::string, std::pair<unsigned, uint64_t>> kinds;
  for (const format::Section &section : bundle.sections()) {
    auto &[count, bytes] = kinds[format::sectionKindName(section.kind)];
    ++count;
    bytes += section.bytes.size;
  }
  std::vector<std::string> sections;
  for (const auto &[kind, total] : kinds)
    sections.push_back(fmt::format("{} {} ({})", total.first, kind,
                                   formatBytes(total.second)));
  os << "sections: " << join(sections, ", ") << "\n";
  printTables(manifest);
  for (const format::Plan &plan : manifest.plans)
    printPlan(manifest, plan);
}

llvm::json::Object InspectCommand::toJson(const format::Bundle &bundle,
                                          uint64_t size) const {
  llvm::Expected<llvm::json::Value> manifest =
      llvm::json::parse(jsonText(format::writeManifest(bundle.manifest())));
  if (!manifest)
    fail(ExitCode::Internal, llvm::toString(manifest.takeError()));
  return llvm::json::Object{
      {"bytes", size},
      {"sections", jsonArray(bundle.sections(),
                             [](const format::Section &section) {
                               return llvm::json::Object{
                                   {"kind", sectionKindName(section.kind)},
                                   {"bytes", section.bytes.size},
                                   {"sha256", format::toHex(section.digest)}};
                             })},
      {"tables", jsonArray(listTables(bundle.manifest()),
                           [](const TableInBundle &table) {
                             const format::Weight &weight = *table.weight;
                             return llvm::json::Object{
                                 {"name", jsonText(weight.name)},
                                 {"dtype",
                                  std::string(format::dtypeName(weight.dtype))},
                                 {"sizes", weight.sizes},
                                 {"bytes", weight.size},
                                 {"section", weight.section},
                                 {"offset", weight.offset},
                                 {"device_rows", table.getDeviceRows()}};
                           })},
      {"manifest", std::move(*manifest)}};
}

// KERNEL.TARGET.cubin or KERNEL.ptx; the section is part of the name where a
// bundle of someone else's calls two kernels the same.
void InspectCommand::writeImages(const format::Bundle &bundle) const {
  makeFolder(imageFolder);
  std::map<std::string, unsigned> sectionOf;
  for (const format::Plan &plan : bundle.manifest().plans)
    for (const format::Step &step : plan.steps)
      for (const format::Variant &variant : step.variants)
        for (const format::Launch &launch : variant.launches) {
          const format::Section &section = bundle.sections()[launch.section];
          std::string name = launch.symbol;
          if (section.kind == format::SectionKind::Cubin)
            name += "." + plan.target;
          auto [known, isNew] = sectionOf.insert({name, launch.section});
          if (!isNew && known->second == launch.section)
            continue;
          if (!isNew)
            name += fmt::format(".{}", launch.section);
          dumpFile(fmt::format("{}/{}.{}", imageFolder, name,
                               sectionKindName(section.kind)),
                   {reinterpret_cast<const char *>(section.bytes.data),
                    section.bytes.size});
        }
}

void InspectCommand::run(Report &report) {
  format::MappedFile mapped;
  format::Bundle bundle;
  std::string error;
  // Which names the file itself.
  if (!mapped.open(file, error))
    failUnreadable(error);
  if (!format::Bundle::open(mapped.bytes(), format::HashWeights::Always, bundle,
                            error))
    failMalformed(file + ": " + error);
  if (!imageFolder.empty())
    writeImages(bundle);
  if (report.isJson())
    report.setResult(toJson(bundle, mapped.bytes().size));
  else
    print(bundle, mapped.bytes().size);
}

void fusec::addInspect(CLI::App &tool, Report &report) {
  addCommand<InspectCommand>(
      tool, report, "inspect",
      "Shows what a bundle holds, after checking all of it.",
      "  fusec inspect model.fusec\n"
      "  fusec inspect model.fusec --json\n"
      "  fusec inspect model.fusec --device-memory=15G\n"
      "  fusec inspect model.fusec --images=images/\n");
}
