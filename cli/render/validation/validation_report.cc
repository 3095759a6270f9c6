#include "cli/render/validation/validation_report.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/render/output.h"
#include "cli/render/shorten.h"
#include "cli/render/validation/validation_words.h"
#include "common/base/proto_time.h"
#include "common/base/text/hostlist.h"

namespace muster::cli {
namespace {

// The smallest change of a measured value that deserves a line.
constexpr double kNoticedShare = 0.01;
constexpr int kFindingsOfCheck = 10;
// From this width on, the redrawn lines also name the stage.
constexpr size_t kColumnsForStages = 79;

std::string CheckWords(const v1::CheckVerdict& verdict) {
  return verdict.partner().empty() ? verdict.check()
                                   : absl::StrCat(verdict.check(), " ", verdict.partner());
}

std::string SixDigits(double value) { return absl::StrFormat("%.6g", value); }

std::string FindingWords(const v1::Finding& finding) {
  std::vector<std::string> words;
  if (!finding.subject().empty()) {
    words.push_back(finding.slot().empty()
                        ? finding.subject()
                        : absl::StrCat(finding.subject(), " in ", finding.slot()));
  }
  if (!finding.message().empty()) {
    words.push_back(finding.message());
  } else if (finding.has_value()) {
    std::string text = absl::StrCat(MetricWords(finding.metric(), finding.variant()), " ",
                                    SixDigits(finding.value()), UnitWords(finding.unit()));
    if (finding.has_floor()) absl::StrAppend(&text, ", limit ", SixDigits(finding.floor()));
    words.push_back(std::move(text));
  } else {
    words.push_back(absl::StrCat(finding.metric(), " is missing"));
  }
  std::string text = absl::StrJoin(words, ": ");
  if (!finding.source().empty()) absl::StrAppend(&text, " (", finding.source(), ")");
  return text;
}

std::string VerdictLine(const std::string& node, const v1::CheckVerdict& verdict,
                        absl::string_view word) {
  std::string line =
      absl::StrFormat("%-8s %-12s %-24s %s", node, verdict.stage(), CheckWords(verdict), word);
  if (!verdict.reason().empty()) absl::StrAppend(&line, ": ", verdict.reason());
  return line + "\n";
}

const char* StateWord(v1::ValidationState state) {
  switch (state) {
    case v1::VALIDATION_STATE_RUNNING:
      return "running";
    case v1::VALIDATION_STATE_DONE:
      return "done";
    case v1::VALIDATION_STATE_CANCELLED:
      return "cancelled";
    default:
      return "?";
  }
}

// For unknown nodes: says that this proves nothing about them, and gives their state where Slurm
// knows it.
std::string WhatUnknownMeans(const v1::Validation& validation) {
  std::vector<std::string> unknown, serving, waiting;
  for (const v1::NodeVerdict& node : validation.nodes()) {
    if (node.outcome() != v1::OUTCOME_UNKNOWN) continue;
    unknown.push_back(node.node());
    if (validation.service_is_behind()) continue;  // the service is from before the end
    if (node.service() == "in service") serving.push_back(node.node());
    if (absl::StartsWith(node.service(), "not validated") ||
        absl::StartsWith(node.service(), "quarantined:")) {
      waiting.push_back(node.node());
    }
  }
  if (unknown.empty() || validation.state() == v1::VALIDATION_STATE_RUNNING) return "";
  std::string text =
      "\nUnknown is neither a pass nor a fail: it neither grants nor revokes a pass.\n";
  if (!serving.empty()) {
    absl::StrAppend(&text, "  hold a pass from another validation and stay in service: ",
                    FoldHostlist(std::move(serving)), "\n");
  }
  if (!waiting.empty()) {
    absl::StrAppend(&text, "  hold no pass and stay out of service until they pass: ",
                    FoldHostlist(std::move(waiting)), "\n");
  }
  return text;
}

// Both bounds of the share of a step that is spent computing: "54.0 % to 100.0 %".
std::string ComputingPart(double worst, double best) {
  return absl::StrFormat("%.1f %% to %.1f %%", 100 * worst, 100 * best);
}

std::string RenderRing(const v1::RingOutlook& ring) {
  std::string text =
      absl::StrCat("The ring (", ring.stage(), ", ", ring.check(), "): ", ring.message(), "\n");
  Table table(
      {"NODES", "ALL-REDUCE BY RING", "BY SLOWEST PAIR", "COMPUTING BY RING", "BY SLOWEST PAIR"});
  for (const v1::RingForecast& forecast : ring.forecasts()) {
    table.AddRow({absl::StrCat(forecast.nodes()),
                  absl::StrCat(SixDigits(forecast.ring_ms()), " ms"),
                  absl::StrCat(SixDigits(forecast.pairs_ms()), " ms"),
                  ComputingPart(forecast.ring_worst(), forecast.ring_best()),
                  ComputingPart(forecast.pairs_worst(), forecast.pairs_best())});
  }
  return absl::StrCat(text, table.ToString());
}

using MetricKey = std::tuple<std::string, std::string, std::string, std::string, std::string,
                             std::string>;  // node, check, partner, metric, variant, subject

std::map<MetricKey, std::pair<double, std::string>> MetricsOf(
    const std::vector<v1::NodeCheckResult>& results) {
  std::map<MetricKey, std::pair<double, std::string>> metrics;
  for (const v1::NodeCheckResult& result : results) {
    for (const v1::Metric& metric : result.result().metrics()) {
      metrics[{result.node(), result.result().check(), result.partner(), metric.name(),
               metric.variant(), metric.subject()}] = {metric.value(), metric.unit()};
    }
  }
  return metrics;
}

using CheckKey = std::tuple<std::string, std::string, std::string, std::string>;

std::map<CheckKey, v1::Outcome> OutcomesByCheck(const v1::Validation& validation) {
  std::map<CheckKey, v1::Outcome> outcomes;
  for (const v1::NodeVerdict& node : validation.nodes()) {
    if (!node.is_witness()) outcomes[{node.node(), "", "", ""}] = node.outcome();
    for (const v1::CheckVerdict& check : node.checks()) {
      outcomes[{node.node(), check.stage(), check.check(), check.partner()}] = check.outcome();
    }
  }
  return outcomes;
}

}  // namespace

v1::Outcome OutcomeOf(const v1::Validation& validation) {
  v1::Outcome worst = v1::OUTCOME_PASS;
  for (const v1::NodeVerdict& node : validation.nodes()) {
    if (node.is_witness()) continue;
    if (node.outcome() == v1::OUTCOME_FAIL) return v1::OUTCOME_FAIL;
    if (node.outcome() != v1::OUTCOME_PASS) worst = v1::OUTCOME_UNKNOWN;
  }
  return validation.nodes_size() == 0 ? v1::OUTCOME_UNKNOWN : worst;
}

std::string RenderVerdictLine(const std::string& node, const v1::CheckVerdict& verdict) {
  return VerdictLine(node, verdict, OutcomeWord(verdict.outcome()));
}

std::string RenderLiveVerdictLine(const std::string& node, const v1::CheckVerdict& verdict) {
  const bool is_open = verdict.outcome() == v1::OUTCOME_PASS && !verdict.partner().empty();
  return VerdictLine(node, verdict, is_open ? "measured" : OutcomeWord(verdict.outcome()));
}

std::string RenderWitness(const v1::Validation& validation) {
  std::string text;
  for (const v1::NodeVerdict& node : validation.nodes()) {
    if (!node.is_witness()) continue;
    absl::StrAppend(
        &text, node.node(), validation.state() == v1::VALIDATION_STATE_RUNNING ? " is" : " was",
        " borrowed as a witness: a partner for the checks between nodes, not under test "
        "itself\n");
  }
  return text;
}

std::string RenderValidation(const v1::Validation& validation, absl::Time now) {
  std::string text = absl::StrCat(
      "validation ", validation.validation_id(), ": suite ", validation.suite(), " (",
      validation.suite_digest().substr(0, 12), "), ", StateWord(validation.state()), ", by ",
      validation.created_by(), ", ", HumanTime(ToTime(validation.created_at()), now), "\n\n");
  Table table({"NODE", "OUTCOME", "PASSED", "FAILED", "UNKNOWN", "SKIPPED", "SLURM"});
  for (const v1::NodeVerdict& node : validation.nodes()) {
    int counts[5] = {};
    for (const v1::CheckVerdict& check : node.checks()) {
      if (check.outcome() >= 0 && check.outcome() < 5) ++counts[check.outcome()];
    }
    const auto count = [&](v1::Outcome outcome) { return absl::StrCat(counts[outcome]); };
    table.AddRow({node.node(), std::string(OutcomeWord(node)), count(v1::OUTCOME_PASS),
                  count(v1::OUTCOME_FAIL), count(v1::OUTCOME_UNKNOWN), count(v1::OUTCOME_SKIPPED),
                  node.service()});
  }
  absl::StrAppend(&text, table.ToString());
  if (validation.service_is_behind()) {
    absl::StrAppend(&text,
                    "\nSlurm has not been queried since the end: SLURM shows the earlier state\n");
  }
  const std::string witness = RenderWitness(validation);
  absl::StrAppend(&text, WhatUnknownMeans(validation), witness.empty() ? "" : "\n", witness);
  for (const v1::NodeVerdict& node : validation.nodes()) {
    for (const v1::CheckVerdict& check : node.checks()) {
      if (IsFine(check.outcome()) || check.outcome() == v1::OUTCOME_UNSPECIFIED) continue;
      absl::StrAppend(&text, "\n", RenderVerdictLine(node.node(), check));
      int shown = 0;
      for (const v1::Finding& finding : check.findings()) {
        if (IsFine(finding.outcome())) continue;
        if (++shown > kFindingsOfCheck) break;
        absl::StrAppend(&text, "    ", OutcomeWord(finding.outcome()), "  ", FindingWords(finding),
                        "\n");
      }
      if (check.findings_size() > kFindingsOfCheck) {
        absl::StrAppend(&text, "    all ", check.findings_size(), " findings: -o yaml\n");
      }
    }
  }
  if (validation.blames_size() > 0) absl::StrAppend(&text, "\nThe network:\n");
  for (const v1::Blame& blame : validation.blames()) {
    absl::StrAppend(&text, "  ", blame.kind(), " ", absl::StrJoin(blame.names(), ", "), ": ",
                    blame.message(), "\n");
    for (const std::string& evidence : blame.evidence()) {
      absl::StrAppend(&text, "    ", evidence, "\n");
    }
  }
  for (const v1::RingOutlook& ring : validation.rings()) {
    absl::StrAppend(&text, "\n", RenderRing(ring));
  }
  return text;
}

std::string RenderComparison(const v1::Validation& a, const v1::Validation& b,
                             const std::vector<v1::NodeCheckResult>& results_a,
                             const std::vector<v1::NodeCheckResult>& results_b) {
  std::string text;
  if (a.suite_digest() != b.suite_digest()) {
    absl::StrAppend(&text, "the suites or their hardware files differ: ", a.suite(), " (",
                    a.suite_digest().substr(0, 12), ") and ", b.suite(), " (",
                    b.suite_digest().substr(0, 12), ")\n\n");
  }
  const auto before = OutcomesByCheck(a), after = OutcomesByCheck(b);
  Table outcomes({"NODE", "STAGE", "CHECK", a.validation_id(), b.validation_id()});
  bool any = false;
  std::set<CheckKey> keys;
  for (const auto& [key, outcome] : before) keys.insert(key);
  for (const auto& [key, outcome] : after) keys.insert(key);
  for (const CheckKey& key : keys) {
    const auto in_a = before.find(key), in_b = after.find(key);
    const std::string word_a = in_a == before.end() ? "-" : std::string(OutcomeWord(in_a->second));
    const std::string word_b = in_b == after.end() ? "-" : std::string(OutcomeWord(in_b->second));
    if (word_a == word_b) continue;
    const auto& [node, stage, check, partner] = key;
    outcomes.AddRow(
        {node, stage,
         check.empty() ? "(node)" : absl::StrCat(check, partner.empty() ? "" : " ", partner),
         word_a, word_b});
    any = true;
  }
  absl::StrAppend(&text, any ? outcomes.ToString() : "no outcome differs\n", "\n");
  const auto metrics_a = MetricsOf(results_a), metrics_b = MetricsOf(results_b);
  Table metrics({"NODE", "CHECK", "METRIC", "OF", a.validation_id(), b.validation_id(), "CHANGE"});
  any = false;
  for (const auto& [key, old] : metrics_a) {
    const auto found = metrics_b.find(key);
    if (found == metrics_b.end()) continue;
    const double change = found->second.first - old.first;
    if (!(std::fabs(change) > kNoticedShare * std::fabs(old.first))) continue;
    const auto& [node, check, partner, metric, variant, subject] = key;
    metrics.AddRow({node, absl::StrCat(check, partner.empty() ? "" : " ", partner),
                    MetricWords(metric, variant), subject, SixDigits(old.first),
                    absl::StrCat(SixDigits(found->second.first), UnitWords(found->second.second)),
                    old.first == 0 ? "" : absl::StrFormat("%+.1f %%", 100 * change / old.first)});
    any = true;
  }
  absl::StrAppend(&text, any ? metrics.ToString() : "no value moved by 1 % or more\n");
  return text;
}

std::string DescribeDamage(const std::string& validation_id, const v1::NodeCheckResult& result) {
  if (result.result().outcome() != v1::OUTCOME_UNSPECIFIED) return "";
  return absl::StrCat(
      "what ", result.result().check(),
      result.partner().empty() ? "" : absl::StrCat(" with ", result.partner()), " measured on ",
      result.node(), " in stage '", result.stage(), "' of ", validation_id,
      " is damaged in the controller's store and left out; its verdict stands. Look for errors of "
      "the controller's disk: `journalctl -k`");
}

std::string RenderHistory(const std::string& node, const std::vector<v1::Validation>& validations,
                          absl::Time now) {
  Table table({"NODE", "VALIDATION", "SUITE", "WHEN", "OUTCOME", "NOT FINE"});
  for (const v1::Validation& validation : validations) {
    for (const v1::NodeVerdict& verdict : validation.nodes()) {
      if (verdict.node() != node) continue;
      std::vector<std::string> bad;
      for (const v1::CheckVerdict& check : verdict.checks()) {
        if (!IsFine(check.outcome())) bad.push_back(CheckWords(check));
      }
      table.AddRow({node, validation.validation_id(), validation.suite(),
                    HumanTime(ToTime(validation.created_at()), now),
                    std::string(OutcomeWord(verdict)), absl::StrJoin(bad, ", ")});
    }
  }
  return table.ToString();
}

void RunningView::Apply(const v1::ValidationEvent& event) {
  if (event.has_running()) {
    running_[absl::StrCat(event.node(), " ", event.running().check())] = {event.node(),
                                                                          event.running()};
  } else if (event.has_verdict()) {
    running_.erase(absl::StrCat(event.node(), " ", event.verdict().check()));
  } else if (event.has_finished()) {
    running_.clear();
  }
}

std::vector<std::string> RunningView::Lines(size_t rows, size_t columns) const {
  std::vector<std::string> lines;
  for (const auto& [key, running] : running_) {
    if (lines.size() + 1 >= rows && running_.size() > rows) {
      lines.push_back(absl::StrCat("… and ", running_.size() - lines.size(), " more"));
      break;
    }
    const v1::RunningCheck& check = running.check;
    std::string line = absl::StrFormat("%-8s ", running.node);
    if (columns >= kColumnsForStages) absl::StrAppendFormat(&line, "%-12s ", check.stage());
    absl::StrAppendFormat(&line, "%-20s", check.check());
    if (check.progress().has_fraction()) {
      absl::StrAppendFormat(&line, " %3.0f %%", 100 * check.progress().fraction());
    }
    absl::StrAppend(&line, "  ", check.progress().phase(),
                    check.partner().empty() ? "" : absl::StrCat(" (with ", check.partner(), ")"));
    lines.push_back(Shorten(line, columns));
  }
  return lines;
}

int ExitCodeOf(const v1::Validation& validation) {
  const v1::Outcome outcome = OutcomeOf(validation);
  bool is_blamed = false;
  for (const v1::Blame& blame : validation.blames()) is_blamed |= blame.kind() != "cannot_tell";
  if (outcome == v1::OUTCOME_FAIL || is_blamed) return kExitNotPassed;
  return outcome == v1::OUTCOME_PASS ? kExitClean : kExitUnknown;
}

}  // namespace muster::cli
