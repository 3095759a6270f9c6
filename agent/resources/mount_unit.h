// systemd's mount units as texts. Pure.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace muster::v1 {
class MountResource;
}

namespace muster::agent {

// "/srv/a-b" → "srv-a\x2db.mount", as `systemd-escape --path --suffix=mount`. REQUIRES: an
// absolute path in its plain form.
std::string MountUnitName(absl::string_view path);

// InvalidArgument names the field of a mount that no unit can be made of.
absl::Status CheckMount(const v1::MountResource& spec);

// What a unit says, beside its path.
struct MountUnit {
  std::string owner;  // the resource that wrote it: "mounts[shared]"; "" when not Muster's
  std::string source;
  std::string type;
  std::string options;
  std::string after;
  std::string wanted_by;
};

// REQUIRES: CheckMount() is OK and the state is not absent.
MountUnit MakeMountUnit(const v1::MountResource& spec, absl::string_view owner);
std::string FormatMountUnit(const MountUnit& unit, absl::string_view path);
// The reverse. What is missing is empty.
MountUnit ParseMountUnit(absl::string_view text);

// The line of `fstab`, counted from 1, that is about `path`.
std::optional<int> FindInFstab(absl::string_view fstab, absl::string_view path);

}  // namespace muster::agent
