#include "cli/image/image_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/watch/terminal.h"
#include "common/base/status.h"
#include "common/sys/file_error.h"
#include "common/sys/file_system.h"
#include "common/sys/place.h"
#include "common/value/image_manifest.h"
#include "common/value/image_manifest_text.h"

namespace muster::cli {
namespace {

std::string PathOf(const std::string& folder, absl::string_view name) {
  return absl::StrCat(folder, "/", name);
}

absl::Status Differs(const std::string& path, absl::string_view how) {
  return absl::DataLossError(absl::StrCat(
      path, " ", how, " the manifest says; export the image again, or build it again"));
}

}  // namespace

absl::StatusOr<v1::ImageManifest> ReadImageFolder(const std::string& folder) {
  const std::string path = PathOf(folder, kManifestFile);
  const absl::StatusOr<std::string> text = sys::RealFileSystem().Read(path);
  if (absl::IsNotFound(text.status()))
    return absl::NotFoundError(
        absl::StrCat(path, " does not exist; `muster image export IMAGE -o FOLDER` makes a folder ",
                     "that can be imported"));
  RETURN_IF_ERROR(text.status());
  absl::StatusOr<v1::ImageManifest> manifest = ReadImageManifest(*text);
  RETURN_IF_ERROR(Annotate(manifest.status(), path));
  return manifest;
}

absl::StatusOr<ArtifactFile> ArtifactFile::Open(const std::string& folder,
                                                const v1::ImageArtifact& artifact) {
  std::string path = PathOf(folder, artifact.name());
  ASSIGN_OR_RETURN(sys::UniqueFd fd, [&]() -> absl::StatusOr<sys::UniqueFd> {
    return sys::OpenFile(path, O_RDONLY, sys::LastLink::kRefuse, "reading");
  }());
  struct stat info = {};
  if (::fstat(fd.get(), &info) != 0) return sys::FileError(errno, "reading", path);
  if (!S_ISREG(info.st_mode))
    return absl::InvalidArgumentError(absl::StrCat(path, " is not a regular file"));
  if (static_cast<uint64_t>(info.st_size) != artifact.size_bytes())
    return Differs(path, absl::StrCat("has ", info.st_size, " bytes, not the ",
                                      artifact.size_bytes(), " that"));
  ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  return ArtifactFile(std::move(fd), std::move(path));
}

absl::Status ArtifactFile::Read(std::string& piece) {
  piece.resize(kTransferPieceBytes);
  ssize_t count = -1;
  do {
    count = ::read(fd_.get(), piece.data(), piece.size());
  } while (count < 0 && errno == EINTR);
  piece.resize(count < 0 ? 0 : static_cast<size_t>(count));
  return count < 0 ? sys::FileError(errno, "reading", path_) : absl::OkStatus();
}

absl::Status CheckImageFolder(const std::string& folder, const v1::ImageManifest& manifest,
                              const OnTransfer& on_transfer) {
  for (const v1::ImageArtifact& artifact : manifest.artifacts()) {
    ASSIGN_OR_RETURN(ArtifactFile file, ArtifactFile::Open(folder, artifact));
    Sha256 digest;
    std::string piece;
    TransferStep step = {"checking", artifact.name(), 0, artifact.size_bytes()};
    do {
      if (InterruptFlag::IsSet()) return absl::CancelledError("interrupted; nothing was sent");
      RETURN_IF_ERROR(file.Read(piece));
      digest.Update(piece);
      step.done += piece.size();
      on_transfer(step);
    } while (!piece.empty());
    if (digest.FinishHex() != artifact.sha256())
      return Differs(PathOf(folder, artifact.name()), "has another digest than");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ImageFolderWriter>> ImageFolderWriter::Make(
    const std::string& path) {
  std::error_code error;
  std::filesystem::path absolute = std::filesystem::absolute(path, error).lexically_normal();
  if (absolute.filename().empty()) absolute = absolute.parent_path();  // "folder/"
  if (error || absolute.filename().empty())
    return absl::InvalidArgumentError(absl::StrCat("'", path, "' cannot be a new folder"));
  if (std::filesystem::exists(std::filesystem::symlink_status(absolute, error)))
    return absl::AlreadyExistsError(
        absl::StrCat(path, " exists already; name a new folder, or remove it"));
  const std::string staging = absl::StrCat(".", absolute.filename().string(), ".muster-export");
  ASSIGN_OR_RETURN(std::unique_ptr<sys::TreeStage> stage,
                   sys::TreeStage::Make(absolute.string(), staging));
  return std::unique_ptr<ImageFolderWriter>(
      new ImageFolderWriter(absolute.string(), std::move(stage)));
}

absl::Status ImageFolderWriter::Create(const std::string& name) {
  file_ = stage_->tree().CreateFile(name, ::geteuid(), ::getegid());
  return file_.valid() ? absl::OkStatus() : sys::FileError(errno, "making", PathOf(path_, name));
}

absl::Status ImageFolderWriter::Write(absl::string_view data) {
  while (!data.empty()) {
    const ssize_t count = ::write(file_.get(), data.data(), data.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return sys::FileError(errno, "writing into", path_);
    data.remove_prefix(static_cast<size_t>(count));
  }
  return absl::OkStatus();
}

absl::Status ImageFolderWriter::BeginArtifact(const v1::ImageArtifact& artifact) {
  artifact_ = artifact;
  written_ = 0;
  digest_ = std::make_unique<Sha256>();
  return Create(artifact.name());
}

absl::Status ImageFolderWriter::Append(absl::string_view data) {
  written_ += data.size();
  if (written_ > artifact_.size_bytes())
    return absl::DataLossError(absl::StrCat(
        "the controller sends more of ", artifact_.name(), " than the ", artifact_.size_bytes(),
        " bytes in the manifest; `muster image verify` says what is wrong"));
  digest_->Update(data);
  return Write(data);
}

absl::Status ImageFolderWriter::EndArtifact() {
  file_.Reset();
  const std::string found = digest_->FinishHex();
  if (written_ == artifact_.size_bytes() && found == artifact_.sha256()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("the controller sent ", written_, " bytes of ",
                                          artifact_.name(), " with the digest ", found, ", not ",
                                          artifact_.size_bytes(), " with ", artifact_.sha256(),
                                          "; `muster image verify` says what is wrong"));
}

absl::Status ImageFolderWriter::Finish(const v1::ImageManifest& manifest) {
  ASSIGN_OR_RETURN(const std::string text, WriteImageManifest(manifest));
  RETURN_IF_ERROR(Create(kManifestFile));
  RETURN_IF_ERROR(Write(text));
  file_.Reset();
  RETURN_IF_ERROR(stage_->Sync());
  return stage_->MoveIn(::geteuid(), ::getegid());
}

}  // namespace muster::cli
