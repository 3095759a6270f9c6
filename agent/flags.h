// The agent's command line.
#pragma once

#include <cstdint>
#include <string>

#include "agent/session/join.h"

namespace muster::agent {

enum class Command {
  kRun,
  kJoin,
  kJoinBoot,
  kCheck,
  kHealth,
  kImageFacts,
  kImageApply,
  kImageSeal,
  kDiscover,
  kDiskInstall,
  kDiskSettle,
  kUpgrade,
  kVersion
};

struct Flags {
  Command command = Command::kRun;
  std::string state_directory;
  bool verbose = false;
  // join
  JoinOptions join;
  std::string token_file;  // "-": standard input
  bool no_start = false;   // leave the service alone
  // join-boot
  std::string tcti;  // empty: the TPM of the kernel's resource manager, if there is one
  // upgrade
  bool upgrades_controller = false;
  // health
  bool slurm = false;
  // image apply
  std::string plan_file;
  std::string blob_directory;
  std::string report_file;
  std::string proxy;  // empty: none
  // image seal
  std::string root;
  int64_t newest = 0;  // seconds since 1970
  std::string manifest_file;
  std::string files_file;
  std::string image_file;  // empty: the root does not say what it is
};

// Fills in `flags`; false when the program has to end with `exit_code` (help, or bad usage, which
// was reported on standard error).
bool ParseFlags(int argc, char** argv, Flags& flags, int& exit_code);

}  // namespace muster::agent
