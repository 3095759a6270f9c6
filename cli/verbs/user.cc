// muster user: certificates for people.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "cli/bootstrap/credentials.h"
#include "cli/connection.h"
#include "cli/render/output.h"
#include "cli/render/show.h"
#include "cli/site/file_type.h"
#include "cli/verbs/verbs.h"
#include "common/base/clock.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/base/text/counted.h"
#include "common/pki/key.h"
#include "muster/v1/user.grpc.pb.h"

namespace muster::cli {
namespace {

using UserStub = v1::UserService::Stub;

struct CreateOptions {
  std::string name, role = "viewer", folder;
};

absl::StatusOr<int> CreateUser(Context& context, const CreateOptions& options) {
  const std::string folder =
      std::filesystem::absolute(options.folder.empty() ? absl::StrCat("muster-", options.name)
                                                       : options.folder)
          .string();
  ASSIGN_OR_RETURN(const std::filesystem::file_type type, TypeOf(folder));
  if (type != std::filesystem::file_type::not_found)
    return absl::AlreadyExistsError(absl::StrCat(folder, " exists; pass a new folder with --out"));
  ASSIGN_OR_RETURN(const pki::KeyAndCsr key, pki::MakeKeyAndCsr(options.name));
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  UserStub stub(connection->channel());
  v1::CreateUserRequest request;
  request.set_name(options.name);
  request.set_role(options.role);
  request.set_csr_pem(key.csr_pem);
  v1::CreateUserResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &UserStub::CreateUser, request, &response));
  RETURN_IF_ERROR(WriteCredentials(folder, {response.controller_address(), response.ca_pem(),
                                            response.certificate_pem(), key.key_pem}));
  context.WarnOfSharedFolder(folder, options.role);
  std::cout << options.role << " " << options.name << ": credentials are in " << folder
            << "\nGive the folder to " << options.name
            << ", to be kept as ~/.config/muster, and delete it here.\n";
  return kExitClean;
}

absl::StatusOr<int> ListUsers(Context& context) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  UserStub stub(connection->channel());
  v1::ListUsersResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &UserStub::ListUsers, v1::ListUsersRequest(), &response));
  Show(context, response, [&] {
    const absl::Time now = context.clock->Now();
    Table table({"USER", "ROLE", "STATE", "EXPIRES", "CERTIFICATE"});
    for (const v1::UserCertificate& certificate : response.certificates()) {
      const absl::Time expires = ToTime(certificate.expires_at());
      table.AddRow({certificate.name(), certificate.role(),
                    certificate.has_revoked_at() ? "revoked"
                    : expires <= now             ? "expired"
                                                 : "valid",
                    HumanTime(expires, now), certificate.serial()});
    }
    return table.ToString();
  });
  return kExitClean;
}

absl::StatusOr<int> Renew(Context& context) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  RETURN_IF_ERROR(RenewCredentials(*connection, context.clock->Now()));
  std::cout << "The certificate in " << connection->folder()
            << " is now issued by the current authority; it expires when it did before.\n";
  return kExitClean;
}

absl::StatusOr<int> RevokeUser(Context& context, const std::string& name) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  UserStub stub(connection->channel());
  v1::RevokeUserRequest request;
  request.set_name(name);
  v1::RevokeUserResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &UserStub::RevokeUser, request, &response));
  Show(context, response, [&] {
    if (response.is_unknown()) {
      return absl::StrCat("no certificate of '", name,
                          "' is known; any that exist are denied from now on\n");
    }
    return absl::StrCat(name, ": ", Counted(response.certificates(), "certificate"), " denied\n");
  });
  return kExitClean;
}

}  // namespace

void AddUser(CLI::App& app, Context& context) {
  CLI::App* user = app.add_subcommand("user", "Certificates for people");
  user->require_subcommand(1);

  CLI::App* create = user->add_subcommand("create", "Make a person's credentials");
  auto options = std::make_shared<CreateOptions>();
  create->add_option("name", options->name)->required()->type_name("USER");
  create->add_option("--role", options->role, "viewer (default), operator or admin")
      ->type_name("ROLE")
      ->check(CLI::IsMember({"viewer", "operator", "admin"}).description(""));
  create->add_option("--out", options->folder, "Where to write (default ./muster-USER)")
      ->type_name("DIR");
  SetAction(create, context, [&context, options] { return CreateUser(context, *options); });

  CLI::App* list = user->add_subcommand("list", "List the certificates that were made for people");
  SetAction(list, context, [&context] { return ListUsers(context); });

  CLI::App* renew =
      user->add_subcommand("renew", "Renew your own certificate under a new authority");
  renew->footer(
      "Everybody runs it while `muster ca rotate` waits, and once more when that has ended. The "
      "key,\nthe role and the expiry of the certificate stay as they are.");
  SetAction(renew, context, [&context] { return Renew(context); });

  CLI::App* revoke = user->add_subcommand("revoke", "Deny all certificates of a person");
  auto name = std::make_shared<std::string>();
  revoke->add_option("name", *name)->required()->type_name("USER");
  SetAction(revoke, context, [&context, name] { return RevokeUser(context, *name); });
}

}  // namespace muster::cli
