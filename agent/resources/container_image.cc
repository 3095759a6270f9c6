#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "agent/resources/check_values.h"
#include "agent/resources/content.h"
#include "agent/resources/enroot_image.h"
#include "agent/resources/image_import.h"
#include "agent/resources/makers.h"
#include "agent/resources/missing.h"
#include "common/base/status.h"
#include "common/base/text/image_name.h"
#include "common/sys/large_file.h"
#include "muster/v1/plan.pb.h"

namespace muster::agent {
namespace {

constexpr char kStoredImageRecords[] = "container_image";
constexpr uint32_t kOthersMayWrite = 022;

// The runtimes that keep images in a storage of their own, under names.
struct StorageRuntime {
  v1::ContainerRuntime runtime;
  const char* program;
  // Asks for the folder of the storage.
  std::vector<std::string> folder_argv;
  std::vector<std::string> scratch_variables;
};
const std::vector<StorageRuntime>& StorageRuntimes() {
  static const auto* const kRuntimes = new std::vector<StorageRuntime>{
      {v1::CONTAINER_RUNTIME_DOCKER,
       "docker",
       {"docker", "info", "--format", "{{.DockerRootDir}}"},
       {}},  // the daemon does the work, and has a folder of its own for it
      {v1::CONTAINER_RUNTIME_PODMAN,
       "podman",
       {"podman", "info", "--format", "{{.Store.GraphRoot}}"},
       {"TMPDIR"}},
  };
  return *kRuntimes;
}

// What both programs call Docker's own registry.
absl::string_view ShortName(absl::string_view name) {
  absl::ConsumePrefix(&name, "docker.io/");
  absl::ConsumePrefix(&name, "library/");
  return name;
}

// The names after "Loaded image: " and "Loaded image(s): ".
std::vector<std::string> LoadedNames(absl::string_view output) {
  std::vector<std::string> names;
  for (absl::string_view line : absl::StrSplit(output, '\n')) {
    if (!absl::ConsumePrefix(&line, "Loaded image")) continue;
    absl::ConsumePrefix(&line, "(s)");
    if (!absl::ConsumePrefix(&line, ": ")) continue;
    for (const absl::string_view name : absl::StrSplit(line, ','))
      names.emplace_back(absl::StripAsciiWhitespace(name));
  }
  return names;
}

class StoredImage final : public Resource {
 public:
  StoredImage(v1::ContainerImageResource spec, const StorageRuntime& runtime, std::string step_id,
              ResourceContext& context)
      : spec_(std::move(spec)),
        runtime_(runtime),
        step_id_(std::move(step_id)),
        context_(context) {}

  std::string Id() const override { return absl::StrCat("container_image[", Key(), "]"); }

  absl::StatusOr<std::vector<Change>> Check() override {
    ASSIGN_OR_RETURN(const std::optional<std::string> id, Inspect("{{.Id}}"));
    std::vector<Change> changes;
    if (spec_.state() == v1::PRESENCE_ABSENT) {
      if (id.has_value()) changes.push_back({"image", "present", "absent"});
      return changes;
    }
    if (!id.has_value()) {
      changes.push_back({"image", "absent", Wanted()});
    } else if (!spec_.archive().empty()) {
      ASSIGN_OR_RETURN(const std::optional<std::string> record,
                       context_.records.Get(kStoredImageRecords, Key()));
      if (record != RecordOf(*id))
        changes.push_back({"image", absl::StrCat("another image, id ", *id), Wanted()});
    }
    return changes;
  }

  absl::Status Foresee(std::vector<Change>&) override {
    if (spec_.state() == v1::PRESENCE_ABSENT || spec_.archive().empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(const auto stat, context_.files.Stat(spec_.archive()));
    return stat.has_value() ? absl::OkStatus() : MissingArchive();
  }

  absl::Status Apply(ApplyObserver& observer) override {
    ASSIGN_OR_RETURN(const std::vector<Change> changes, Check());
    if (changes.empty()) return absl::OkStatus();
    if (spec_.state() == v1::PRESENCE_ABSENT) {
      RETURN_IF_ERROR(Remove());
      return context_.records.Remove(kStoredImageRecords, Key());
    }
    uint64_t archive_bytes = 0;
    if (!spec_.archive().empty()) {
      ASSIGN_OR_RETURN(archive_bytes, CheckArchive(observer));
    }
    ASSIGN_OR_RETURN(const std::string folder, Folder());
    const ImageImport import = {.step_id = step_id_,
                                .what = absl::StrCat(archive_bytes > 0 ? "loading " : "pulling ",
                                                     spec_.image(), " with ", runtime_.program),
                                .argv = ImportArgv(),
                                .folder = folder,
                                .scratch_variables = runtime_.scratch_variables,
                                .expected_bytes = std::max(spec_.max_bytes(), archive_bytes)};
    ASSIGN_OR_RETURN(const std::string output, RunImport(spec_, import, context_, observer));
    return Accept(output);
  }

 private:
  std::string Key() const { return absl::StrCat(runtime_.program, " ", spec_.image()); }
  std::string Wanted() const {
    return spec_.archive().empty()
               ? spec_.image()
               : absl::StrCat("archive with sha256 ", spec_.sha256().substr(0, 12));
  }
  // Which image an archive brought: its name alone could mean another one by now.
  std::string RecordOf(absl::string_view id) const {
    return absl::StrCat(spec_.sha256(), " ", id, "\n");
  }

  absl::Status MissingArchive() const {
    return MissingPath(spec_.archive(), absl::StrCat("the archive ", spec_.archive(),
                                                     " does not exist; put it in place in an "
                                                     "earlier task, such as a download"));
  }

  // A program that is missing, or whose daemon does not answer: an earlier step may bring it.
  absl::StatusOr<sys::ProcessResult> Ask(const std::vector<std::string>& argv) {
    const absl::StatusOr<sys::ProcessResult> result =
        context_.processes.Run({.argv = argv, .timeout = absl::Minutes(2)});
    if (absl::IsNotFound(result.status()))
      return absl::FailedPreconditionError(absl::StrCat(
          "no program '", runtime_.program, "' on the node; install it in an earlier task"));
    return result;
  }

  // A property of the image; nullopt: there is no such image.
  absl::StatusOr<std::optional<std::string>> Inspect(const std::string& format) {
    const sys::ProcessSpec spec = {
        .argv = {runtime_.program, "image", "inspect", "--format", format, spec_.image()}};
    ASSIGN_OR_RETURN(const sys::ProcessResult result, Ask(spec.argv));
    if (result.ok())
      return std::optional<std::string>(std::string(absl::StripAsciiWhitespace(result.out)));
    const std::string said = absl::AsciiStrToLower(result.output);
    if (absl::StrContains(said, "no such image") || absl::StrContains(said, "image not known"))
      return std::optional<std::string>();
    return absl::FailedPreconditionError(sys::CheckSuccess(spec, result).message());
  }

  absl::StatusOr<std::string> Folder() {
    const sys::ProcessSpec spec = {.argv = runtime_.folder_argv};
    ASSIGN_OR_RETURN(const sys::ProcessResult result, Ask(spec.argv));
    RETURN_IF_ERROR(sys::CheckSuccess(spec, result));
    const std::string folder(absl::StripAsciiWhitespace(result.out));
    RETURN_IF_ERROR(CheckPath(absl::StrCat(runtime_.program, "'s storage"), folder));
    return folder;
  }

  std::vector<std::string> ImportArgv() const {
    if (spec_.archive().empty()) return {runtime_.program, "pull", spec_.image()};
    return {runtime_.program, "load", "--input", spec_.archive()};
  }

  // The size of the archive, once it is known to be the right one.
  absl::StatusOr<uint64_t> CheckArchive(ApplyObserver& observer) {
    // Its owner could put something else there between the check and the import.
    ASSIGN_OR_RETURN(const std::string foreign, context_.files.ForeignFolder(spec_.archive()));
    if (!foreign.empty())
      return absl::PermissionDeniedError(
          absl::StrCat("the owner of ", foreign, " decides what ", spec_.archive(),
                       " is; keep archives of images in folders of root's"));
    ASSIGN_OR_RETURN(const std::optional<sys::FileStat> stat, context_.files.Stat(spec_.archive()));
    if (!stat.has_value()) return MissingArchive();
    if (stat->type != sys::FileType::kRegular || stat->uid != 0 ||
        (stat->mode & kOthersMayWrite) != 0)
      return absl::PermissionDeniedError(
          absl::StrCat(spec_.archive(),
                       " is not a file that only root can change; make root its owner, and "
                       "let neither group nor others write to it"));
    observer.OnActivity(absl::StrCat("reading ", spec_.archive()), std::nullopt);
    ASSIGN_OR_RETURN(const std::string digest, sys::Sha256OfFile(spec_.archive()));
    if (digest != spec_.sha256())
      return absl::FailedPreconditionError(absl::StrCat(
          "the archive ", spec_.archive(), " has sha256 ", digest, ", not ", spec_.sha256(),
          "; nothing was imported: fetch it again, or correct sha256"));
    return stat->size;
  }

  absl::Status Accept(const std::string& output) {
    if (!spec_.archive().empty()) {
      const std::vector<std::string> names = LoadedNames(output);
      if (std::none_of(names.begin(), names.end(), [this](const std::string& name) {
            return ShortName(name) == ShortName(spec_.image());
          }))
        return absl::FailedPreconditionError(absl::StrCat(
            "the archive ", spec_.archive(), " holds no image called ", spec_.image(),
            "; it holds: ", names.empty() ? "none with a name" : absl::StrJoin(names, ", ")));
    }
    ASSIGN_OR_RETURN(const std::optional<std::string> size, Inspect("{{.Size}}"));
    uint64_t bytes = 0;
    if (size.has_value() && absl::SimpleAtoi(*size, &bytes)) {
      const absl::Status fits = CheckImageSize(spec_, bytes);
      if (!fits.ok()) {
        RETURN_IF_ERROR(Remove());
        return fits;
      }
    }
    if (spec_.archive().empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::optional<std::string> id, Inspect("{{.Id}}"));
    if (!id.has_value()) return absl::OkStatus();  // Check() reports it
    return context_.records.Put(kStoredImageRecords, Key(), RecordOf(*id));
  }

  // Fails while a container uses the image.
  absl::Status Remove() {
    const absl::StatusOr<sys::ProcessResult> removed = sys::RunChecked(
        context_.processes, {.argv = {runtime_.program, "image", "rm", spec_.image()}});
    return Annotate(removed.status(), absl::StrCat("removing ", spec_.image()));
  }

  const v1::ContainerImageResource spec_;
  const StorageRuntime& runtime_;
  const std::string step_id_;
  ResourceContext& context_;
};

absl::Status CheckImageSpec(const v1::ContainerImageResource& spec) {
  const bool is_enroot = spec.runtime() == v1::CONTAINER_RUNTIME_ENROOT;
  if (is_enroot) RETURN_IF_ERROR(CheckPath("path", spec.path()));
  if (spec.state() == v1::PRESENCE_ABSENT) {
    if (is_enroot || CheckPinnedImage(spec.image()).ok()) return absl::OkStatus();
    return Annotate(CheckTaggedImage(spec.image()), "image");
  }
  if (spec.archive().empty()) return Annotate(CheckPinnedImage(spec.image()), "image");
  if (is_enroot)
    return absl::InvalidArgumentError("archive: enroot imports no archives; use a download");
  RETURN_IF_ERROR(Annotate(CheckTaggedImage(spec.image()), "image"));
  RETURN_IF_ERROR(CheckPath("archive", spec.archive()));
  return CheckSha256("sha256", spec.sha256());
}

}  // namespace

absl::StatusOr<std::unique_ptr<Resource>> MakeContainerImage(const v1::Step& step,
                                                             ResourceContext& context,
                                                             bool want_diff) {
  const v1::ContainerImageResource& spec = step.container_image();
  RETURN_IF_ERROR(CheckImageSpec(spec));
  if (spec.runtime() == v1::CONTAINER_RUNTIME_ENROOT)
    return NewEnrootImage(spec, step.step_id(), context);
  for (const StorageRuntime& runtime : StorageRuntimes()) {
    if (runtime.runtime == spec.runtime())
      return std::make_unique<StoredImage>(spec, runtime, step.step_id(), context);
  }
  return absl::InvalidArgumentError("runtime: is not one that this agent knows");
}

}  // namespace muster::agent
