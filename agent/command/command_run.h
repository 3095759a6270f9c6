// One command of an administrator's on this node: in a scope of its own, of which nothing is left
// when it has ended.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "muster/v1/agent_session.pb.h"

namespace muster::sys {
class FileSystem;
class ProcessControl;
class ProcessRunner;
struct ProcessResult;
}  // namespace muster::sys

namespace muster::agent {

class UnitManager;

// So much of a command's output, from its end, reaches the controller.
inline constexpr size_t kMaxCommandOutput = size_t{64} << 10;

// The beginning of the scopes' names; the rest is the command's id, and ".scope".
inline constexpr absl::string_view kCommandScopePrefix = "muster-exec-";

// InvalidArgument: an id that cannot be part of a unit's name, no program, arguments or a time
// limit beyond common/base/command_limits.h, or an argument with a NUL. Pure.
absl::Status CheckCommand(const v1::StartCommand& command);

// How a program that has ended is reported: its output as plain text, the last kMaxCommandOutput
// bytes of it. `bytes_seen`: all that it printed. Pure.
v1::CommandEnd DescribeEnd(const sys::ProcessResult& result, size_t bytes_seen);

// Runs commands. Thread-safe.
class CommandRunner {
 public:
  // The references must outlive the object.
  CommandRunner(sys::FileSystem& files, sys::ProcessRunner& processes, UnitManager& units)
      : files_(files), processes_(processes), units_(units) {}

  // Blocks until the program has ended, by itself, at its time limit or by `control`, and then ends
  // what it has left in its scope.
  v1::CommandEnd Run(const v1::StartCommand& command, sys::ProcessControl& control);
  // Ends the scopes that an agent before this one, which was killed, has left.
  absl::Status EndLeftovers();

 private:
  bool HasProgram(const std::string& program);

  sys::FileSystem& files_;
  sys::ProcessRunner& processes_;
  UnitManager& units_;
};

}  // namespace muster::agent
