#include "controller/timeline/timeline.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "controller/inventory/health_policy.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"
#include "controller/timeline/kinds.h"
#include "muster/v1/boot.pb.h"
#include "muster/v1/health.pb.h"

namespace muster::controller::timeline {
namespace {

using Nodes = std::set<std::string, std::less<>>;

constexpr uint32_t kRowsAtOnce = 500;
// Nodes of one event.
constexpr size_t kMaxFolded = 4096;
// Names are cheaper than rows.
constexpr size_t kNamesPerRow = 16;

// The table of the store in which the nodes of a run, an update or a validation are.
template <typename Rows>
absl::StatusOr<Nodes> NamesOf(const absl::StatusOr<Rows>& rows) {
  Nodes names;
  if (absl::IsNotFound(rows.status())) return names;
  RETURN_IF_ERROR(rows.status());
  for (const auto& row : *rows) names.insert(row.node);
  return names;
}

absl::StatusOr<Nodes> NodesOfWork(Transaction& txn, const std::string& id) {
  if (absl::StartsWith(id, "r-")) return NamesOf(txn.runs().ListNodes(id));
  if (absl::StartsWith(id, "u-")) return NamesOf(txn.rollouts().ListNodes(id));
  if (absl::StartsWith(id, "v-")) return NamesOf(txn.validations().ListNodes(id));
  return Nodes();
}

bool HaveCommon(const Nodes& a, const Nodes& b) {
  return std::any_of(a.begin(), a.end(), [&](const std::string& each) { return b.contains(each); });
}

absl::string_view KindOf(const v1::Condition& condition) {
  const bool is_good = condition.status() == v1::CONDITION_STATUS_OK;
  if (condition.name() == kNodeLost) return is_good ? "node.back" : "node.lost";
  if (condition.name() == kNodeRebooted) return "node.rebooted";
  if (is_good) return "condition.good";
  return condition.status() == v1::CONDITION_STATUS_BAD ? "condition.bad" : "condition.unknown";
}

// The kind of a step of a boot, as docs/events.md names it.
constexpr std::pair<int, absl::string_view> kBootKinds[] = {
    {v1::BOOT_PHASE_SCRIPT, "boot.script"},       {v1::BOOT_PHASE_KERNEL, "boot.kernel"},
    {v1::BOOT_PHASE_INITRD, "boot.initrd"},       {v1::BOOT_PHASE_ROOT, "boot.root"},
    {v1::BOOT_PHASE_VERIFIED, "boot.verified"},   {v1::BOOT_PHASE_SWITCHED, "boot.switched"},
    {v1::BOOT_PHASE_REFUSED, "boot.refused"},     {v1::BOOT_PHASE_NO_IMAGE, "boot.no_image"},
    {v1::BOOT_PHASE_WRITTEN, "boot.written"},     {v1::BOOT_PHASE_NOT_WRITTEN, "boot.not_written"},
    {v1::BOOT_PHASE_HEALTHY, "boot.healthy"},     {v1::BOOT_PHASE_FALLEN_BACK, "boot.fallen_back"},
    {v1::BOOT_PHASE_NO_MEMORY, "boot.no_memory"}, {v1::BOOT_PHASE_DENIED, "boot.denied"},
    {v1::BOOT_PHASE_ENROLLED, "boot.enrolled"},
};

// Makes the events that a query wants, and counts what that costs.
class Reader {
 public:
  Reader(Transaction& txn, const Query& query) : txn_(txn), query_(query) {}

  bool is_exhausted() const { return read_ >= kMaxRead * kNamesPerRow; }
  void Count(size_t names) { read_ += kNamesPerRow + names; }

  // nullopt: it is not in the time line, or not wanted.
  absl::StatusOr<std::optional<v1::TimelineEvent>> EventOf(const EventRecord& row) {
    Count(0);
    const Kind* const kind = FindKind(row.action);
    if (kind == nullptr || !TakesKind(query_.kinds, row.action)) return std::nullopt;
    ASSIGN_OR_RETURN(const bool is_wanted, IsWanted(*kind, row.subject));
    if (!is_wanted) return std::nullopt;
    v1::TimelineEvent event;
    *event.mutable_time() = ToTimestamp(row.time);
    event.set_kind(row.action);
    (kind->concerns == Concerns::kSubject ? *event.mutable_nodes() : *event.mutable_subject()) =
        row.subject;
    event.set_actor(absl::StartsWith(row.actor, "node:") ? "node" : row.actor);
    const bool has_words = !kind->is_guarded && !row.detail.empty();
    event.set_text(has_words ? row.detail : std::string(kind->meaning));
    return event;
  }

  absl::StatusOr<std::optional<v1::TimelineEvent>> EventOf(const HealthEventRecord& row) {
    Count(0);
    if (!query_.nodes.empty() && !query_.nodes.contains(row.node)) return std::nullopt;
    v1::Condition condition;
    if (!condition.ParseFromString(row.event))
      return absl::DataLossError("the stored history of conditions is damaged");
    const absl::string_view kind = KindOf(condition);
    if (!TakesKind(query_.kinds, kind)) return std::nullopt;
    v1::TimelineEvent event;
    *event.mutable_time() = ToTimestamp(row.time);
    event.set_kind(std::string(kind));
    event.set_nodes(row.node);
    if (absl::StartsWith(kind, "condition."))
      event.set_subject(absl::StrCat(condition.name(), condition.object().empty() ? "" : " ",
                                     condition.object()));
    event.set_text(condition.evidence().empty() ? std::string(FindKind(kind)->meaning)
                                                : condition.evidence());
    return event;
  }

  absl::StatusOr<std::optional<v1::TimelineEvent>> EventOf(const BootStepRecord& row) {
    Count(0);
    if (!query_.nodes.empty() && !query_.nodes.contains(row.node)) return std::nullopt;
    const auto kind = std::find_if(std::begin(kBootKinds), std::end(kBootKinds),
                                   [&](const auto& each) { return each.first == row.phase; });
    if (kind == std::end(kBootKinds) || !TakesKind(query_.kinds, kind->second)) return std::nullopt;
    v1::TimelineEvent event;
    *event.mutable_time() = ToTimestamp(row.time);
    event.set_kind(std::string(kind->second));
    event.set_nodes(row.node);
    event.set_text(row.detail.empty() ? std::string(FindKind(kind->second)->meaning) : row.detail);
    return event;
  }

 private:
  absl::StatusOr<bool> IsWanted(const Kind& kind, const std::string& subject) {
    if (query_.nodes.empty()) return true;
    if (kind.concerns == Concerns::kNone) return false;
    if (kind.concerns == Concerns::kSubject) {
      const auto names = ExpandHostlist(subject);
      if (!names.ok()) return query_.nodes.contains(subject);
      Count(names->size());
      return std::any_of(names->begin(), names->end(),
                         [this](const std::string& name) { return query_.nodes.contains(name); });
    }
    const auto [known, is_new] = works_.try_emplace(subject);
    if (is_new) {
      ASSIGN_OR_RETURN(const Nodes nodes, NodesOfWork(txn_, subject));
      Count(nodes.size());
      known->second = HaveCommon(query_.nodes, nodes);
    }
    return known->second;
  }

  Transaction& txn_;
  const Query& query_;
  size_t read_ = 0;
  std::map<std::string, bool> works_;  // whether a run, an update or a validation is wanted
};

// The rows of one source, read some at a time.
template <typename Row>
class Source {
 public:
  using Fetch = std::function<absl::StatusOr<std::vector<Row>>(uint64_t place)>;
  Source(Fetch fetch, uint64_t place) : fetch_(std::move(fetch)), place_(place) {}

  // The next row from `since` on; nullptr: there is none. One row from before it may come from a
  // clock that was wrong for a moment and is passed over; two in a row end the source.
  absl::StatusOr<const Row*> Head(absl::Time since) {
    while (true) {
      if (rows_.empty() && !has_ended_) {
        ASSIGN_OR_RETURN(const std::vector<Row> rows, fetch_(place_));
        rows_.assign(rows.begin(), rows.end());
        has_ended_ = rows_.empty();
      }
      if (rows_.empty()) return nullptr;
      if (rows_.front().time >= since) return &rows_.front();
      if (std::exchange(is_after_old_, true)) {
        End();
      } else {
        Advance();
      }
    }
  }
  // Goes on after the row that Head() returned.
  void Pop() {
    is_after_old_ = false;
    Advance();
  }
  uint64_t place() const { return place_; }

 private:
  void Advance() {
    place_ = static_cast<uint64_t>(rows_.front().sequence);
    rows_.pop_front();
  }
  void End() {
    rows_.clear();
    has_ended_ = true;
  }

  const Fetch fetch_;
  uint64_t place_;
  std::deque<Row> rows_;
  bool has_ended_ = false;
  bool is_after_old_ = false;
};

// The events of a page; what nodes reported in the same words at the same time is one event.
class PageWriter {
 public:
  explicit PageWriter(uint32_t limit) : limit_(limit) {}

  // False: the page is full, and the event belongs to the next one.
  bool Add(v1::TimelineEvent event, bool may_fold) {
    if (may_fold && IsLikeLast(event)) {
      names_.push_back(event.nodes());
      return true;
    }
    if (events_.size() == limit_) return false;
    Finish();
    names_ = {event.nodes()};
    may_fold_ = may_fold;
    events_.push_back(std::move(event));
    return true;
  }
  void SetPosition(const v1::TimelinePosition& position) {
    *events_.back().mutable_position() = position;
  }
  std::vector<v1::TimelineEvent> Take() {
    Finish();
    return std::move(events_);
  }

 private:
  bool IsLikeLast(const v1::TimelineEvent& event) const {
    if (events_.empty() || !may_fold_ || names_.size() >= kMaxFolded) return false;
    const v1::TimelineEvent& last = events_.back();
    return last.kind() == event.kind() && last.subject() == event.subject() &&
           last.text() == event.text() && ToTime(last.time()) == ToTime(event.time());
  }
  void Finish() {
    if (may_fold_ && names_.size() > 1) events_.back().set_nodes(FoldHostlist(std::move(names_)));
    names_.clear();
    may_fold_ = false;
  }

  const uint32_t limit_;
  std::vector<v1::TimelineEvent> events_;
  std::vector<std::string> names_;  // of the last event
  bool may_fold_ = false;           // the last event
};

enum class Order { kBackwards, kForwards };

// All that events are made of.
struct Sources {
  Source<EventRecord> audit;
  Source<HealthEventRecord> health;
  Source<BootStepRecord> boot;

  v1::TimelinePosition Position() const {
    v1::TimelinePosition position;
    position.set_audit(audit.place());
    position.set_health(health.place());
    position.set_boot(boot.place());
    return position;
  }
};

absl::StatusOr<Page> Read(Reader& reader, Sources sources, Order order, absl::Time since,
                          uint32_t limit) {
  PageWriter page(limit);
  Page result;
  // Takes a row, or says that the page is full.
  const auto take = [&](auto& source, const auto& row, bool may_fold) -> absl::StatusOr<bool> {
    ASSIGN_OR_RETURN(std::optional<v1::TimelineEvent> event, reader.EventOf(row));
    const bool is_event = event.has_value();
    if (is_event && !page.Add(*std::move(event), may_fold)) return false;
    source.Pop();
    if (is_event) page.SetPosition(sources.Position());
    return true;
  };
  const auto comes_first = [order](absl::Time a, absl::Time b) {
    return order == Order::kForwards ? a <= b : a >= b;
  };
  while (!reader.is_exhausted()) {
    ASSIGN_OR_RETURN(const EventRecord* const act, sources.audit.Head(since));
    ASSIGN_OR_RETURN(const HealthEventRecord* const change, sources.health.Head(since));
    ASSIGN_OR_RETURN(const BootStepRecord* const step, sources.boot.Head(since));
    if (act == nullptr && change == nullptr && step == nullptr) {
      result.is_last = true;
      break;
    }
    const absl::Time none =
        order == Order::kForwards ? absl::InfiniteFuture() : absl::InfinitePast();
    const absl::Time acted = act == nullptr ? none : act->time;
    const absl::Time changed = change == nullptr ? none : change->time;
    const absl::Time stepped = step == nullptr ? none : step->time;
    const bool is_act =
        act != nullptr && comes_first(acted, changed) && comes_first(acted, stepped);
    const bool is_change = !is_act && change != nullptr && comes_first(changed, stepped);
    ASSIGN_OR_RETURN(const bool has_room, is_act      ? take(sources.audit, *act, false)
                                          : is_change ? take(sources.health, *change, true)
                                                      : take(sources.boot, *step, true));
    if (!has_room) break;
  }
  result.events = page.Take();
  result.position = sources.Position();
  return result;
}

}  // namespace

absl::StatusOr<Query> QueryOf(const v1::TimelineFilter& filter) {
  Query query;
  query.kinds.assign(filter.kinds().begin(), filter.kinds().end());
  RETURN_IF_ERROR(CheckKinds(query.kinds));
  if (filter.nodes().empty()) return query;
  const auto names = ExpandHostlist(filter.nodes());
  if (!names.ok()) return Annotate(names.status(), "nodes");
  if (names->empty()) return absl::InvalidArgumentError("nodes: specify at least one node");
  query.nodes.insert(names->begin(), names->end());
  return query;
}

absl::StatusOr<v1::TimelinePosition> Newest(Transaction& txn) {
  v1::TimelinePosition position;
  ASSIGN_OR_RETURN(const std::vector<BootStepRecord> steps,
                   txn.boots().ListStepsBefore(std::numeric_limits<uint64_t>::max(), 1));
  if (!steps.empty()) position.set_boot(static_cast<uint64_t>(steps.front().sequence));
  ASSIGN_OR_RETURN(const std::vector<EventRecord> acts, txn.events().List(1, 0));
  ASSIGN_OR_RETURN(const std::vector<HealthEventRecord> changes,
                   txn.health().ListEvents("", "", 1));
  if (!acts.empty()) position.set_audit(acts.front().sequence);
  if (!changes.empty()) position.set_health(static_cast<uint64_t>(changes.front().sequence));
  return position;
}

absl::StatusOr<Page> ReadBackwards(Transaction& txn, const Query& query,
                                   const v1::TimelinePosition& before,
                                   std::optional<absl::Time> since, uint32_t limit) {
  Reader reader(txn, query);
  Source<EventRecord> audit(
      [&](uint64_t place) -> absl::StatusOr<std::vector<EventRecord>> {
        if (place == 0) return std::vector<EventRecord>();
        return txn.events().List(kRowsAtOnce, place);
      },
      before.audit());
  Source<HealthEventRecord> health(
      [&](uint64_t place) { return txn.health().ListEventsBefore(place, kRowsAtOnce); },
      before.health());
  Source<BootStepRecord> boot(
      [&](uint64_t place) { return txn.boots().ListStepsBefore(place, kRowsAtOnce); },
      before.boot());
  return Read(reader, {std::move(audit), std::move(health), std::move(boot)}, Order::kBackwards,
              since.value_or(absl::InfinitePast()), limit);
}

absl::StatusOr<Page> ReadForwards(Transaction& txn, const Query& query,
                                  const v1::TimelinePosition& after, uint32_t limit) {
  Reader reader(txn, query);
  Source<EventRecord> audit(
      [&](uint64_t place) { return txn.events().ListAfter(place, kRowsAtOnce); }, after.audit());
  Source<HealthEventRecord> health(
      [&](uint64_t place) { return txn.health().ListEventsAfter(place, kRowsAtOnce); },
      after.health());
  Source<BootStepRecord> boot(
      [&](uint64_t place) { return txn.boots().ListStepsAfter(place, kRowsAtOnce); }, after.boot());
  return Read(reader, {std::move(audit), std::move(health), std::move(boot)}, Order::kForwards,
              absl::InfinitePast(), limit);
}

}  // namespace muster::controller::timeline
