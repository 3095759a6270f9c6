#include "cli/render/report/drift_report.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "cli/render/output.h"
#include "common/base/proto_time.h"
#include "common/base/text/hostlist.h"
#include "common/base/text/human_duration.h"
#include "common/base/text/plain_text.h"
#include "muster/v1/drift.pb.h"

namespace muster::cli {
namespace {

// In the order in which they are shown.
struct DriftWord {
  v1::DriftState state;
  absl::string_view word;
};
constexpr DriftWord kDriftWords[] = {
    {v1::DRIFT_STATE_DIFFERS, "differs"},         {v1::DRIFT_STATE_UNKNOWN, "unknown"},
    {v1::DRIFT_STATE_NOT_CHECKED, "not checked"}, {v1::DRIFT_STATE_NOT_APPLIED, "not applied"},
    {v1::DRIFT_STATE_AS_APPLIED, "as applied"},
};

// Index in kDriftWords; one behind it for a state of a newer controller.
size_t DriftRankOf(v1::DriftState state) {
  return static_cast<size_t>(
      std::find_if(std::begin(kDriftWords), std::end(kDriftWords),
                   [&](const DriftWord& row) { return row.state == state; }) -
      std::begin(kDriftWords));
}

// Nodes of which the same is known.
struct DriftRow {
  const v1::NodeDrift* one = nullptr;
  std::vector<std::string> nodes;
};

auto DriftKeyOf(const v1::NodeDrift& node) {
  return std::tuple(DriftRankOf(node.state()), node.changes(), node.checked_run_id(),
                    node.message(),
                    node.state() == v1::DRIFT_STATE_DIFFERS ? node.repair_rollout_id() : "");
}

std::vector<DriftRow> DriftRowsOf(const v1::DriftPolicy& policy) {
  std::vector<DriftRow> rows;
  for (const v1::NodeDrift& node : policy.nodes()) {
    auto found = std::find_if(rows.begin(), rows.end(), [&](const DriftRow& row) {
      return DriftKeyOf(*row.one) == DriftKeyOf(node);
    });
    if (found == rows.end()) found = rows.insert(found, DriftRow{&node, {}});
    found->nodes.push_back(node.node());
  }
  std::stable_sort(rows.begin(), rows.end(), [](const DriftRow& a, const DriftRow& b) {
    return DriftRankOf(a.one->state()) < DriftRankOf(b.one->state());
  });
  return rows;
}

std::string DriftWordOf(v1::DriftState state) {
  const size_t rank = DriftRankOf(state);
  return rank < std::size(kDriftWords) ? std::string(kDriftWords[rank].word) : "?";
}

std::string DriftMessageOf(const v1::NodeDrift& node) {
  if (node.state() == v1::DRIFT_STATE_DIFFERS && !node.repair_rollout_id().empty())
    return absl::StrCat("see muster rollout show ", node.repair_rollout_id());
  return PlainText(node.message(), Lines::kOne);
}

}  // namespace

std::string RenderDrift(const v1::ListDriftResponse& response, absl::Time now) {
  std::string text;
  for (const v1::DriftPolicy& policy : response.policies()) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", policy.name(), ": ", policy.playbook(),
                    ", each node every ", HumanDuration(ToDuration(policy.every())),
                    policy.repairs() ? ", idle workers that differ are repaired" : "", "\n");
    if (!policy.message().empty())
      absl::StrAppend(&text, PlainText(policy.message(), Lines::kOne), "\n");
    Table table({"NODES", "STATE", "CHANGES", "CHECKED", "RUN", "MESSAGE"});
    for (DriftRow& row : DriftRowsOf(policy)) {
      const v1::NodeDrift& node = *row.one;
      table.AddRow({FoldHostlist(std::move(row.nodes)), DriftWordOf(node.state()),
                    node.changes() > 0 ? absl::StrCat(node.changes()) : "",
                    node.has_checked_at() ? HumanTime(ToTime(node.checked_at()), now) : "",
                    node.checked_run_id(), DriftMessageOf(node)});
    }
    absl::StrAppend(&text, table.ToString());
  }
  return text;
}

std::string RenderDriftLine(const v1::ListDriftResponse& response) {
  std::vector<std::string> differ, unknown;
  for (const v1::DriftPolicy& policy : response.policies()) {
    for (const v1::NodeDrift& node : policy.nodes()) {
      if (node.state() == v1::DRIFT_STATE_DIFFERS) differ.push_back(node.node());
      if (node.state() == v1::DRIFT_STATE_UNKNOWN) unknown.push_back(node.node());
    }
  }
  if (differ.empty() && unknown.empty()) return "";
  std::vector<std::string> parts;
  if (!differ.empty())
    parts.push_back(absl::StrCat("not as applied: ", FoldHostlist(std::move(differ))));
  if (!unknown.empty())
    parts.push_back(absl::StrCat("not known: ", FoldHostlist(std::move(unknown))));
  return absl::StrFormat("%-12s%s (muster drift)\n", "drift", absl::StrJoin(parts, "; "));
}

}  // namespace muster::cli
