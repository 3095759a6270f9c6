// muster token: one-use invitations for machines.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "cli/apply/duration_option.h"
#include "cli/bootstrap/join_script.h"
#include "cli/connection.h"
#include "cli/render/output.h"
#include "cli/render/show.h"
#include "cli/verbs/token.h"
#include "cli/verbs/verbs.h"
#include "common/base/clock.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "google/protobuf/duration.pb.h"
#include "muster/v1/enrollment.grpc.pb.h"

namespace muster::cli {
namespace {

using TokenStub = v1::TokenService::Stub;

absl::StatusOr<int> CreateToken(Context& context, const TokenOptions& options) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  v1::CreateTokenResponse response;
  RETURN_IF_ERROR(CreateTokens(*connection, options, &response));
  Show(context, response, [&] {
    std::string text = "# As root on each machine; each line works once and until ";
    absl::StrAppend(
        &text,
        response.tokens_size() == 0
            ? ""
            : absl::FormatTime("%Y-%m-%d %H:%M", ToTime(response.tokens(0).expires_at()),
                               absl::LocalTimeZone()),
        ".\n");
    for (const v1::IssuedToken& token : response.tokens())
      absl::StrAppend(&text, "\n# ", token.node_name(), "\n", JoinLine(response, token), "\n");
    return text;
  });
  return kExitClean;
}

absl::StatusOr<int> ListTokens(Context& context) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  TokenStub stub(connection->channel());
  v1::ListTokensResponse response;
  RETURN_IF_ERROR(
      Call(*connection, stub, &TokenStub::ListTokens, v1::ListTokensRequest(), &response));
  Show(context, response, [&] {
    const absl::Time now = context.clock->Now();
    Table table({"TOKEN", "NODE", "STATE", "EXPIRES", "MADE BY"});
    for (const v1::Token& token : response.tokens()) {
      const char* state = token.has_revoked_at()              ? "revoked"
                          : token.has_used_at()               ? "used"
                          : ToTime(token.expires_at()) <= now ? "expired"
                                                              : "open";
      table.AddRow({token.token_id(), token.node_name(), state,
                    HumanTime(ToTime(token.expires_at()), now), token.created_by()});
    }
    return table.ToString();
  });
  return kExitClean;
}

absl::StatusOr<int> RevokeToken(Context& context, const std::string& token_id) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  TokenStub stub(connection->channel());
  v1::RevokeTokenRequest request;
  request.set_token_id(token_id);
  v1::RevokeTokenResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &TokenStub::RevokeToken, request, &response));
  std::cout << "token " << token_id << " is revoked\n";
  return kExitClean;
}

}  // namespace

absl::Status CreateTokens(const Connection& connection, const TokenOptions& options,
                          v1::CreateTokenResponse* response) {
  ASSIGN_OR_RETURN(const absl::Duration ttl,
                   ParseDurationOption("--ttl", options.ttl, absl::Seconds(1), "30m or 1h"));
  v1::CreateTokenRequest request;
  request.set_nodes(options.nodes);
  request.mutable_ttl()->set_seconds(absl::ToInt64Seconds(ttl));
  request.set_require_approval(options.require_approval);
  TokenStub stub(connection.channel());
  return Call(connection, stub, &TokenStub::CreateToken, request, response);
}

void AddToken(CLI::App& app, Context& context) {
  CLI::App* token = app.add_subcommand("token", "One-use tokens by which machines join");
  token->require_subcommand(1);

  CLI::App* create = token->add_subcommand("create", "Make tokens; print a line to paste for each");
  auto options = std::make_shared<TokenOptions>();
  create->add_option("--nodes", options->nodes, "Host list, such as 'c[001-016]'")
      ->required()
      ->type_name("HOSTLIST");
  create->add_option("--ttl", options->ttl, "How long they are valid (default 1h, at most 168h)")
      ->type_name("DURATION");
  create->add_flag("--require-approval", options->require_approval,
                   "Machines wait for `muster node approve`");
  SetAction(create, context, [&context, options] { return CreateToken(context, *options); });

  CLI::App* list = token->add_subcommand("list", "List tokens and whether they were used");
  SetAction(list, context, [&context] { return ListTokens(context); });

  CLI::App* revoke = token->add_subcommand("revoke", "Revoke a token");
  auto token_id = std::make_shared<std::string>();
  revoke->add_option("token", *token_id, "Its id, from `muster token list`")
      ->required()
      ->type_name("TOKEN");
  SetAction(revoke, context, [&context, token_id] { return RevokeToken(context, *token_id); });
}

}  // namespace muster::cli
