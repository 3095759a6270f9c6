#include "cli/watch/run_watcher.h"

#include <deque>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "cli/connection.h"
#include "cli/render/plain_text.h"
#include "cli/render/run/failure_report.h"
#include "cli/render/run/run_report.h"
#include "cli/render/run/run_screen.h"
#include "cli/render/show.h"
#include "cli/watch/event_stream.h"
#include "cli/watch/patience.h"
#include "cli/watch/terminal.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "muster/v1/run.grpc.pb.h"

namespace muster::cli {
namespace {

using RunStub = v1::RunService::Stub;

// The lines shown of each step's output; `muster run show --steps --node` has all of it.
constexpr size_t kWatchedLines = 20;
constexpr absl::Duration kRunRedraw = absl::Milliseconds(200);

// Shows events as they come, in the requested form.
class RunDisplay {
 public:
  RunDisplay(Context& context, const WatchOptions& options)
      : context_(context), options_(options) {}

  void Show(const v1::RunEvent& event, const RunView& view) {
    if (options_.only_progress) return;
    if (context_.output != OutputFormat::kTable) {
      terminal_.Print(JsonLine(event));
      return;
    }
    // They come one after another, as a play's plans are compiled.
    if (event.has_node_finished() && event.node_finished().state() == "failed" &&
        !event.node_finished().message().empty() && !HasTold(event, view)) {
      ends_.Add(event.node_finished());
      return;
    }
    Flush();
    terminal_.Print(Tame(RenderEventLine(event, {.check_only = view.check_only(),
                                                 .quiet_steps = options_.verbose,
                                                 .values = options_.verbose || options_.values,
                                                 .output = options_.verbose,
                                                 .output_lines = kWatchedLines,
                                                 .failure_told = HasTold(event, view)})));
  }

  // Prints what was held back in order to report several nodes at once.
  void Flush() { terminal_.Print(ends_.Take()); }

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
  EndReport ends_;
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
  RunDisplay display(context, options);
  Patience patience(
      clock, [&] { connection.Renew(); }, [&](absl::string_view text) { display.Say(text); });
  while (!view.finished()) {
    RunStub stub(connection.channel());
    v1::WatchRunRequest watch;
    watch.set_run_id(run_id);
    watch.set_after_sequence(view.sequence());
    EventStream<v1::RunEvent> stream(
        [&](grpc::ClientContext* call) { return stub.WatchRun(call, watch); });
    std::optional<grpc::Status> status;
    while (!status.has_value() && !InterruptFlag::IsSet()) {
      const std::deque<v1::RunEvent> events = stream.Take(clock, kRunRedraw);
      if (stream.IsOpen() && !stream.Ended().has_value()) patience.OnAnswer();
      patience.OnSilence();
      for (const v1::RunEvent& event : events) {
        const bool seen = event.sequence() > 0 && event.sequence() <= view.sequence();
        view.Apply(event, clock.Now());
        if (!seen) display.Show(event, view);
      }
      display.Flush();
      if (!view.finished()) display.Refresh(view);
      status = stream.Ended();
    }
    if (InterruptFlag::IsSet()) {
      display.Say(absl::StrCat("\ndetached; the run goes on. To see it again: muster run watch ",
                               run_id, "\nTo stop it: muster run cancel ", run_id, "\n"));
      return kExitDetached;
    }
    if (view.finished()) break;
    RETURN_IF_ERROR(patience.Await(connection.Convert(*status)));
  }
  display.Finish(view);
  return RunExitCode(view, options.detailed_exit_code);
}

}  // namespace muster::cli
