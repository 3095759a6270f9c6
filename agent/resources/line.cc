#include "agent/resources/makers.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/const_init.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "agent/resources/check_values.h"
#include "agent/resources/content_check.h"
#include "agent/resources/line_edit.h"
#include "agent/resources/missing.h"
#include "common/base/status.h"
#include "common/base/text/text_diff.h"
#include "muster/v1/plan.pb.h"

namespace muster::agent {
namespace {

// Two roles that run in parallel may each have a line in one file.
ABSL_CONST_INIT absl::Mutex g_one_writer(absl::kConstInit);

class Line final : public Resource {
 public:
  Line(std::unique_ptr<v1::LineResource> spec, LineEdit edit, ResourceContext& context,
       bool want_diff)
      : spec_(std::move(spec)), edit_(std::move(edit)), context_(context), want_diff_(want_diff) {}

  std::string Id() const override { return absl::StrCat("line[", spec_->path(), "]"); }

  absl::StatusOr<std::vector<Change>> Check() override {
    ASSIGN_OR_RETURN(const std::optional<sys::FileView> now, Look());
    const std::optional<LineChange> change = Edit(now);
    if (!change.has_value()) return std::vector<Change>{};
    const std::string before = now.has_value() ? now->content : "";
    const std::string diff = want_diff_ ? UnifiedDiff(before, change->content, spec_->path()) : "";
    return std::vector<Change>{{"line", change->before, change->after, diff}};
  }

  absl::Status Foresee(std::vector<Change>&) override {
    return CheckFolderOf(spec_->path(), context_.files);
  }

  absl::Status Apply(ApplyObserver& observer) override {
    absl::MutexLock lock(&g_one_writer);
    ASSIGN_OR_RETURN(const std::optional<sys::FileView> now, Look());
    const std::optional<LineChange> change = Edit(now);
    if (!change.has_value()) return absl::OkStatus();
    sys::WriteOptions options = {
        .verify = ContentCheck(spec_->path(), spec_->validate(), context_, observer)};
    if (now.has_value()) {
      // The attributes of the file that these lines come from: another one may have replaced it by
      // now.
      options.mode = now->stat.mode & 0777;
      options.uid = now->stat.uid;
      options.gid = now->stat.gid;
    }
    const absl::Status status =
        context_.files.WriteAtomically(spec_->path(), change->content, options);
    if (absl::IsNotFound(status) && !now.has_value())
      return Annotate(status, "its directory does not exist; create it in an earlier task");
    return status;
  }

 private:
  // nullopt: the file does not exist, and need not.
  absl::StatusOr<std::optional<sys::FileView>> Look() {
    const std::string& path = spec_->path();
    ASSIGN_OR_RETURN(std::optional<sys::FileView> now, context_.files.View(path));
    if (!now.has_value()) {
      if (spec_->create() || spec_->state() == v1::PRESENCE_ABSENT) return now;
      return MissingPath(path, absl::StrCat(path,
                                            " does not exist on the node; create it in an earlier "
                                            "task (its package?), or set create: true"));
    }
    if (now->stat.type == sys::FileType::kSymlink)
      return absl::InvalidArgumentError(
          absl::StrCat(path, " is a symbolic link to ", now->content,
                       " on the node; specify the file that it leads to"));
    if (now->stat.type != sys::FileType::kRegular)
      return absl::InvalidArgumentError(absl::StrCat(
          path, " is ",
          now->stat.type == sys::FileType::kDirectory ? "a directory" : "a device or a socket",
          " on the node and has no lines"));
    if (now->stat.size > sys::kMaxReadBytes)
      return absl::ResourceExhaustedError(
          absl::StrCat(path, " is larger than ", sys::kMaxReadBytes >> 20, " MiB"));
    return now;
  }

  std::optional<LineChange> Edit(const std::optional<sys::FileView>& now) const {
    if (!now.has_value() && spec_->state() == v1::PRESENCE_ABSENT) return std::nullopt;
    return edit_.Apply(now.has_value() ? now->content : "");
  }

  const std::unique_ptr<const v1::LineResource> spec_;  // edit_ points to it
  const LineEdit edit_;
  ResourceContext& context_;
  const bool want_diff_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Resource>> MakeLine(const v1::Step& step, ResourceContext& context,
                                                   bool want_diff) {
  auto spec = std::make_unique<v1::LineResource>(step.line());
  RETURN_IF_ERROR(CheckPath("path", spec->path()));
  ASSIGN_OR_RETURN(LineEdit edit, LineEdit::Make(*spec));
  return std::make_unique<Line>(std::move(spec), std::move(edit), context, want_diff);
}

}  // namespace muster::agent
