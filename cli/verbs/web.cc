// muster web: the way into the web page.
#include <CLI/CLI.hpp>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/connection.h"
#include "cli/render/output.h"
#include "cli/render/show.h"
#include "cli/verbs/verbs.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "muster/v1/web.grpc.pb.h"

namespace muster::cli {
namespace {

using WebStub = v1::WebService::Stub;

// "7482" of "https://localhost:7482/#/login/5f0c…".
std::string PortOf(absl::string_view url) {
  const std::vector<absl::string_view> parts = absl::StrSplit(url, '/');
  const absl::string_view address = parts.size() > 2 ? parts[2] : absl::string_view();
  return std::string(address.substr(address.rfind(':') + 1));
}

absl::StatusOr<int> LogIn(Context& context) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  WebStub stub(connection->channel());
  v1::CreateLoginResponse response;
  RETURN_IF_ERROR(
      Call(*connection, stub, &WebStub::CreateLogin, v1::CreateLoginRequest(), &response));
  Show(context, response, [&] { return absl::StrCat(response.url(), "\n"); });
  if (context.output != OutputFormat::kTable) return kExitClean;
  // Beside the link, so that a script that reads it gets nothing else.
  std::cerr << "The link works once, until "
            << absl::FormatTime("%H:%M", ToTime(response.expires_at()), absl::LocalTimeZone())
            << ".\n";
  if (response.is_local()) {
    const std::string port = PortOf(response.url());
    std::cerr << "The page listens on the controller alone. From another machine, run there first: "
                 "ssh -L "
              << port << ":localhost:" << port << " CONTROLLER\n";
  }
  return kExitClean;
}

}  // namespace

void AddWeb(CLI::App& app, Context& context) {
  CLI::App* web = app.add_subcommand("web", "The web page");
  web->require_subcommand(1);
  CLI::App* login = web->add_subcommand("login", "Print a link that logs you in to the page, once");
  SetAction(login, context, [&context] { return LogIn(context); });
}

}  // namespace muster::cli
