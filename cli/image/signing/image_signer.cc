#include "cli/image/signing/image_signer.h"

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/connection.h"
#include "cli/image/build_tools.h"
#include "cli/image/image_transfer.h"
#include "cli/image/kernel_image.h"
#include "cli/image/signing/signing_keys.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"
#include "common/sys/large_file.h"
#include "common/sys/process/process.h"
#include "common/value/image_manifest.h"
#include "muster/v1/image.grpc.pb.h"

namespace muster::cli {
namespace {

using ImageStub = v1::ImageService::Stub;

constexpr size_t kMaxPartBytes = size_t{1} << 30;
// Where the initramfs looks for what it may give to firmware.
constexpr char kKeysInInitrd[] = "etc/muster/keys";

sys::WriteOptions Private() { return {.mode = 0600, .uid = {}, .gid = {}, .verify = {}}; }

// The folder of one signing, which is removed with the object.
class ScratchFolder {
 public:
  static absl::StatusOr<std::unique_ptr<ScratchFolder>> Make() {
    std::string path = "/var/tmp/muster-sign-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr)  // mode 0700
      return absl::ErrnoToStatus(errno, absl::StrCat("creating ", path));
    return std::unique_ptr<ScratchFolder>(new ScratchFolder(path));
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  const std::string path_;
};

class Signer {
 public:
  Signer(const Connection& connection, const Signing& signing, const std::string& folder,
         sys::ProcessRunner& processes, const OnTransfer& on_transfer)
      : connection_(connection),
        signing_(signing),
        folder_(folder),
        processes_(processes),
        on_transfer_(on_transfer) {}

  absl::StatusOr<v1::Image> Sign() {
    ASSIGN_OR_RETURN(const std::string certificate, SigningCertificate(signing_.keys));
    ImageStub stub(connection_.channel());
    v1::PlanSigningRequest question;
    question.set_image(signing_.image);
    v1::PlanSigningResponse plan;
    RETURN_IF_ERROR(Call(connection_, stub, &ImageStub::PlanSigning, question, &plan));
    RETURN_IF_ERROR(Join(plan));
    v1::SignedKernel kernel;
    kernel.set_command_line(plan.command_line());
    kernel.set_certificate_sha256(certificate);
    ASSIGN_OR_RETURN(
        *kernel.mutable_artifact(),
        SignFile(Path("joined.efi"), kSignedArtifact,
                 absl::StrCat(plan.image().manifest().name(), "@", plan.image().digest())));
    if (plan.image().manifest().has_disk()) {
      ASSIGN_OR_RETURN(*kernel.mutable_loader(),
                       SignFile(kEfiLoader, kLoaderArtifact, kLoaderArtifact));
    }
    return UploadSigned(connection_, plan.image(), folder_, kernel, on_transfer_);
  }

 private:
  std::string Path(absl::string_view name) const { return absl::StrCat(folder_, "/", name); }

  // Signs an EFI program into the file `name` of the folder; `label` is for the ledger of the keys.
  absl::StatusOr<v1::ImageArtifact> SignFile(const std::string& program, absl::string_view name,
                                             const std::string& label) {
    const std::string path = Path(name);
    RETURN_IF_ERROR(SignProgram(signing_.keys, label, program, path, processes_));
    v1::ImageArtifact artifact;
    artifact.set_name(std::string(name));
    ASSIGN_OR_RETURN(*artifact.mutable_sha256(), sys::Sha256OfFile(path));
    std::error_code error;
    artifact.set_size_bytes(std::filesystem::file_size(path, error));
    if (error) return absl::UnavailableError(absl::StrCat(path, ": ", error.message()));
    return artifact;
  }

  absl::StatusOr<std::string> Fetch(const v1::Image& image, absl::string_view name) {
    const v1::ImageArtifact* const artifact = FindArtifact(image, name);
    if (artifact == nullptr)
      return absl::FailedPreconditionError(absl::StrCat(BuildName(image), " has no ", name));
    return ReadArtifact(connection_, *artifact, kMaxPartBytes, on_transfer_);
  }

  absl::Status Add(const std::string& section, const std::string& content) {
    const std::string path = Path(absl::StrCat("section", section));
    RETURN_IF_ERROR(files_.WriteAtomically(path, content, Private()));
    sections_.push_back({section, path, content.size()});
    return absl::OkStatus();
  }

  absl::Status Join(const v1::PlanSigningResponse& plan) {
    std::vector<InitrdFile> keys;
    for (const char* name : kSigningKeys) {
      ASSIGN_OR_RETURN(std::string auth,
                       files_.Read(absl::StrCat(signing_.keys, "/", name, ".auth")));
      keys.push_back({absl::StrCat(kKeysInInitrd, "/", name, ".auth"), std::move(auth)});
    }
    ASSIGN_OR_RETURN(std::string initrd, Fetch(plan.image(), "initrd"));
    ASSIGN_OR_RETURN(const std::string kernel, Fetch(plan.image(), "kernel"));
    const std::string& name = plan.image().manifest().name();
    RETURN_IF_ERROR(Add(".osrel", absl::StrCat("ID=muster\nNAME=", name, "\nPRETTY_NAME=\"",
                                               BuildName(plan.image()), "\"\n")));
    RETURN_IF_ERROR(Add(".cmdline", plan.command_line() + std::string(1, '\0')));
    RETURN_IF_ERROR(Add(".initrd", AddToInitrd(std::move(initrd), keys)));
    RETURN_IF_ERROR(Add(".linux", kernel));
    ASSIGN_OR_RETURN(const std::string stub, files_.Read(kEfiStub));
    const absl::StatusOr<StubShape> shape = ReadStub(stub);
    RETURN_IF_ERROR(Annotate(shape.status(), kEfiStub));
    sys::ProcessSpec spec;
    spec.argv = JoinKernelImage(kEfiStub, *shape, sections_, Path("joined.efi"));
    return sys::RunChecked(processes_, spec).status();
  }

  const Connection& connection_;
  const Signing& signing_;
  const std::string folder_;
  sys::ProcessRunner& processes_;
  const OnTransfer& on_transfer_;
  sys::RealFileSystem files_;
  std::vector<KernelImageSection> sections_;
};

}  // namespace

absl::StatusOr<v1::Image> SignImage(const Connection& connection, const Signing& signing,
                                    sys::ProcessRunner& processes, const OnTransfer& on_transfer) {
  RETURN_IF_ERROR(CheckSigningTools());
  ASSIGN_OR_RETURN(const std::unique_ptr<ScratchFolder> scratch, ScratchFolder::Make());
  return Signer(connection, signing, scratch->path(), processes, on_transfer).Sign();
}

}  // namespace muster::cli
