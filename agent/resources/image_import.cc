#include "agent/resources/image_import.h"

#include <optional>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "agent/resources/step_program.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/base/text/image_name.h"
#include "common/sys/process/process_control.h"
#include "muster/v1/plan.pb.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kDefaultImportTimeout = absl::Minutes(30);
constexpr uint64_t kDefaultMinFreeBytes = uint64_t{1} << 30;
// How often the free space is measured. A disk that takes 2 GB/s loses 200 MB meanwhile.
constexpr absl::Duration kRoomLook = absl::Milliseconds(100);
constexpr char kImportScratchFolder[] = "muster-import";

uint64_t MinFreeBytes(const v1::ContainerImageResource& spec) {
  return spec.min_free_bytes() > 0 ? spec.min_free_bytes() : kDefaultMinFreeBytes;
}

// Stops a program when its disk runs full.
class RoomWatch {
 public:
  RoomWatch(const ImageImport& import, uint64_t min_free_bytes, Clock& clock,
            sys::ProcessControl& control)
      : import_(import),
        min_free_bytes_(min_free_bytes),
        clock_(clock),
        control_(control),
        thread_([this] { Watch(); }) {}
  ~RoomWatch() { End(); }

  // Ends the watch; true: it has stopped the program.
  bool End() {
    {
      absl::MutexLock lock(&mutex_);
      is_over_ = true;
    }
    if (thread_.joinable()) thread_.join();
    absl::MutexLock lock(&mutex_);
    return has_stopped_;
  }

 private:
  void Watch() {
    absl::MutexLock lock(&mutex_);
    while (!is_over_) {
      const absl::StatusOr<uint64_t> free = import_.free_bytes(import_.folder);
      if (free.ok() && *free < min_free_bytes_) {
        has_stopped_ = true;
        control_.Stop();
        return;
      }
      clock_.AwaitUntil(mutex_, absl::Condition(&is_over_), clock_.Now() + kRoomLook);
    }
  }

  const ImageImport& import_;
  const uint64_t min_free_bytes_;
  Clock& clock_;
  sys::ProcessControl& control_;
  absl::Mutex mutex_;
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses the other members
};

// A temporary folder that is gone afterwards, whatever the program left in it.
class ImportScratch {
 public:
  ImportScratch(std::string path, sys::FileSystem& files) : path_(std::move(path)), files_(files) {}
  ~ImportScratch() { files_.Remove(path_, /*recursive=*/true).IgnoreError(); }
  // Also without the remains of an import that a crash of the node ended.
  absl::Status Make() {
    RETURN_IF_ERROR(files_.Remove(path_, /*recursive=*/true));
    return files_.MakeDirectory(path_, 0700);
  }
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
  sys::FileSystem& files_;
};

// Remedies, by what programs and registries say, in lower case.
constexpr struct {
  absl::string_view said;
  absl::string_view remedy;
} kImportRemedies[] = {
    {"manifest unknown", "the registry has no image with this digest: correct the digest"},
    {"did not match",
     "the content does not have the digest that the playbook names: the registry "
     "or a mirror gives something else; nothing was imported"},
    {"does not match",
     "the content does not have the digest that the playbook names: the registry "
     "or a mirror gives something else; nothing was imported"},
    {"verification failed",
     "the content does not have the digest that the playbook names: the "
     "registry or a mirror gives something else; nothing was imported"},
    {"unauthorized",
     "the registry wants a login: log root of the node in, or use a mirror that "
     "needs none"},
    {"denied",
     "the registry wants a login, or has no such image: check the name, log root of the "
     "node in, or use a mirror"},
    {"x509",
     "the node does not trust the certificate of the registry: install the certificate of "
     "its authority"},
    {"no space left", "free space where images are stored, and set min_free_bytes"},
};
constexpr absl::string_view kDefaultImportRemedy =
    "check that the node reaches the registry, or name a mirror (container_registry_mirrors)";

absl::Status ImportFailure(const v1::ContainerImageResource& spec, const ImageImport& import,
                           const absl::Status& status) {
  const std::string said = absl::AsciiStrToLower(std::string(status.message()));
  absl::string_view remedy = spec.archive().empty()
                                 ? kDefaultImportRemedy
                                 : "check that the file is a docker or OCI archive";
  for (const auto& row : kImportRemedies) {
    if (absl::StrContains(said, row.said)) {
      remedy = row.remedy;
      break;
    }
  }
  const std::string from =
      spec.archive().empty() ? absl::StrCat(" from the registry ", RegistryOf(spec.image())) : "";
  return absl::Status(status.code(),
                      absl::StrCat(import.what, from, ": ", status.message(), "; ", remedy));
}

}  // namespace

std::string InGib(uint64_t bytes) {
  return absl::StrFormat("%.1f GiB", static_cast<double>(bytes) / (uint64_t{1} << 30));
}

absl::StatusOr<std::string> RunImport(const v1::ContainerImageResource& spec,
                                      const ImageImport& import, ResourceContext& context,
                                      ApplyObserver& observer) {
  StepProgram program(import.step_id, context);
  // Before its scratch folder is removed, and what it has taken is measured.
  RETURN_IF_ERROR(program.EndEarlier());
  const uint64_t min_free = MinFreeBytes(spec);
  ASSIGN_OR_RETURN(const uint64_t free, import.free_bytes(import.folder));
  if (free < min_free || free - min_free < import.expected_bytes)
    return absl::ResourceExhaustedError(absl::StrCat(
        import.what, ": ", import.folder, " has ", InGib(free), " free, but the image may take ",
        InGib(import.expected_bytes), " and ", InGib(min_free),
        " must stay free (min_free_bytes); remove images there, or give them a larger disk"));

  ImportScratch scratch(absl::StrCat(import.folder, "/", kImportScratchFolder), context.files);
  RETURN_IF_ERROR(scratch.Make());
  sys::ProcessControl control;
  control.CloseInput();
  sys::ProcessSpec process = {.argv = import.argv, .control = &control};
  process.timeout = spec.has_timeout() ? ToDuration(spec.timeout()) : kDefaultImportTimeout;
  for (const std::string& variable : import.scratch_variables)
    process.environment[variable] = scratch.path();
  process.on_line = [&](absl::string_view line) {
    observer.OnActivity(absl::StrCat(import.what, ": ", line), std::nullopt);
    observer.OnOutput(absl::StrCat(line, "\n"));
  };
  observer.OnActivity(import.what, std::nullopt);
  RoomWatch watch(import, min_free, context.clock, control);
  const absl::StatusOr<sys::ProcessResult> result = program.Run(process);
  // Podman exits with 0 when it is stopped.
  if (watch.End() && !(result.ok() && result->ok() && !result->stopped))
    return absl::ResourceExhaustedError(absl::StrCat(
        import.what, ": stopped, because less than ", InGib(min_free), " was free in ",
        import.folder, " (min_free_bytes); remove images there, or give them a larger disk"));
  RETURN_IF_ERROR(result.status());
  const absl::Status success = sys::CheckSuccess(process, *result);
  if (!success.ok()) return ImportFailure(spec, import, success);
  return result->output;
}

absl::Status CheckImageSize(const v1::ContainerImageResource& spec, uint64_t bytes) {
  if (spec.max_bytes() == 0 || bytes <= spec.max_bytes()) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "the image ", spec.image(), " has ", bytes, " bytes, more than its max_bytes of ",
      spec.max_bytes(), ", and was removed again; raise max_bytes or use a smaller image"));
}

}  // namespace muster::agent
