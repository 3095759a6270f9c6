#include <iostream>
#include <string>

#include <grpcpp/channel.h>

#include "absl/strings/str_cat.h"
#include "agent/commands.h"
#include "agent/flags.h"
#include "agent/session/channel.h"
#include "agent/session/renewal.h"
#include "agent/state/identity.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kConnectTimeout = absl::Seconds(5);

absl::Status CheckPlan(const Flags& flags) {
  RealClock clock;
  sys::RealFileSystem files;
  ASSIGN_OR_RETURN(const Identity identity, LoadIdentity(Paths(flags.state_directory), files));
  std::cout << "node        " << identity.node_name << " (" << identity.node_uuid << ")\n"
            << "controller  " << identity.controller_address << "\n";
  ASSIGN_OR_RETURN(const CertificateLife life, ReadCertificateLife(identity.certificate_pem));
  std::cout << "certificate until "
            << absl::FormatTime("%Y-%m-%d %H:%M:%SZ", life.not_after, absl::UTCTimeZone())
            << std::endl;
  const std::string remedy = ValidityRemedy(life, clock.Now(), identity.node_name);
  if (!remedy.empty()) return absl::FailedPreconditionError(remedy);
  const auto channel = OpenChannel(identity);
  if (!channel->WaitForConnected(absl::ToChronoTime(clock.Now() + kConnectTimeout))) {
    return absl::UnavailableError(absl::StrCat(
        identity.controller_address, " accepted no TLS connection within ",
        absl::FormatDuration(kConnectTimeout),
        "; check that musterd runs there, the name resolves, a firewall lets the port through "
        "and the clocks agree"));
  }
  std::cout << "connection  ok" << std::endl;
  return absl::OkStatus();
}

}  // namespace

int CheckCommand(const Flags& flags) {
  const absl::Status status = CheckPlan(flags);
  if (status.ok()) return 0;
  std::cerr << "muster-agent check: " << status.message() << std::endl;
  return 1;
}

}  // namespace muster::agent
