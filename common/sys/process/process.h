// Programs run by argument vector, never through a shell.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::sys {

// The PATH of every program, whatever the environment that Muster itself was started with.
inline constexpr char kStandardPath[] =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
// The child's descriptor behind ProcessSpec::on_status_line.
inline constexpr int kStatusFd = 3;

using LineCallback = std::function<void(absl::string_view line)>;

class ProcessControl;

struct ProcessSpec {
  // argv[0] is searched in kStandardPath unless it holds a slash. Never empty.
  std::vector<std::string> argv;
  // Added to the only variables that a program gets otherwise: PATH, HOME=/root, LANG and
  // LC_ALL=C.UTF-8.
  std::map<std::string, std::string> environment = {};
  std::string directory = "/";
  // Written to its standard input, which is then closed; with `control`, when that says so.
  std::string input = {};
  // For a thread that talks to the program while it runs; used by one Run() only, and must outlive
  // it.
  ProcessControl* control = nullptr;
  // Called with the id of the process, and of its group, once it runs; in the thread of Run().
  std::function<void(int pid)> on_started = {};
  // After this the whole process group gets SIGTERM, and SIGKILL five seconds later.
  absl::Duration timeout = absl::Minutes(10);
  // A program that the kernel holds in a call that does not return (state D) ends with that call,
  // whatever signals it gets. This long after SIGKILL Run() gives up on it, and it is reaped when
  // it ends. Infinite: Run() waits for it, since nothing may run beside it.
  absl::Duration unkillable_after = absl::InfiniteDuration();
  // The program is killed, by SIGKILL, when the thread in Run() is gone: for programs that must not
  // continue alone when this process is killed. It has to look after its own children.
  bool die_with_parent = false;
  // The last so many bytes of each captured text are kept.
  size_t max_output = size_t{64} << 10;
  // Called for each line of output as it comes, without its newline, in the thread of Run().
  LineCallback on_line = {};
  // Called for the lines of standard error, which then do not go to on_line.
  LineCallback on_error_line = {};
  // A longer line is handed out in pieces of about this size.
  size_t max_line = 8192;
  // Called for each line that the program writes to its descriptor kStatusFd. Empty: the descriptor
  // is closed.
  LineCallback on_status_line = {};
  // For a program that must outlive this process: when set, output goes to this new file and
  // status lines to "<file>.status" instead of into pipes that would break, and Run() follows
  // them. The folder must exist.
  std::string output_file = {};
};

struct ProcessResult {
  int exit_code = 0;  // meaningful when signal is 0
  int signal = 0;     // the signal that ended the program; 0: it exited
  bool timed_out = false;
  bool stopped = false;     // by ProcessControl
  bool unkillable = false;  // it has not ended (ProcessSpec::unkillable_after); signal is SIGKILL
  std::string out;          // standard output
  std::string output;       // standard output and error, in the order in which they came

  bool ok() const { return exit_code == 0 && signal == 0 && !timed_out; }
};

// Thread-safe.
class ProcessRunner {
 public:
  virtual ~ProcessRunner() = default;
  // Blocks until the program has ended or Run() gives up on it; its background children are not
  // waited for. An error means that it could not be started (NotFound: there is no such program);
  // how it ended is in the result. The program has its own session and process group.
  virtual absl::StatusOr<ProcessResult> Run(const ProcessSpec& spec) = 0;
};

class RealProcessRunner final : public ProcessRunner {
 public:
  absl::StatusOr<ProcessResult> Run(const ProcessSpec& spec) override;
};

// OK when the program exited with 0; otherwise "apt-get failed with exit status 100: <the last
// lines of its output>". DeadlineExceeded when it timed out, Internal otherwise.
absl::Status CheckSuccess(const ProcessSpec& spec, const ProcessResult& result);

// Run() and CheckSuccess() in one: the result of a program that must succeed.
absl::StatusOr<ProcessResult> RunChecked(ProcessRunner& runner, const ProcessSpec& spec);

}  // namespace muster::sys
