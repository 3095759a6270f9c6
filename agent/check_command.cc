#include <iostream>
#include <string>

#include <grpcpp/channel.h>

#include "absl/strings/str_cat.h"
#include "agent/commands.h"
#include "agent/flags.h"
#include "agent/session/channel.h"
#include "agent/session/renewal.h"
#include "agent/state/identity.h"
#include "agent/sys/sd_bus_unit_manager.h"
#include "agent/upgrade/upgrade_place.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"
#include "common/sys/process/process.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kConnectTimeout = absl::Seconds(5);

// Whether the agent itself runs, of which this program's connection says nothing.
absl::Status CheckService(Clock& clock) {
  sys::RealProcessRunner processes;
  SdBusUnitManager units(processes, clock);
  ASSIGN_OR_RETURN(const UnitStatus unit, units.GetStatus(kServiceUnit));
  std::cout << "agent       " << unit.active_state << " (" << unit.sub_state << ")" << std::endl;
  if (unit.active_state == "active") return absl::OkStatus();
  if (unit.active_state == "activating")
    return absl::UnavailableError(
        absl::StrCat(kServiceUnit,
                     " is starting; look again in a moment, and if it does not stay up, "
                     "`journalctl -u ",
                     kServiceUnit, "` shows why"));
  if (unit.unit_file_state == "masked")
    return absl::FailedPreconditionError(
        absl::StrCat(kServiceUnit, " is masked, so the agent cannot run; `systemctl unmask ",
                     kServiceUnit, "`, then `systemctl enable --now ", kServiceUnit, "`"));
  return absl::FailedPreconditionError(absl::StrCat(
      kServiceUnit,
      " is not running; start it, now and at each boot, with `systemctl enable --now ",
      kServiceUnit, "`; if it does not stay up, `journalctl -u ", kServiceUnit, "` shows why"));
}

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
  return CheckService(clock);
}

}  // namespace

int CheckCommand(const Flags& flags) {
  const absl::Status status = CheckPlan(flags);
  if (status.ok()) return 0;
  std::cerr << "muster-agent check: " << status.message() << std::endl;
  return 1;
}

}  // namespace muster::agent
