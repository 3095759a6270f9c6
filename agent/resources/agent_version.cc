#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/resources/check_values.h"
#include "agent/resources/content.h"
#include "agent/resources/makers.h"
#include "agent/upgrade/upgrade.h"
#include "common/base/status.h"
#include "muster/v1/plan.pb.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kLook = absl::Milliseconds(200);
// apt may wait for its lock, and the new agent for the controller.
constexpr absl::Duration kPatience = absl::Minutes(15);

class AgentVersion final : public Resource {
 public:
  AgentVersion(v1::AgentResource spec, ResourceContext& context)
      : spec_(std::move(spec)), context_(context) {}

  std::string Id() const override { return "agent"; }

  absl::StatusOr<std::vector<Change>> Check() override {
    // As long as there is its order, the new agent may be taken back; one for another version
    // replaces this one.
    ASSIGN_OR_RETURN(const std::string ordered, Ordered());
    if (IsNew() && ordered.empty()) return std::vector<Change>{};
    return std::vector<Change>{{"version", context_.upgrade.running, spec_.version()}};
  }

  absl::Status Apply(ApplyObserver& observer) override {
    ASSIGN_OR_RETURN(const std::string ordered, Ordered());
    const bool is_ordered = ordered == spec_.version();
    // Another order would take the place of what that exchange has kept to fall back to.
    if (!ordered.empty() && !is_ordered) {
      RETURN_IF_ERROR(context_.units.Run(UnitJob::kStart, kUpgradeUnit));
      return absl::FailedPreconditionError(
          absl::StrCat("the agent is being exchanged for ", ordered, "; see `journalctl -u ",
                       kUpgradeUnit, "` on the node, and apply again when that has ended"));
    }
    if (!IsNew()) {
      if (!is_ordered && !observer.IsContinued())
        RETURN_IF_ERROR(ForgetFailure(context_.upgrade, context_.files));
      RETURN_IF_ERROR(Failure());
      // What an exchange in progress has kept is the version of before, and what is in its place
      // now may be the new one.
      if (!is_ordered) RETURN_IF_ERROR(Order(observer));
    }
    observer.OnActivity(absl::StrCat("the agent is exchanged for ", spec_.version()), std::nullopt);
    RETURN_IF_ERROR(context_.units.Run(UnitJob::kStart, kUpgradeUnit));
    const absl::Time patience = context_.clock.Now() + kPatience;
    while (context_.clock.Now() < patience) {
      // The next life of the agent, of either version, looks at what has come of it.
      if (observer.IsStopping()) return absl::CancelledError("the agent is exchanged");
      if (IsNew()) {
        ASSIGN_OR_RETURN(const std::string open, Ordered());
        if (open.empty()) return absl::OkStatus();
      } else {
        // A new agent leaves the reason to the one of before, which takes its place.
        RETURN_IF_ERROR(Failure());
      }
      context_.clock.Sleep(kLook);
    }
    return absl::DeadlineExceededError(
        absl::StrCat("the agent was not exchanged within ", absl::FormatDuration(kPatience),
                     "; see `journalctl -u ", kUpgradeUnit, "` on the node"));
  }

 private:
  bool IsNew() const { return context_.upgrade.running == spec_.version(); }

  // The version for which an exchange is due or in progress; "": there is none.
  absl::StatusOr<std::string> Ordered() {
    return ReadNote(context_.upgrade.Order(), context_.files);
  }

  absl::Status Order(ApplyObserver& observer) {
    ASSIGN_OR_RETURN(const StoredContent package, context_.blobs.Fetch(ContentOf(spec_), observer));
    return OrderUpgrade(context_.upgrade,
                        {.version = spec_.version(),
                         .before = context_.upgrade.running,
                         .packages = {package.path},
                         .may_move = package.may_move},
                        context_.files, context_.processes);
  }

  absl::Status Failure() {
    ASSIGN_OR_RETURN(const std::string why, TakeFailure(context_.upgrade, context_.files));
    if (why.empty()) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("agent ", spec_.version(), " did not come up, ", context_.upgrade.running,
                     " is back in its place: ", why));
  }

  const v1::AgentResource spec_;
  ResourceContext& context_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Resource>> MakeAgentVersion(const v1::Step& step,
                                                           ResourceContext& context,
                                                           bool want_diff) {
  const v1::AgentResource& spec = step.agent();
  RETURN_IF_ERROR(CheckOneLine("version", spec.version()));
  if (spec.version().empty()) return absl::InvalidArgumentError("version: is empty");
  if (spec.urls().empty()) return absl::InvalidArgumentError("urls: is empty");
  RETURN_IF_ERROR(CheckContent(ContentOf(spec)));
  return std::make_unique<AgentVersion>(spec, context);
}

}  // namespace muster::agent
