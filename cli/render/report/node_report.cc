#include "cli/render/report/node_report.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/render/output.h"
#include "common/base/proto_time.h"
#include "common/base/text/hostlist.h"
#include "common/base/text/plain_text.h"
#include "muster/v1/node.pb.h"

namespace muster::cli {
namespace {

std::string HoldsOf(const v1::Node& node, absl::Time now) {
  return absl::StrJoin(node.holds(), "; ", [now](std::string* out, const v1::NodeHold& hold) {
    absl::StrAppend(out, DescribeHold(hold, now));
  });
}

}  // namespace

std::string DescribeHold(const v1::NodeHold& hold, absl::Time now) {
  return PlainText(
      absl::StrCat(hold.owner(), ", ", HumanTime(ToTime(hold.since()), now), ": ", hold.reason()),
      Lines::kOne);
}

std::string RenderPendingReboots(std::vector<std::pair<std::string, std::string>> nodes) {
  if (nodes.empty()) return "";
  std::vector<std::string> all;
  std::map<std::string, std::vector<std::string>> by_reason;
  for (auto& [node, reason] : nodes) {
    all.push_back(node);
    by_reason[PlainText(reason, Lines::kOne)].push_back(std::move(node));
  }
  std::string text = absl::StrCat("to reboot, when it suits: muster node reboot '",
                                  FoldHostlist(std::move(all)), "' --when-idle\n");
  for (auto& [reason, names] : by_reason)
    absl::StrAppend(&text, "  ", FoldHostlist(std::move(names)), ": ", reason, "\n");
  return text;
}

std::string RenderDrained(const v1::DrainNodesResponse& response) {
  const bool is_one = response.nodes_size() == 1;
  std::string text =
      absl::StrCat(FoldHostlist({response.nodes().begin(), response.nodes().end()}),
                   is_one ? " is" : " are", " kept out of Slurm until `muster node resume`; ",
                   is_one ? "its" : "their", " jobs end by themselves\n");
  if (!response.trouble().empty())
    absl::StrAppend(
        &text, "Slurm has not been told yet: ", PlainText(response.trouble(), Lines::kOne), "\n");
  return text;
}

std::string RenderResumed(const v1::ResumeNodesResponse& response, absl::Time now) {
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> nodes;
  for (const v1::Node& node : response.nodes()) {
    const std::string service = node.service().empty() ? "not in Slurm" : node.service();
    nodes[{PlainText(service, Lines::kOne), HoldsOf(node, now)}].push_back(node.name());
  }
  Table table({"NODES", "SERVICE", "STILL HELD BY"});
  for (auto& [standing, names] : nodes)
    table.AddRow({FoldHostlist(std::move(names)), standing.first, standing.second});
  return table.ToString();
}

}  // namespace muster::cli
