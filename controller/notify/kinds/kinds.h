// The kinds of notifications, as one table: what channels filter by, and docs/notifications.md
// lists.
#pragma once

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace muster::controller::notify {

// In ascending order: a channel takes what is at least as severe as its own minimum.
enum class Severity { kInfo = 1, kWarning = 2, kCritical = 3 };
inline constexpr Severity kSeverities[] = {Severity::kInfo, Severity::kWarning,
                                           Severity::kCritical};
absl::string_view SeverityName(Severity severity);  // "info", "warning", "critical"

struct Kind {
  absl::string_view name;  // "family.event"
  // Something that stays so until a notification with `resolved` ends it: Alertmanager is told
  // again as long as it does. Otherwise it has happened, and that is all.
  bool lasts = false;
  absl::string_view meaning;
};
absl::Span<const Kind> Kinds();
// nullptr: there is none of that name.
const Kind* FindKind(absl::string_view name);

// Whether a channel's word, "rollout.paused" or the family "rollout", takes the kind.
bool TakesKind(absl::string_view word, absl::string_view kind);
// Whether it is the name of a kind or a family.
bool IsKindWord(absl::string_view word);

}  // namespace muster::controller::notify
