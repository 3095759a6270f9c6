#include <limits>
#include <string>

#include "common/base/text/plain_text.h"
#include "controller/store/event_chain.h"
#include "controller/store/soci/guard.h"
#include "controller/store/soci/tables.h"
#include "controller/store/soci/types.h"

namespace muster::controller {
namespace {

using soci::into;
using soci::use;

// The log never shrinks, and people read it on a terminal: entries are short.
constexpr size_t kMaxEventText = size_t{64} << 10;

soci::details::prepare_temp_type Select(soci::session& session, const char* where,
                                        EventRecord& event) {
  return (session.prepare << "SELECT sequence, time, actor, peer, action, subject, detail, hash "
                             "FROM events "
                          << where,
          into(event.sequence), into(event.time), into(event.actor), into(event.peer),
          into(event.action), into(event.subject), into(event.detail), into(event.hash));
}

}  // namespace

absl::Status SociEventTable::Append(EventRecord event) {
  return Guard(context_.path, "events.Append", [&]() -> absl::Status {
    EventRecord last;
    soci::statement newest = Select(context_.session, "ORDER BY sequence DESC LIMIT 1", last);
    if (!ReadOne(newest)) last = EventRecord();
    event.sequence = last.sequence + 1;
    for (std::string* text :
         {&event.actor, &event.peer, &event.action, &event.subject, &event.detail}) {
      *text = PlainText(*text, Lines::kOne, kMaxEventText);
    }
    event.hash = ChainHash(last.hash, event);
    context_.session << "INSERT INTO events (sequence, time, actor, peer, action, subject, "
                        "detail, hash) VALUES (:sequence, :time, :actor, :peer, :action, "
                        ":subject, :detail, :hash)",
        use(event.sequence), use(event.time), use(event.actor), use(event.peer), use(event.action),
        use(event.subject), use(event.detail), use(event.hash);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<EventRecord>> SociEventTable::List(uint32_t limit,
                                                              uint64_t before_sequence) {
  return Guard(context_.path, "events.List", [&]() -> absl::StatusOr<std::vector<EventRecord>> {
    EventRecord event;
    const int64_t count = limit;
    const int64_t before = before_sequence == 0 ? std::numeric_limits<int64_t>::max()
                                                : static_cast<int64_t>(before_sequence);
    soci::statement statement =
        (Select(context_.session, "WHERE sequence < :before ORDER BY sequence DESC LIMIT :count",
                event),
         use(before), use(count));
    return ReadAll(statement, event);
  });
}

absl::StatusOr<std::vector<EventRecord>> SociEventTable::ListAfter(uint64_t sequence,
                                                                   uint32_t limit) {
  return Guard(context_.path, "events.ListAfter",
               [&]() -> absl::StatusOr<std::vector<EventRecord>> {
                 EventRecord event;
                 const int64_t count = limit;
                 soci::statement statement =
                     (Select(context_.session,
                             "WHERE sequence > :after ORDER BY sequence LIMIT :count", event),
                      use(sequence), use(count));
                 return ReadAll(statement, event);
               });
}

absl::StatusOr<std::optional<uint64_t>> SociEventTable::FirstBroken() {
  return Guard(
      context_.path, "events.FirstBroken", [&]() -> absl::StatusOr<std::optional<uint64_t>> {
        EventRecord event;
        soci::statement statement = Select(context_.session, "ORDER BY sequence", event);
        statement.execute(false);
        uint64_t expected = 1;
        std::string previous_hash;
        while (statement.fetch()) {
          if (event.sequence != expected || event.hash != ChainHash(previous_hash, event)) {
            return std::optional<uint64_t>(expected);
          }
          previous_hash = event.hash;
          ++expected;
        }
        return std::optional<uint64_t>();
      });
}

absl::StatusOr<uint64_t> SociEventTable::Count() {
  return Guard(context_.path, "events.Count", [&]() -> absl::StatusOr<uint64_t> {
    uint64_t count = 0;
    context_.session << "SELECT COUNT(*) FROM events", into(count);
    return count;
  });
}

}  // namespace muster::controller
