// muster secret: values that only nodes whose plan needs them ever see.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>

#include "absl/strings/str_cat.h"
#include "cli/connection.h"
#include "cli/output.h"
#include "cli/secret_rotate.h"
#include "cli/show.h"
#include "cli/verbs.h"
#include "common/base/clock.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "muster/v1/secret.grpc.pb.h"

namespace muster::cli {
namespace {

using Stub = v1::SecretService::Stub;

constexpr size_t kLargest = 64 << 10;

// Never from an argument, which other users of the machine could read.
absl::StatusOr<std::string> ReadSecret(const std::string& file) {
  if (file == "-" && isatty(STDIN_FILENO) == 1)
    std::cerr << "Type the secret, end with Ctrl-D (it is shown as you type).\n";
  std::ifstream opened;
  if (file != "-") {
    opened.open(file, std::ios::binary);
    if (!opened) return absl::NotFoundError(absl::StrCat("cannot read ", file));
  }
  std::istream& in = file == "-" ? std::cin : opened;
  std::string value(std::istreambuf_iterator<char>(in), {});
  if (value.empty()) return absl::InvalidArgumentError("the secret is empty");
  if (value.size() > kLargest) return absl::InvalidArgumentError("a secret is at most 64 KiB");
  return value;
}

absl::StatusOr<int> Set(Context& context, const std::string& name, const std::string& file) {
  v1::SetSecretRequest request;
  request.set_name(name);
  ASSIGN_OR_RETURN(*request.mutable_value(), ReadSecret(file));
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  Stub stub(connection->channel());
  v1::SetSecretResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &Stub::SetSecret, request, &response));
  Show(context, response,
       [&] { return absl::StrCat("secret ", name, " is at version ", response.version(), "\n"); });
  return kExitClean;
}

absl::StatusOr<int> Generate(Context& context, const v1::GenerateSecretRequest& request) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  Stub stub(connection->channel());
  v1::GenerateSecretResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &Stub::GenerateSecret, request, &response));
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

absl::StatusOr<int> List(Context& context) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  Stub stub(connection->channel());
  v1::ListSecretsResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &Stub::ListSecrets, v1::ListSecretsRequest(), &response));
  Show(context, response, [&] {
    Table table({"SECRET", "VERSION", "UPDATED", "BY", "ROTATION"});
    for (const v1::SecretInfo& secret : response.secrets())
      table.AddRow({secret.name(), absl::StrCat(secret.version()),
                    HumanTime(ToTime(secret.updated_at()), context.clock->Now()),
                    secret.updated_by(), RotationText(secret)});
    return table.ToString();
  });
  return kExitClean;
}

}  // namespace

void AddSecret(CLI::App& app, Context& context) {
  CLI::App* secret = app.add_subcommand("secret", "Set, generate, list or rotate secrets");
  secret->require_subcommand(1);

  CLI::App* set = secret->add_subcommand("set", "Store a value, read from a file");
  auto name = std::make_shared<std::string>();
  auto file = std::make_shared<std::string>("-");
  set->add_option("name", *name, "What secret('NAME') in a playbook asks for")
      ->required()
      ->type_name("NAME");
  set->add_option("-f,--file", *file,
                  "Where to read it, every byte of it (default: standard input)")
      ->type_name("FILE");
  SetAction(set, context, [&context, name, file] { return Set(context, *name, *file); });

  CLI::App* generate = secret->add_subcommand("generate", "Make a random value");
  auto request_name = std::make_shared<std::string>();
  auto bytes = std::make_shared<uint32_t>(32);
  auto replace = std::make_shared<bool>(false);
  generate->add_option("name", *request_name, "What secret('NAME') asks for")
      ->required()
      ->type_name("NAME");
  generate->add_option("-b,--bytes", *bytes, "Random bytes, 16 to 65536 (default 32)")
      ->type_name("COUNT");
  generate->add_flag("--replace", *replace, "Replace one that exists");
  SetAction(generate, context, [&context, request_name, bytes, replace] {
    v1::GenerateSecretRequest request;
    request.set_name(*request_name);
    request.set_bytes(*bytes);
    request.set_replace(*replace);
    return Generate(context, request);
  });

  CLI::App* list = secret->add_subcommand("list", "Names and versions; values are never shown");
  SetAction(list, context, [&context] { return List(context); });

  AddSecretRotate(*secret, context);
}

}  // namespace muster::cli
