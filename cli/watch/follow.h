// Following a run, a rollout or a validation to its end, over streams that may break.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include <grpcpp/client_context.h>
#include <grpcpp/support/sync_stream.h>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/connection.h"
#include "cli/context.h"
#include "cli/watch/event_stream.h"
#include "cli/watch/patience.h"
#include "cli/watch/terminal.h"
#include "common/base/clock.h"
#include "common/base/status.h"

namespace muster::cli {

// Shows what a stream brings. All calls come from one thread.
template <typename Event>
class EventDisplay {
 public:
  virtual ~EventDisplay() = default;
  virtual void Apply(const std::deque<Event>& events) = 0;
  // Draws the screen anew, where there is one.
  virtual void Redraw() = 0;
  // Prints a line for people.
  virtual void Say(absl::string_view text) = 0;
  // The end was among the events.
  virtual bool IsFinished() const = 0;
};

// Begins a stream, in another thread.
template <typename Event>
using OpenStream = std::function<typename EventStream<Event>::Reader(grpc::ClientContext*)>;

// Blocks until the display has the end, or Ctrl-C, for which the caller holds an InterruptFlag:
// false. `prepare` makes what begins a stream,
// from where the display is, on the connection's present channel; it is called again after each
// break. Waits for a controller that restarts as long as `limit`; errors are those of the stream.
template <typename Event>
absl::StatusOr<bool> Follow(Context& context, Connection& connection, EventDisplay<Event>& display,
                            const std::function<OpenStream<Event>()>& prepare,
                            absl::Duration limit = Patience::kLimit) {
  constexpr absl::Duration kRedraw = absl::Milliseconds(200);
  Clock& clock = *context.clock;
  Patience patience(
      clock, [&] { connection.Renew(); }, [&](absl::string_view text) { display.Say(text); },
      limit);
  while (!display.IsFinished()) {
    EventStream<Event> stream(prepare());
    std::optional<grpc::Status> status;
    while (!status.has_value() && !InterruptFlag::IsSet()) {
      const std::deque<Event> events = stream.Take(clock, kRedraw);
      if (stream.IsOpen() && !stream.Ended().has_value()) patience.OnAnswer();
      patience.OnSilence();
      display.Apply(events);
      if (!display.IsFinished()) display.Redraw();
      status = stream.Ended();
    }
    if (display.IsFinished()) break;
    if (InterruptFlag::IsSet()) return false;
    RETURN_IF_ERROR(patience.Await(connection.Convert(*status)));
  }
  return true;
}

}  // namespace muster::cli
