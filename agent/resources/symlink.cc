#include "agent/resources/makers.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/resources/check_values.h"
#include "agent/resources/missing.h"
#include "common/base/status.h"
#include "muster/v1/plan.pb.h"

namespace muster::agent {
namespace {

class Symlink final : public Resource {
 public:
  Symlink(v1::SymlinkResource spec, ResourceContext& context)
      : spec_(std::move(spec)), context_(context) {}

  std::string Id() const override { return absl::StrCat("symlink[", spec_.path(), "]"); }

  absl::StatusOr<std::vector<Change>> Check() override {
    ASSIGN_OR_RETURN(const auto stat, context_.files.Stat(spec_.path()));
    const bool absent = spec_.state() == v1::PRESENCE_ABSENT;
    if (!stat.has_value()) {
      if (absent) return std::vector<Change>{};
      return std::vector<Change>{{"target", "absent", spec_.target()}};
    }
    if (stat->type != sys::FileType::kSymlink && (absent || stat->type != sys::FileType::kRegular))
      return absl::InvalidArgumentError(
          absl::StrCat(spec_.path(),
                       " exists on the node and is not a symbolic link; remove it in "
                       "an earlier task"));
    if (stat->type == sys::FileType::kRegular)
      return std::vector<Change>{{"target", "a regular file", spec_.target()}};
    ASSIGN_OR_RETURN(const std::string target, context_.files.ReadLink(spec_.path()));
    if (absent) return std::vector<Change>{{"state", absl::StrCat("link to ", target), "absent"}};
    if (target == spec_.target()) return std::vector<Change>{};
    return std::vector<Change>{{"target", target, spec_.target()}};
  }

  absl::Status Foresee(std::vector<Change>&) override {
    if (spec_.state() == v1::PRESENCE_ABSENT) return absl::OkStatus();
    return CheckFolderOf(spec_.path(), context_.files);
  }

  absl::Status Apply(ApplyObserver& observer) override {
    ASSIGN_OR_RETURN(const std::vector<Change> changes, Check());
    if (changes.empty()) return absl::OkStatus();
    if (spec_.state() == v1::PRESENCE_ABSENT)
      return context_.files.Remove(spec_.path(), /*recursive=*/false);
    return context_.files.MakeSymlink(spec_.target(), spec_.path());
  }

 private:
  const v1::SymlinkResource spec_;
  ResourceContext& context_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Resource>> MakeSymlink(const v1::Step& step,
                                                      ResourceContext& context, bool want_diff) {
  const v1::SymlinkResource& spec = step.symlink();
  RETURN_IF_ERROR(CheckPath("path", spec.path()));
  RETURN_IF_ERROR(CheckOneLine("target", spec.target()));
  if (spec.state() != v1::PRESENCE_ABSENT && spec.target().empty())
    return absl::InvalidArgumentError("target: is empty");
  return std::make_unique<Symlink>(spec, context);
}

}  // namespace muster::agent
