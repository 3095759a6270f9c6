// The context that all verbs share: global options, the connection, and the output format.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace CLI {
class App;
}

namespace muster {
class Clock;
}

namespace muster::cli {

class Connection;

enum class OutputFormat { kTable, kJson, kYaml };

// Exit codes; docs/cli.md explains them.
inline constexpr int kExitClean = 0;
inline constexpr int kExitError = 1;        // usage, or the call failed
inline constexpr int kExitChanges = 2;      // with --detailed-exitcode
inline constexpr int kExitRefused = 2;      // of `node rename`: never possible
inline constexpr int kExitFailed = 3;       // some nodes failed
inline constexpr int kExitUnreachable = 4;  // some nodes did not answer, or were left out
inline constexpr int kExitDetached = 130;   // Ctrl-C; the run continues

struct Context {
  Clock* clock = nullptr;
  // Folder with cli.json, ca.crt, client.crt, client.key. Empty: the usual places.
  std::string config_directory;
  OutputFormat output = OutputFormat::kTable;
  int exit_code = kExitClean;
  // The verb that was called: "node remove".
  std::string verb;

  // The connection to the controller, opened at first use. Owned by the context.
  absl::StatusOr<Connection*> Connect();
  // Warns on standard error, once of the same folder, if root of other machines reads the key in
  // `folder`, of a holder of this role.
  void WarnOfSharedFolder(const std::string& folder, absl::string_view role);

  Context();
  ~Context();

 private:
  std::unique_ptr<Connection> connection_;
  std::string warned_of_;  // the last folder that was warned of
};

// Makes `run` the callback of `command`: its value becomes the exit code, its error is printed as
// "muster: …" and exits with kExitError.
void SetAction(CLI::App* command, Context& context, std::function<absl::StatusOr<int>()> run);

}  // namespace muster::cli
