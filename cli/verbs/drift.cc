// muster drift: nodes that are not as they were applied any more.
#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/apply/plan_check.h"
#include "cli/connection.h"
#include "cli/render/plan/plan_fold.h"
#include "cli/render/plan/plan_report.h"
#include "cli/render/report/comparison_report.h"
#include "cli/render/report/drift_report.h"
#include "cli/render/show.h"
#include "cli/verbs/verbs.h"
#include "cli/watch/drift_reader.h"
#include "cli/watch/run_ending.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/value/proto_value.h"
#include "muster/v1/drift.pb.h"
#include "muster/v1/plan_file.pb.h"
#include "muster/v1/run.pb.h"

namespace muster::cli {
namespace {

struct DriftOptions {
  std::string nodes;
  bool changes = false;
};

// The checks of one bundle that found the nodes as they are, and what they found.
struct Findings {
  PlanFolder folder;
  v1::Run run;  // of all of these nodes
};

// What an apply would change on the nodes of the policy that differ. Nodes that were applied from
// different bundles have different plays. A node may be in further checks, which are older.
absl::Status AppendChanges(Context& context, Connection& connection, const v1::DriftPolicy& policy,
                           std::vector<v1::PlanFile>& changes) {
  std::map<std::string, std::set<std::string>> nodes_of;  // by run
  for (const v1::NodeDrift& node : policy.nodes()) {
    if (node.state() == v1::DRIFT_STATE_DIFFERS)
      nodes_of[node.checked_run_id()].insert(node.node());
  }
  std::map<std::string, Findings> by_bundle;
  for (const auto& [run_id, nodes] : nodes_of) {
    ASSIGN_OR_RETURN(const v1::Run run, GetDecidedRun(context, connection, run_id));
    Findings& findings = by_bundle[run.bundle_sha256()];
    RETURN_IF_ERROR(AddFindings(connection, run_id, &nodes, findings.folder));
    *findings.run.mutable_plays() = run.plays();
    for (const v1::NodeRecap& node : run.nodes()) {
      if (nodes.count(node.node()) > 0) *findings.run.add_nodes() = node;
    }
  }
  for (auto& [bundle, findings] : by_bundle)
    changes.push_back(findings.folder.Finish(findings.run));
  return absl::OkStatus();
}

absl::StatusOr<int> Drift(Context& context, const DriftOptions& options) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  ASSIGN_OR_RETURN(const v1::ListDriftResponse response, ReadDrift(*connection, options.nodes));
  std::vector<v1::PlanFile> changes;
  bool any_differs = false;
  for (const v1::DriftPolicy& policy : response.policies()) {
    for (const v1::NodeDrift& node : policy.nodes())
      any_differs |= node.state() == v1::DRIFT_STATE_DIFFERS;
    if (!options.changes) continue;
    RETURN_IF_ERROR(AppendChanges(context, *connection, policy, changes));
  }
  ASSIGN_OR_RETURN(const v1::CompareNodesResponse compared,
                   ReadComparison(*connection, options.nodes));
  nlohmann::ordered_json value = ProtoToValue(response);
  value["comparison"] = ProtoToValue(compared);
  if (options.changes) {
    value["changes"] = nlohmann::ordered_json::array();
    for (const v1::PlanFile& plan : changes) value["changes"].push_back(ProtoToValue(plan));
  }
  Show(context, value, [&]() -> std::string {
    const std::string unlike = RenderDifferences(compared);
    if (response.policies().empty())
      return absl::StrCat(
          "the inventory has no drift policies (`drift:`, see `muster help drift`)\n", unlike);
    std::string text = absl::StrCat(RenderDrift(response, context.clock->Now()),
                                    unlike.empty() ? "" : "\n", unlike);
    for (const v1::PlanFile& plan : changes) absl::StrAppend(&text, "\n", RenderPlan(plan));
    return text;
  });
  return any_differs ? kExitChanges : kExitClean;
}

}  // namespace

void AddDrift(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("drift", "Show nodes that are not as they were applied any more");
  auto options = std::make_shared<DriftOptions>();
  command->add_option("nodes", options->nodes, "Nodes, groups, rack:NAME (default: all)")
      ->type_name("NODES");
  command->add_flag("-c,--changes", options->changes,
                    "Also show what an apply would change, with diffs of files");
  command->footer(
      "The policies are those of the inventory (`drift:`); `muster explain step` tells where a\n"
      "wanted value comes from.\n"
      "Exit codes: 0 nothing differs, 1 usage or refused, 2 nodes differ.");
  SetAction(command, context, [&context, options] { return Drift(context, *options); });
}

}  // namespace muster::cli
