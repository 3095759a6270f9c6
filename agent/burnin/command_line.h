// The command line of muster-burnin. Its verbs and options come from the catalogue.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "common/checks/catalog.h"

namespace muster::burnin {

inline constexpr int kExitUsage = 64;  // EX_USAGE of sysexits.h

struct CommandLine {
  const checks::CheckSpec* check = nullptr;  // nullptr: one of the other verbs
  bool metrics = false;
  std::string metrics_file;               // "": standard output
  bool metrics_of_power = false;          // the machine's, too
  std::optional<unsigned> expected_gpus;  // of metrics
  bool xids = false;
  unsigned hear_seconds = 60;  // of xids
  bool kernel_errors = false;
  double since_seconds = 0;  // of kernel-errors, since boot
  std::map<std::string, std::string> parameters;
  bool json = false;
  bool force = false;
  int rank = 0;
  int ranks = 1;
  std::string key_file;
};

// False: --help or a usage error, which is printed; `exit_code` is set.
bool ParseCommandLine(int argc, char** argv, CommandLine& line, int& exit_code);

// The output of `list`: every check with a line of description.
std::string CheckList();

}  // namespace muster::burnin
