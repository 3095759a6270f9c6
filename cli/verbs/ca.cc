// muster ca: the cluster's certificate authority, and its replacement.
#include <fcntl.h>
#include <sys/file.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/absolute_path.h"
#include "cli/apply/duration_option.h"
#include "cli/bootstrap/authority_folder.h"
#include "cli/bootstrap/credentials.h"
#include "cli/connection.h"
#include "cli/render/output.h"
#include "cli/render/show.h"
#include "cli/verbs/verbs.h"
#include "cli/watch/terminal.h"
#include "common/base/clock.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "common/pki/certificate.h"
#include "common/sys/file_system.h"
#include "common/sys/process/process.h"
#include "common/sys/unique_fd.h"
#include "muster/v1/authority.grpc.pb.h"
#include "muster/v1/node.grpc.pb.h"

namespace muster::cli {
namespace {

using AuthorityStub = v1::AuthorityService::Stub;

constexpr absl::Duration kPause = absl::Seconds(1);
// How long musterd may take to listen again.
constexpr absl::Duration kRestartTime = absl::Minutes(1);
// At the end, how long nodes may take to drop the earlier root: connected ones do it within
// seconds.
constexpr absl::Duration kDrop = absl::Minutes(1);

// Of `muster init`, beside musterd's keys.
std::string AdministratorsFolder(const std::string& pki) {
  return (std::filesystem::path(AbsolutePath(pki)).parent_path() / "admin").string();
}

struct AuthorityRotateOptions {
  std::string pki = "/etc/muster/pki", key, wait = "10m";
  bool yes = false;
};

std::vector<std::string> NamesBehind(const v1::GetAuthorityResponse& authority,
                                     bool connected_too) {
  std::vector<std::string> names;
  for (const v1::NodeBehind& node : authority.nodes_behind()) {
    if (connected_too || !node.is_connected()) names.push_back(node.name());
  }
  return names;
}

// "c[001-003] (of these, not connected: c003)"; REQUIRES: some nodes are behind.
std::string NodesText(const v1::GetAuthorityResponse& authority) {
  const std::string all = FoldHostlist(NamesBehind(authority, true));
  const std::vector<std::string> away = NamesBehind(authority, false);
  if (away.empty()) return all;
  return absl::StrCat(all, " (of these, not connected: ", FoldHostlist(away), ")");
}

absl::StatusOr<v1::GetAuthorityResponse> Ask(const Connection& connection) {
  AuthorityStub stub(connection.channel());
  v1::GetAuthorityResponse response;
  RETURN_IF_ERROR(
      Call(connection, stub, &AuthorityStub::GetAuthority, v1::GetAuthorityRequest(), &response));
  return response;
}

absl::StatusOr<int> AuthorityStatus(Context& context) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  ASSIGN_OR_RETURN(const v1::GetAuthorityResponse authority, Ask(*connection));
  Show(context, authority, [&] {
    std::string text =
        absl::StrCat("signs    ", authority.signing(), ", expires ",
                     HumanTime(ToTime(authority.ends_at()), context.clock->Now()), "\n");
    for (const std::string& root : authority.trusted()) {
      if (root != authority.signing())
        absl::StrAppend(&text, "trusted  ", root, ", until `muster ca rotate` finishes\n");
    }
    if (authority.nodes_behind_size() > 0)
      absl::StrAppend(&text, "behind   ", NodesText(authority), "\n");
    if (authority.people_behind_size() > 0) {
      absl::StrAppend(&text, "behind   ", absl::StrJoin(authority.people_behind(), ", "),
                      ": to run `muster user renew`\n");
    }
    return text;
  });
  return kExitClean;
}

// Only one change at a time works on a folder: held until the program ends. `verb`: who changes it.
absl::StatusOr<sys::UniqueFd> Lock(const std::string& folder, absl::string_view verb) {
  sys::UniqueFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid())
    return Annotate(ErrnoStatus(errno, absl::StrCat("opening ", folder)),
                    absl::StrCat("`muster ", verb, "` must run on the controller itself, as root"));
  if (flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
  return absl::FailedPreconditionError(
      absl::StrCat("another `muster ca` command is changing ", folder));
}

// Carries one change from any state to its end. Every step first checks the current state, so that
// the change may be interrupted and resumed anywhere.
class AuthorityRotation {
 public:
  AuthorityRotation(Context& context, const AuthorityRotateOptions& options, absl::Duration wait)
      : context_(context), options_(options), wait_(wait), folder_(options.pki, files_) {}

  absl::StatusOr<int> Carry() {
    ASSIGN_OR_RETURN(const sys::UniqueFd lock, Lock(options_.pki, context_.verb));
    ASSIGN_OR_RETURN(const AuthorityFolder::State state, folder_.Read());
    RETURN_IF_ERROR(folder_.CheckController(Now()));  // no call would succeed
    if (state.stage == Stage::kSettled) {
      ASSIGN_OR_RETURN(const v1::GetAuthorityResponse authority, Reach());
      if (!Runs(authority, state)) return OtherKeys();
      RETURN_IF_ERROR(Question(authority));
    } else if (state.stage != Stage::kBegun && !options_.key.empty() &&
               options_.key != state.token_key) {
      return absl::InvalidArgumentError(
          "a change to another key is under way; omit --ca-key to finish that one");
    } else {
      std::cout << "Resuming the change that is under way.\n";
    }
    if (state.stage != Stage::kEnding) {
      RETURN_IF_ERROR(BringIn(state.stage));
      ASSIGN_OR_RETURN(const int code, AwaitAll());
      if (code != kExitClean) return code;
      RETURN_IF_ERROR(folder_.Finish(Now()));
    }
    return End();
  }

 private:
  using Stage = AuthorityFolder::Stage;

  absl::Time Now() { return context_.clock->Now(); }

  // Makes both roots trusted and the new key sign, and gets the caller a certificate of it.
  absl::Status BringIn(Stage from) {
    const absl::Status begun = folder_.Begin(options_.key, Now());
    if (!begun.ok() && from == Stage::kBegun)
      return Annotate(begun, absl::StrCat("to start over, remove ca.change and ca.key.next from ",
                                          options_.pki));
    RETURN_IF_ERROR(begun);
    if (const absl::Status started = Restart(); !started.ok()) {
      // musterd reports that it is ready before it signs anything; in a resumed change it may have
      // signed something.
      if (from == Stage::kChanging || !failed_to_start_) return started;
      RETURN_IF_ERROR(Systemctl("stop"));
      RETURN_IF_ERROR(folder_.Undo());
      RETURN_IF_ERROR(Systemctl("start"));
      return Annotate(started,
                      "musterd does not start with the new key, so the earlier authority "
                      "is back and nothing has changed; see `journalctl -u musterd`");
    }
    RETURN_IF_ERROR(folder_.Confirm());
    return RenewOwn();
  }

  // kExitClean: all have followed.
  absl::StatusOr<int> AwaitAll() {
    ASSIGN_OR_RETURN(const v1::GetAuthorityResponse authority, AwaitNodes(wait_));
    if (authority.nodes_behind_size() > 0) {
      std::cerr << "muster: " << NodesText(authority)
                << ": no certificate of the new authority yet. Both authorities are still trusted, "
                   "so nothing was cut off. Bring the nodes back (nodes that were away for 30 "
                   "days must join again), or run `muster node remove` for those that will not "
                   "return; then run `muster ca rotate` again\n";
      return kExitUnreachable;
    }
    if (authority.people_behind_size() == 0) return kExitClean;
    return absl::FailedPreconditionError(
        absl::StrCat(absl::StrJoin(authority.people_behind(), ", "),
                     authority.people_behind_size() == 1 ? " has" : " have",
                     " credentials of the earlier authority and would be shut out. All nodes have "
                     "followed, and both authorities are still trusted: let these people run "
                     "`muster user renew` wherever they have credentials (or shut them out with "
                     "`muster user revoke NAME`), then run `muster ca rotate` again"));
  }

  // The folder has only the new root: musterd's last restart, and the steps after it.
  absl::StatusOr<int> End() {
    RETURN_IF_ERROR(Restart());
    RETURN_IF_ERROR(RenewOwn());
    ASSIGN_OR_RETURN(const v1::GetAuthorityResponse authority, AwaitNodes(std::min(wait_, kDrop)));
    RETURN_IF_ERROR(folder_.End());
    std::cout << "The authority of the cluster is " << authority.signing() << ".\n";
    if (authority.nodes_behind_size() > 0) {
      std::cout << "  Until they connect, these nodes also trust the earlier one: "
                << NodesText(authority) << "\n";
    }
    std::cout
        << "  Make a backup now: an older one would bring back the earlier authority.\n"
        << "  Copies of the administrator's folder no longer work; copy it again.\n"
        << "  Join lines and plan files no longer work; make new ones.\n"
        << "  Run `muster image sign` for each signed kernel image now: until then nodes with "
           "boot_signed do not boot from the network.\n";
    return kExitClean;
  }

  static bool Runs(const v1::GetAuthorityResponse& authority, const AuthorityFolder::State& state) {
    std::vector<std::string> running(authority.trusted().begin(), authority.trusted().end());
    std::vector<std::string> wanted = state.trusted;
    std::sort(running.begin(), running.end());
    std::sort(wanted.begin(), wanted.end());
    return authority.signing() == state.signing && running == wanted;
  }

  absl::Status OtherKeys() {
    return absl::FailedPreconditionError(
        absl::StrCat("musterd does not run with the keys in ", options_.pki,
                     ": its `pki_directory` is another folder; pass that with --pki. If the folder "
                     "was changed by hand, restart musterd first"));
  }

  absl::Status Question(const v1::GetAuthorityResponse& authority) {
    if (options_.yes) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::unique_ptr<Connection> connection, Open());
    v1::NodeService::Stub nodes(connection->channel());
    v1::GetStatusResponse status;
    RETURN_IF_ERROR(Call(*connection, nodes, &v1::NodeService::Stub::GetStatus,
                         v1::GetStatusRequest(), &status));
    return AskOrRefuse(
        absl::StrCat("Give cluster ", status.cluster(), " a new authority in place of ",
                     authority.signing(), "? All of its nodes (", status.nodes_connected(), " of ",
                     status.nodes_total(),
                     " are connected) and all people get new certificates; musterd restarts "
                     "twice, and runs and jobs continue."),
        "nothing was changed");
  }

  // Uses the present content of the folder of credentials.
  absl::StatusOr<std::unique_ptr<Connection>> Open() {
    ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection,
                     Connection::Open(context_.config_directory, Now()));
    connection->set_verb(context_.verb);
    return connection;
  }

  absl::StatusOr<v1::GetAuthorityResponse> Reach() {
    ASSIGN_OR_RETURN(const std::unique_ptr<Connection> connection, Open());
    return Ask(*connection);
  }

  absl::Status Systemctl(const std::string& verb) {
    sys::RealProcessRunner runner;
    return sys::RunChecked(runner, {.argv = {"systemctl", verb, "musterd"}}).status();
  }

  // Makes musterd run with the folder's content, if it does not yet.
  absl::Status Restart() {
    ASSIGN_OR_RETURN(const AuthorityFolder::State state, folder_.Read());
    absl::StatusOr<v1::GetAuthorityResponse> authority = Reach();
    if (authority.ok() && Runs(*authority, state)) return absl::OkStatus();
    std::cout << "Restarting musterd ..." << std::endl;
    const absl::Status restarted = Systemctl("restart");
    failed_to_start_ = !restarted.ok();
    RETURN_IF_ERROR(restarted);
    const absl::Time until = Now() + kRestartTime;
    do {
      authority = Reach();
      if (authority.ok() && Runs(*authority, state)) return absl::OkStatus();
      context_.clock->Sleep(kPause);
    } while (Now() < until);
    RETURN_IF_ERROR(authority.status());
    return OtherKeys();
  }

  // Renews the folder of `muster init`, and the one in use, if that is another.
  absl::Status RenewOwn() {
    RETURN_IF_ERROR(folder_.SignAdministrator(AdministratorsFolder(options_.pki), Now()));
    ASSIGN_OR_RETURN(const std::unique_ptr<Connection> connection, Open());
    ASSIGN_OR_RETURN(const AuthorityFolder::State state, folder_.Read());
    ASSIGN_OR_RETURN(const std::string roots,
                     files_.Read(absl::StrCat(connection->folder(), "/ca.crt")));
    ASSIGN_OR_RETURN(const std::string issuer, pki::IssuerOf(connection->certificate_pem(), roots));
    ASSIGN_OR_RETURN(const std::string signed_by, pki::Sha256Pin(issuer));
    ASSIGN_OR_RETURN(const std::vector<std::string> trusted, pki::Pins(roots));
    if (signed_by == state.signing && trusted == state.trusted) return absl::OkStatus();
    return RenewCredentials(*connection, Now());
  }

  // The state when all nodes have followed, or when the time is over.
  absl::StatusOr<v1::GetAuthorityResponse> AwaitNodes(absl::Duration wait) {
    ASSIGN_OR_RETURN(const std::unique_ptr<Connection> connection, Open());
    const absl::Time until = Now() + wait;
    std::string told;
    for (;;) {
      ASSIGN_OR_RETURN(v1::GetAuthorityResponse authority, Ask(*connection));
      if (authority.nodes_behind_size() == 0 || Now() >= until) return authority;
      const std::string text = NodesText(authority);
      if (text != told) std::cout << "Waiting for " << text << std::endl;
      told = text;
      context_.clock->Sleep(kPause);
    }
  }

  Context& context_;
  const AuthorityRotateOptions& options_;
  const absl::Duration wait_;
  sys::RealFileSystem files_;
  AuthorityFolder folder_;
  bool failed_to_start_ = false;
};

absl::StatusOr<int> RenewAdministrator(Context& context, const std::string& pki) {
  ASSIGN_OR_RETURN(const sys::UniqueFd lock, Lock(pki, context.verb));
  sys::RealFileSystem files;
  const std::string folder = AdministratorsFolder(pki);
  ASSIGN_OR_RETURN(const std::string certificate_pem,
                   AuthorityFolder(pki, files).RenewAdministrator(folder, context.clock->Now()));
  ASSIGN_OR_RETURN(const pki::Certificate certificate, pki::ParseCertificate(certificate_pem));
  std::cout << folder << ": the certificate of " << certificate.common_name << " is valid until "
            << absl::FormatTime("%Y-%m-%d", certificate.not_after, absl::UTCTimeZone()) << "\n";
  return kExitClean;
}

absl::StatusOr<int> RenewController(Context& context, const std::string& pki,
                                    const std::vector<std::string>& names) {
  ASSIGN_OR_RETURN(const sys::UniqueFd lock, Lock(pki, context.verb));
  sys::RealFileSystem files;
  ASSIGN_OR_RETURN(const std::string certificate_pem,
                   AuthorityFolder(pki, files).RenewController(names, context.clock->Now()));
  ASSIGN_OR_RETURN(const pki::Certificate certificate, pki::ParseCertificate(certificate_pem));
  std::cout << pki << "/controller.crt is valid until "
            << absl::FormatTime("%Y-%m-%d", certificate.not_after, absl::UTCTimeZone())
            << "; musterd reads it at its start: systemctl restart musterd\n";
  return kExitClean;
}

absl::StatusOr<int> RotateAuthority(Context& context, const AuthorityRotateOptions& options) {
  ASSIGN_OR_RETURN(const absl::Duration wait,
                   ParseDurationOption("--wait", options.wait, absl::ZeroDuration(), "30s or 10m"));
  return AuthorityRotation(context, options, wait).Carry();
}

}  // namespace

void AddCa(CLI::App& app, Context& context) {
  CLI::App* ca = app.add_subcommand("ca", "The cluster's certificate authority");
  ca->require_subcommand(1);

  CLI::App* status =
      ca->add_subcommand("status", "Show what signs, what is trusted, who is behind");
  SetAction(status, context, [&context] { return AuthorityStatus(context); });

  CLI::App* rotate =
      ca->add_subcommand("rotate", "Give the cluster a new authority; as root, on the controller");
  auto options = std::make_shared<AuthorityRotateOptions>();
  rotate
      ->add_option("--ca-key", options->key,
                   "URI of a new key in a PKCS #11 token (default: a new key in ca.key)")
      ->type_name("URI");
  rotate->add_option("--pki", options->pki, "musterd's keys (default /etc/muster/pki)")
      ->type_name("DIR");
  rotate->add_option("--wait", options->wait, "How long to wait for nodes (default 10m)")
      ->type_name("DURATION");
  rotate->add_flag("-y,--yes", options->yes, "Do not ask");
  rotate->footer(
      "Both authorities are trusted until every node and every person has a certificate of the "
      "new\n"
      "one. Run it again after an interruption, or once missing nodes are back: it resumes.\n"
      "Exit code 4: nodes are missing.");
  SetAction(rotate, context, [&context, options] { return RotateAuthority(context, *options); });

  const auto add_renewal = [&](const char* name, const char* description, auto renew) {
    CLI::App* command = ca->add_subcommand(name, description);
    auto pki = std::make_shared<std::string>(options->pki);
    command->add_option("--pki", *pki, "musterd's keys (default /etc/muster/pki)")
        ->type_name("DIR");
    SetAction(command, context, [&context, pki, renew] { return renew(context, *pki); });
    return command;
  };
  add_renewal("renew-admin",
              "Sign the credentials of `muster init` for another year; as root, on the controller",
              RenewAdministrator);
  auto names = std::make_shared<std::vector<std::string>>();
  add_renewal(
      "renew-controller",
      "Sign the controller's certificate for five more years; as root, on the controller",
      [names](Context& run, const std::string& pki) { return RenewController(run, pki, *names); })
      ->add_option("--name", *names, "A further name or address of the controller")
      ->type_name("HOST");
}

}  // namespace muster::cli
