// muster secret: values that only nodes whose plan needs them ever see.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/connection.h"
#include "cli/render/output.h"
#include "cli/render/show.h"
#include "cli/verbs/verbs.h"
#include "cli/watch/terminal.h"
#include "common/base/clock.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "muster/v1/secret.grpc.pb.h"

namespace muster::cli {
namespace {

using SecretStub = v1::SecretService::Stub;

constexpr size_t kLargestSecret = 64 << 10;

// Never from an argument, which other users of the machine could read.
absl::StatusOr<std::string> ReadSecret(const std::string& file) {
  if (file == "-" && isatty(STDIN_FILENO) == 1)
    std::cerr << "Type the secret and end with Ctrl-D (it is shown as you type).\n";
  std::ifstream opened;
  if (file != "-") {
    opened.open(file, std::ios::binary);
    if (!opened) return absl::NotFoundError(absl::StrCat("cannot read ", file));
  }
  std::istream& in = file == "-" ? std::cin : opened;
  std::string value(std::istreambuf_iterator<char>(in), {});
  if (value.empty()) return absl::InvalidArgumentError("the secret is empty");
  if (value.size() > kLargestSecret)
    return absl::InvalidArgumentError("a secret may have at most 64 KiB");
  return value;
}

struct SetOptions {
  std::string name, file = "-";
  std::vector<std::string> roles;
};

absl::StatusOr<int> Set(Context& context, const SetOptions& options) {
  const std::string& name = options.name;
  v1::SetSecretRequest request;
  request.set_name(name);
  for (const std::string& role : options.roles) request.add_roles(role);
  ASSIGN_OR_RETURN(*request.mutable_value(), ReadSecret(options.file));
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  SecretStub stub(connection->channel());
  v1::SetSecretResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &SecretStub::SetSecret, request, &response));
  Show(context, response,
       [&] { return absl::StrCat("secret ", name, " is at version ", response.version(), "\n"); });
  return kExitClean;
}

absl::StatusOr<int> Generate(Context& context, const v1::GenerateSecretRequest& request) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  SecretStub stub(connection->channel());
  v1::GenerateSecretResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &SecretStub::GenerateSecret, request, &response));
  Show(context, response, [&] {
    return absl::StrCat("secret ", request.name(), " is at version ", response.version(), "\n");
  });
  return kExitClean;
}

std::string RotationText(const v1::SecretInfo& secret) {
  if (!secret.has_rotation()) return "";
  const v1::SecretRotation& rotation = secret.rotation();
  const char* phase = rotation.phase() == v1::ROTATION_PHASE_STAGING     ? "staging"
                      : rotation.phase() == v1::ROTATION_PHASE_SWITCHING ? "switching"
                                                                         : "reverting";
  return absl::StrCat(phase, " on ", rotation.limit(), " by ", rotation.started_by());
}

// "*" alone means every role.
std::string RolesText(const v1::SecretInfo& secret) {
  if (secret.roles_size() == 1 && secret.roles(0) == "*") return "every role";
  return absl::StrJoin(secret.roles(), ", ");
}

absl::StatusOr<int> SetRoles(Context& context, const v1::SetSecretRolesRequest& request) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  SecretStub stub(connection->channel());
  v1::SetSecretRolesResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &SecretStub::SetSecretRoles, request, &response));
  Show(context, response, [&] {
    return absl::StrCat("secret ", request.name(), " is read by ",
                        absl::StrJoin(request.roles(), ", "), "\n");
  });
  return kExitClean;
}

struct SecretRemoveOptions {
  std::string name;
  bool force = false, yes = false;
};

absl::StatusOr<int> RemoveSecret(Context& context, const SecretRemoveOptions& options) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  SecretStub stub(connection->channel());
  v1::ListSecretsResponse all;
  RETURN_IF_ERROR(
      Call(*connection, stub, &SecretStub::ListSecrets, v1::ListSecretsRequest(), &all));
  const auto secret =
      std::find_if(all.secrets().begin(), all.secrets().end(),
                   [&](const v1::SecretInfo& each) { return each.name() == options.name; });
  if (secret == all.secrets().end())
    return absl::NotFoundError(
        absl::StrCat("there is no secret '", options.name, "'; see `muster secret list`"));
  if (!options.yes) {
    RETURN_IF_ERROR(AskOrRefuse(
        absl::StrCat("Remove secret ", options.name, " (version ", secret->version(), ", read by ",
                     RolesText(*secret), ")? Its value is gone for good."),
        "nothing was removed"));
  }
  v1::RemoveSecretRequest request;
  request.set_name(options.name);
  request.set_even_if_read(options.force);
  v1::RemoveSecretResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &SecretStub::RemoveSecret, request, &response));
  Show(context, response, [&] {
    return absl::StrCat("secret ", options.name,
                        " is removed; files on nodes that contain it stay as they are\n");
  });
  return kExitClean;
}

absl::StatusOr<int> ListSecrets(Context& context) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  SecretStub stub(connection->channel());
  v1::ListSecretsResponse response;
  RETURN_IF_ERROR(
      Call(*connection, stub, &SecretStub::ListSecrets, v1::ListSecretsRequest(), &response));
  Show(context, response, [&] {
    Table table({"SECRET", "VERSION", "UPDATED", "BY", "ROLES", "ROTATION"});
    for (const v1::SecretInfo& secret : response.secrets())
      table.AddRow({secret.name(), absl::StrCat(secret.version()),
                    HumanTime(ToTime(secret.updated_at()), context.clock->Now()),
                    secret.updated_by(), RolesText(secret), RotationText(secret)});
    return table.ToString();
  });
  return kExitClean;
}

constexpr char kRolesHelp[] =
    "Roles of playbooks that may read it (tasks: a play's own tasks; '*': every role)";

void AddRolesOption(CLI::App* command, std::vector<std::string>& roles) {
  command->add_option("--roles", roles, kRolesHelp)
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("PLAYBOOK_ROLE");
}

}  // namespace

void AddSecret(CLI::App& app, Context& context) {
  CLI::App* secret = app.add_subcommand("secret", "Set, generate, list, rotate or remove secrets");
  secret->require_subcommand(1);

  CLI::App* set = secret->add_subcommand("set", "Store a value, read from a file");
  auto options = std::make_shared<SetOptions>();
  set->add_option("name", options->name, "The NAME of secret('NAME') in a playbook")
      ->required()
      ->type_name("SECRET");
  set->add_option("-f,--file", options->file,
                  "File to read; every byte counts (default: standard input)")
      ->type_name("FILE");
  AddRolesOption(set, options->roles);
  SetAction(set, context, [&context, options] { return Set(context, *options); });

  CLI::App* generate = secret->add_subcommand("generate", "Make a random value");
  auto request_name = std::make_shared<std::string>();
  auto bytes = std::make_shared<uint32_t>(32);
  auto replace = std::make_shared<bool>(false);
  auto roles = std::make_shared<std::vector<std::string>>();
  generate->add_option("name", *request_name, "The NAME of secret('NAME') in a playbook")
      ->required()
      ->type_name("SECRET");
  generate->add_option("-b,--bytes", *bytes, "Random bytes, 16 to 65536 (default 32)")
      ->type_name("COUNT");
  generate->add_flag("--replace", *replace, "Replace one that exists");
  AddRolesOption(generate, *roles);
  SetAction(generate, context, [&context, request_name, bytes, replace, roles] {
    v1::GenerateSecretRequest request;
    request.set_name(*request_name);
    request.set_bytes(*bytes);
    request.set_replace(*replace);
    for (const std::string& role : *roles) request.add_roles(role);
    return Generate(context, request);
  });

  CLI::App* list =
      secret->add_subcommand("list", "List names and versions; values are never shown");
  SetAction(list, context, [&context] { return ListSecrets(context); });

  CLI::App* name_roles = secret->add_subcommand("roles", "Set the roles that may read a secret");
  auto named = std::make_shared<std::string>();
  auto named_roles = std::make_shared<std::vector<std::string>>();
  name_roles->add_option("name", *named, "A secret that exists")->required()->type_name("SECRET");
  name_roles->add_option("roles", *named_roles, kRolesHelp)
      ->required()
      ->delimiter(',')
      ->type_name("PLAYBOOK_ROLE");
  SetAction(name_roles, context, [&context, named, named_roles] {
    v1::SetSecretRolesRequest request;
    request.set_name(*named);
    for (const std::string& role : *named_roles) request.add_roles(role);
    return SetRoles(context, request);
  });

  CLI::App* remove = secret->add_subcommand("remove", "Delete a secret for good");
  auto removed = std::make_shared<SecretRemoveOptions>();
  remove->add_option("name", removed->name, "A secret that exists")
      ->required()
      ->type_name("SECRET");
  remove->add_flag("--force", removed->force,
                   "Remove it even if the site that was applied last reads it");
  remove->add_flag("-y,--yes", removed->yes, "Do not ask");
  SetAction(remove, context, [&context, removed] { return RemoveSecret(context, *removed); });

  AddSecretRotate(*secret, context);
}

}  // namespace muster::cli
