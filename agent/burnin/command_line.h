// The command line of muster-burnin, whose verbs and options are the catalogue's.
#pragma once

#include <map>
#include <string>

#include "common/checks/catalog.h"

namespace muster::burnin {

inline constexpr int kExitUsage = 64;  // EX_USAGE of sysexits.h

struct CommandLine {
  const checks::CheckSpec* check = nullptr;  // nullptr: `list`
  std::map<std::string, std::string> parameters;
  bool json = false;
  bool force = false;
  int rank = 0;
  int ranks = 1;
  std::string key_file;
};

// False: it was --help or a mistake, which is printed, and `exit_code` is set.
bool ParseCommandLine(int argc, char** argv, CommandLine& line, int& exit_code);

// What `list` prints: every check with one line of what it is.
std::string CheckList();

}  // namespace muster::burnin
