// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/fusec/TuneReport.h"
#include "tools/fusec/Failure.h"
#include "tools/fusec/Json.h"
#include "tools/support/Table.h"

#include <fmt/core.h>

using namespace fusec;

static std::string getSizesText(const std::map<std::string, int64_t> &sizes) {
  std::string text;
  for (const auto &[name, size] : sizes)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, size);
  return text;
}

ProbeFile::ProbeFile(const std::string &path) : path(path) {
  if (path.empty())
    return;
  std::error_code code;
  csv = std::make_unique<llvm::raw_fd_ostream>(path, code);
  check(code);
  *csv << "kernel,family,precision,operands,region,sizes,schedule,bound,"
          "predicted_us,measured_us,refused\n";
}

void ProbeFile::check(std::error_code code) const {
  if (code)
    failUnreadable(path + ": cannot be written: " + code.message());
}

void ProbeFile::add(const Contest &contest) {
  if (!csv)
    return;
  for (const Contender &contender : contest.contenders)
    add(contest.entry, contender);
  csv->flush();
}

void ProbeFile::add(const TuningEntry &entry, const Contender &contender) {
  EstimateAttr estimate = contender.variant.getEstimate();
  *csv << entry.kernel << "," << entry.key.family << "," << entry.key.precision
       << "," << entry.key.operands << "," << entry.key.region << ","
       << getSizesText(entry.sizes) << ",\"" << contender.getSchedule() << "\","
       << (estimate ? stringifyTimeBound(estimate.getBound()) : "") << ","
       << fmt::format("{:.3f},", contender.predicted);
  if (contender.measured > 0)
    *csv << fmt::format("{:.3f}", contender.measured);
  *csv << ",\"" << contender.refusal << "\"\n";
}

void ProbeFile::finish() {
  if (!csv)
    return;
  csv->flush();
  std::error_code code = csv->error();
  csv->clear_error();
  check(code);
}

static llvm::json::Object candidateJson(const Contender &contender) {
  EstimateAttr estimate = contender.variant.getEstimate();
  return llvm::json::Object{
      {"schedule", contender.getSchedule()},
      {"bound", estimate
                    ? llvm::json::Value(stringifyTimeBound(estimate.getBound()))
                    : nullptr},
      {"predicted_us", jsonNumber(contender.predicted)},
      {"measured_us",
       contender.measured > 0 ? jsonNumber(contender.measured) : nullptr},
      {"refused", jsonText(contender.refusal)}};
}

llvm::json::Object fusec::toJson(const Contest &contest, const RandomIds &ids,
                                 bool isCompared) {
  const TuningEntry &entry = contest.entry;
  auto toValue = [&](const std::string &schedule, double microseconds) {
    return isCompared
               ? llvm::json::Value(llvm::json::Object{
                     {"schedule", schedule}, {"us", jsonNumber(microseconds)}})
               : nullptr;
  };
  return llvm::json::Object{
      {"kernel", jsonText(entry.kernel)},
      {"family", entry.key.family},
      {"precision", entry.key.precision},
      {"operands", entry.key.operands},
      {"region", entry.key.region},
      {"sizes", jsonMap(entry.sizes)},
      {"candidates", jsonArray(contest.contenders, candidateJson)},
      {"model", toValue(contest.modelSchedule, contest.model)},
      {"tuned", toValue(contest.tunedSchedule, contest.tuned)},
      {"ids", idsJson(ids.getText(), contest.touched)},
      {"kept", isCompared && contest.isKept()},
      {"failure", jsonText(contest.failure)}};
}

std::string fusec::getTable(llvm::ArrayRef<Contest> contests,
                            const RandomIds &ids) {
  using Align = Table::Align;
  Table table({{"kernel"},
               {"sizes"},
               {"predicted us", Align::Right},
               {"measured us", Align::Right},
               {"best us", Align::Right},
               {"gain", Align::Right},
               {"best schedule, where it is not the model's"}});
  double sum = 0, worst = 0;
  unsigned kept = 0;
  for (const Contest &contest : contests) {
    bool isKept = contest.isKept();
    kept += isKept;
    sum += contest.getGain();
    worst = std::max(worst, contest.getGain());
    table.row({contest.entry.kernel, getSizesText(contest.entry.sizes),
               fmt::format("{:.1f}", contest.predicted),
               fmt::format("{:.1f}", contest.model),
               fmt::format("{:.1f}", contest.tuned),
               fmt::format("{:.1f}%", contest.getGain() * 100),
               isKept ? contest.tunedSchedule : ""});
  }
  std::string text = table.str();
  for (const Contest &contest : contests)
    if (contest.touched.all)
      text += fmt::format("{}: {}\n", contest.entry.kernel,
                          describeIds(ids.getText(), contest.touched));
  if (contests.empty())
    return text + "no kernel has more than one schedule\n";
  return text + fmt::format("the model's pick is within {:.1f}% of the "
                            "tuned one on average, {:.1f}% "
                            "at worst; {} of {} schedules tuned\n",
                            100 * sum / contests.size(), 100 * worst, kept,
                            contests.size());
}
