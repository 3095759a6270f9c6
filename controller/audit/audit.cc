#include "controller/audit/audit.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"

namespace muster::controller {
namespace {

constexpr absl::string_view kPolicyPrefix = "policy:";
constexpr absl::string_view kAdministratorPrefix = "admin:";

}  // namespace

Actor ControllerActor() { return {"controller", ""}; }

Actor NodeActor(absl::string_view uuid, absl::string_view peer) {
  return {absl::StrCat("node:", uuid), std::string(peer)};
}

Actor PolicyActor(absl::string_view policy) { return {absl::StrCat(kPolicyPrefix, policy), ""}; }

absl::string_view PolicyOf(absl::string_view actor) {
  return absl::ConsumePrefix(&actor, kPolicyPrefix) ? actor : "";
}

bool IsAdministrator(const Actor& actor) {
  return absl::StartsWith(actor.name, kAdministratorPrefix);
}

absl::Status Audit(Transaction& txn, absl::Time now, const Actor& actor, absl::string_view action,
                   absl::string_view subject, absl::string_view detail) {
  EventRecord event;
  event.time = now;
  event.actor = actor.name;
  event.peer = actor.peer;
  event.action = std::string(action);
  event.subject = std::string(subject);
  event.detail = std::string(detail);
  return txn.events().Append(std::move(event));
}

}  // namespace muster::controller
