#include "cli/render/report/health_report.h"

#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "cli/render/output.h"
#include "cli/render/plain_text.h"
#include "common/base/proto_time.h"
#include "common/base/text/counted.h"
#include "common/base/text/hostlist.h"
#include "common/base/text/human_duration.h"
#include "muster/v1/node.pb.h"

namespace muster::cli {
namespace {

struct ResponseWords {
  v1::HealthResponse response;
  absl::string_view word;   // of the table
  absl::string_view owner;  // whose it is, for the status
};
constexpr ResponseWords kResponses[] = {
    {v1::HEALTH_RESPONSE_NONE, "-", "recorded"},
    {v1::HEALTH_RESPONSE_NOTIFIED, "notified", "yours: notified"},
    {v1::HEALTH_RESPONSE_DRAINED, "drained", "drained by Muster"},
    {v1::HEALTH_RESPONSE_SILENCED, "silenced", "silenced"},
    {v1::HEALTH_RESPONSE_OBSERVED, "observed", "yours: not drained"},
    {v1::HEALTH_RESPONSE_BREAKER, "not drained", "yours: not drained"},
    {v1::HEALTH_RESPONSE_ACKNOWLEDGED, "acknowledged", "acknowledged"},
    {v1::HEALTH_RESPONSE_RECOVERING, "recovering", "Muster waits"},
    {v1::HEALTH_RESPONSE_RETESTING, "to be tested", "Muster tests"},
    {v1::HEALTH_RESPONSE_REBOOTING, "rebooting", "Muster reboots"},
    {v1::HEALTH_RESPONSE_REBOOT_FAILED, "reboot failed", "yours: a reboot did not help"},
    {v1::HEALTH_RESPONSE_QUARANTINED, "quarantined", "quarantined by Muster"},
};

ResponseWords WordsOf(v1::HealthResponse response) {
  for (const ResponseWords& words : kResponses) {
    if (words.response == response) return words;
  }
  return {response, "?", "?"};
}

// "drain" of HEALTH_ACTION_DRAIN.
std::string Word(absl::string_view name, absl::string_view prefix) {
  return absl::AsciiStrToLower(absl::StripPrefix(name, prefix));
}

std::string StatusWord(v1::ConditionStatus status) {
  return Word(v1::ConditionStatus_Name(status), "CONDITION_STATUS_");
}

std::string SeverityWord(v1::ConditionSeverity severity) {
  return Word(v1::ConditionSeverity_Name(severity), "CONDITION_SEVERITY_");
}

std::string Since(const v1::Condition& condition, absl::Time now) {
  return condition.has_since() ? HumanTime(ToTime(condition.since()), now) : "-";
}

// Nodes with the same to say.
struct Row {
  std::vector<std::string> cells;  // without the nodes and the time
  std::vector<std::string> nodes;
  v1::Condition oldest;
};

class Rows {
 public:
  void Add(const std::string& node, std::vector<std::string> cells,
           const v1::Condition& condition) {
    const auto [at, is_new] = places_.try_emplace(cells, rows_.size());
    if (is_new) rows_.push_back({std::move(cells), {}, condition});
    Row& row = rows_[at->second];
    row.nodes.push_back(node);
    if (condition.has_since() &&
        (!row.oldest.has_since() || ToTime(condition.since()) < ToTime(row.oldest.since())))
      row.oldest = condition;
  }
  const std::vector<Row>& rows() const { return rows_; }

 private:
  std::map<std::vector<std::string>, size_t> places_;
  std::vector<Row> rows_;  // in the order of their first nodes
};

// Why nothing is known of the node.
std::string WhyUnknown(const v1::NodeHealth& node) {
  if (!node.connected())
    return node.has_reported_at() ? "its agent does not answer; its last report found nothing"
                                  : "its agent does not answer";
  return "its agent has not reported any health";
}

std::string Counts(const v1::ListHealthResponse& response) {
  return absl::StrCat(Counted(response.ok() + response.bad() + response.unknown(), "node"), ": ",
                      response.ok(), " ok, ", response.bad(), " bad, ", response.unknown(),
                      " not known\n");
}

std::string Breakers(const v1::ListHealthResponse& response, absl::Time now) {
  std::string text;
  for (const v1::HealthBreaker& breaker : response.breakers()) {
    if (!breaker.has_open_since()) continue;
    absl::StrAppend(&text, "\nthe breaker of ", breaker.group(), " opened ",
                    HumanTime(ToTime(breaker.open_since()), now), ": at most ",
                    Counted(breaker.max_drained(), "node"), " in ",
                    HumanDuration(ToDuration(breaker.window())), " may be drained",
                    breaker.waiting().empty()
                        ? std::string("; it closes when nothing has asked for a drain for as long")
                        : absl::StrCat("; not drained: ", FoldHostlist({breaker.waiting().begin(),
                                                                        breaker.waiting().end()})),
                    "\n");
  }
  return text;
}

}  // namespace

std::string RenderHealth(const v1::ListHealthResponse& response, absl::Time now) {
  Rows rows;
  std::map<std::string, std::vector<std::string>> next;  // nodes by what is to be done
  std::vector<std::string> order;
  for (const v1::NodeHealth& node : response.nodes()) {
    if (node.conditions().empty()) {
      const bool is_ok = node.status() == v1::CONDITION_STATUS_OK;
      const std::string known =
          is_ok ? absl::StrCat("nothing is wrong; ", Counted(node.watched(), "condition"))
                : WhyUnknown(node);
      rows.Add(node.node(), {"-", "-", is_ok ? "ok" : "not known", "-", "-", known}, {});
    }
    for (const v1::ConditionView& view : node.conditions()) {
      const v1::Condition& condition = view.condition();
      rows.Add(node.node(),
               {CleanLine(condition.name()), CleanOrDash(condition.object()),
                node.connected() || condition.name() == "node_lost"
                    ? StatusWord(condition.status())
                    : absl::StrCat("was ", StatusWord(condition.status())),
                Word(v1::HealthAction_Name(view.action()), "HEALTH_ACTION_"),
                std::string(WordsOf(view.response()).word), CleanOrDash(condition.evidence())},
               condition);
      if (view.next().empty()) continue;
      const std::string what =
          absl::StrCat(CleanLine(condition.name()), ": ", CleanLine(view.next()));
      std::vector<std::string>& nodes = next[what];
      if (nodes.empty()) order.push_back(what);
      if (nodes.empty() || nodes.back() != node.node()) nodes.push_back(node.node());
    }
  }
  std::string text = Counts(response);
  if (response.observe_only()) text += "the policy is in observe-only mode: nothing is drained\n";
  if (!rows.rows().empty()) {
    Table table({"NODES", "CONDITION", "PART", "STATUS", "SINCE", "POLICY", "RESPONSE", "FOUND"});
    for (const Row& row : rows.rows()) {
      table.AddRow({FoldHostlist(row.nodes), row.cells[0], row.cells[1], row.cells[2],
                    Since(row.oldest, now), row.cells[3], row.cells[4], row.cells[5]});
    }
    absl::StrAppend(&text, "\n", table.ToString());
  }
  if (!order.empty()) text += "\n";
  for (const std::string& what : order)
    absl::StrAppend(&text, FoldHostlist(next[what]), " ", what, "\n");
  return text + Breakers(response, now);
}

std::string RenderConditionHistory(const v1::ListConditionHistoryResponse& response,
                                   absl::Time now) {
  Table table({"TIME", "NODE", "CONDITION", "PART", "BECAME", "FOUND"});
  for (const v1::ConditionEvent& event : response.events()) {
    const v1::Condition& condition = event.condition();
    table.AddRow({HumanTime(ToTime(event.time()), now), event.node(), CleanLine(condition.name()),
                  CleanOrDash(condition.object()), StatusWord(condition.status()),
                  CleanOrDash(condition.evidence())});
  }
  return table.ToString();
}

std::string RenderCleared(absl::string_view condition, const v1::ClearConditionResponse& response) {
  std::string text;
  if (!response.cleared().empty())
    absl::StrAppend(&text, "cleared: ", condition, " on ", response.cleared(), "\n");
  if (!response.away().empty())
    absl::StrAppend(&text, "not cleared: ", response.away(),
                    " is not connected; repeat this when it is back\n");
  if (text.empty()) absl::StrAppend(&text, "nothing to clear: no such node has ", condition, "\n");
  return text;
}

std::string RenderSilences(const v1::ListSilencesResponse& response, absl::Time now) {
  Table table({"SILENCE", "NODES", "CONDITION", "ENDS", "BY", "REASON"});
  for (const v1::Silence& silence : response.silences()) {
    table.AddRow({silence.silence_id(), silence.nodes(),
                  silence.condition().empty() ? "every condition" : silence.condition(),
                  HumanTime(ToTime(silence.until()), now), silence.created_by(),
                  CleanLine(silence.reason())});
  }
  return table.ToString();
}

std::string DescribeSilence(const v1::Silence& silence, absl::Time now) {
  return absl::StrCat(silence.silence_id(), ": ",
                      silence.condition().empty() ? "every condition" : silence.condition(), " of ",
                      silence.nodes(), ", ends ", HumanTime(ToTime(silence.until()), now));
}

std::string RenderProblems(const v1::GetStatusResponse& status, absl::Time now) {
  std::string text;
  const auto line = [&text](absl::string_view label, absl::string_view words) {
    absl::StrAppend(&text, absl::StrFormat("%-12s%s\n", label, words));
  };
  for (const v1::HealthProblem& problem : status.health()) {
    line(text.empty() ? "wrong" : "",
         absl::StrCat(CleanLine(problem.condition()), " (", SeverityWord(problem.severity()),
                      ") on ", problem.nodes(),
                      problem.has_since()
                          ? absl::StrCat(" for ", HumanDuration(now - ToTime(problem.since())))
                          : "",
                      problem.evidence().empty() ? "" : ": ", CleanLine(problem.evidence())));
    line("", absl::StrCat("  ", WordsOf(problem.response()).owner,
                          problem.next().empty() ? "" : ": ", CleanLine(problem.next())));
  }
  for (const v1::HealthBreaker& breaker : status.health_breakers()) {
    line("breaker", absl::StrCat("too many nodes of ", breaker.group(),
                                 " are bad; no more are drained (muster health)"));
  }
  return text;
}

}  // namespace muster::cli
