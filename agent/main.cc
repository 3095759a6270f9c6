// muster-agent: brings its node to the state that the controller wants.
#include <cstdlib>
#include <iostream>

#include "absl/synchronization/mutex.h"
#include "agent/commands.h"
#include "agent/flags.h"
#include "common/base/version.h"

namespace muster::agent {
namespace {

int Main(int argc, char** argv) {
  // Debian builds absl with its deadlock detection, which tracks the order of all mutexes of the
  // process. Tests keep it.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  // Resolve names as everything else on the node does. gRPC's own resolver asks a DNS server even
  // for names in /etc/hosts, and waits seconds if none answers.
  ::setenv("GRPC_DNS_RESOLVER", "native", /*overwrite=*/0);
  Flags flags;
  int exit_code = 0;
  if (!ParseFlags(argc, argv, flags, exit_code)) return exit_code;
  switch (flags.command) {
    case Command::kRun:
      return RunCommand(flags);
    case Command::kJoin:
      return JoinCommand(flags);
    case Command::kJoinBoot:
      return JoinBootCommand(flags);
    case Command::kCheck:
      return CheckCommand(flags);
    case Command::kHealth:
      return HealthCommand(flags);
    case Command::kImageFacts:
      return ImageFactsCommand(flags);
    case Command::kImageApply:
      return ImageApplyCommand(flags);
    case Command::kImageSeal:
      return ImageSealCommand(flags);
    case Command::kDiscover:
      return DiscoverCommand();
    case Command::kDiskInstall:
      return DiskInstallCommand(flags);
    case Command::kDiskSettle:
      return DiskSettleCommand(flags);
    case Command::kUpgrade:
      return UpgradeCommand(flags);
    case Command::kVersion:
      std::cout << "muster-agent " << kVersion << std::endl;
      return 0;
  }
  return 1;
}

}  // namespace
}  // namespace muster::agent

int main(int argc, char** argv) { return muster::agent::Main(argc, argv); }
