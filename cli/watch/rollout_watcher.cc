#include "cli/watch/rollout_watcher.h"

#include <deque>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/connection.h"
#include "cli/render/plain_text.h"
#include "cli/render/rollout/rollout_report.h"
#include "cli/render/rollout/rollout_screen.h"
#include "cli/render/rollout/rollout_words.h"
#include "cli/render/show.h"
#include "cli/watch/follow.h"
#include "common/base/status.h"
#include "muster/v1/rollout.grpc.pb.h"

namespace muster::cli {
namespace {

using RolloutStub = v1::RolloutService::Stub;

// Shows events as they come, in the requested form.
class RolloutDisplay final : public EventDisplay<v1::RolloutEvent> {
 public:
  RolloutDisplay(Context& context, const v1::Rollout& rollout)
      : context_(context), view_(rollout) {}

  void Apply(const std::deque<v1::RolloutEvent>& events) override {
    for (const v1::RolloutEvent& event : events) {
      if (event.sequence() <= view_.sequence()) continue;
      view_.Apply(event);
      Show(event);
    }
    // A pause among events of the past is over by now.
    const bool is_paused = view_.rollout().state() == v1::ROLLOUT_STATE_PAUSED;
    if (is_paused && !told_pause_) Say(Tame(NextCommands(view_.rollout())));
    told_pause_ = is_paused;
  }
  void Redraw() override {
    if (context_.output != OutputFormat::kTable || !terminal_.interactive()) return;
    terminal_.Redraw(RenderRolloutScreen(view_.rollout(), terminal_.size(), context_.clock->Now()));
  }
  void Say(absl::string_view text) override {
    if (context_.output == OutputFormat::kTable) terminal_.Print(text);
  }
  bool IsFinished() const override { return view_.finished(); }

  void Finish(const v1::Rollout& rollout) {
    if (terminal_.interactive()) terminal_.Redraw({});
    Say(Tame(absl::StrCat("\n", RenderRollout(rollout, context_.clock->Now()))));
  }
  const RolloutView& view() const { return view_; }

 private:
  void Show(const v1::RolloutEvent& event) {
    if (context_.output != OutputFormat::kTable) {
      terminal_.Print(JsonLine(event));
    } else if (!terminal_.interactive() || StaysOnTerminal(event)) {
      terminal_.Print(Tame(RenderRolloutEvent(view_.rollout().request(), event)));
    }
  }

  Context& context_;
  RolloutView view_;
  Terminal terminal_;
  bool told_pause_ = false;
};

}  // namespace

absl::StatusOr<v1::Rollout> GetRollout(const Connection& connection,
                                       const std::string& rollout_id) {
  RolloutStub stub(connection.channel());
  v1::GetRolloutRequest request;
  request.set_rollout_id(rollout_id);
  v1::GetRolloutResponse response;
  RETURN_IF_ERROR(Call(connection, stub, &RolloutStub::GetRollout, request, &response));
  return std::move(*response.mutable_rollout());
}

absl::StatusOr<v1::ListUpdatePoliciesResponse> ListPolicies(const Connection& connection) {
  RolloutStub stub(connection.channel());
  v1::ListUpdatePoliciesResponse response;
  RETURN_IF_ERROR(Call(connection, stub, &RolloutStub::ListUpdatePolicies,
                       v1::ListUpdatePoliciesRequest(), &response));
  return response;
}

absl::StatusOr<int> WatchRollout(Context& context, Connection& connection,
                                 const std::string& rollout_id) {
  ASSIGN_OR_RETURN(const v1::Rollout first, GetRollout(connection, rollout_id));
  const InterruptFlag interrupt;
  RolloutDisplay display(context, first);
  const auto prepare = [&]() -> OpenStream<v1::RolloutEvent> {
    v1::WatchRolloutRequest watch;
    watch.set_rollout_id(rollout_id);
    watch.set_after_sequence(display.view().sequence());
    return [watch, stub = std::make_shared<RolloutStub>(connection.channel())](
               grpc::ClientContext* call) { return stub->WatchRollout(call, watch); };
  };
  ASSIGN_OR_RETURN(const bool is_finished,
                   Follow<v1::RolloutEvent>(context, connection, display, prepare));
  if (!is_finished) {
    display.Say(absl::StrCat(
        "\ndetached; the rollout continues. To see it again: muster rollout watch ", rollout_id,
        "\nTo stop taking nodes: muster rollout pause ", rollout_id, "\n"));
    return kExitDetached;
  }
  ASSIGN_OR_RETURN(const v1::Rollout last, GetRollout(connection, rollout_id));
  display.Finish(last);
  return RolloutExitCode(last);
}

}  // namespace muster::cli
