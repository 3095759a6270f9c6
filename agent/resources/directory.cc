#include "agent/resources/makers.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/resources/check_values.h"
#include "agent/resources/ownership.h"
#include "common/base/status.h"
#include "muster/v1/plan.pb.h"

namespace muster::agent {
namespace {

constexpr mode_t kDefaultMode = 0755;

class Directory final : public Resource {
 public:
  Directory(v1::DirectoryResource spec, ResourceContext& context)
      : spec_(std::move(spec)), context_(context) {
    ownership_ = {.owner = spec_.owner(), .group = spec_.group()};
    if (spec_.has_mode()) ownership_.mode = spec_.mode();
  }

  std::string Id() const override { return absl::StrCat("directory[", spec_.path(), "]"); }

  absl::StatusOr<std::vector<Change>> Check() override {
    ASSIGN_OR_RETURN(const auto stat, context_.files.Stat(spec_.path()));
    if (stat.has_value() && stat->type != sys::FileType::kDirectory)
      return absl::InvalidArgumentError(
          absl::StrCat(spec_.path(), " exists on the node and is not a directory",
                       stat->type == sys::FileType::kSymlink ? " but a symbolic link" : "",
                       "; remove it in an earlier task"));
    const bool absent = spec_.state() == v1::PRESENCE_ABSENT;
    if (absent) {
      if (!stat.has_value()) return std::vector<Change>{};
      if (!spec_.recursive()) {
        ASSIGN_OR_RETURN(const auto names, context_.files.List(spec_.path()));
        if (!names.empty())
          return absl::InvalidArgumentError(
              absl::StrCat(spec_.path(), " is not empty (it contains ", names.front(),
                           "); set recursive: true to remove what is inside too"));
      }
      return std::vector<Change>{{"state", "present", "absent"}};
    }
    ASSIGN_OR_RETURN(const sys::FileAttributes attributes,
                     ResolveOwnership(ownership_, context_.accounts));
    if (!stat.has_value()) return std::vector<Change>{{"state", "absent", "present"}};
    return CompareOwnership(*stat, attributes, context_.accounts);
  }

  absl::Status Apply(ApplyObserver& observer) override {
    ASSIGN_OR_RETURN(const std::vector<Change> changes, Check());
    if (changes.empty()) return absl::OkStatus();
    if (spec_.state() == v1::PRESENCE_ABSENT)
      return context_.files.Remove(spec_.path(), spec_.recursive());
    ASSIGN_OR_RETURN(const sys::FileAttributes attributes,
                     ResolveOwnership(ownership_, context_.accounts));
    RETURN_IF_ERROR(
        context_.files.MakeDirectory(spec_.path(), attributes.mode.value_or(kDefaultMode)));
    return context_.files.SetAttributes(spec_.path(), attributes);
  }

 private:
  const v1::DirectoryResource spec_;
  ResourceContext& context_;
  OwnershipSpec ownership_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Resource>> MakeDirectory(const v1::Step& step,
                                                        ResourceContext& context, bool want_diff) {
  const v1::DirectoryResource& spec = step.directory();
  RETURN_IF_ERROR(CheckPath("path", spec.path()));
  if (spec.has_mode() && spec.mode() > 07777)
    return absl::InvalidArgumentError(
        absl::StrCat("mode: ", FormatMode(spec.mode()), " has more than permission bits"));
  // Nobody ever means all of "/var".
  if (spec.state() == v1::PRESENCE_ABSENT && spec.recursive() &&
      std::count(spec.path().begin(), spec.path().end(), '/') < 2)
    return absl::InvalidArgumentError(absl::StrCat(
        "path: ", spec.path(), " is a folder of the root and is not removed recursively"));
  return std::make_unique<Directory>(spec, context);
}

}  // namespace muster::agent
