#include "cli/render/validation/validation_page.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/render/output.h"
#include "cli/render/page/html.h"
#include "cli/render/validation/validation_words.h"
#include "common/base/proto_time.h"
#include "common/base/text/human_duration.h"
#include "muster/v1/validation.pb.h"

namespace muster::cli {
namespace {

HtmlCell OutcomeCell(v1::Outcome outcome) {
  return {std::string(OutcomeWord(outcome)), std::string(OutcomeWord(outcome))};
}

std::string Summary(const v1::Validation& validation, absl::TimeZone zone) {
  std::map<v1::Outcome, int> counts;
  for (const v1::NodeVerdict& node : validation.nodes())
    if (!node.is_witness()) ++counts[node.outcome()];
  std::vector<std::string> words;
  for (const auto& [outcome, count] : counts)
    words.push_back(absl::StrCat(count, " ", OutcomeWord(outcome)));
  const absl::Time created = ToTime(validation.created_at());
  std::string when = absl::FormatTime("%Y-%m-%d %H:%M:%S %Z", created, zone);
  if (validation.has_finished_at())
    absl::StrAppend(&when, ", took ", HumanDuration(ToTime(validation.finished_at()) - created));
  return absl::StrCat(
      "<h1>",
      HtmlText(absl::StrCat("Suite ", validation.suite(), ": ", absl::StrJoin(words, ", "))),
      "</h1>\n",
      HtmlParagraph(
          absl::StrCat("validation ", validation.validation_id(), ", by ", validation.created_by(),
                       ", ", when, "; digest of suite and limits ", validation.suite_digest()),
          "quiet"));
}

std::string Blames(const v1::Validation& validation) {
  if (validation.blames().empty()) return "";
  std::string out = HtmlHeading("Faults in the network");
  for (const v1::Blame& blame : validation.blames()) {
    absl::StrAppend(&out, HtmlParagraph(blame.message(), "fail"));
    if (!blame.evidence().empty())
      absl::StrAppend(&out, "<pre>", HtmlText(absl::StrJoin(blame.evidence(), "\n")), "</pre>\n");
  }
  return out;
}

// A comparison of what each ring reached with what its pairs promise.
std::string Rings(const v1::Validation& validation) {
  std::string out;
  for (const v1::RingOutlook& ring : validation.rings()) {
    const auto milliseconds = [](double value) {
      return HtmlCell{absl::StrCat(PlotNumber(value), " ms"), "number"};
    };
    const auto percent = [](double worst, double best) {
      return HtmlCell{absl::StrFormat("%.1f %% to %.1f %%", 100 * worst, 100 * best), "number"};
    };
    std::vector<std::vector<HtmlCell>> rows;
    for (const v1::RingForecast& forecast : ring.forecasts()) {
      rows.push_back({{absl::StrCat(forecast.nodes()), "number"},
                      milliseconds(forecast.ring_ms()),
                      milliseconds(forecast.pairs_ms()),
                      percent(forecast.ring_worst(), forecast.ring_best()),
                      percent(forecast.pairs_worst(), forecast.pairs_best())});
    }
    absl::StrAppend(
        &out, HtmlParagraph(absl::StrCat(ring.stage(), ", ", ring.check(), ": ", ring.message())),
        HtmlTable({"nodes", "all-reduce by the ring", "by the slowest pair",
                   "part spent computing by the ring", "by the slowest pair"},
                  rows));
  }
  return out.empty() ? "" : absl::StrCat(HtmlHeading("The ring compared with its pairs"), out);
}

std::string CheckName(const v1::CheckVerdict& check) {
  return check.partner().empty() ? check.check()
                                 : absl::StrCat(check.check(), " with ", check.partner());
}

std::string NodesOf(const v1::Validation& validation) {
  std::vector<std::vector<HtmlCell>> rows;
  for (const v1::NodeVerdict& node : validation.nodes()) {
    std::vector<std::string> reasons;
    if (node.is_witness())
      reasons.push_back("not under test: borrowed as a partner for the checks between nodes");
    for (const v1::CheckVerdict& check : node.checks())
      if (!IsFine(check.outcome()))
        reasons.push_back(absl::StrCat(CheckName(check), ": ", check.reason()));
    rows.push_back({{node.node()},
                    node.is_witness() ? HtmlCell{std::string(OutcomeWord(node)), "quiet"}
                                      : OutcomeCell(node.outcome()),
                    {node.service()},
                    {absl::StrJoin(reasons, "; ")}});
  }
  return absl::StrCat(HtmlHeading("Nodes"), HtmlTable({"node", "verdict", "service", "why"}, rows));
}

std::vector<HtmlCell> FindingRow(const v1::CheckVerdict& check, const v1::Finding& finding) {
  const std::string unit = UnitWords(finding.unit());
  return {{CheckName(check)},
          OutcomeCell(finding.outcome()),
          {absl::StrJoin({finding.subject(), finding.slot()}, " ")},
          {MetricWords(finding.metric(), finding.variant())},
          {finding.has_value() ? absl::StrCat(PlotNumber(finding.value()), unit) : "", "number"},
          {finding.has_floor() ? absl::StrCat(PlotNumber(finding.floor()), unit) : "", "number"},
          {finding.source(), "quiet"},
          {finding.message()}};
}

// Everything that did not pass, node by node; the records have what passed.
std::string Findings(const v1::Validation& validation) {
  std::string out;
  for (const v1::NodeVerdict& node : validation.nodes()) {
    std::vector<std::vector<HtmlCell>> rows;
    for (const v1::CheckVerdict& check : node.checks()) {
      const size_t before = rows.size();
      for (const v1::Finding& finding : check.findings())
        if (!IsFine(finding.outcome())) rows.push_back(FindingRow(check, finding));
      if (rows.size() == before && !IsFine(check.outcome()))
        rows.push_back({{CheckName(check)},
                        OutcomeCell(check.outcome()),
                        {},
                        {},
                        {},
                        {},
                        {},
                        {check.reason()}});
    }
    if (rows.empty()) continue;
    absl::StrAppend(&out, "<h3>", HtmlText(node.node()), "</h3>\n",
                    HtmlTable({"check", "verdict", "part", "metric", "value", "limit",
                               "source of the limit", "observation"},
                              rows));
  }
  return out.empty() ? "" : absl::StrCat(HtmlHeading("Findings"), out);
}

// The nodes whose curves are drawn: those that did not pass, then the others, in the validation's
// order.
std::vector<std::string> NodesWithCurves(const v1::Validation& validation) {
  std::vector<std::string> names;
  for (const bool fine : {false, true})
    for (const v1::NodeVerdict& node : validation.nodes())
      if ((node.is_witness() || IsFine(node.outcome())) == fine &&
          names.size() < kMaxNodesWithCurves)
        names.push_back(node.node());
  return names;
}

std::string PageSection(absl::string_view heading, absl::string_view plots) {
  if (plots.empty()) return "";
  return absl::StrCat(HtmlHeading(heading), "<div class=\"plots\">\n", plots, "</div>\n");
}

}  // namespace

ValidationPage::ValidationPage(const v1::Validation& validation)
    : validation_(validation), nodes_with_curves_(NodesWithCurves(validation)), pairs_(validation) {
  for (const std::string& name : nodes_with_curves_) curves_[name];
}

void ValidationPage::Take(const v1::NodeCheckResult& result) {
  fleet_.Take(result);
  pairs_.Take(result);
}

void ValidationPage::TakeCurves(const v1::NodeCheckResult& result) {
  const auto curves = curves_.find(result.node());
  if (curves != curves_.end()) absl::StrAppend(&curves->second, DrawCurves(result));
}

std::string ValidationPage::Curves() const {
  std::string out;
  for (const std::string& name : nodes_with_curves_) {
    const std::string& plots = curves_.at(name);
    if (!plots.empty())
      absl::StrAppend(&out, "<h3>", HtmlText(name), "</h3>\n<div class=\"plots\">\n", plots,
                      "</div>\n");
  }
  if (out.empty()) return "";
  const size_t nodes = static_cast<size_t>(validation_.nodes_size());
  return absl::StrCat(
      HtmlHeading("Over time"),
      nodes > kMaxNodesWithCurves
          ? HtmlParagraph(absl::StrCat("Curves of ", kMaxNodesWithCurves, " of ", nodes,
                                       " nodes; nodes that did not pass come first."),
                          "quiet")
          : "",
      out);
}

std::string ValidationPage::Render(absl::TimeZone zone) const {
  return HtmlPage(
      absl::StrCat("Validation ", validation_.validation_id(), ": ", validation_.suite()),
      absl::StrCat(Summary(validation_, zone), Blames(validation_), NodesOf(validation_),
                   Findings(validation_), PageSection("The fleet", fleet_.Draw(validation_)),
                   PageSection("The network", pairs_.Draw()), Rings(validation_), Curves()));
}

std::string RenderValidationPage(const v1::Validation& validation,
                                 const std::vector<v1::NodeCheckResult>& results,
                                 absl::TimeZone zone) {
  ValidationPage page(validation);
  for (const v1::NodeCheckResult& result : results) {
    page.Take(result);
    page.TakeCurves(result);
  }
  return page.Render(zone);
}

}  // namespace muster::cli
