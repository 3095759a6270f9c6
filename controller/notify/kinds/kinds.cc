#include "controller/notify/kinds/kinds.h"

#include <algorithm>
#include <iterator>

namespace muster::controller::notify {
namespace {

constexpr Kind kKinds[] = {
    {"backup.failed", false, "`muster backup create` could not make a backup of the controller"},
    {"backup.overdue", true,
     "the controller has no backup that is younger than `backup_hours` of controller.yaml; "
     "resolved when it has"},
    {"certificate.ends", false,
     "the certificate of a person or of the web page ends within 14 days, or that of the "
     "controller or the cluster's authority within 90"},
    {"drift.differs", true,
     "a node is not as a drift policy's playbook was applied to it; resolved when a check finds no "
     "difference, or the policy does not compare it any more"},
    {"health.breaker", true,
     "too many nodes of a group are bad at once, so no more are drained; resolved when they are "
     "again"},
    {"health.condition", true, "a condition of a node is bad; resolved when it is good again"},
    {"node.cloned", false, "a second machine has shown the certificate of a node"},
    {"node.cut_off", false, "an agent broke the rules of its session and was cut off"},
    {"node.facts_refused", false, "an agent reported facts that no machine can have"},
    {"node.key_copied", false, "the key of a node is in use at another place"},
    {"notify.test", false, "somebody tested the channel by `muster notify test`"},
    {"rollout.aborted", false, "an update was aborted"},
    {"rollout.completed", false, "an update has updated all of its nodes"},
    {"rollout.paused", true, "an update is paused; resolved when it continues or ends"},
    {"rollout.rolled_back", false, "an update is rolled back"},
    {"run.failed", false, "a run that was not a check ended with nodes failed or unreachable"},
    {"validation.failed", false, "nodes failed a validation"},
};

absl::string_view FamilyOf(absl::string_view kind) { return kind.substr(0, kind.find('.')); }

}  // namespace

absl::string_view SeverityName(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return "info";
    case Severity::kWarning:
      return "warning";
    case Severity::kCritical:
      return "critical";
  }
  return "?";
}

absl::Span<const Kind> Kinds() { return kKinds; }

const Kind* FindKind(absl::string_view name) {
  for (const Kind& kind : kKinds) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

bool TakesKind(absl::string_view word, absl::string_view kind) {
  return word == kind || word == FamilyOf(kind);
}

bool IsKindWord(absl::string_view word) {
  return std::any_of(std::begin(kKinds), std::end(kKinds),
                     [&](const Kind& kind) { return TakesKind(word, kind.name); });
}

}  // namespace muster::controller::notify
