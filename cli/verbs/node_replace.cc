// muster node replace: another machine under the name of a node.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/bootstrap/bootstrap.h"
#include "cli/bootstrap/join_script.h"
#include "cli/bootstrap/ssh_options.h"
#include "cli/connection.h"
#include "cli/context.h"
#include "cli/inventory_edit/removal_check.h"
#include "cli/inventory_folder/inventory_change.h"
#include "cli/node_change/cluster_change.h"
#include "cli/node_change/node_removal.h"
#include "cli/render/report/node_report.h"
#include "cli/render/show.h"
#include "cli/site/site_bundle.h"
#include "cli/verbs/token.h"
#include "cli/verbs/verbs.h"
#include "cli/watch/bystanders.h"
#include "cli/watch/drain_wait.h"
#include "cli/watch/terminal.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "muster/v1/enrollment.pb.h"
#include "muster/v1/node.grpc.pb.h"

namespace muster::cli {
namespace {

using NodeStub = v1::NodeService::Stub;

constexpr char kBeingReplaced[] = "being replaced";
// The reason of the hold on the new machine, by which the same command knows it from the old one.
constexpr char kReplacement[] = "a replacement that is not complete";

// From the end of the membership until the session is cut.
constexpr absl::Duration kCutTimeout = absl::Seconds(10);
constexpr absl::Duration kLookInterval = absl::Milliseconds(500);

struct NodeReplaceOptions {
  std::string nodes, reason = "replaced";
  SiteOptions site;
  DrainOptions drain;
  BootstrapOptions bootstrap;
  bool over_ssh = true, by_token = false, skip_validation = false;
};

// The command at work, once for each call.
class Replacement {
 public:
  Replacement(Context& context, Connection& connection, const NodeReplaceOptions& options,
              std::vector<std::string> names)
      : context_(context),
        connection_(connection),
        options_(options),
        names_(std::move(names)),
        nodes_(FoldHostlist(names_)) {}

  absl::StatusOr<int> Run() {
    ASSIGN_OR_RETURN(const std::string in_force, ResolvedInventory(connection_));
    RETURN_IF_ERROR(CheckReplaceable(in_force, names_));
    ASSIGN_OR_RETURN(const absl::Duration timeout, options_.drain.Timeout());
    RETURN_IF_ERROR(PackSite(options_.site.playbook_path()).status());
    RETURN_IF_ERROR(RefuseIfUpdating(connection_, names_));
    ASSIGN_OR_RETURN(const std::vector<v1::Node> known, KnownNodes(connection_, names_));
    DrainRequest drain;
    for (const v1::Node& node : known)
      if (IsMember(node) && !IsTheNewOne(node)) drain.nodes.push_back(node);
    drain.reason = kBeingReplaced;
    drain.waits = !options_.drain.force;
    drain.timeout = timeout;
    Words(context_) << Describe(drain.nodes) << std::flush;
    if (options_.site.plan) return kExitClean;
    if (!options_.site.yes)
      RETURN_IF_ERROR(
          AskAboutNodes(connection_, "Replace the machines of $0 in cluster $1?", known,
                        options_.drain.force ? JobsOnNodes::kEnd : JobsOnNodes::kWaitedFor,
                        "nothing was changed"));
    const std::set<std::string> concerned(names_.begin(), names_.end());
    ASSIGN_OR_RETURN(const Bystanders before, LookAtBystanders(connection_, concerned));
    if (!drain.nodes.empty()) {
      ASSIGN_OR_RETURN(const DrainEnd end,
                       DrainAndWait(context_, connection_, drain, Words(context_)));
      if (end != DrainEnd::kIdle) return ExitCodeOf(end);
      RETURN_IF_ERROR(RefuseIfUpdating(connection_, names_));
      RETURN_IF_ERROR(EndOld(drain.nodes));
    }
    ASSIGN_OR_RETURN(const int joined, Join());
    if (joined != kExitClean) return joined;
    RETURN_IF_ERROR(HoldNew());
    ASSIGN_OR_RETURN(const int code, TakeIn(context_, connection_, options_.site, names_,
                                            options_.skip_validation));
    if (code == kExitDetached) return code;
    if (code == kExitClean) RETURN_IF_ERROR(ResumeNew());
    ASSIGN_OR_RETURN(const std::string comparison,
                     CompareBystanders(connection_, concerned, before));
    Words(context_) << "\n" << comparison << Finally(code) << std::flush;
    return code;
  }

 private:
  // Whether an earlier call, which did not come to its end, has brought this machine.
  static bool IsTheNewOne(const v1::Node& node) {
    const bool is_marked =
        std::any_of(node.holds().begin(), node.holds().end(),
                    [](const v1::NodeHold& hold) { return hold.reason() == kReplacement; });
    // Nothing was ever applied to it: there is nothing to replace yet.
    return is_marked || (node.connected() && node.state() == v1::NODE_STATE_ENROLLED);
  }

  std::string Describe(const std::vector<v1::Node>& old) const {
    std::vector<std::string> gone;
    for (const v1::Node& node : old) gone.push_back(node.name());
    std::vector<std::string> steps;
    if (!gone.empty()) {
      const std::string all = FoldHostlist(gone);
      steps.push_back(absl::StrCat("drain ", all,
                                   options_.drain.force ? ", without waiting for jobs"
                                                        : ", and wait until no job is there"));
      steps.push_back(absl::StrCat("end the membership of the present machine",
                                   gone.size() == 1 ? "" : "s", ", ", all));
    }
    steps.push_back(
        options_.by_token
            ? absl::StrCat("print a line to paste on each new machine, and wait for ", nodes_)
            : absl::StrCat("install the agent on ", nodes_, " over ssh, where it has not joined"));
    for (std::string& step : StepsOfTakingIn(options_.site, names_, options_.skip_validation))
      steps.push_back(std::move(step));
    return NumberSteps(steps);
  }

  // The pass, the service and the holds of a machine go with it; its runs and validations stay to
  // be read.
  absl::Status EndOld(const std::vector<v1::Node>& old) {
    std::vector<std::string> gone;
    for (const v1::Node& node : old) gone.push_back(node.name());
    RETURN_IF_ERROR(EndMembership(connection_, gone, options_.reason).status());
    Words(context_) << FoldHostlist(gone) << ": the membership of the earlier machine has ended"
                    << std::endl;
    // A session that is still open would look like one of the new machine.
    const absl::Time deadline = context_.clock->Now() + kCutTimeout;
    while (true) {
      ASSIGN_OR_RETURN(const std::vector<v1::Node> now, KnownNodes(connection_, gone));
      const bool is_cut = std::none_of(now.begin(), now.end(), [](const v1::Node& node) {
        return node.connected() && !IsMember(node);
      });
      if (is_cut || context_.clock->Now() >= deadline) return absl::OkStatus();
      context_.clock->Sleep(kLookInterval);
    }
  }

  absl::StatusOr<int> Join() {
    if (options_.by_token) return JoinByToken();
    BootstrapOptions bootstrap = options_.bootstrap;
    bootstrap.nodes = nodes_;
    return Bootstrap(context_, bootstrap);
  }

  // The names of which no machine is connected.
  absl::StatusOr<std::vector<std::string>> Missing() const {
    ASSIGN_OR_RETURN(const std::vector<v1::Node> known, KnownNodes(connection_, names_));
    std::vector<std::string> missing;
    for (const v1::Node& node : known)
      if (!IsMember(node) || !node.connected()) missing.push_back(node.name());
    return missing;
  }

  absl::StatusOr<int> JoinByToken() {
    ASSIGN_OR_RETURN(std::vector<std::string> missing, Missing());
    if (missing.empty()) return kExitClean;
    TokenOptions options;
    options.nodes = FoldHostlist(missing);
    v1::CreateTokenResponse tokens;
    RETURN_IF_ERROR(CreateTokens(connection_, options, &tokens));
    Words(context_) << "as root on each new machine; each line works once and for " << options.ttl
                    << ":\n";
    for (const v1::IssuedToken& token : tokens.tokens())
      Words(context_) << "\n# " << token.node_name() << "\n" << JoinLine(tokens, token) << "\n";
    Words(context_) << "\nwaiting for " << options.nodes << std::endl;
    const InterruptFlag interrupt;
    while (!missing.empty()) {
      if (InterruptFlag::IsSet()) {
        Words(context_) << "the same command continues when " << FoldHostlist(missing)
                        << (missing.size() == 1 ? " has" : " have") << " joined, or before"
                        << std::endl;
        return kExitDetached;
      }
      context_.clock->Sleep(kLookInterval);
      ASSIGN_OR_RETURN(missing, Missing());
    }
    return kExitClean;
  }

  absl::Status HoldNew() {
    DrainRequest hold;
    ASSIGN_OR_RETURN(hold.nodes, KnownNodes(connection_, names_));
    hold.reason = kReplacement;
    hold.waits = false;
    return DrainAndWait(context_, connection_, hold, Words(context_)).status();
  }

  absl::Status ResumeNew() {
    NodeStub stub(connection_.channel());
    v1::GetStatusResponse status;
    RETURN_IF_ERROR(Call(connection_, stub, &NodeStub::GetStatus, v1::GetStatusRequest(), &status));
    if (!status.slurm_gate()) return absl::OkStatus();
    v1::ResumeNodesRequest request;
    request.set_nodes(nodes_);
    request.set_reason("the replacement is complete");
    v1::ResumeNodesResponse response;
    RETURN_IF_ERROR(Call(connection_, stub, &NodeStub::ResumeNodes, request, &response));
    Words(context_) << "\n" << RenderResumed(response, context_.clock->Now());
    return absl::OkStatus();
  }

  std::string Finally(int code) const {
    return absl::StrCat(nodes_, code == kExitClean
                                    ? ": replaced\n"
                                    : ": not all of it succeeded; see above, then run the same "
                                      "command again, which continues there\n");
  }

  Context& context_;
  Connection& connection_;
  const NodeReplaceOptions& options_;
  const std::vector<std::string> names_;
  const std::string nodes_;
};

absl::StatusOr<int> NodeReplace(Context& context, const NodeReplaceOptions& options) {
  ASSIGN_OR_RETURN(std::vector<std::string> names, ExpandHostlist(options.nodes));
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  return Replacement(context, *connection, options, std::move(names)).Run();
}

}  // namespace

void AddNodeReplace(CLI::App& node, Context& context) {
  CLI::App* replace =
      node.add_subcommand("replace", "Put other machines in the place of workers, by their names");
  auto options = std::make_shared<NodeReplaceOptions>();
  replace->add_option("nodes", options->nodes, "Host list")->required()->type_name("HOSTLIST");
  replace
      ->add_option("--reason", options->reason, "Why; goes into the audit log (default: replaced)")
      ->type_name("TEXT");
  AddDrainOptions(*replace, options->drain);
  CLI::Option* ssh =
      replace->add_flag("--ssh", options->over_ssh, "Install the agent over ssh (default)");
  replace
      ->add_flag("--token", options->by_token,
                 "Print a line to paste on each machine instead, and wait until it has joined")
      ->excludes(ssh);
  AddSshOptions(*replace, options->bootstrap);
  replace->add_flag("--skip-validation", options->skip_validation,
                    "Skip the plays with `validate`");
  AddSiteOptions(*replace, options->site);
  replace->footer(
      "The same command again continues where it stopped. Exit codes: those of muster apply; 3\n"
      "also when jobs took longer than --drain-timeout.");
  SetAction(replace, context, [&context, options] { return NodeReplace(context, *options); });
}

}  // namespace muster::cli
