#include "agent/resources/makers.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/resources/check_values.h"
#include "agent/resources/content.h"
#include "agent/resources/content_check.h"
#include "agent/resources/missing.h"
#include "agent/resources/ownership.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/base/text/text_diff.h"
#include "muster/v1/plan.pb.h"

namespace muster::agent {
namespace {

std::string Describe(const std::string& sha256, uint64_t size) {
  return absl::StrCat("sha256 ", sha256.substr(0, 12), ", ", size, " bytes");
}

class File final : public Resource {
 public:
  File(v1::FileResource spec, ResourceContext& context, bool want_diff)
      : spec_(std::move(spec)),
        context_(context),
        want_diff_(want_diff),
        sha256_(spec_.blob_sha256().empty() ? Sha256Hex(spec_.content()) : spec_.blob_sha256()),
        size_(spec_.blob_sha256().empty() ? spec_.content().size() : spec_.blob_size()) {
    ownership_ = {.owner = spec_.owner(), .group = spec_.group()};
    if (spec_.has_mode()) ownership_.mode = spec_.mode();
  }

  std::string Id() const override { return absl::StrCat("file[", spec_.path(), "]"); }

  absl::StatusOr<std::vector<Change>> Check() override {
    ASSIGN_OR_RETURN(const auto now, Look());
    if (now.has_value() &&
        (now->stat.type == sys::FileType::kDirectory || now->stat.type == sys::FileType::kOther))
      return absl::InvalidArgumentError(absl::StrCat(
          spec_.path(), " is ",
          now->stat.type == sys::FileType::kOther ? "a device or a socket" : "a directory",
          " on the node; a file does not replace it: remove it in an earlier task"));
    if (spec_.state() == v1::PRESENCE_ABSENT) return CheckAbsent(now.has_value());

    ASSIGN_OR_RETURN(const sys::FileAttributes attributes,
                     ResolveOwnership(ownership_, context_.accounts));
    std::vector<Change> changes;
    if (!now.has_value() || now->stat.type == sys::FileType::kSymlink) {
      const std::string before =
          now.has_value() ? absl::StrCat("link to ", now->content) : "absent";
      changes.push_back({"content", before, Describe(sha256_, size_), Diff("")});
      return changes;
    }
    if (!spec_.only_if_missing()) {
      std::optional<Change> content = CompareContent(*now);
      if (content.has_value()) changes.push_back(*std::move(content));
    }
    ASSIGN_OR_RETURN(std::vector<Change> others,
                     CompareOwnership(now->stat, attributes, context_.accounts));
    changes.insert(changes.end(), others.begin(), others.end());
    return changes;
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
    ASSIGN_OR_RETURN(const sys::FileAttributes attributes,
                     ResolveOwnership(ownership_, context_.accounts));
    // A file whose owner or mode is wrong is rewritten too: its former owner may have it open, and
    // could keep writing into content that others trust.
    if (spec_.only_if_missing() && changes.front().field != "content")
      return context_.files.SetAttributes(spec_.path(), attributes);

    ASSIGN_OR_RETURN(const std::string content, WantedContent(&observer));
    const sys::WriteOptions options = {
        .mode = attributes.mode,
        .uid = attributes.uid,
        .gid = attributes.gid,
        .verify = ContentCheck(spec_.path(), spec_.validate(), context_, observer)};
    const absl::Status status = context_.files.WriteAtomically(spec_.path(), content, options);
    if (absl::IsNotFound(status))
      return Annotate(status, "its directory does not exist; create it in an earlier task");
    return status;
  }

 private:
  // Includes the content, if it may be the wanted one or is to be shown.
  absl::StatusOr<std::optional<sys::FileView>> Look() {
    const bool reads = spec_.state() != v1::PRESENCE_ABSENT && !spec_.only_if_missing();
    const uint64_t shown = want_diff_ ? kMaxDiffInput : 0;
    return context_.files.View(spec_.path(), reads ? std::max<uint64_t>(size_, shown) : 0);
  }

  static std::vector<Change> CheckAbsent(bool is_there) {
    std::vector<Change> changes;
    if (is_there) changes.push_back({"state", "present", "absent"});
    return changes;
  }

  absl::StatusOr<std::string> WantedContent(ApplyObserver* observer) {
    if (spec_.blob_sha256().empty()) return spec_.content();
    if (observer != nullptr)
      observer->OnActivity(absl::StrCat("fetching ", size_, " bytes"), std::nullopt);
    return context_.blobs.Get(sha256_, size_);
  }

  // Diffs are a courtesy: if a text cannot be read, the change is reported without one.
  std::string Diff(const std::string& before) {
    if (!want_diff_ || size_ > kMaxDiffInput) return "";
    const auto after = WantedContent(nullptr);
    return after.ok() ? UnifiedDiff(before, *after, spec_.path()) : "";
  }

  std::optional<Change> CompareContent(const sys::FileView& now) {
    const uint64_t size = now.stat.size;
    if (size != size_ && (!want_diff_ || size > kMaxDiffInput))
      return Change{"content", absl::StrCat(size, " bytes"), Describe(sha256_, size_)};
    const std::string digest = Sha256Hex(now.content);
    if (digest == sha256_) return std::nullopt;
    return Change{"content", Describe(digest, now.content.size()), Describe(sha256_, size_),
                  Diff(now.content)};
  }

  const v1::FileResource spec_;
  ResourceContext& context_;
  const bool want_diff_;
  const std::string sha256_;
  const uint64_t size_;
  OwnershipSpec ownership_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Resource>> MakeFile(const v1::Step& step, ResourceContext& context,
                                                   bool want_diff) {
  const v1::FileResource& spec = step.file();
  RETURN_IF_ERROR(CheckPath("path", spec.path()));
  if (spec.has_mode() && spec.mode() > 07777)
    return absl::InvalidArgumentError(
        absl::StrCat("mode: ", FormatMode(spec.mode()), " has more than permission bits"));
  if (!spec.blob_sha256().empty()) RETURN_IF_ERROR(CheckSha256("blob_sha256", spec.blob_sha256()));
  return std::make_unique<File>(spec, context, want_diff);
}

}  // namespace muster::agent
