#include "agent/burnin/tool.h"

#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "common/base/clock.h"
#include "common/sys/process/process_control.h"

namespace muster::burnin {

namespace {

constexpr absl::Duration kLook = absl::Milliseconds(200);

// Ends a program when its check is to end.
class Stopper {
 public:
  Stopper(CheckContext& context, sys::ProcessControl& control, std::function<bool()> must_end)
      : context_(context),
        control_(control),
        must_end_(std::move(must_end)),
        thread_([this] { Watch(); }) {}
  ~Stopper() {
    {
      absl::MutexLock lock(&mutex_);
      ended_ = true;
    }
    thread_.join();
  }

 private:
  void Watch() {
    absl::MutexLock lock(&mutex_);
    while (!ended_ && !context_.reporter.stopping() && !(must_end_ && must_end_()))
      context_.clock.AwaitUntil(mutex_, absl::Condition(&ended_), context_.clock.Now() + kLook);
    if (!ended_) control_.Stop();
  }

  CheckContext& context_;
  sys::ProcessControl& control_;
  const std::function<bool()> must_end_;
  absl::Mutex mutex_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses the other members
};

}  // namespace

absl::StatusOr<sys::ProcessResult> RunTool(CheckContext& context, std::vector<std::string> argv,
                                           absl::Duration timeout, const std::string& package,
                                           ToolWatch watch) {
  const std::string program = argv.front();
  sys::ProcessControl control;
  control.CloseInput();
  const sys::ProcessSpec spec = {.argv = std::move(argv),
                                 .control = &control,
                                 .timeout = timeout,
                                 .die_with_parent = true,
                                 .max_output = size_t{1} << 20,
                                 .on_line = std::move(watch.on_line)};
  const Stopper stopper(context, control, std::move(watch.must_end));
  absl::StatusOr<sys::ProcessResult> result = context.processes.Run(spec);
  if (absl::IsNotFound(result.status()))
    return absl::NotFoundError(
        absl::StrCat("no program ", program, ": install the package ", package));
  return result;
}

std::vector<std::string> LastLines(const std::string& output, size_t count) {
  std::vector<std::string> lines = absl::StrSplit(output, '\n', absl::SkipWhitespace());
  if (lines.size() > count) lines.erase(lines.begin(), lines.end() - static_cast<long>(count));
  return lines;
}

}  // namespace muster::burnin
