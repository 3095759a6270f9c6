#include "agent/resources/enroot_image.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "agent/resources/image_import.h"
#include "agent/resources/missing.h"
#include "agent/resources/step_program.h"
#include "common/base/status.h"
#include "common/base/text/image_name.h"
#include "common/sys/atomic_write.h"
#include "muster/v1/plan.pb.h"

namespace muster::agent {
namespace {

constexpr char kEnrootImageRecords[] = "enroot_image";

class EnrootImage final : public Resource {
 public:
  EnrootImage(v1::ContainerImageResource spec, std::string step_id, ResourceContext& context)
      : spec_(std::move(spec)), step_id_(std::move(step_id)), context_(context) {}

  std::string Id() const override { return absl::StrCat("container_image[", spec_.path(), "]"); }

  absl::StatusOr<std::vector<Change>> Check() override {
    ASSIGN_OR_RETURN(const std::optional<sys::FileStat> stat, context_.files.Stat(spec_.path()));
    if (stat.has_value() && stat->type != sys::FileType::kRegular)
      return absl::InvalidArgumentError(
          absl::StrCat(spec_.path(), " is not a file on the node; remove it in an earlier task"));
    std::vector<Change> changes;
    if (spec_.state() == v1::PRESENCE_ABSENT) {
      if (stat.has_value()) changes.push_back({"image", "present", "absent"});
      return changes;
    }
    ASSIGN_OR_RETURN(const std::optional<std::string> record,
                     context_.records.Get(kEnrootImageRecords, spec_.path()));
    if (!stat.has_value()) {
      changes.push_back({"image", "absent", spec_.image()});
    } else if (record != RecordOf(*stat)) {
      changes.push_back({"image", "another file", spec_.image()});
    }
    return changes;
  }

  absl::Status Foresee(std::vector<Change>&) override {
    return spec_.state() == v1::PRESENCE_ABSENT ? absl::OkStatus()
                                                : CheckFolderOf(spec_.path(), context_.files);
  }

  absl::Status Apply(ApplyObserver& observer) override {
    ASSIGN_OR_RETURN(const std::vector<Change> changes, Check());
    if (changes.empty()) return absl::OkStatus();
    if (spec_.state() == v1::PRESENCE_ABSENT) {
      RETURN_IF_ERROR(context_.files.Remove(spec_.path(), /*recursive=*/false));
      return context_.records.Remove(kEnrootImageRecords, spec_.path());
    }
    RETURN_IF_ERROR(CheckFolderOf(spec_.path(), context_.files));
    // Enroot writes and removes files there as root.
    ASSIGN_OR_RETURN(const std::string foreign, context_.files.ForeignFolder(spec_.path()));
    if (!foreign.empty())
      return absl::PermissionDeniedError(
          absl::StrCat("the owner of ", foreign, " could redirect what root writes to ",
                       spec_.path(), "; keep images in folders of root's"));
    return Import(observer);
  }

 private:
  std::string RecordOf(const sys::FileStat& stat) const {
    return absl::StrCat(spec_.image(), " ", stat.size, " ", stat.modified_ns, "\n");
  }

  // "docker://registry#name:sha256:…": enroot separates the registry by a '#', and the digest
  // stands where a tag does.
  std::string Uri() const {
    const absl::string_view registry = RegistryOf(spec_.image());
    const std::string name = spec_.image().substr(registry.size() + 1);
    return absl::StrCat("docker://", registry, "#", absl::StrReplaceAll(name, {{"@", ":"}}));
  }

  absl::Status Import(ApplyObserver& observer) {
    const std::string folder = spec_.path().substr(0, spec_.path().rfind('/'));
    // An earlier copy may be writing the file.
    RETURN_IF_ERROR(StepProgram(step_id_, context_).EndEarlier());
    // Enroot refuses to replace a file.
    const std::string fresh = spec_.path() + ".muster-new";
    RETURN_IF_ERROR(context_.files.Remove(fresh, /*recursive=*/false));
    const ImageImport import = {
        .step_id = step_id_,
        .what = absl::StrCat("importing ", spec_.image(), " for enroot"),
        .argv = {"enroot", "import", "--output", fresh, "--", Uri()},
        .folder = folder.empty() ? "/" : folder,
        .scratch_variables = {"TMPDIR", "ENROOT_TEMP_PATH", "ENROOT_CACHE_PATH"},
        .expected_bytes = spec_.max_bytes()};
    absl::Status status = RunImport(spec_, import, context_, observer).status();
    if (absl::IsNotFound(status))
      status = absl::FailedPreconditionError(
          "no program 'enroot' on the node; install it in an earlier task");
    if (status.ok()) status = Accept(fresh);
    if (!status.ok()) context_.files.Remove(fresh, /*recursive=*/false).IgnoreError();
    return status;
  }

  absl::Status Accept(const std::string& fresh) {
    ASSIGN_OR_RETURN(const std::optional<sys::FileStat> stat, context_.files.Stat(fresh));
    if (!stat.has_value())
      return absl::InternalError(absl::StrCat("enroot exited with 0 but did not write ", fresh));
    RETURN_IF_ERROR(CheckImageSize(spec_, stat->size));
    // Users start containers from it.
    RETURN_IF_ERROR(context_.files.SetAttributes(fresh, {.mode = 0644, .uid = 0, .gid = 0}));
    RETURN_IF_ERROR(sys::PlaceFile(fresh, spec_.path(), {.mode = 0644, .uid = 0, .gid = 0},
                                   /*may_move=*/true));
    ASSIGN_OR_RETURN(const std::optional<sys::FileStat> placed, context_.files.Stat(spec_.path()));
    if (!placed.has_value()) return absl::OkStatus();
    return context_.records.Put(kEnrootImageRecords, spec_.path(), RecordOf(*placed));
  }

  const v1::ContainerImageResource spec_;
  const std::string step_id_;
  ResourceContext& context_;
};

}  // namespace

std::unique_ptr<Resource> NewEnrootImage(const v1::ContainerImageResource& spec,
                                         std::string step_id, ResourceContext& context) {
  return std::make_unique<EnrootImage>(spec, std::move(step_id), context);
}

}  // namespace muster::agent
