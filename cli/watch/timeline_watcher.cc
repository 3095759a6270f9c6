#include "cli/watch/timeline_watcher.h"

#include <deque>
#include <iostream>
#include <memory>

#include "cli/connection.h"
#include "cli/render/plain_text.h"
#include "cli/render/report/timeline_report.h"
#include "cli/render/show.h"
#include "cli/watch/follow.h"
#include "common/base/status.h"
#include "muster/v1/timeline.grpc.pb.h"

namespace muster::cli {
namespace {

using TimelineStub = v1::TimelineService::Stub;

// Prints events as they come, and knows where to go on.
class TimelineDisplay final : public EventDisplay<v1::TimelineEvent> {
 public:
  TimelineDisplay(Context& context, const v1::WatchTimelineRequest& request)
      : context_(context), request_(request) {}

  void Apply(const std::deque<v1::TimelineEvent>& events) override {
    for (const v1::TimelineEvent& event : events) {
      PrintTimelineEvent(context_, event);
      *request_.mutable_after() = event.position();
    }
  }
  void Redraw() override {}
  void Say(absl::string_view text) override {
    if (context_.output == OutputFormat::kTable) std::cout << text << std::flush;
  }
  bool IsFinished() const override { return false; }

  const v1::WatchTimelineRequest& request() const { return request_; }

 private:
  Context& context_;
  v1::WatchTimelineRequest request_;
};

}  // namespace

void PrintTimelineEvent(const Context& context, const v1::TimelineEvent& event) {
  std::cout << (context.output == OutputFormat::kTable
                    ? Tame(RenderTimelineEvent(event, absl::LocalTimeZone()))
                    : JsonLine(event))
            << std::flush;
}

absl::Status WatchTimeline(Context& context, Connection& connection,
                           const v1::WatchTimelineRequest& request) {
  const InterruptFlag interrupt;
  TimelineDisplay display(context, request);
  const auto prepare = [&]() -> OpenStream<v1::TimelineEvent> {
    return [watch = display.request(), stub = std::make_shared<TimelineStub>(connection.channel())](
               grpc::ClientContext* call) { return stub->WatchTimeline(call, watch); };
  };
  return Follow<v1::TimelineEvent>(context, connection, display, prepare, absl::InfiniteDuration())
      .status();
}

}  // namespace muster::cli
