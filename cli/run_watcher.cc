#include "cli/run_watcher.h"

#include <atomic>
#include <deque>
#include <nlohmann/json.hpp>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "cli/connection.h"
#include "cli/patience.h"
#include "cli/run_report.h"
#include "cli/terminal.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/value/proto_value.h"
#include "muster/v1/run.grpc.pb.h"

namespace muster::cli {
namespace {

using RunStub = v1::RunService::Stub;

constexpr absl::Duration kRedrawInterval = absl::Milliseconds(200);

// Reads the stream in a thread of its own, so that the screen keeps its clock and Ctrl-C works.
class EventStream {
 public:
  EventStream(RunStub& stub, const std::string& run_id, uint64_t after_sequence)
      : reader_thread_([this, &stub, run_id, after_sequence] {
          v1::WatchRunRequest request;
          request.set_run_id(run_id);
          request.set_after_sequence(after_sequence);
          const auto reader = stub.WatchRun(&context_, request);
          v1::RunEvent event;
          while (reader->Read(&event)) Push(std::move(event));
          const grpc::Status status = reader->Finish();
          absl::MutexLock lock(&mutex_);
          status_ = status;
          ended_ = true;
        }) {}

  ~EventStream() {
    context_.TryCancel();
    {
      absl::MutexLock lock(&mutex_);
      closing_ = true;
    }
    reader_thread_.join();
  }

  // Waits up to `timeout` for events; takes all there are.
  std::deque<v1::RunEvent> Take(Clock& clock, absl::Duration timeout) {
    absl::MutexLock lock(&mutex_);
    clock.AwaitUntil(mutex_, absl::Condition(this, &EventStream::HasNews), clock.Now() + timeout);
    return std::exchange(events_, {});
  }

  // Whether the stream has ended and all of its events were taken.
  bool Ended(grpc::Status* status) {
    absl::MutexLock lock(&mutex_);
    if (!ended_ || !events_.empty()) return false;
    *status = status_;
    return true;
  }

 private:
  static constexpr size_t kMostQueued = 4096;

  bool HasNews() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return ended_ || !events_.empty(); }
  bool HasRoom() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return closing_ || events_.size() < kMostQueued;
  }

  void Push(v1::RunEvent event) {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(this, &EventStream::HasRoom));
    events_.push_back(std::move(event));
  }

  grpc::ClientContext context_;
  absl::Mutex mutex_;
  std::deque<v1::RunEvent> events_ ABSL_GUARDED_BY(mutex_);
  grpc::Status status_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread reader_thread_;  // last: it uses the others
};

// Shows events as they come, in the way that was asked for.
class Display {
 public:
  Display(Context& context, const WatchOptions& options) : context_(context), options_(options) {}

  void Show(const v1::RunEvent& event, const RunView& view) {
    if (options_.only_progress) return;
    if (context_.output != OutputFormat::kTable) {
      const nlohmann::ordered_json value = ProtoToValue(event);
      terminal_.Print(value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
                      "\n");
      return;
    }
    terminal_.Print(RenderEventLine(event, {.quiet_steps = options_.verbose,
                                            .values = options_.verbose || options_.values,
                                            .output = options_.verbose,
                                            .failure_told = HasTold(event, view)}));
  }

  void Refresh(const RunView& view) {
    if (context_.output != OutputFormat::kTable || !terminal_.interactive()) return;
    terminal_.Redraw(RenderScreen(view, terminal_.size(), context_.clock->Now()));
  }

  void Say(absl::string_view text) {
    if (context_.output == OutputFormat::kTable) terminal_.Print(text);
  }

  void Finish(const RunView& view) {
    if (terminal_.interactive()) terminal_.Redraw({});
    if (options_.only_progress) return;
    Say(RenderRecap(view, context_.clock->Now()));
  }

 private:
  static bool HasTold(const v1::RunEvent& event, const RunView& view) {
    if (!event.has_node_finished()) return false;
    const auto node = view.nodes().find(event.node_finished().node());
    return node != view.nodes().end() && node->second.failed_step;
  }

  Context& context_;
  const WatchOptions& options_;
  Terminal terminal_;
};

}  // namespace

absl::StatusOr<int> WatchRun(Context& context, Connection& connection, const std::string& run_id,
                             const WatchOptions& options) {
  Clock& clock = *context.clock;
  RunStub first_stub(connection.channel());
  v1::GetRunRequest request;
  request.set_run_id(run_id);
  v1::GetRunResponse response;
  RETURN_IF_ERROR(Call(connection, first_stub, &RunStub::GetRun, request, &response));

  const InterruptFlag interrupt;
  RunView view(response.run(), clock.Now());
  Display display(context, options);
  Patience patience(
      clock, [&] { connection.Renew(); }, [&](absl::string_view text) { display.Say(text); });
  while (!view.finished()) {
    RunStub stub(connection.channel());
    EventStream stream(stub, run_id, view.sequence());
    grpc::Status status;
    while (!stream.Ended(&status) && !InterruptFlag::IsSet()) {
      for (const v1::RunEvent& event : stream.Take(clock, kRedrawInterval)) {
        patience.OnAnswer();
        const bool seen = event.sequence() > 0 && event.sequence() <= view.sequence();
        view.Apply(event, clock.Now());
        if (!seen) display.Show(event, view);
      }
      if (!view.finished()) display.Refresh(view);
    }
    if (InterruptFlag::IsSet()) {
      display.Say(absl::StrCat("\ndetached; the run goes on. To see it again: muster run watch ",
                               run_id, "\nTo stop it: muster run cancel ", run_id, "\n"));
      return kExitDetached;
    }
    if (view.finished()) break;
    RETURN_IF_ERROR(patience.Await(connection.Convert(status)));
  }
  display.Finish(view);
  return RunExitCode(view, options.detailed_exit_code);
}

}  // namespace muster::cli
