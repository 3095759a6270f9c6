#include "agent/resources/ownership.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/status.h"

namespace muster::agent {

absl::StatusOr<sys::FileAttributes> ResolveOwnership(const OwnershipSpec& spec,
                                                     AccountDatabase& accounts) {
  sys::FileAttributes attributes = {.mode = spec.mode};
  uint32_t number = 0;
  if (absl::SimpleAtoi(spec.owner, &number)) {
    attributes.uid = number;
  } else if (!spec.owner.empty()) {
    ASSIGN_OR_RETURN(const std::optional<uid_t> uid, accounts.UserId(spec.owner));
    if (!uid.has_value())
      return absl::FailedPreconditionError(absl::StrCat(
          "owner: no user '", spec.owner, "' on the node; create it in an earlier task"));
    attributes.uid = uid;
  }
  if (absl::SimpleAtoi(spec.group, &number)) {
    attributes.gid = number;
  } else if (!spec.group.empty()) {
    ASSIGN_OR_RETURN(const std::optional<Group> group, accounts.FindGroup(spec.group));
    if (!group.has_value())
      return absl::FailedPreconditionError(absl::StrCat(
          "group: no group '", spec.group, "' on the node; create it in an earlier task"));
    attributes.gid = group->gid;
  }
  return attributes;
}

absl::StatusOr<std::vector<Change>> CompareOwnership(const sys::FileStat& now,
                                                     const sys::FileAttributes& want,
                                                     AccountDatabase& accounts) {
  std::vector<Change> changes;
  if (want.uid.has_value() && *want.uid != now.uid) {
    ASSIGN_OR_RETURN(const auto before, accounts.UserName(now.uid));
    ASSIGN_OR_RETURN(const auto after, accounts.UserName(*want.uid));
    changes.push_back(
        {"owner", before.value_or(absl::StrCat(now.uid)), after.value_or(absl::StrCat(*want.uid))});
  }
  if (want.gid.has_value() && *want.gid != now.gid) {
    ASSIGN_OR_RETURN(const auto before, accounts.GroupName(now.gid));
    ASSIGN_OR_RETURN(const auto after, accounts.GroupName(*want.gid));
    changes.push_back(
        {"group", before.value_or(absl::StrCat(now.gid)), after.value_or(absl::StrCat(*want.gid))});
  }
  if (want.mode.has_value() && *want.mode != now.mode)
    changes.push_back({"mode", FormatMode(now.mode), FormatMode(*want.mode)});
  return changes;
}

std::string FormatMode(mode_t mode) { return absl::StrFormat("%04o", mode); }

}  // namespace muster::agent
