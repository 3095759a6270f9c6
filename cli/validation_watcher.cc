#include "cli/validation_watcher.h"

#include <deque>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "cli/connection.h"
#include "cli/patience.h"
#include "cli/service_wait.h"
#include "cli/terminal.h"
#include "cli/validation_calls.h"
#include "cli/validation_report.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/value/proto_value.h"
#include "muster/v1/validation.grpc.pb.h"

namespace muster::cli {
namespace {

using Stub = v1::ValidationService::Stub;

constexpr absl::Duration kRedrawInterval = absl::Milliseconds(200);

// Reads the stream in a thread of its own, so that the screen is drawn and Ctrl-C works.
class EventStream {
 public:
  EventStream(Stub& stub, const std::string& validation_id)
      : thread_([this, &stub, validation_id] {
          v1::WatchValidationRequest request;
          request.set_validation_id(validation_id);
          const auto reader = stub.WatchValidation(&context_, request);
          v1::ValidationEvent event;
          while (reader->Read(&event)) {
            absl::MutexLock lock(&mutex_);
            mutex_.Await(absl::Condition(this, &EventStream::HasRoom));
            events_.push_back(std::move(event));
          }
          const grpc::Status status = reader->Finish();
          absl::MutexLock lock(&mutex_);
          status_ = status;
        }) {}
  ~EventStream() {
    context_.TryCancel();
    {
      absl::MutexLock lock(&mutex_);
      closing_ = true;
    }
    thread_.join();
  }

  std::deque<v1::ValidationEvent> Take(Clock& clock, absl::Duration timeout) {
    absl::MutexLock lock(&mutex_);
    clock.AwaitUntil(mutex_, absl::Condition(this, &EventStream::HasNews), clock.Now() + timeout);
    return std::exchange(events_, {});
  }
  // Set when the stream has ended and all of its events were taken.
  std::optional<grpc::Status> Ended() {
    absl::MutexLock lock(&mutex_);
    return events_.empty() ? status_ : std::nullopt;
  }

 private:
  static constexpr size_t kMostQueued = 4096;
  bool HasNews() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return status_.has_value() || !events_.empty();
  }
  bool HasRoom() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return closing_ || events_.size() < kMostQueued;
  }

  grpc::ClientContext context_;
  absl::Mutex mutex_;
  std::deque<v1::ValidationEvent> events_ ABSL_GUARDED_BY(mutex_);
  std::optional<grpc::Status> status_ ABSL_GUARDED_BY(mutex_);
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses the others
};

// Shows what comes; keeps the end.
class Display {
 public:
  explicit Display(Context& context) : context_(context) {}

  void Apply(const v1::ValidationEvent& event) {
    view_.Apply(event);
    if (event.has_finished()) finished_ = event.finished();
    if (context_.output != OutputFormat::kTable) {
      terminal_.Print(ProtoToValue(event).dump(-1, ' ', false,
                                               nlohmann::ordered_json::error_handler_t::replace) +
                      "\n");
    } else if (event.has_verdict()) {
      terminal_.Print(RenderVerdictLine(event.node(), event.verdict()));
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
  // `get` looks at the validation again.
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
  Display display(context);
  Patience patience(
      clock, [&] { connection.Renew(); }, [&](absl::string_view text) { display.Say(text); });
  while (true) {
    Stub stub(connection.channel());
    EventStream stream(stub, validation_id);
    std::optional<grpc::Status> status;
    while (!status.has_value() && !InterruptFlag::IsSet()) {
      for (const v1::ValidationEvent& event : stream.Take(clock, kRedrawInterval)) {
        patience.OnAnswer();
        display.Apply(event);
      }
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
