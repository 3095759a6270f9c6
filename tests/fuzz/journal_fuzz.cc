// Any bytes are a journal with a valid prefix; the state that this adds up to must survive a
// compaction.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "agent/state/journal_codec.h"
#include "agent/state/journal_state.h"
#include "tests/fuzz/fuzz_target.h"

FUZZ_TARGET(journal, data, size) {
  using muster::agent::DecodeJournal;
  using muster::agent::JournalEnd;
  using muster::agent::JournalState;
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto journal = DecodeJournal(bytes);
  if (journal.good_bytes > size) std::abort();
  if ((journal.end == JournalEnd::kClean) != (journal.good_bytes == size)) std::abort();
  JournalState state;
  for (const auto& record : journal.records) state.Apply(record);

  std::string compacted;
  for (const auto& record : state.Snapshot()) compacted += muster::agent::FrameRecord(record);
  const auto again = DecodeJournal(compacted);
  if (again.end != JournalEnd::kClean) std::abort();
  JournalState restored;
  for (const auto& record : again.records) restored.Apply(record);
  if (restored.dirty_handlers != state.dirty_handlers) std::abort();
  if (restored.highest_plan_sequence != state.highest_plan_sequence) std::abort();
  if (restored.active.size() != state.active.size()) std::abort();
  if (restored.unacknowledged.size() != state.unacknowledged.size()) std::abort();
  if (restored.finished.size() != state.finished.size()) std::abort();
  return 0;
}
