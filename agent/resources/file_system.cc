#include "agent/resources/makers.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/resources/check_values.h"
#include "agent/resources/missing.h"
#include "common/base/status.h"
#include "muster/v1/plan.pb.h"

namespace muster::agent {
namespace {

// How each type is made.
struct FileSystemMaker {
  v1::FileSystemType type;
  const char* name;     // as libblkid and mkfs call it
  const char* package;  // that has the program
  size_t max_label;     // bytes
  const char* force;    // also over a known signature
  std::vector<std::string> (*uuid)(const std::string& uuid);
};
const FileSystemMaker kFileSystemMakers[] = {
    {v1::FILE_SYSTEM_TYPE_XFS, "xfs", "xfsprogs", 12, "-f",
     [](const std::string& uuid) {
       return std::vector<std::string>{"-m", absl::StrCat("uuid=", uuid)};
     }},
    {v1::FILE_SYSTEM_TYPE_EXT4, "ext4", "e2fsprogs", 16, "-F",
     [](const std::string& uuid) {
       return std::vector<std::string>{"-U", uuid};
     }},
};

const FileSystemMaker* FindFileSystemMaker(v1::FileSystemType type) {
  const auto found =
      std::find_if(std::begin(kFileSystemMakers), std::end(kFileSystemMakers),
                   [type](const FileSystemMaker& maker) { return maker.type == type; });
  return found == std::end(kFileSystemMakers) ? nullptr : &*found;
}

// Holds the uuid of a file system from before mkfs until it has ended: what a crash leaves
// half-made is ours to overwrite, and nothing else is.
constexpr char kFormatRecord[] = "file_system";
// Large disks are first discarded as a whole.
constexpr absl::Duration kFormatTimeout = absl::Hours(2);

class FileSystem final : public Resource {
 public:
  FileSystem(v1::FileSystemResource spec, const FileSystemMaker& maker, ResourceContext& context)
      : spec_(std::move(spec)), maker_(maker), context_(context) {}

  std::string Id() const override { return absl::StrCat("file_system[", spec_.device(), "]"); }

  absl::StatusOr<std::vector<Change>> Check() override {
    ASSIGN_OR_RETURN(const std::vector<DeviceSignature> found, Probe());
    ASSIGN_OR_RETURN(const bool format, ShouldFormat(found));
    if (!format) return std::vector<Change>{};
    RETURN_IF_ERROR(CheckUnused());
    return std::vector<Change>{{"file system",
                                found.empty() ? "none" : DescribeSignature(found.front()),
                                DescribeSignature({.type = maker_.name, .label = spec_.label()})}};
  }

  absl::Status Foresee(std::vector<Change>&) override {
    const sys::ProcessSpec spec = {.argv = {Program(), "-V"}, .timeout = absl::Minutes(1)};
    return NameThePackage(context_.processes.Run(spec).status());
  }

  absl::Status Apply(ApplyObserver& observer) override {
    ASSIGN_OR_RETURN(const std::vector<DeviceSignature> found, Probe());
    ASSIGN_OR_RETURN(const bool format, ShouldFormat(found));
    if (!format) return absl::OkStatus();
    RETURN_IF_ERROR(CheckUnused());
    ASSIGN_OR_RETURN(const std::string uuid, context_.files.Read("/proc/sys/kernel/random/uuid"));
    RETURN_IF_ERROR(Make(std::string(absl::StripAsciiWhitespace(uuid)), !found.empty(), observer));
    return context_.records.Remove(kFormatRecord, spec_.device());
  }

 private:
  std::string Program() const { return absl::StrCat("mkfs.", maker_.name); }

  absl::StatusOr<std::vector<DeviceSignature>> Probe() {
    auto found = context_.disks.Probe(spec_.device());
    if (!absl::IsNotFound(found.status())) return found;
    return MissingPath(spec_.device(),
                       absl::StrCat("no device ", spec_.device(),
                                    " on the node; `ls -l /dev/disk/by-id` there lists its disks"));
  }

  // False: the wanted file system is there. An error says what else is.
  absl::StatusOr<bool> ShouldFormat(const std::vector<DeviceSignature>& found) {
    if (found.empty()) return true;
    if (found.size() == 1) {
      const DeviceSignature& only = found.front();
      ASSIGN_OR_RETURN(const auto unfinished, context_.records.Get(kFormatRecord, spec_.device()));
      if (unfinished.has_value() && only.uuid == *unfinished) return true;
      if (only.usage == "filesystem" && !only.uuid.empty() &&
          absl::EqualsIgnoreCase(only.uuid, spec_.replaces_uuid()))
        return true;
      if (only.type == maker_.name && (spec_.label().empty() || only.label == spec_.label()))
        return false;
      if (only.type == maker_.name)
        return absl::AlreadyExistsError(absl::StrCat(
            spec_.device(), " holds ", DescribeSignature(only), ", but the label should be '",
            spec_.label(),
            "'. If it is the file system that is meant, give it this label on the node (",
            only.type == "xfs" ? "xfs_admin -L" : "e2label", "); ", RemedyFor(only)));
      return absl::AlreadyExistsError(absl::StrCat(spec_.device(), " holds ",
                                                   DescribeSignature(only),
                                                   ", and is not formatted; ", RemedyFor(only)));
    }
    return absl::AlreadyExistsError(
        absl::StrCat(spec_.device(), " holds ",
                     absl::StrJoin(found, " and ",
                                   [](std::string* out, const DeviceSignature& signature) {
                                     absl::StrAppend(out, DescribeSignature(signature));
                                   }),
                     ", and is not formatted; if its data may be destroyed, run `wipefs --all ",
                     spec_.device(), "` on the node"));
  }

  std::string RemedyFor(const DeviceSignature& only) const {
    if (only.usage == "filesystem" && !only.uuid.empty())
      return absl::StrCat("if its data may be destroyed, set replaces_uuid: ", only.uuid);
    return absl::StrCat("if its data may be destroyed, run `wipefs --all ", spec_.device(),
                        "` on the node");
  }

  absl::Status CheckUnused() {
    ASSIGN_OR_RETURN(const std::string user, context_.disks.User(spec_.device()));
    if (user.empty()) return absl::OkStatus();
    return absl::AlreadyExistsError(
        absl::StrCat(spec_.device(), " is ", user, ", and is not formatted; release it first"));
  }

  absl::Status NameThePackage(const absl::Status& status) const {
    if (!absl::IsNotFound(status)) return status;
    return absl::FailedPreconditionError(absl::StrCat("no ", Program(),
                                                      " on the node; install the package ",
                                                      maker_.package, " in an earlier task"));
  }

  absl::Status Make(const std::string& uuid, bool over_another, ApplyObserver& observer) {
    sys::ProcessSpec mkfs = {
        .argv = {Program()}, .timeout = kFormatTimeout, .die_with_parent = true};
    if (over_another) mkfs.argv.emplace_back(maker_.force);
    if (!spec_.label().empty()) mkfs.argv.insert(mkfs.argv.end(), {"-L", spec_.label()});
    for (const std::string& part : maker_.uuid(uuid)) mkfs.argv.push_back(part);
    mkfs.argv.insert(mkfs.argv.end(), spec_.options().begin(), spec_.options().end());
    mkfs.argv.push_back(spec_.device());
    mkfs.on_line = [&observer](absl::string_view line) {
      observer.OnOutput(absl::StrCat(line, "\n"));
    };
    observer.OnActivity(absl::StrCat("formatting ", spec_.device()), std::nullopt);
    RETURN_IF_ERROR(context_.records.Put(kFormatRecord, spec_.device(), uuid));
    return NameThePackage(sys::RunChecked(context_.processes, mkfs).status());
  }

  const v1::FileSystemResource spec_;
  const FileSystemMaker& maker_;
  ResourceContext& context_;
};

absl::Status CheckDeviceName(const std::string& device) {
  RETURN_IF_ERROR(CheckPath("device", device));
  const absl::string_view name = device;
  if (!absl::StartsWith(name, "/dev/"))
    return absl::InvalidArgumentError(absl::StrCat("device: '", device, "' is not below /dev"));
  if (name.find('/', 5) == absl::string_view::npos)
    return absl::InvalidArgumentError(
        absl::StrCat("device: '", device,
                     "' may mean another disk after the next boot; name the disk by its link in "
                     "/dev/disk/by-id"));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Resource>> MakeFileSystem(const v1::Step& step,
                                                         ResourceContext& context, bool want_diff) {
  const v1::FileSystemResource& spec = step.file_system();
  RETURN_IF_ERROR(CheckDeviceName(spec.device()));
  const FileSystemMaker* const maker = FindFileSystemMaker(spec.type());
  if (maker == nullptr) return absl::InvalidArgumentError("type: is neither xfs nor ext4");
  RETURN_IF_ERROR(CheckOneLine("label", spec.label()));
  if (spec.label().size() > maker->max_label)
    return absl::InvalidArgumentError(absl::StrCat("label: '", spec.label(),
                                                   "' is longer than the ", maker->max_label,
                                                   " bytes of ", maker->name));
  if (absl::StartsWith(spec.label(), "-"))
    return absl::InvalidArgumentError(
        absl::StrCat("label: '", spec.label(), "' begins with a dash"));
  return std::make_unique<FileSystem>(spec, *maker, context);
}

}  // namespace muster::agent
