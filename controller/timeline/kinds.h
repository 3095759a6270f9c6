// The kinds of events in the time line, as one table: what is taken from the audit log and from the
// history of conditions, what `muster event list --kind` takes, and what docs/events.md lists.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace muster::controller::timeline {

// Which nodes an event is about.
enum class Concerns {
  kNone,     // none: the cluster
  kSubject,  // those that the subject names, a host list
  kWork,     // those of the run, update or validation that is the subject
};

struct Kind {
  absl::string_view name;  // "family.event"; that of an audit entry is the entry's action
  Concerns concerns = Concerns::kSubject;
  // Addresses or commands are in the entry's detail, which is for operators: the time line says
  // `meaning` in its place.
  bool is_guarded = false;
  absl::string_view meaning;
};
// By name.
absl::Span<const Kind> Kinds();
// nullptr: there is none of that name; such entries of the audit log are not in the time line.
const Kind* FindKind(absl::string_view name);

// Whether one of the words, kinds and families, takes the kind. No words take all.
bool TakesKind(const std::vector<std::string>& words, absl::string_view kind);
// InvalidArgument names the first word that is neither a kind nor a family.
absl::Status CheckKinds(const std::vector<std::string>& words);

}  // namespace muster::controller::timeline
