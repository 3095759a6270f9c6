#include "cli/watch/validation_watcher.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "cli/connection.h"
#include "cli/render/plain_text.h"
#include "cli/render/show.h"
#include "cli/render/validation/validation_report.h"
#include "cli/watch/follow.h"
#include "cli/watch/service_wait.h"
#include "cli/watch/validation_calls.h"
#include "common/base/status.h"
#include "muster/v1/validation.grpc.pb.h"

namespace muster::cli {
namespace {

using ValidationStub = v1::ValidationService::Stub;

// Shows events as they come; keeps the end.
class ValidationDisplay final : public EventDisplay<v1::ValidationEvent> {
 public:
  explicit ValidationDisplay(Context& context) : context_(context) {}

  void Apply(const std::deque<v1::ValidationEvent>& events) override {
    for (const v1::ValidationEvent& event : events) ApplyOne(event);
  }
  void Redraw() override {
    if (context_.output != OutputFormat::kTable || !terminal_.interactive()) return;
    const ScreenSize size = terminal_.size();
    terminal_.Redraw(view_.Lines(static_cast<size_t>(std::max(3, size.rows - 2)),
                                 static_cast<size_t>(std::max(20, size.columns - 1))));
  }
  void Say(absl::string_view text) override {
    if (context_.output == OutputFormat::kTable) terminal_.Print(text);
  }
  bool IsFinished() const override { return finished_.has_value(); }
  // `get` fetches the validation again.
  void Finish(const std::function<absl::StatusOr<v1::Validation>()>& get) {
    if (terminal_.interactive()) terminal_.Redraw({});
    if (context_.output != OutputFormat::kTable) return;
    TakeServices(*context_.clock, get, InterruptFlag::IsSet, *finished_);
    Say(absl::StrCat("\n", RenderValidation(*finished_, context_.clock->Now())));
  }
  const std::optional<v1::Validation>& finished() const { return finished_; }

 private:
  void ApplyOne(const v1::ValidationEvent& event) {
    view_.Apply(event);
    if (event.has_finished()) finished_ = event.finished();
    if (context_.output != OutputFormat::kTable) {
      terminal_.Print(JsonLine(event));
    } else if (event.has_verdict()) {
      terminal_.Print(Tame(RenderLiveVerdictLine(event.node(), event.verdict())));
    }
  }

  Context& context_;
  Terminal terminal_;
  RunningView view_;
  std::optional<v1::Validation> finished_;
};

}  // namespace

absl::StatusOr<int> WatchValidation(Context& context, Connection& connection,
                                    const std::string& validation_id) {
  const InterruptFlag interrupt;  // until the end is shown, too
  ValidationDisplay display(context);
  const auto prepare = [&]() -> OpenStream<v1::ValidationEvent> {
    v1::WatchValidationRequest watch;
    watch.set_validation_id(validation_id);
    return [watch, stub = std::make_shared<ValidationStub>(connection.channel())](
               grpc::ClientContext* call) { return stub->WatchValidation(call, watch); };
  };
  ASSIGN_OR_RETURN(const bool is_finished,
                   Follow<v1::ValidationEvent>(context, connection, display, prepare));
  if (!is_finished) {
    display.Say(absl::StrCat(
        "\ndetached; the validation continues. To see it again: muster validate watch ",
        validation_id, "\nTo stop it: muster validate cancel ", validation_id, "\n"));
    return kExitDetached;
  }
  display.Finish([&] { return GetValidation(connection, validation_id); });
  return ExitCodeOf(*display.finished());
}

}  // namespace muster::cli
