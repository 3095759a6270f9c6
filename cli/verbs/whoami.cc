// muster whoami: shows as whom the controller sees the person, and until when.
#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "cli/connection.h"
#include "cli/render/output.h"
#include "cli/verbs/verbs.h"
#include "common/base/clock.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/pki/certificate.h"
#include "muster/v1/node.grpc.pb.h"

namespace muster::cli {
namespace {

constexpr absl::string_view kUserUri = "muster://user/";
constexpr absl::string_view kOrganization = "muster:";

absl::StatusOr<int> WhoAmI(Context& context) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  ASSIGN_OR_RETURN(const pki::Certificate certificate,
                   pki::ParseCertificate(connection->certificate_pem()));
  const absl::string_view uri =
      certificate.uri_sans.empty() ? absl::string_view() : certificate.uri_sans[0];
  const std::string user(absl::StripPrefix(uri, kUserUri));
  const std::string role(absl::StripPrefix(certificate.organization, kOrganization));
  v1::NodeService::Stub stub(connection->channel());
  v1::GetStatusResponse status;
  // The controller decides: the certificate may have been revoked.
  const absl::Status answer =
      Call(*connection, stub, &v1::NodeService::Stub::GetStatus, v1::GetStatusRequest(), &status);
  if (context.output == OutputFormat::kTable) {
    std::cout << "user         " << user << "\nrole         " << role << "\ncertificate  "
              << "expires " << HumanTime(certificate.not_after, context.clock->Now()) << ", "
              << absl::FormatTime("%Y-%m-%d %H:%M", certificate.not_after, absl::LocalTimeZone())
              << ", serial " << certificate.serial << "\ncredentials  " << connection->folder()
              << "\ncontroller   " << connection->address() << "\n";
    if (answer.ok()) std::cout << "cluster      " << status.cluster() << "\n";
  } else if (answer.ok()) {
    nlohmann::ordered_json value;
    value["user"] = user;
    value["role"] = role;
    value["expires_at"] =
        absl::FormatTime(absl::RFC3339_sec, certificate.not_after, absl::UTCTimeZone());
    value["serial"] = certificate.serial;
    value["credentials"] = connection->folder();
    value["controller"] = connection->address();
    value["cluster"] = status.cluster();
    std::cout << Format(value, context.output);
  }
  RETURN_IF_ERROR(answer);
  return kExitClean;
}

}  // namespace

void AddWhoAmI(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("whoami", "Show who you are to the controller, and until when");
  SetAction(command, context, [&context] { return WhoAmI(context); });
}

}  // namespace muster::cli
