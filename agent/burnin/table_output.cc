#include "agent/burnin/table_output.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace muster::burnin {
namespace {

constexpr const char* kOutcomeWords[] = {"pass", "FAIL", "unknown", "skipped"};
constexpr size_t kLiveColumns = 100;

using Row = std::vector<std::string>;

std::string Columns(const std::vector<Row>& rows) {
  std::vector<size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line = " ";
    for (size_t i = 0; i < row.size(); ++i)
      absl::StrAppendFormat(&line, " %-*s", static_cast<int>(widths[i]), row[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&text, line, "\n");
  }
  return text;
}

// "gpu 0" for a person, not its UUID.
std::string SubjectName(const CheckResult& result, const std::string& id) {
  for (const Subject& subject : result.subjects)
    if (subject.id == id && subject.kind == "gpu") return absl::StrCat("gpu ", subject.index);
  return id;
}

std::string Number(double value) {
  const bool whole = value == static_cast<double>(static_cast<int64_t>(value));
  return whole ? absl::StrFormat("%.0f", value) : absl::StrFormat("%.4g", value);
}

std::string Subjects(const CheckResult& result) {
  std::vector<Row> rows;
  for (const Subject& subject : result.subjects)
    rows.push_back({SubjectName(result, subject.id), subject.model, subject.slot, subject.id});
  return Columns(rows);
}

std::string Metrics(const CheckResult& result) {
  std::vector<Row> rows;
  for (const Metric& metric : result.metrics)
    rows.push_back({metric.name, metric.variant, SubjectName(result, metric.subject),
                    Number(metric.value), metric.unit == "1" ? "" : metric.unit});
  return Columns(rows);
}

std::string Faults(const CheckResult& result) {
  std::string text;
  for (const Fault& fault : result.faults) {
    absl::StrAppend(&text, "  ", fault.code, " ", SubjectName(result, fault.subject), ": ",
                    fault.message, "\n");
    for (const std::string& evidence : fault.evidence)
      absl::StrAppend(&text, "    ", evidence, "\n");
  }
  return text;
}

void AddSection(std::string& text, absl::string_view title, const std::string& body) {
  if (!body.empty()) absl::StrAppend(&text, title, ":\n", body);
}

}  // namespace

std::string LiveLine(const Progress& progress, const std::map<std::string, double>& newest) {
  std::string line = progress.phase;
  if (progress.fraction.has_value())
    line = absl::StrFormat("%3.0f%%  %s", 100 * *progress.fraction, line);
  for (const auto& [metric, value] : newest)
    absl::StrAppend(&line, "  ", metric, " ", Number(value));
  return line.substr(0, kLiveColumns);
}

std::string ResultTable(const FinishedCheck& finished) {
  const CheckResult& result = finished.result;
  std::string text =
      absl::StrFormat("%s: %s", finished.check, kOutcomeWords[static_cast<int>(result.outcome)]);
  if (!result.reason.empty()) absl::StrAppend(&text, ": ", result.reason);
  absl::StrAppendFormat(&text, " (%.1f s)\n", absl::ToDoubleSeconds(finished.duration));
  AddSection(text, "subjects", Subjects(result));
  AddSection(text, "measured", Metrics(result));
  AddSection(text, "faults", Faults(result));
  std::vector<Row> digests;
  for (const Digest& digest : result.digests)
    digests.push_back({digest.name, SubjectName(result, digest.subject), digest.value});
  AddSection(text, "digests", Columns(digests));
  for (const std::string& tool : result.tools) absl::StrAppend(&text, "with ", tool, "\n");
  return text;
}

void TableOutput::Write(const Progress& progress) {
  for (const Sample& sample : progress.samples) {
    // A node may have several in parallel, for its power; those of a GPU follow one another.
    const bool has_sources = sample.subject.empty() && !sample.variant.empty();
    newest_[has_sources ? absl::StrCat(sample.metric, " ", sample.variant) : sample.metric] =
        sample.value;
  }
  if (live_) {
    std::printf("\r\033[2K%s", LiveLine(progress, newest_).c_str());
    drawn_ = true;
  } else if (progress.phase != phase_) {
    phase_ = progress.phase;
    std::printf("%s\n", phase_.c_str());
  }
  if (progress.listening.has_value())
    std::printf("%slistening on port %d\n", drawn_ ? "\n" : "", progress.listening->port);
  std::fflush(stdout);
}

void TableOutput::Write(const FinishedCheck& finished) {
  std::printf("%s%s", drawn_ ? "\r\033[2K" : "", ResultTable(finished).c_str());
  std::fflush(stdout);
}

}  // namespace muster::burnin
