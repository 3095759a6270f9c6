#include "cli/watch/validation_watcher.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>

#include "absl/strings/str_cat.h"
#include "cli/connection.h"
#include "cli/render/plain_text.h"
#include "cli/render/show.h"
#include "cli/render/validation/validation_report.h"
#include "cli/watch/event_stream.h"
#include "cli/watch/patience.h"
#include "cli/watch/service_wait.h"
#include "cli/watch/terminal.h"
#include "cli/watch/validation_calls.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "muster/v1/validation.grpc.pb.h"

namespace muster::cli {
namespace {

using ValidationStub = v1::ValidationService::Stub;

constexpr absl::Duration kValidationRedraw = absl::Milliseconds(200);

// Shows events as they come; keeps the end.
class ValidationDisplay {
 public:
  explicit ValidationDisplay(Context& context) : context_(context) {}

  void Apply(const v1::ValidationEvent& event) {
    view_.Apply(event);
    if (event.has_finished()) finished_ = event.finished();
    if (context_.output != OutputFormat::kTable) {
      terminal_.Print(JsonLine(event));
    } else if (event.has_verdict()) {
      terminal_.Print(Tame(RenderLiveVerdictLine(event.node(), event.verdict())));
    }
  }
  void Redraw() {
    if (context_.output != OutputFormat::kTable || !terminal_.interactive()) return;
    const ScreenSize size = terminal_.size();
    terminal_.Redraw(view_.Lines(static_cast<size_t>(std::max(3, size.rows - 2)),
                                 static_cast<size_t>(std::max(20, size.columns - 1))));
  }
  void Say(absl::string_view text) {
    if (context_.output == OutputFormat::kTable) terminal_.Print(text);
  }
  // `get` fetches the validation again.
  void Finish(const std::function<absl::StatusOr<v1::Validation>()>& get) {
    if (terminal_.interactive()) terminal_.Redraw({});
    if (context_.output != OutputFormat::kTable) return;
    TakeServices(*context_.clock, get, InterruptFlag::IsSet, *finished_);
    Say(absl::StrCat("\n", RenderValidation(*finished_, context_.clock->Now())));
  }
  const std::optional<v1::Validation>& finished() const { return finished_; }

 private:
  Context& context_;
  Terminal terminal_;
  RunningView view_;
  std::optional<v1::Validation> finished_;
};

}  // namespace

absl::StatusOr<int> WatchValidation(Context& context, Connection& connection,
                                    const std::string& validation_id) {
  Clock& clock = *context.clock;
  const InterruptFlag interrupt;
  ValidationDisplay display(context);
  Patience patience(
      clock, [&] { connection.Renew(); }, [&](absl::string_view text) { display.Say(text); });
  v1::WatchValidationRequest watch;
  watch.set_validation_id(validation_id);
  while (true) {
    ValidationStub stub(connection.channel());
    EventStream<v1::ValidationEvent> stream(
        [&](grpc::ClientContext* call) { return stub.WatchValidation(call, watch); });
    std::optional<grpc::Status> status;
    while (!status.has_value() && !InterruptFlag::IsSet()) {
      const std::deque<v1::ValidationEvent> events = stream.Take(clock, kValidationRedraw);
      if (stream.IsOpen() && !stream.Ended().has_value()) patience.OnAnswer();
      patience.OnSilence();
      for (const v1::ValidationEvent& event : events) display.Apply(event);
      display.Redraw();
      status = stream.Ended();
    }
    if (display.finished().has_value()) break;
    if (InterruptFlag::IsSet()) {
      display.Say(absl::StrCat(
          "\ndetached; the validation goes on. To see it again: muster validate watch ",
          validation_id, "\nTo stop it: muster validate cancel ", validation_id, "\n"));
      return kExitDetached;
    }
    RETURN_IF_ERROR(patience.Await(connection.Convert(*status)));
  }
  display.Finish([&] { return GetValidation(connection, validation_id); });
  return ExitCodeOf(*display.finished());
}

}  // namespace muster::cli
