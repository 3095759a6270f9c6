#include "cli/node_change/unlike_nodes.h"

#include <algorithm>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/connection.h"
#include "cli/context.h"
#include "cli/inventory_edit/add_nodes.h"
#include "cli/inventory_folder/inventory_change.h"
#include "cli/render/report/comparison_report.h"
#include "cli/watch/drift_reader.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "muster/v1/drift.pb.h"

namespace muster::cli {
namespace {

constexpr absl::Duration kFactsPatience = absl::Seconds(30);
constexpr absl::Duration kFactsLook = absl::Milliseconds(500);

// The nodes of the inventory in force but for these.
absl::StatusOr<std::vector<std::string>> Others(const Connection& connection,
                                                const std::vector<std::string>& names) {
  ASSIGN_OR_RETURN(const std::string resolved, ResolvedInventory(connection));
  const nlohmann::json json = nlohmann::json::parse(resolved, nullptr, false);
  std::vector<std::string> others;
  if (!json.is_object() || !json.contains("nodes")) return others;
  for (const auto& node : json["nodes"].items()) {
    if (std::find(names.begin(), names.end(), node.key()) == names.end())
      others.push_back(node.key());
  }
  return others;
}

bool LacksFacts(const v1::CompareNodesResponse& response, const std::vector<std::string>& names) {
  return std::any_of(response.without_facts().begin(), response.without_facts().end(),
                     [&](const std::string& node) {
                       return std::find(names.begin(), names.end(), node) != names.end();
                     });
}

}  // namespace

absl::StatusOr<std::vector<UnlikeNode>> FindUnlikeNodes(Context& context,
                                                        const Connection& connection,
                                                        const std::vector<std::string>& names,
                                                        const std::string& like) {
  ASSIGN_OR_RETURN(const std::vector<std::string> others, Others(connection, names));
  std::vector<UnlikeNode> pairs;
  std::set<std::string> asked(names.begin(), names.end());
  for (const std::string& name : names) {
    const std::string neighbor = like.empty() ? NodeLike(others, name) : like;
    if (neighbor.empty()) continue;
    pairs.push_back({name, neighbor, {}});
    asked.insert(neighbor);
  }
  const std::string nodes = FoldHostlist({asked.begin(), asked.end()});
  const absl::Time patience = context.clock->Now() + kFactsPatience;
  ASSIGN_OR_RETURN(v1::CompareNodesResponse response, ReadComparison(connection, nodes));
  while (LacksFacts(response, names) && context.clock->Now() < patience) {
    context.clock->Sleep(kFactsLook);
    ASSIGN_OR_RETURN(response, ReadComparison(connection, nodes));
  }
  std::vector<UnlikeNode> unlike;
  for (UnlikeNode& pair : pairs) {
    pair.differences = HardwareDifferences(response, pair.name, pair.like);
    if (!pair.differences.empty()) unlike.push_back(std::move(pair));
  }
  return unlike;
}

std::string DescribeUnlike(const std::vector<UnlikeNode>& nodes) {
  std::string text;
  for (const UnlikeNode& node : nodes) {
    absl::StrAppend(&text, node.name, " is another machine than ", node.like, ": ",
                    absl::StrJoin(node.differences, "; "), "\n");
  }
  return text;
}

}  // namespace muster::cli
