#include "agent/resources/makers.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "agent/resources/check_values.h"
#include "agent/resources/mount_point.h"
#include "common/base/status.h"
#include "muster/v1/plan.pb.h"

namespace muster::agent {
namespace {

class Mount final : public Resource {
 public:
  Mount(v1::MountResource spec, ResourceContext& context, bool want_diff)
      : id_(absl::StrCat("mount[", spec.path(), "]")),
        point_(std::move(spec), id_, context, want_diff) {}

  std::string Id() const override { return id_; }
  absl::StatusOr<std::vector<Change>> Check() override { return point_.Check(); }
  absl::Status Apply(ApplyObserver& observer) override { return point_.Apply(observer); }

 private:
  const std::string id_;
  MountPoint point_;
};

// Its record holds the paths of all mounts that it has ever made and not undone.
class MountSet final : public Resource {
 public:
  MountSet(const v1::MountSetResource& spec, ResourceContext& context, bool want_diff)
      : name_(spec.name()), context_(context), want_diff_(want_diff) {
    // By path: a mount inside another comes after it.
    std::map<std::string, const v1::MountResource*> by_path;
    for (const v1::MountResource& mount : spec.mounts()) by_path[mount.path()] = &mount;
    for (const auto& [path, mount] : by_path) {
      paths_.insert(path);
      points_.emplace_back(*mount, Id(), context, want_diff);
    }
  }

  std::string Id() const override { return absl::StrCat("mounts[", name_, "]"); }

  absl::StatusOr<std::vector<Change>> Check() override {
    std::vector<Change> changes;
    ASSIGN_OR_RETURN(std::vector<MountPoint> gone, Gone());
    for (std::vector<MountPoint>* points : {&gone, &points_}) {
      for (MountPoint& point : *points) {
        ASSIGN_OR_RETURN(const std::vector<Change> found, point.Check());
        for (Change change : found) {
          change.field = absl::StrCat(point.path(), " ", change.field);
          changes.push_back(std::move(change));
        }
      }
    }
    return changes;
  }

  absl::Status Apply(ApplyObserver& observer) override {
    ASSIGN_OR_RETURN(const std::set<std::string> recorded, Record());
    std::set<std::string> all = recorded;
    all.insert(paths_.begin(), paths_.end());
    if (all != recorded) RETURN_IF_ERROR(Remember(all));
    ASSIGN_OR_RETURN(std::vector<MountPoint> gone, Gone());
    for (std::vector<MountPoint>* points : {&gone, &points_}) {
      for (MountPoint& point : *points) RETURN_IF_ERROR(point.Apply(observer));
    }
    return all != paths_ ? Remember(paths_) : absl::OkStatus();
  }

 private:
  absl::StatusOr<std::set<std::string>> Record() {
    ASSIGN_OR_RETURN(const auto record, context_.records.Get("mounts", name_));
    return std::set<std::string>(absl::StrSplit(record.value_or(""), '\n', absl::SkipEmpty()));
  }

  absl::Status Remember(const std::set<std::string>& paths) {
    if (paths.empty()) return context_.records.Remove("mounts", name_);
    return context_.records.Put("mounts", name_, absl::StrJoin(paths, "\n"));
  }

  // The mounts that were removed from the set, the inner ones first; only those whose unit still
  // belongs to this set, because another task may have taken one over.
  absl::StatusOr<std::vector<MountPoint>> Gone() {
    std::vector<MountPoint> gone;
    ASSIGN_OR_RETURN(const std::set<std::string> recorded, Record());
    for (auto path = recorded.rbegin(); path != recorded.rend(); ++path) {
      if (paths_.count(*path) > 0) continue;
      const absl::StatusOr<std::string> unit = context_.files.Read(MountUnitPath(*path));
      if (absl::IsNotFound(unit.status())) continue;
      RETURN_IF_ERROR(unit.status());
      if (ParseMountUnit(*unit).owner != Id()) continue;
      v1::MountResource spec;
      spec.set_path(*path);
      spec.set_state(v1::MOUNT_STATE_ABSENT);
      gone.emplace_back(std::move(spec), Id(), context_, want_diff_);
    }
    return gone;
  }

  const std::string name_;
  ResourceContext& context_;
  const bool want_diff_;
  std::set<std::string> paths_;
  std::vector<MountPoint> points_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Resource>> MakeMount(const v1::Step& step, ResourceContext& context,
                                                    bool want_diff) {
  RETURN_IF_ERROR(CheckMount(step.mount()));
  return std::make_unique<Mount>(step.mount(), context, want_diff);
}

absl::StatusOr<std::unique_ptr<Resource>> MakeMounts(const v1::Step& step, ResourceContext& context,
                                                     bool want_diff) {
  const v1::MountSetResource& spec = step.mounts();
  RETURN_IF_ERROR(CheckSetName(spec.name()));
  std::set<std::string> paths;
  for (const v1::MountResource& mount : spec.mounts()) {
    RETURN_IF_ERROR(Annotate(CheckMount(mount), absl::StrCat("mounts: ", mount.path())));
    if (mount.state() == v1::MOUNT_STATE_ABSENT)
      return absl::InvalidArgumentError(
          absl::StrCat("mounts: ", mount.path(), " has state absent; remove it from the list"));
    if (!paths.insert(mount.path()).second)
      return absl::InvalidArgumentError(absl::StrCat("mounts: ", mount.path(), " is listed twice"));
  }
  return std::make_unique<MountSet>(spec, context, want_diff);
}

}  // namespace muster::agent
