// The agent's subcommands. Each gives the program's exit status.
#pragma once

namespace muster::agent {

struct Flags;

// Until SIGTERM or SIGINT. REQUIRES: no other thread runs yet.
int RunCommand(const Flags& flags);
int JoinCommand(const Flags& flags);
// Prints what it found out; 1 when something is wrong.
int CheckCommand(const Flags& flags);

}  // namespace muster::agent
