#include "cli/watch/run_watcher.h"

#include <deque>
#include <memory>

#include "absl/strings/str_cat.h"
#include "cli/connection.h"
#include "cli/render/plain_text.h"
#include "cli/render/run/failure_report.h"
#include "cli/render/run/run_report.h"
#include "cli/render/run/run_screen.h"
#include "cli/render/show.h"
#include "cli/watch/follow.h"
#include "common/base/status.h"
#include "muster/v1/run.grpc.pb.h"

namespace muster::cli {
namespace {

using RunStub = v1::RunService::Stub;

// The lines shown of each step's output; `muster run show --steps --node` has all of it.
constexpr size_t kWatchedLines = 20;

// Shows events as they come, in the requested form.
class RunDisplay final : public EventDisplay<v1::RunEvent> {
 public:
  RunDisplay(Context& context, const WatchOptions& options, const v1::Run& run)
      : context_(context), options_(options), view_(run, context.clock->Now()) {}

  void Apply(const std::deque<v1::RunEvent>& events) override {
    for (const v1::RunEvent& event : events) {
      const bool seen = event.sequence() > 0 && event.sequence() <= view_.sequence();
      view_.Apply(event, context_.clock->Now());
      if (!seen) Show(event);
    }
    Flush();
  }
  void Redraw() override {
    if (context_.output != OutputFormat::kTable || !terminal_.interactive()) return;
    terminal_.Redraw(RenderScreen(view_, terminal_.size(), context_.clock->Now()));
  }
  void Say(absl::string_view text) override {
    if (context_.output == OutputFormat::kTable) terminal_.Print(text);
  }
  bool IsFinished() const override { return view_.finished(); }

  void Finish() {
    if (terminal_.interactive()) terminal_.Redraw({});
    if (options_.only_progress) return;
    Say(RenderRecap(view_, context_.clock->Now()));
  }
  const RunView& view() const { return view_; }

 private:
  void Show(const v1::RunEvent& event) {
    if (options_.only_progress) return;
    if (context_.output != OutputFormat::kTable) {
      terminal_.Print(JsonLine(event));
      return;
    }
    // They come one after another, as a play's plans are compiled.
    if (event.has_node_finished() && event.node_finished().state() == "failed" &&
        !event.node_finished().message().empty() && !HasTold(event)) {
      ends_.Add(event.node_finished());
      return;
    }
    Flush();
    terminal_.Print(Tame(RenderEventLine(event, {.check_only = view_.check_only(),
                                                 .quiet_steps = options_.verbose,
                                                 .values = options_.verbose || options_.values,
                                                 .output = options_.verbose,
                                                 .output_lines = kWatchedLines,
                                                 .failure_told = HasTold(event)})));
  }
  // Prints what was held back in order to report several nodes at once.
  void Flush() { terminal_.Print(ends_.Take()); }

  bool HasTold(const v1::RunEvent& event) const {
    if (!event.has_node_finished()) return false;
    const auto node = view_.nodes().find(event.node_finished().node());
    return node != view_.nodes().end() && node->second.failed_step;
  }

  Context& context_;
  const WatchOptions& options_;
  RunView view_;
  Terminal terminal_;
  EndReport ends_;
};

}  // namespace

absl::StatusOr<int> WatchRun(Context& context, Connection& connection, const std::string& run_id,
                             const WatchOptions& options) {
  RunStub first_stub(connection.channel());
  v1::GetRunRequest request;
  request.set_run_id(run_id);
  v1::GetRunResponse response;
  RETURN_IF_ERROR(Call(connection, first_stub, &RunStub::GetRun, request, &response));

  const InterruptFlag interrupt;
  RunDisplay display(context, options, response.run());
  const auto prepare = [&]() -> OpenStream<v1::RunEvent> {
    v1::WatchRunRequest watch;
    watch.set_run_id(run_id);
    watch.set_after_sequence(display.view().sequence());
    // JSON has every event.
    watch.set_changes_only(context.output == OutputFormat::kTable && !options.verbose);
    return [watch, stub = std::make_shared<RunStub>(connection.channel())](
               grpc::ClientContext* call) { return stub->WatchRun(call, watch); };
  };
  ASSIGN_OR_RETURN(const bool is_finished,
                   Follow<v1::RunEvent>(context, connection, display, prepare, options.patience));
  if (!is_finished || InterruptFlag::IsSet()) {
    display.Say(absl::StrCat("\ndetached; the run continues. To see it again: muster run watch ",
                             run_id, "\nTo stop it: muster run cancel ", run_id, "\n"));
    return kExitDetached;
  }
  display.Finish();
  return RunExitCode(display.view(), options.detailed_exit_code);
}

}  // namespace muster::cli
