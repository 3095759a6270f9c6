// muster stack: tested sets of versions, and the nodes that have them.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/connection.h"
#include "cli/render/report/stack_report.h"
#include "cli/render/show.h"
#include "cli/site/stack_files.h"
#include "cli/verbs/verbs.h"
#include "common/base/status.h"
#include "common/base/text/nearest_word.h"
#include "muster/v1/stack.grpc.pb.h"

namespace muster::cli {
namespace {

using StackStub = v1::StackService::Stub;

struct StackOptions {
  std::string site = ".";
  std::string name, other;
};

// Sends the site's files along.
template <typename Request, typename Response>
absl::Status Ask(Context& context, const StackOptions& options,
                 grpc::Status (StackStub::*method)(grpc::ClientContext*, const Request&, Response*),
                 Request& request, Response& response) {
  RETURN_IF_ERROR(AddStackFiles(options.site, request.mutable_files()));
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  StackStub stub(connection->channel());
  return Call(*connection, stub, method, request, &response);
}

absl::StatusOr<int> List(Context& context, const StackOptions& options) {
  v1::ReadStacksRequest request;
  v1::ReadStacksResponse response;
  RETURN_IF_ERROR(Ask(context, options, &StackStub::ReadStacks, request, response));
  Show(context, response, [&] { return RenderStackList(response); });
  return kExitClean;
}

absl::StatusOr<int> ShowStack(Context& context, const StackOptions& options) {
  v1::ReadStacksRequest request;
  v1::ReadStacksResponse response;
  RETURN_IF_ERROR(Ask(context, options, &StackStub::ReadStacks, request, response));
  std::vector<std::string> known;
  for (const v1::Stack& stack : response.stacks()) {
    known.push_back(stack.name());
    if (stack.name() != options.name) continue;
    Show(context, stack, [&] { return RenderStack(stack); });
    return kExitClean;
  }
  return absl::NotFoundError(absl::StrCat("no stack '", options.name, "' in ", kStackFolder,
                                          DidYouMean(options.name, known)));
}

absl::StatusOr<int> CheckStacks(Context& context, const StackOptions& options) {
  v1::CheckStacksRequest request;
  request.set_nodes(options.name);
  v1::CheckStacksResponse response;
  RETURN_IF_ERROR(Ask(context, options, &StackStub::CheckStacks, request, response));
  Show(context, response, [&] { return RenderStackCheck(response); });
  for (const v1::NodeStack& row : response.nodes()) {
    if (!row.problems().empty()) return kExitFailed;
  }
  return kExitClean;
}

absl::StatusOr<int> DiffStacks(Context& context, const StackOptions& options) {
  v1::DiffStacksRequest request;
  request.set_stack(options.name);
  request.set_stack_or_nodes(options.other);
  v1::DiffStacksResponse response;
  RETURN_IF_ERROR(Ask(context, options, &StackStub::DiffStacks, request, response));
  Show(context, response, [&] { return RenderStackDiff(response); });
  for (const v1::StackDiff& diff : response.diffs()) {
    if (!diff.problems().empty()) return kExitFailed;
  }
  return kExitClean;
}

// A subcommand with the option that all of them have.
CLI::App* AddStackVerb(CLI::App* noun, const char* name, const char* summary, Context& context,
                       const std::shared_ptr<StackOptions>& options,
                       absl::StatusOr<int> (*action)(Context&, const StackOptions&)) {
  CLI::App* verb = noun->add_subcommand(name, summary);
  verb->add_option("--site", options->site, "Folder with playbooks/stacks (default .)")
      ->type_name("DIR");
  SetAction(verb, context, [&context, options, action] { return action(context, *options); });
  return verb;
}

}  // namespace

void AddStack(CLI::App& app, Context& context) {
  CLI::App* stack = app.add_subcommand("stack", "Tested sets of versions: list, show, check, diff");
  stack->require_subcommand(1);
  const auto options = std::make_shared<StackOptions>();
  AddStackVerb(stack, "list", "List the stacks of a site", context, options, List);
  AddStackVerb(stack, "show", "Show one stack: versions and packages", context, options, ShowStack)
      ->add_option("stack", options->name, "Its name")
      ->required()
      ->type_name("STACK");
  AddStackVerb(stack, "check", "Compare nodes with the stacks that the inventory gives them",
               context, options, CheckStacks)
      ->add_option("nodes", options->name, "Nodes, groups, rack:NAME (default: all)")
      ->type_name("NODES");
  CLI::App* diff = AddStackVerb(stack, "diff", "Show what a change of stack changes", context,
                                options, DiffStacks);
  diff->add_option("stack", options->name, "The stack")->required()->type_name("STACK");
  diff->add_option("other", options->other,
                   "A stack to change to; or nodes, which would change to the first")
      ->required()
      ->type_name("STACK|NODES");
}

}  // namespace muster::cli
