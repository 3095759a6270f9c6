#include "agent/resources/makers.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/resources/check_values.h"
#include "agent/resources/content.h"
#include "agent/resources/missing.h"
#include "agent/resources/ownership.h"
#include "common/base/status.h"
#include "common/sys/atomic_write.h"
#include "common/sys/large_file.h"
#include "muster/v1/plan.pb.h"

namespace muster::agent {
namespace {

constexpr char kDownloadKind[] = "download";

class Download final : public Resource {
 public:
  Download(v1::DownloadResource spec, ResourceContext& context)
      : spec_(std::move(spec)), context_(context) {
    ownership_ = {.owner = spec_.owner(), .group = spec_.group()};
    if (spec_.has_mode()) ownership_.mode = spec_.mode();
  }

  std::string Id() const override { return absl::StrCat("download[", spec_.path(), "]"); }

  absl::StatusOr<std::vector<Change>> Check() override {
    ASSIGN_OR_RETURN(const std::optional<sys::FileStat> stat, context_.files.Stat(spec_.path()));
    if (stat.has_value() &&
        (stat->type == sys::FileType::kDirectory || stat->type == sys::FileType::kOther))
      return absl::InvalidArgumentError(
          absl::StrCat(spec_.path(),
                       " is a directory, a device or a socket on the node; a file "
                       "does not replace it: remove it in an earlier task"));
    ASSIGN_OR_RETURN(const sys::FileAttributes attributes,
                     ResolveOwnership(ownership_, context_.accounts));
    std::vector<Change> changes;
    if (!stat.has_value() || stat->type == sys::FileType::kSymlink) {
      changes.push_back({"content", stat.has_value() ? "a link" : "absent", Wanted()});
      return changes;
    }
    ASSIGN_OR_RETURN(const std::optional<std::string> other, OtherContent(*stat));
    if (other.has_value()) changes.push_back({"content", *other, Wanted()});
    ASSIGN_OR_RETURN(std::vector<Change> others,
                     CompareOwnership(*stat, attributes, context_.accounts));
    changes.insert(changes.end(), others.begin(), others.end());
    return changes;
  }

  absl::Status Foresee(std::vector<Change>&) override {
    return CheckFolderOf(spec_.path(), context_.files);
  }

  absl::Status Apply(ApplyObserver& observer) override {
    ASSIGN_OR_RETURN(const std::vector<Change> changes, Check());
    if (changes.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(const sys::FileAttributes attributes,
                     ResolveOwnership(ownership_, context_.accounts));
    if (changes.front().field != "content") {
      const absl::Status set = context_.files.SetAttributes(spec_.path(), attributes);
      // A file that belonged to a user is fetched again: the user may have it open.
      if (!absl::IsPermissionDenied(set)) return set.ok() ? Remember() : set;
    }
    ASSIGN_OR_RETURN(const StoredContent stored, context_.blobs.Fetch(ContentOf(spec_), observer));
    observer.OnActivity(absl::StrCat("placing ", spec_.path()), std::nullopt);
    const absl::Status placed = sys::PlaceFile(
        stored.path, spec_.path(),
        {.mode = attributes.mode, .uid = attributes.uid, .gid = attributes.gid}, stored.may_move);
    if (absl::IsNotFound(placed))
      return Annotate(placed, "its directory does not exist; create it in an earlier task");
    RETURN_IF_ERROR(placed);
    return Remember();
  }

 private:
  std::string Wanted() const { return absl::StrCat("sha256 ", spec_.sha256().substr(0, 12)); }

  // A record says for which size and modification time a digest was right, so that not every check
  // reads gigabytes.
  std::string RecordOf(const sys::FileStat& stat) const {
    return absl::StrCat(spec_.sha256(), " ", stat.size, " ", stat.modified_ns, "\n");
  }

  // The content that is there instead of the wanted one; nullopt: it is the wanted one.
  absl::StatusOr<std::optional<std::string>> OtherContent(const sys::FileStat& stat) {
    ASSIGN_OR_RETURN(const std::optional<std::string> record,
                     context_.records.Get(kDownloadKind, spec_.path()));
    if (record == RecordOf(stat)) return std::optional<std::string>();
    const std::string size = absl::StrCat(stat.size, " bytes");
    const bool size_is_known = record.has_value() && absl::StartsWith(*record, spec_.sha256());
    // A user's file may have a hole of terabytes: a wrong size is reported without reading a byte.
    if (size_is_known &&
        !absl::StartsWith(*record, absl::StrCat(spec_.sha256(), " ", stat.size, " ")))
      return std::optional<std::string>(size);
    ASSIGN_OR_RETURN(const std::string digest, sys::Sha256OfFile(spec_.path()));
    if (digest == spec_.sha256()) return std::optional<std::string>();
    return std::optional<std::string>(absl::StrCat("sha256 ", digest.substr(0, 12), ", ", size));
  }

  // REQUIRES: the file has the wanted content.
  absl::Status Remember() {
    ASSIGN_OR_RETURN(const std::optional<sys::FileStat> stat, context_.files.Stat(spec_.path()));
    if (!stat.has_value()) return absl::OkStatus();
    return context_.records.Put(kDownloadKind, spec_.path(), RecordOf(*stat));
  }

  const v1::DownloadResource spec_;
  ResourceContext& context_;
  OwnershipSpec ownership_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Resource>> MakeDownload(const v1::Step& step,
                                                       ResourceContext& context, bool want_diff) {
  const v1::DownloadResource& spec = step.download();
  RETURN_IF_ERROR(CheckPath("path", spec.path()));
  if (spec.has_mode() && spec.mode() > 07777)
    return absl::InvalidArgumentError(
        absl::StrCat("mode: ", FormatMode(spec.mode()), " has more than permission bits"));
  if (spec.urls().empty()) return absl::InvalidArgumentError("urls: is empty");
  RETURN_IF_ERROR(CheckContent(ContentOf(spec)));
  return std::make_unique<Download>(spec, context);
}

}  // namespace muster::agent
