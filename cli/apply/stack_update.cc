#include "cli/apply/stack_update.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "cli/apply/rollout_start.h"
#include "cli/apply/update_options.h"
#include "cli/apply/update_plan.h"
#include "cli/connection.h"
#include "cli/inventory_edit/choose_stack.h"
#include "cli/inventory_folder/inventory_change.h"
#include "cli/inventory_folder/inventory_files.h"
#include "cli/inventory_folder/inventory_in_force.h"
#include "cli/render/plain_text.h"
#include "cli/render/report/stack_report.h"
#include "cli/site/site_bundle.h"
#include "cli/site/stack_files.h"
#include "cli/watch/terminal.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "muster/v1/stack.grpc.pb.h"

namespace muster::cli {
namespace {

using StackStub = v1::StackService::Stub;

constexpr char kVariable[] = "stack";

// Where the parts of a site are.
struct Site {
  std::string folder, inventory, playbook;
};

Site SiteOf(const UpdateOptions& options) {
  const std::filesystem::path folder = options.site.empty() ? "." : options.site;
  const auto in_site = [&folder](const std::string& given, const char* usual) {
    return (folder / (given.empty() ? usual : given)).lexically_normal().string();
  };
  return {folder.string(), in_site(options.inventory, "inventory"),
          in_site(options.site_playbook, "playbooks/site.yaml")};
}

// The stack of every node, by the inventory in force; places are below its folder.
absl::StatusOr<std::vector<StackChoice>> ChoicesInForce(const Connection& connection,
                                                        const Site& site,
                                                        const InventoryInForce& in_force,
                                                        const std::string& nodes) {
  StackStub stub(connection.channel());
  v1::CheckStacksRequest request;
  request.set_nodes(nodes);
  RETURN_IF_ERROR(AddStackFiles(site.folder, request.mutable_files()));
  v1::CheckStacksResponse response;
  RETURN_IF_ERROR(Call(connection, stub, &StackStub::CheckStacks, request, &response));
  std::vector<StackChoice> choices;
  for (const v1::NodeStack& row : response.nodes()) {
    StackChoice& choice = choices.emplace_back();
    ASSIGN_OR_RETURN(choice.nodes, ExpandHostlist(row.nodes()));
    choice.stack = row.stack();
    absl::string_view place = row.chosen_at();
    absl::ConsumePrefix(&place, absl::StrCat(in_force.folder_name, "/"));
    choice.chosen_at = std::string(place);
  }
  return choices;
}

// Without --limit: the workers that have a stack, and with them those that follow.
absl::StatusOr<std::string> UsualLimit(const std::vector<StackChoice>& workers,
                                       bool login_and_storage) {
  std::vector<std::string> names;
  for (const StackChoice& choice : workers) {
    if (!choice.stack.empty()) names.insert(names.end(), choice.nodes.begin(), choice.nodes.end());
  }
  if (names.empty()) {
    return absl::FailedPreconditionError(
        "no worker has a stack; choose one for a group first: 'stack: NAME' in "
        "inventory/group_vars/GROUP.yaml, then `muster inventory apply`");
  }
  return absl::StrCat(FoldHostlist(std::move(names)), login_and_storage ? ",login,storage" : "");
}

// The edit of the inventory's files; without new texts where there is nothing to change.
absl::StatusOr<InventoryChange> PrepareEdit(const Connection& connection, const Site& site,
                                            const InventoryInForce& in_force,
                                            const std::vector<StackChoice>& choices,
                                            const std::set<std::string>& nodes,
                                            const std::string& stack) {
  InventoryChange change;
  ASSIGN_OR_RETURN(const auto edited, ChooseStack(in_force.files, choices, nodes, stack));
  if (edited.empty()) return change;
  ASSIGN_OR_RETURN(*change.request.mutable_files(), ReadInventoryFiles(site.inventory));
  ASSIGN_OR_RETURN(const auto differences, Differences(connection, change.request));
  if (!differences.empty()) return InventoriesDiffer(site.inventory, differences[0]);
  std::map<std::string, std::string> new_texts;
  for (const v1::InventoryFile& file : change.request.files()) {
    const std::string below = file.path().substr(file.path().find('/') + 1);
    const auto found = edited.find(below);
    if (found == edited.end()) continue;
    // Its comments and the order of its lines are no difference, but places are counted in lines.
    if (file.content() != in_force.files.at(below))
      return InventoriesDiffer(site.inventory, absl::StrCat("the text of ", file.path()));
    new_texts[file.path()] = found->second;
  }
  if (new_texts.size() != edited.size())
    return InventoriesDiffer(site.inventory, absl::StrCat("no ", edited.begin()->first));
  RETURN_IF_ERROR(TakeEdit(connection, std::move(new_texts), {}, change));
  return change;
}

// What the stack changes on these nodes. FailedPrecondition: it does not fit one of them.
absl::StatusOr<std::string> DescribeMove(const Connection& connection, const Site& site,
                                         const std::string& stack, const std::string& nodes) {
  StackStub stub(connection.channel());
  v1::DiffStacksRequest request;
  request.set_stack(stack);
  request.set_stack_or_nodes(nodes);
  RETURN_IF_ERROR(AddStackFiles(site.folder, request.mutable_files()));
  v1::DiffStacksResponse response;
  RETURN_IF_ERROR(Call(connection, stub, &StackStub::DiffStacks, request, &response));
  for (const v1::StackDiff& diff : response.diffs()) {
    if (diff.problems().empty()) continue;
    return absl::FailedPreconditionError(absl::StrCat("stack ", stack, " does not fit ",
                                                      diff.nodes(), "; nothing was changed:\n  ",
                                                      absl::StrJoin(diff.problems(), "\n  ")));
  }
  return RenderStackDiff(response);
}

// After the inventory has changed and the rollout has not begun.
absl::Status NotStarted(const absl::Status& why, const std::string& stack, uint64_t revision) {
  return absl::Status(
      why.code(),
      absl::StrCat(why.message(), "\nThe inventory is at revision ", revision, " and chooses ",
                   stack, ": the same command starts the rollout, when that is out of the way"));
}

}  // namespace

bool LooksLikeStack(absl::string_view word) {
  const auto is_letter = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("._-", c);
  };
  return !word.empty() && word[0] != '.' && std::all_of(word.begin(), word.end(), is_letter) &&
         !absl::EndsWith(word, ".yaml") && !absl::EndsWith(word, ".yml") &&
         !absl::EndsWith(word, ".json");
}

absl::Status RefuseSiteOptions(const UpdateOptions& options) {
  if (options.site.empty() && options.inventory.empty() && options.site_playbook.empty())
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      "--site, --inventory and --playbook go with a stack: muster update STACK --site DIR");
}

absl::StatusOr<int> UpdateToStack(Context& context, const UpdateOptions& options) {
  const std::string& stack = options.run.playbook;
  const Site site = SiteOf(options);
  ASSIGN_OR_RETURN(v1::CreateRolloutRequest request, RequestFor(options));
  if (request.extra_vars().count(kVariable) > 0)
    return absl::InvalidArgumentError(
        absl::StrCat("name the stack once: ", stack, ", or -e stack"));
  ASSIGN_OR_RETURN(const SiteBundle bundle, PackSite(site.playbook));
  if (!options.yes && !options.plan)
    RETURN_IF_ERROR(RequireTerminal("--plan to see what would happen"));
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  ASSIGN_OR_RETURN(const InventoryInForce in_force, GetInventoryFiles(*connection));
  if (request.limit().empty()) {
    ASSIGN_OR_RETURN(const auto workers, ChoicesInForce(*connection, site, in_force, "compute"));
    ASSIGN_OR_RETURN(*request.mutable_limit(), UsualLimit(workers, request.login_and_storage()));
  }
  ASSIGN_OR_RETURN(const std::string move, DescribeMove(*connection, site, stack, request.limit()));
  RETURN_IF_ERROR(UploadBundle(*connection, bundle));
  request.set_bundle_sha256(bundle.sha256);
  request.set_playbook(bundle.playbook);
  request.set_stack(stack);
  // As if the inventory said so already.
  v1::CreateRolloutRequest then = request;
  (*then.mutable_extra_vars())[kVariable] = nlohmann::json(stack).dump();
  ASSIGN_OR_RETURN(const v1::PreviewRolloutResponse preview, PreviewOf(*connection, then));
  std::set<std::string> nodes;
  for (const v1::RolloutForecast& node : preview.nodes()) nodes.insert(node.node());
  ASSIGN_OR_RETURN(const auto choices, ChoicesInForce(*connection, site, in_force, ""));
  ASSIGN_OR_RETURN(const InventoryChange change,
                   PrepareEdit(*connection, site, in_force, choices, nodes, stack));
  const bool is_edit = !change.new_texts.empty();
  if (!is_edit) then = request;
  if (context.output == OutputFormat::kTable && !options.detach) {
    std::cout << Tame(absl::StrCat(move, "\n", DescribeTexts(change.old_texts, change.new_texts),
                                   is_edit ? "\n" : ""))
              << std::flush;
  }
  if (options.plan && is_edit && !options.keep.file.empty()) {
    return absl::FailedPreconditionError(
        "a plan file is of the inventory in force, which does not choose this stack yet; leave "
        "--out "
        "out, or change `stack` there first (`muster inventory edit`)");
  }
  if (options.plan) return PlanUpdate(context, *connection, options, then);
  RETURN_IF_ERROR(AskToUpdate(context, *connection, then, options.yes, options.detach));
  if (!is_edit) return StartRollout(context, *connection, request, options.detach);
  ASSIGN_OR_RETURN(const uint64_t revision, CarryOut(*connection, site.inventory, change));
  if (context.output == OutputFormat::kTable && !options.detach)
    std::cout << "inventory is at revision " << revision << std::endl;
  const absl::StatusOr<int> code = StartRollout(context, *connection, request, options.detach);
  return code.ok() ? code : NotStarted(code.status(), stack, revision);
}

}  // namespace muster::cli
