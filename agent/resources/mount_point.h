// One mount as a systemd unit: the common part of `mount` and of each entry of `mounts`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/resources/mount_unit.h"
#include "agent/resources/types.h"
#include "muster/v1/plan.pb.h"

namespace muster::agent {

// Where the units are: /etc/systemd/system/<name>.
std::string MountUnitPath(absl::string_view mount_path);

class MountPoint {
 public:
  // `owner` is the resource for which the unit is written. REQUIRES: CheckMount(spec) is OK.
  MountPoint(v1::MountResource spec, std::string owner, ResourceContext& context, bool want_diff);

  const std::string& path() const { return spec_.path(); }
  // As in Resource.
  absl::StatusOr<std::vector<Change>> Check();
  absl::Status Apply(ApplyObserver& observer);

 private:
  bool absent() const { return spec_.state() == v1::MOUNT_STATE_ABSENT; }
  bool at_boot() const { return !absent() && spec_.state() != v1::MOUNT_STATE_DEFINED; }
  absl::StatusOr<std::string> UnitFile();
  absl::Status CheckFstab();
  absl::Status CheckPlace();
  absl::StatusOr<std::vector<Change>> CompareFile();
  // What the mounted file system has still to adopt in this boot.
  absl::StatusOr<std::optional<std::string>> Pending();
  absl::Status SetPending(absl::string_view what);
  // Another file system at the path than the one that is wanted there, as OtherMount() tells.
  absl::StatusOr<std::optional<std::string>> Other(const UnitStatus& status);
  absl::Status PutUnit(const UnitStatus& status);
  absl::Status ApplyAbsent(ApplyObserver& observer);
  absl::Status Run(UnitJob job, absl::string_view activity, ApplyObserver& observer);

  const v1::MountResource spec_;
  ResourceContext& context_;
  const bool want_diff_;
  const std::string name_;  // of the unit
  const std::string file_;
  const MountUnit wanted_;
  const std::string content_;  // of the file; empty: there must be none
};

}  // namespace muster::agent
