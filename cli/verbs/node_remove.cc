// muster node remove: machines out of a running cluster, from their last job to the denied
// certificate.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/connection.h"
#include "cli/context.h"
#include "cli/inventory_folder/inventory_removal.h"
#include "cli/node_change/cluster_change.h"
#include "cli/node_change/node_removal.h"
#include "cli/render/show.h"
#include "cli/site/site_bundle.h"
#include "cli/verbs/verbs.h"
#include "cli/watch/bystanders.h"
#include "cli/watch/drain_wait.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "muster/v1/node.pb.h"

namespace muster::cli {
namespace {

constexpr char kBeingRemoved[] = "being removed";

struct NodeRemoveOptions {
  std::string nodes, reason = "removed";
  SiteOptions site;
  DrainOptions drain;
  bool membership_only = false;
};

// The command at work, once for each call.
class Departure {
 public:
  Departure(Context& context, Connection& connection, const NodeRemoveOptions& options,
            std::vector<std::string> names)
      : context_(context),
        connection_(connection),
        options_(options),
        names_(std::move(names)),
        nodes_(FoldHostlist(names_)) {}

  absl::StatusOr<int> Run() {
    ASSIGN_OR_RETURN(known_, KnownNodes(connection_, names_));
    // Nobody knows them, but machines may be waiting, and tokens be open, under these names.
    if (known_.empty() || options_.membership_only) return EndMembershipAlone();
    ASSIGN_OR_RETURN(const absl::Duration timeout, options_.drain.Timeout());
    RETURN_IF_ERROR(RefuseIfUpdating(connection_, names_));
    ASSIGN_OR_RETURN(change_, PrepareRemoval(connection_, options_.site.inventory_path(), names_));
    const absl::Status playbook = PackSite(options_.site.playbook_path()).status();
    // Nodes that left the inventory by hand can be removed from any folder.
    if (!change_.changes.empty()) RETURN_IF_ERROR(playbook);
    has_playbook_ = playbook.ok();
    has_names_ = has_playbook_ && options_.site.HasNamesTag();
    Words(context_) << Describe() << std::flush;
    if (options_.site.plan) return kExitClean;
    RETURN_IF_ERROR(Ask());
    const std::set<std::string> concerned(names_.begin(), names_.end());
    ASSIGN_OR_RETURN(const Bystanders before, LookAtBystanders(connection_, concerned));
    DrainRequest drain;
    for (const v1::Node& node : known_)
      if (IsMember(node)) drain.nodes.push_back(node);
    drain.reason = kBeingRemoved;
    drain.waits = !options_.drain.force;
    drain.timeout = timeout;
    ASSIGN_OR_RETURN(const DrainEnd end,
                     DrainAndWait(context_, connection_, drain, Words(context_)));
    if (end != DrainEnd::kIdle) return ExitCodeOf(end);
    // One may have taken the nodes while they were waited for.
    RETURN_IF_ERROR(RefuseIfUpdating(connection_, names_));
    ASSIGN_OR_RETURN(const int code, Forget(concerned));
    const bool ends = code == kExitClean || code == kExitUnreachable;
    if (ends) RETURN_IF_ERROR(EndMemberships());
    if (code == kExitDetached) return code;
    ASSIGN_OR_RETURN(const std::string comparison,
                     CompareBystanders(connection_, concerned, before));
    Words(context_) << "\n" << comparison << Finally(code) << std::flush;
    return code;
  }

 private:
  std::string Describe() const {
    std::string text = DescribeEdit(change_);
    if (!change_.changes.empty())
      absl::StrAppend(&text, absl::StrJoin(change_.changes, "\n"), "\n");
    std::vector<std::string> steps;
    if (std::any_of(known_.begin(), known_.end(), IsMember))
      steps.push_back(absl::StrCat("drain ", nodes_,
                                   options_.drain.force ? ", without waiting for jobs"
                                                        : ", and wait until no job is there"));
    if (!change_.changes.empty())
      steps.push_back(absl::StrCat("write ", options_.site.inventory_path(), " and apply it"));
    if (has_names_) steps.push_back("tell the other workers the names of all nodes");
    if (has_playbook_)
      steps.push_back(absl::StrCat("apply ", options_.site.playbook_path(), " to ", kListingNodes,
                                   ", which forget ", nodes_));
    steps.push_back(
        absl::StrCat("end the membership of ", nodes_, ": sessions, certificates, tokens"));
    return absl::StrCat(text, NumberSteps(steps));
  }

  absl::Status Ask() const {
    if (options_.site.yes) return absl::OkStatus();
    return AskAboutNodes(connection_, "Remove $0 from cluster $1?", known_,
                         options_.drain.force ? JobsOnNodes::kEnd : JobsOnNodes::kWaitedFor,
                         "nothing was changed");
  }

  // The inventory, and those whose configuration lists all nodes.
  absl::StatusOr<int> Forget(const std::set<std::string>& concerned) {
    if (!change_.changes.empty()) {
      ASSIGN_OR_RETURN(const uint64_t revision,
                       CarryOut(connection_, options_.site.inventory_path(), change_));
      Words(context_) << "inventory is at revision " << revision << std::endl;
    }
    if (has_names_) {
      ASSIGN_OR_RETURN(const int told, TellNames(context_, connection_, options_.site, concerned));
      if (told == kExitDetached) return told;
    }
    if (!has_playbook_) return kExitClean;
    Words(context_) << "\n== " << options_.site.playbook_path() << " on " << kListingNodes
                    << std::endl;
    return RunPlaybook(context_, connection_, options_.site,
                       {kListingNodes, /*tag=*/"", /*skip_validation=*/true});
  }

  absl::Status EndMemberships() const {
    for (const v1::Node& node : known_) {
      const absl::Status ended =
          EndMembership(connection_, {node.name()}, options_.reason).status();
      // One that has never joined has nothing to end, but may have an open token.
      if (absl::IsNotFound(ended) && !IsMember(node)) continue;
      RETURN_IF_ERROR(ended);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<int> EndMembershipAlone() const {
    // The controller reports what is wrong with the names.
    if (!known_.empty() && !options_.site.yes)
      RETURN_IF_ERROR(AskAboutNodes(connection_, "End the membership of $0 in cluster $1?", known_,
                                    JobsOnNodes::kStay, "nothing was removed"));
    ASSIGN_OR_RETURN(const v1::RemoveNodeResponse response,
                     EndMembership(connection_, names_, options_.reason));
    Show(context_, response, [&] {
      return absl::StrCat("removed ",
                          FoldHostlist({response.removed().begin(), response.removed().end()}),
                          "\n", AfterRemoval(known_));
    });
    return kExitClean;
  }

  std::string Finally(int code) const {
    if (code == kExitClean || code == kExitUnreachable)
      return absl::StrCat(nodes_, ": removed\n", has_playbook_ ? "" : AfterRemoval(known_));
    return absl::StrCat(nodes_,
                        ": not all of it succeeded, and the membership has not ended; see above, "
                        "then run the same command again, which continues there\n");
  }

  Context& context_;
  Connection& connection_;
  const NodeRemoveOptions& options_;
  const std::vector<std::string> names_;
  const std::string nodes_;
  std::vector<v1::Node> known_;
  InventoryChange change_;
  bool has_playbook_ = false, has_names_ = false;
};

absl::StatusOr<int> NodeRemove(Context& context, const NodeRemoveOptions& options) {
  ASSIGN_OR_RETURN(std::vector<std::string> names, ExpandHostlist(options.nodes));
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  return Departure(context, *connection, options, std::move(names)).Run();
}

}  // namespace

void AddNodeRemove(CLI::App& node, Context& context) {
  CLI::App* remove = node.add_subcommand(
      "remove", "Take machines out of the cluster for good, when their jobs have ended");
  auto options = std::make_shared<NodeRemoveOptions>();
  remove->add_option("nodes", options->nodes, "Host list")->required()->type_name("HOSTLIST");
  remove->add_option("--reason", options->reason, "Why; goes into the audit log (default: removed)")
      ->type_name("TEXT");
  AddDrainOptions(*remove, options->drain);
  remove->add_flag("--membership-only", options->membership_only,
                   "End the membership at once, and nothing else: for a stolen machine, or one "
                   "that is to join anew");
  AddSiteOptions(*remove, options->site);
  remove->footer(
      "Ctrl-C leaves the nodes drained. The same command again continues where it stopped.\n"
      "Exit codes: those of muster apply; 3 also when jobs took longer than --drain-timeout.");
  SetAction(remove, context, [&context, options] { return NodeRemove(context, *options); });
}

}  // namespace muster::cli
