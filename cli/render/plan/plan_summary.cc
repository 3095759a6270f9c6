#include "cli/render/plan/plan_summary.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "cli/render/output.h"
#include "cli/render/plain_text.h"
#include "common/base/text/counted.h"
#include "common/base/text/hostlist.h"
#include "muster/v1/plan_file.pb.h"

namespace muster::cli {
namespace {

constexpr size_t kThingsShown = 8;

// In the order of the summary.
constexpr const char* kDeeds[] = {"install packages", "upgrade packages",
                                  "remove packages",  "change packages",
                                  "reboot",           "restart units",
                                  "reload units",     "start units",
                                  "stop units",       "change units",
                                  "write files",      "remove files",
                                  "run commands",     "other"};

// The kinds of resources whose things are files.
constexpr const char* kFileKinds[] = {"file",     "directory", "symlink", "line",
                                      "files_in", "download",  "archive"};

using Things = std::vector<std::pair<std::string, std::string>>;  // deed, thing

struct ResourceId {
  std::string kind, name;
};

// "unit[munge.service]" → unit, munge.service; "reboot", of which a node has one → reboot.
ResourceId Split(const std::string& id) {
  const size_t open = id.find('[');
  if (open == std::string::npos || id.back() != ']') return {id, id};
  return {id.substr(0, open), id.substr(open + 1, id.size() - open - 2)};
}

// By name, or whatever the system has newer.
bool IsPackages(absl::string_view kind) { return kind == "package" || kind == "package_upgrade"; }

void AddPackages(const ResourceId& id, const v1::PlannedOutcome& outcome, Things& things) {
  bool named = false;
  for (const v1::Change& change : outcome.changes()) {
    absl::string_view name = change.field();
    if (!absl::ConsumePrefix(&name, "package ")) continue;
    named = true;
    const char* deed = change.after() == "absent"    ? "remove packages"
                       : change.before() == "absent" ? "install packages"
                                                     : "upgrade packages";
    things.emplace_back(deed, std::string(name));
  }
  if (named) return;
  // Known only after an earlier step, for instance packages of a repository that is yet to be
  // added.
  for (absl::string_view name : absl::StrSplit(id.name, ", ")) {
    things.emplace_back(outcome.changes_size() == 1 && outcome.changes(0).field() == "state"
                            ? "install packages"
                            : "change packages",
                        std::string(name));
  }
}

void AddUnit(const ResourceId& id, bool handler, const v1::PlannedOutcome& outcome,
             Things& things) {
  static const auto* const kStates = new std::map<std::string, const char*>{
      {"restarted", "restart units"},
      {"reloaded", "reload units"},
      {"started", "start units"},
      {"stopped", "stop units"},
  };
  for (const v1::Change& change : outcome.changes()) {
    const auto state = kStates->find(change.after());
    if (change.field() != "state") continue;
    if (state != kStates->end()) {
      things.emplace_back(state->second, id.name);
    } else {  // its unit file does not exist yet
      things.emplace_back(handler ? "restart units" : "start units", id.name);
    }
    return;
  }
  things.emplace_back("change units", id.name);
}

Things ThingsOf(const v1::PlannedStep& step, const v1::PlannedOutcome& outcome) {
  Things things;
  const ResourceId id = Split(outcome.resource());
  const bool removes =
      std::any_of(outcome.changes().begin(), outcome.changes().end(), [](const v1::Change& change) {
        return change.field() == "state" && change.after() == "absent";
      });
  if (IsPackages(id.kind)) {
    AddPackages(id, outcome, things);
  } else if (id.kind == "unit") {
    AddUnit(id, step.handler(), outcome, things);
  } else if (id.kind == "reboot") {
    things.emplace_back("reboot", "");
  } else if (id.kind == "command") {
    things.emplace_back("run commands", step.name());
  } else if (std::find(std::begin(kFileKinds), std::end(kFileKinds), id.kind) !=
             std::end(kFileKinds)) {
    things.emplace_back(removes ? "remove files" : "write files", id.name);
  } else {
    things.emplace_back("other", outcome.resource().empty() ? step.name() : outcome.resource());
  }
  return things;
}

}  // namespace

std::vector<SummaryLine> Summarize(const v1::PlanFile& plan) {
  std::map<std::pair<std::string, std::string>, std::set<std::string>> nodes_of;
  for (const v1::PlannedPlay& play : plan.plays()) {
    for (const v1::PlannedStep& step : play.steps()) {
      for (const v1::PlannedOutcome& outcome : step.outcomes()) {
        if (outcome.status() != v1::STEP_STATUS_CHANGED) continue;
        const auto names = ExpandHostlist(outcome.nodes());
        if (!names.ok()) continue;
        for (auto& thing : ThingsOf(step, outcome)) {
          nodes_of[std::move(thing)].insert(names->begin(), names->end());
        }
      }
    }
  }
  std::vector<SummaryLine> lines;
  for (const char* deed : kDeeds) {
    std::map<std::set<std::string>, std::vector<std::string>> by_nodes;
    for (const auto& [thing, nodes] : nodes_of) {
      if (thing.first == deed) by_nodes[nodes].push_back(thing.second);
    }
    for (auto& [nodes, things] : by_nodes) {
      if (things.size() == 1 && things[0].empty()) things.clear();
      lines.push_back({deed, std::move(things), FoldHostlist({nodes.begin(), nodes.end()})});
    }
  }
  return lines;
}

std::string RenderNodes(const v1::PlanFile& plan) {
  struct Sum {
    size_t steps = 0;
    bool reboots = false, may_reboot = false, changes_packages = false;
  };
  std::map<std::string, Sum> sums;  // by node
  for (const v1::PlannedPlay& play : plan.plays()) {
    for (const v1::PlannedNodes& each : play.nodes()) {
      const auto names = ExpandHostlist(each.nodes());
      if (!names.ok()) continue;
      for (const std::string& name : *names) sums.try_emplace(name);
    }
    for (const v1::PlannedStep& step : play.steps()) {
      for (const v1::PlannedOutcome& outcome : step.outcomes()) {
        const auto names = ExpandHostlist(outcome.nodes());
        if (!names.ok()) continue;
        const std::string kind = Split(outcome.resource()).kind;
        const bool changes = outcome.status() == v1::STEP_STATUS_CHANGED;
        for (const std::string& name : *names) {
          Sum& sum = sums[name];
          sum.steps += changes ? 1 : 0;
          sum.changes_packages |= changes && IsPackages(kind);
          sum.reboots |= changes && kind == "reboot";
          sum.may_reboot |= !changes && kind == "reboot";
        }
      }
    }
  }
  std::map<std::pair<size_t, std::string>, std::vector<std::string>> rows;  // steps, reboot
  for (const auto& [name, sum] : sums) {
    const char* reboot = sum.reboots                              ? "yes"
                         : sum.may_reboot && sum.changes_packages ? "perhaps"
                                                                  : "no";
    if (sum.steps > 0) rows[{sum.steps, reboot}].push_back(name);
  }
  if (rows.empty()) return "";
  Table table({"NODES", "TO CHANGE", "REBOOT"});
  for (const auto& [row, names] : rows) {
    table.AddRow({FoldHostlist(names), Counted(row.first, "step"), row.second});
  }
  return absl::StrCat("\n", table.ToString());
}

std::string RenderSummary(const v1::PlanFile& plan) {
  const std::vector<SummaryLine> lines = Summarize(plan);
  if (lines.empty()) return "";
  Table table({"TO DO", "WHAT", "NODES"});
  for (const SummaryLine& line : lines) {
    const size_t shown = std::min(kThingsShown, line.things.size());
    std::string things = absl::StrJoin(line.things.begin(),
                                       line.things.begin() + static_cast<ptrdiff_t>(shown), ", ");
    if (shown < line.things.size()) {
      absl::StrAppend(&things, " and ", line.things.size() - shown, " more");
    }
    table.AddRow({line.deed, Tame(things), line.nodes});
  }
  return absl::StrCat("\n", table.ToString());
}

}  // namespace muster::cli
