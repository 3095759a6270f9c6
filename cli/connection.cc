#include "cli/connection.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status.h"
#include "common/pki/certificate.h"
#include "common/sys/file_system.h"

namespace muster::cli {
namespace {

constexpr char kConfigFile[] = "cli.json";

std::vector<std::string> Candidates(const std::string& directory) {
  if (!directory.empty()) return {directory};
  if (const char* chosen = std::getenv("MUSTER_CONFIG_DIR"); chosen != nullptr && *chosen != '\0')
    return {chosen};
  std::vector<std::string> candidates;
  if (const char* home = std::getenv("HOME"); home != nullptr)
    candidates.push_back(absl::StrCat(home, "/.config/muster"));
  candidates.push_back("/etc/muster/admin");
  return candidates;
}

absl::StatusOr<std::string> FindDirectory(const std::string& directory, sys::FileSystem& files) {
  const std::vector<std::string> candidates = Candidates(directory);
  for (const std::string& candidate : candidates) {
    if (files.Read(absl::StrCat(candidate, "/", kConfigFile)).ok()) return candidate;
  }
  return absl::NotFoundError(
      absl::StrCat("no readable ", kConfigFile, " in ", absl::StrJoin(candidates, " or "),
                   "; run `muster init` on the controller, or copy the administrator's folder "
                   "(/etc/muster/admin) from there to ~/.config/muster"));
}

absl::StatusOr<std::string> ReadAddress(const std::string& path, absl::string_view text) {
  const nlohmann::json config = nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
  if (!config.is_object() || !config.contains("controller") || !config["controller"].is_string())
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": expected {\"controller\": \"host:7443\"}"));
  return config["controller"].get<std::string>();
}

// TLS would say "socket closed"; here the files are known.
absl::Status CheckCredentials(const std::string& folder, absl::string_view certificate_pem,
                              absl::string_view roots_pem, absl::Time now) {
  const std::string file = absl::StrCat(folder, "/client.crt");
  const absl::StatusOr<pki::Certificate> certificate = pki::ParseCertificate(certificate_pem);
  if (certificate.ok() && certificate->not_after < now) {
    return absl::FailedPreconditionError(absl::StrCat(
        file, ": the certificate of ", certificate->common_name, " expired on ",
        absl::FormatTime("%Y-%m-%d", certificate->not_after, absl::UTCTimeZone()),
        "; an administrator makes another (`muster user create ", certificate->common_name,
        "`), and root on the controller renews /etc/muster/admin (`muster ca renew-admin`)"));
  }
  return Annotate(pki::VerifySignedBy(certificate_pem, roots_pem, now),
                  absl::StrCat(file, " does not verify against ", folder,
                               "/ca.crt; copy the whole folder again from where it came"));
}

}  // namespace

Connection::Connection(std::string folder, std::string address, std::string certificate_pem,
                       MakeChannel make_channel)
    : folder_(std::move(folder)),
      address_(std::move(address)),
      certificate_pem_(std::move(certificate_pem)),
      make_channel_(std::move(make_channel)),
      channel_(make_channel_()) {}

std::shared_ptr<grpc::Channel> Connection::channel() const {
  absl::MutexLock lock(&mutex_);
  return channel_;
}

void Connection::Renew() {
  absl::MutexLock lock(&mutex_);
  channel_ = make_channel_();
}

absl::StatusOr<std::unique_ptr<Connection>> Connection::Open(const std::string& directory,
                                                             absl::Time now) {
  sys::RealFileSystem files;
  ASSIGN_OR_RETURN(const std::string folder, FindDirectory(directory, files));
  const auto read = [&](const char* name) { return files.Read(absl::StrCat(folder, "/", name)); };
  ASSIGN_OR_RETURN(const std::string config, read(kConfigFile));
  ASSIGN_OR_RETURN(std::string address,
                   ReadAddress(absl::StrCat(folder, "/", kConfigFile), config));
  grpc::SslCredentialsOptions options;
  ASSIGN_OR_RETURN(options.pem_root_certs, read("ca.crt"));
  ASSIGN_OR_RETURN(options.pem_cert_chain, read("client.crt"));
  ASSIGN_OR_RETURN(options.pem_private_key, read("client.key"));
  RETURN_IF_ERROR(CheckCredentials(folder, options.pem_cert_chain, options.pem_root_certs, now));
  grpc::ChannelArguments arguments;
  // A watcher may receive nothing for a long time, for instance while nodes reboot: the pings check
  // whether the controller is still there, and the timeout gives a network time to settle.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 15'000);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetMaxReceiveMessageSize(64 << 20);
  // A restarting controller is back within seconds: do not wait minutes to try again.
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2'000);
  // The controller is inside the cluster: no proxy from the environment leads there.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // A new channel must make a new connection instead of finding the old one in the global pool.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  MakeChannel make = [address, options, arguments] {
    return grpc::CreateCustomChannel(address, grpc::SslCredentials(options), arguments);
  };
  return std::unique_ptr<Connection>(
      new Connection(folder, std::move(address), options.pem_cert_chain, std::move(make)));
}

absl::Status ToStatus(const v1::Refusal& refusal) {
  std::string message = absl::StrJoin(refusal.errors(), "\n\n");
  if (refusal.more() > 0) absl::StrAppend(&message, "\n\n… and ", refusal.more(), " more errors");
  return absl::Status(static_cast<absl::StatusCode>(refusal.code()), message);
}

absl::Status Connection::Convert(const grpc::Status& status) const {
  if (status.ok()) return absl::OkStatus();
  std::string message = status.error_message();
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE) {
    // OpenSSL's message when nobody in ca.crt has signed the other side.
    const bool stranger = absl::StrContains(message, "certificate verify failed");
    message = absl::StrCat(
        "cannot reach the controller at ", address_, ": ", message,
        stranger ? "\n  ca.crt is not from this controller: it is another cluster's, or was set up "
                   "again; copy /etc/muster/admin from it. Or the controller's certificate has "
                   "expired; in that case run `muster ca renew-controller` there as root, and "
                   "restart musterd."
                 : "\n  Is musterd running there (systemctl status musterd), and is the port open "
                   "from here?");
  } else if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
    message = absl::StrCat("the controller at ", address_, " is older than this program and does ",
                           "not know this call\n  `muster status` shows its version; `muster ",
                           "controller update` brings it to that of a release.");
  } else if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
    message = absl::StrCat("the controller at ", address_, " did not answer in time: ", message);
  }
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), message);
}

}  // namespace muster::cli
