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

// InvalidArgument names the field that prevents making a unit from the mount.
absl::Status CheckMount(const v1::MountResource& spec);

// The contents of a unit, besides its path.
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
// The reverse. Missing values are empty.
MountUnit ParseMountUnit(absl::string_view text);

// The options of an xfs that say what it counts, sorted and joined by commas. A remount succeeds
// and leaves them as they are.
std::string XfsQuotas(const MountUnit& unit);

// The number, from 1, of the line of `fstab` for `path`.
std::optional<int> FindInFstab(absl::string_view fstab, absl::string_view path);

}  // namespace muster::agent
