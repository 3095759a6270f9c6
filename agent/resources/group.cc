#include "agent/resources/makers.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/resources/check_values.h"
#include "agent/resources/id_change.h"
#include "common/base/status.h"
#include "muster/v1/plan.pb.h"

namespace muster::agent {
namespace {

class GroupAccount final : public Resource {
 public:
  GroupAccount(v1::GroupResource spec, ResourceContext& context)
      : spec_(std::move(spec)), context_(context) {}

  std::string Id() const override { return absl::StrCat("group[", spec_.name(), "]"); }

  absl::StatusOr<std::vector<Change>> Check() override {
    ASSIGN_OR_RETURN(const auto group, context_.accounts.FindGroup(spec_.name()));
    std::vector<Change> changes;
    if (spec_.state() == v1::PRESENCE_ABSENT) {
      if (group.has_value()) changes.push_back({"state", "present", "absent"});
      return changes;
    }
    if (spec_.has_gid() && (!group.has_value() || group->gid != spec_.gid())) {
      ASSIGN_OR_RETURN(const auto other, context_.accounts.GroupName(spec_.gid()));
      if (other.has_value() && *other != spec_.name())
        return absl::FailedPreconditionError(
            absl::StrCat("gid ", spec_.gid(), " belongs to the group '", *other, "' on the node"));
    }
    if (!group.has_value()) {
      changes.push_back({"state", "absent", "present"});
    } else if (spec_.has_gid() && group->gid != spec_.gid()) {
      // A user's own group comes before the user, and would be all that changes.
      ASSIGN_OR_RETURN(const auto user, context_.accounts.FindUser(spec_.name()));
      if (user.has_value() && user->gid == group->gid) {
        RETURN_IF_ERROR(CheckIdMayChange("gid", *user, group->gid, spec_.gid(), context_));
      }
      changes.push_back({"gid", absl::StrCat(group->gid), absl::StrCat(spec_.gid())});
    }
    return changes;
  }

  absl::Status Apply(ApplyObserver& observer) override {
    ASSIGN_OR_RETURN(const std::vector<Change> changes, Check());
    if (changes.empty()) return absl::OkStatus();
    if (spec_.state() == v1::PRESENCE_ABSENT) return context_.accounts.RemoveGroup(spec_.name());
    GroupChange change = {.name = spec_.name(), .system = spec_.system()};
    if (spec_.has_gid()) change.gid = spec_.gid();
    return context_.accounts.SaveGroup(change);
  }

 private:
  const v1::GroupResource spec_;
  ResourceContext& context_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Resource>> MakeGroup(const v1::Step& step, ResourceContext& context,
                                                    bool want_diff) {
  RETURN_IF_ERROR(CheckName("name", step.group().name()));
  return std::make_unique<GroupAccount>(step.group(), context);
}

}  // namespace muster::agent
