#include "cli/render/report/power_report.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/context.h"
#include "cli/render/output.h"
#include "cli/render/run/drain_report.h"
#include "common/base/text/counted.h"
#include "common/base/text/hostlist.h"
#include "common/base/text/slurm_job.h"
#include "muster/v1/node.pb.h"
#include "muster/v1/power.pb.h"

namespace muster::cli {
namespace {

std::string VerbOf(const v1::ChangePowerRequest& request) {
  switch (request.verb()) {
    case v1::POWER_VERB_OFF:
      return request.soft() ? "Shut down" : "Power off";
    case v1::POWER_VERB_CYCLE:
      return request.soft() ? "Shut down and power on" : "Power cycle";
    case v1::POWER_VERB_RESET:
      return "Reset";
    default:
      return "Power on";
  }
}

std::string StateOf(const v1::NodePower& node) {
  switch (node.state()) {
    case v1::POWER_STATE_ON:
      return "on";
    case v1::POWER_STATE_OFF:
      return "off";
    default:
      return "unknown";
  }
}

size_t CountOf(const std::vector<v1::NodePower>& nodes, v1::PowerStep step) {
  return static_cast<size_t>(std::count_if(
      nodes.begin(), nodes.end(), [&](const v1::NodePower& node) { return node.step() == step; }));
}

}  // namespace

std::string PowerQuestion(const v1::ChangePowerRequest& request, absl::string_view cluster,
                          const std::vector<std::string>& nodes,
                          const v1::ListNodeJobsResponse& jobs) {
  std::string text;
  if (request.force()) {
    const std::string where = DescribeWhere(JobsByNode(jobs));
    if (!where.empty()) text = absl::StrCat("These jobs end: ", where, ".\n");
    if (!jobs.unknown().empty())
      text = absl::StrCat("Which jobs run is not known: ", jobs.unknown(), ".\n");
  }
  return absl::StrCat(text, VerbOf(request), " ", Counted(nodes.size(), "node"), " of cluster ",
                      cluster, ", ", FoldHostlist(nodes), "?");
}

std::string DescribePowerProgress(size_t all, const std::vector<v1::NodePower>& nodes) {
  std::string text =
      absl::StrCat(CountOf(nodes, v1::POWER_STEP_DONE), " of ", Counted(all, "node"), " done");
  const auto add = [&](v1::PowerStep step, absl::string_view what) {
    if (const size_t count = CountOf(nodes, step); count > 0)
      absl::StrAppend(&text, ", ", count, what);
  };
  add(v1::POWER_STEP_FAILED, " failed");
  add(v1::POWER_STEP_ASKED, " asked");
  add(v1::POWER_STEP_WAITING, " waiting");
  const auto waiting = std::find_if(nodes.begin(), nodes.end(), [](const v1::NodePower& node) {
    return node.step() == v1::POWER_STEP_WAITING;
  });
  if (waiting != nodes.end()) absl::StrAppend(&text, ": ", waiting->message());
  return text;
}

std::string RenderPower(const std::vector<v1::NodePower>& nodes) {
  struct Row {
    std::vector<std::string> names;
    std::string state, note;
  };
  std::vector<Row> rows;
  std::map<std::tuple<bool, std::string, std::string>, size_t> places;
  for (const v1::NodePower& node : nodes) {
    const bool has_failed = node.step() != v1::POWER_STEP_DONE;
    const std::string note =
        absl::StrCat(has_failed ? "FAILED" : "", has_failed && !node.message().empty() ? ": " : "",
                     node.message());
    const auto [place, is_new] = places.try_emplace({has_failed, StateOf(node), note}, rows.size());
    if (is_new) rows.push_back({{}, StateOf(node), note});
    rows[place->second].names.push_back(node.node());
  }
  Table table({"NODES", "POWER", "NOTE"});
  for (const Row& row : rows) table.AddRow({FoldHostlist(row.names), row.state, row.note});
  return table.ToString();
}

int ExitCodeOfPower(const std::vector<v1::NodePower>& nodes) {
  return CountOf(nodes, v1::POWER_STEP_DONE) == nodes.size() ? kExitClean : kExitFailed;
}

}  // namespace muster::cli
