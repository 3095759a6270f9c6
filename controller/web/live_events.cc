#include "controller/web/live_events.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "controller/feed/event_feed.h"
#include "controller/http/http_stream.h"
#include "controller/rollout/rollout_manager.h"
#include "controller/run/run_manager.h"
#include "controller/service/front/call_gate.h"
#include "controller/service/front/call_shares.h"
#include "controller/validation/engine/validation_manager.h"
#include "controller/web/cached_page.h"
#include "controller/web/collaborators.h"
#include "controller/web/event_words.h"
#include "controller/web/json_text.h"
#include "muster/v1/rollout.pb.h"
#include "muster/v1/run.pb.h"
#include "muster/v1/validation.pb.h"

namespace muster::controller {
namespace {

// A browser comes back after so many milliseconds.
constexpr absl::string_view kGreeting = "retry: 2000\n\n";
constexpr absl::string_view kAliveLine = ": alive\n\n";
// Events that are looked at for one piece.
constexpr int kEventsAtOnce = 500;

constexpr absl::string_view kWatchStatus = "/muster.v1.NodeService/GetStatus";

void AppendEvent(absl::string_view name, absl::string_view json, uint64_t id, std::string& piece) {
  if (id > 0) absl::StrAppend(&piece, "id: ", id, "\n");
  absl::StrAppend(&piece, "event: ", name, "\ndata: ", json, "\n\n");  // JSON is one line
}

// A person's share of watches, for as long as the object lives.
class WatchShare {
 public:
  WatchShare(CallShares& shares, std::string person) : shares_(shares), person_(std::move(person)) {
    shares_.Begin(person_, CallKind::kWatch);
  }
  ~WatchShare() { shares_.End(person_, CallKind::kWatch); }
  WatchShare(const WatchShare&) = delete;

 private:
  CallShares& shares_;
  const std::string person_;
};

// A stream that tells which of the shared pages have changed.
class NewsSource : public StreamSource {
 public:
  NewsSource(std::shared_ptr<StreamNews> news, std::unique_ptr<WatchShare> share)
      : news_(std::move(news)), share_(std::move(share)) {}

  State Next(std::string& piece) final {
    if (!std::exchange(is_greeted_, true)) absl::StrAppend(&piece, kGreeting);
    AppendChanged(piece);
    const State state = Append(piece);
    if (news_->is_alive_due.exchange(false) && piece.empty()) absl::StrAppend(&piece, kAliveLine);
    return state;
  }

 protected:
  // Events of its own, if it has any.
  virtual State Append(std::string&) { return State::kWaits; }
  StreamNews& news() { return *news_; }

 private:
  void AppendChanged(std::string& piece) {
    absl::MutexLock lock(&news_->mutex);
    for (const auto& [name, etag] : news_->changed) AppendEvent(name, etag, 0, piece);
    news_->changed.clear();
  }

  const std::shared_ptr<StreamNews> news_;
  const std::unique_ptr<WatchShare> share_;
  bool is_greeted_ = false;
};

// Tells of one thing from its feed. Of events that came together, those of a node that a newer one
// replaces are left out: the page is told what a node is doing, not what it did meanwhile.
template <typename Event>
class FeedSource final : public NewsSource {
 public:
  FeedSource(std::shared_ptr<StreamNews> news, std::unique_ptr<WatchShare> share,
             std::shared_ptr<EventWatch<Event>> watch)
      : NewsSource(std::move(news), std::move(share)), watch_(std::move(watch)) {}
  ~FeedSource() override { watch_->Cancel(); }

 private:
  State Append(std::string& piece) override {
    std::vector<std::shared_ptr<const Event>> events;
    std::map<std::string, size_t> replaceable;  // by node, its place in `events`
    for (int looked_at = 0;; ++looked_at) {
      if (looked_at == kEventsAtOnce) {
        news().has_events = true;  // the rest comes with the next look
        break;
      }
      std::shared_ptr<const Event> event = watch_->Next();
      if (event == nullptr) break;
      const auto before = replaceable.find(event->node());
      if (before != replaceable.end() && !event->node().empty()) events[before->second] = nullptr;
      if (IsReplaced(*event)) {
        replaceable[event->node()] = events.size();
      } else {
        replaceable.erase(event->node());
      }
      events.push_back(std::move(event));
    }
    const bool is_broken = watch_->IsBroken();
    nlohmann::ordered_json shown = nlohmann::ordered_json::array();
    for (const auto& event : events) {
      if (event == nullptr) continue;
      shown.push_back(EventJson(*event));
      last_ = std::max(last_, SequenceOf(*event));
    }
    if (!shown.empty()) AppendEvent("change", ToJsonText(shown), last_, piece);
    if (is_broken) AppendEvent("broken", "{}", 0, piece);
    const bool at_end = is_broken || watch_->AtEnd();
    if (at_end && !is_broken) AppendEvent("end", "{}", 0, piece);
    return at_end ? State::kEnded : State::kWaits;
  }

  // 0 where watchers cannot come back to their place.
  static uint64_t SequenceOf(const v1::ValidationEvent&) { return 0; }
  template <typename Numbered>
  static uint64_t SequenceOf(const Numbered& event) {
    return event.sequence();
  }

  const std::shared_ptr<EventWatch<Event>> watch_;
  uint64_t last_ = 0;
};

// Everything that opening a stream needs.
struct Opening {
  const WebCollaborators& with;
  std::string id;
  uint64_t after = 0;
  std::shared_ptr<StreamNews> news;
  std::unique_ptr<WatchShare> share;
};

using Source = absl::StatusOr<std::unique_ptr<StreamSource>>;

template <typename Event>
Source SourceOf(Opening& opening, absl::StatusOr<std::shared_ptr<EventWatch<Event>>> watch) {
  RETURN_IF_ERROR(watch.status());
  opening.news->has_events = true;  // what is there already
  return std::make_unique<FeedSource<Event>>(opening.news, std::move(opening.share),
                                             *std::move(watch));
}

std::function<void()> Telling(const std::shared_ptr<StreamNews>& news) {
  return [news] { news->has_events = true; };
}

// Whoever may make the call may see the shared pages, too.
struct StreamRow {
  absl::string_view path;
  absl::string_view rpc;
  Source (*open)(Opening& opening);
};
constexpr StreamRow kStreams[] = {
    {"", kWatchStatus,
     [](Opening& opening) -> Source {
       return std::make_unique<NewsSource>(opening.news, std::move(opening.share));
     }},
    {"/run", "/muster.v1.RunService/WatchRun",
     [](Opening& opening) {
       return SourceOf<v1::RunEvent>(
           opening, opening.with.run_feeds.Watch(opening.id, opening.after, Telling(opening.news),
                                                 FeedPart::kChanges));
     }},
    {"/rollout", "/muster.v1.RolloutService/WatchRollout",
     [](Opening& opening) {
       return SourceOf<v1::RolloutEvent>(
           opening,
           opening.with.rollout_feeds.Watch(opening.id, opening.after, Telling(opening.news)));
     }},
    {"/validation", "/muster.v1.ValidationService/WatchValidation",
     [](Opening& opening) {
       return SourceOf<v1::ValidationEvent>(
           opening, opening.with.validation_feeds.Watch(opening.id, Telling(opening.news)));
     }},
};

}  // namespace

LiveEvents::LiveEvents(const WebCollaborators& with, std::vector<Shared> shared)
    : with_(with), shared_(std::move(shared)), worker_(with.clock, [this] { return Look(); }) {
  worker_.Start();
}

LiveEvents::~LiveEvents() { Stop(); }

void LiveEvents::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    is_stopping_ = true;
    for (const Stream& stream : streams_) {
      if (const auto waker = stream.waker.lock()) waker->End();
    }
    streams_.clear();
  }
  worker_.Stop();
}

absl::StatusOr<HttpReply> LiveEvents::Open(absl::string_view path, const HttpRequest& request,
                                           const WebSessions::Ticket& session) {
  const auto row = std::find_if(std::begin(kStreams), std::end(kStreams),
                                [&](const StreamRow& each) { return each.path == path; });
  if (row == std::end(kStreams)) return absl::NotFoundError("there is no such stream of events");
  const std::string& person = session.identity.name;
  RETURN_IF_ERROR(AdmitCall(session.identity, row->rpc, "", with_.denylist, with_.clock.Now(),
                            with_.shares, CallKind::kWatch));
  Opening opening = {.with = with_,
                     .id = std::string(request.Query("id")),
                     .news = std::make_shared<StreamNews>(),
                     .share = std::make_unique<WatchShare>(with_.shares, person)};
  // A browser that comes back says what it has seen.
  if (!absl::SimpleAtoi(request.Header("last-event-id"), &opening.after)) opening.after = 0;
  ASSIGN_OR_RETURN(std::unique_ptr<StreamSource> source, row->open(opening));
  auto waker = std::make_shared<StreamWaker>();
  HttpReply reply = {.status = 200, .content_type = "text/event-stream"};
  reply.stream = std::make_shared<HttpStream>(std::move(source), waker);
  {
    absl::MutexLock lock(&mutex_);
    if (is_stopping_) return absl::UnavailableError("the controller is stopping");
    streams_.push_back({.waker = waker,
                        .news = opening.news,
                        .session = session,
                        .alive_at = with_.clock.Now(),
                        .etags = std::vector<std::string>(shared_.size())});
  }
  worker_.Wake();
  return reply;
}

void LiveEvents::LookAtShared() {
  for (size_t i = 0; i < shared_.size(); ++i) {
    const auto page = shared_[i].page.Get();
    if (!page.ok()) continue;  // whoever asks for the page is told
    for (Stream& stream : streams_) {
      if (stream.etags[i] == (*page)->etag) continue;
      stream.etags[i] = (*page)->etag;
      absl::MutexLock lock(&stream.news->mutex);
      auto& changed = stream.news->changed;
      const auto waiting = std::find_if(changed.begin(), changed.end(), [&](const auto& each) {
        return each.first == shared_[i].name;
      });
      if (waiting == changed.end()) {
        changed.emplace_back(shared_[i].name, (*page)->etag);
      } else {
        waiting->second = (*page)->etag;
      }
      stream.news->has_events = true;
    }
  }
}

absl::Time LiveEvents::Look() {
  const absl::Time now = with_.clock.Now();
  absl::MutexLock lock(&mutex_);
  streams_.erase(std::remove_if(streams_.begin(), streams_.end(),
                                [](const Stream& stream) { return stream.waker.expired(); }),
                 streams_.end());
  if (streams_.empty()) return absl::InfiniteFuture();
  LookAtShared();
  for (Stream& stream : streams_) {
    const auto waker = stream.waker.lock();
    if (waker == nullptr) continue;
    if (!with_.sessions.Find(stream.session.secret, stream.session.token).ok()) {
      waker->End();
      continue;
    }
    if (now - stream.alive_at >= kAlive || now < stream.alive_at) {
      stream.alive_at = now;
      stream.news->is_alive_due = true;
      stream.news->has_events = true;
    }
    if (stream.news->has_events.exchange(false)) waker->Wake();
  }
  return now + kLook;
}

}  // namespace muster::controller
