// muster node compare: nodes that should be alike, held against each other.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/connection.h"
#include "cli/render/report/comparison_report.h"
#include "cli/render/show.h"
#include "cli/verbs/verbs.h"
#include "cli/watch/drift_reader.h"
#include "common/base/status.h"
#include "muster/v1/drift.pb.h"

namespace muster::cli {
namespace {

struct NodeCompareOptions {
  std::string nodes;
  bool all = false;
  bool packages = false;
};

absl::StatusOr<int> CompareThem(Context& context, const NodeCompareOptions& options) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  ASSIGN_OR_RETURN(const v1::CompareNodesResponse response,
                   ReadComparison(*connection, options.nodes, options.packages));
  Show(context, response, [&] { return RenderComparison(response, options.all); });
  return HasDifferences(response) ? kExitChanges : kExitClean;
}

}  // namespace

void AddNodeCompare(CLI::App& node, Context& context) {
  CLI::App* command = node.add_subcommand(
      "compare", "Hold nodes of a kind against each other: firmware, kernel, packages, parts");
  auto options = std::make_shared<NodeCompareOptions>();
  command->add_option("nodes", options->nodes, "Host list, groups, globs (default: all)")
      ->type_name("NODES");
  command->add_flag("-a,--all", options->all, "Also show what is the same on all nodes");
  command->add_flag("-p,--packages", options->packages,
                    "Also name the packages in which nodes differ: some nodes are asked, which\n"
                    "takes seconds");
  command->footer(
      "Compared are nodes of one role and one model of machine, by the facts that they told last.\n"
      "Exit codes: 0 they are alike, 1 usage or refused, 2 some differ.");
  SetAction(command, context, [&context, options] { return CompareThem(context, *options); });
}

}  // namespace muster::cli
