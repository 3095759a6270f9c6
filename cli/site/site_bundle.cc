#include "cli/site/site_bundle.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/connection.h"
#include "cli/site/file_type.h"
#include "cli/site/folder_files.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/image/definition.h"
#include "common/sys/archive/archive.h"
#include "common/sys/file_system.h"
#include "common/value/node_reboot.h"
#include "muster/v1/artifact.grpc.pb.h"

namespace muster::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLargestSite = size_t{64} << 20;
constexpr size_t kChunk = 64 << 10;

bool IsLeftOut(const std::string& name, int) {
  return absl::StartsWith(name, ".") || absl::EndsWith(name, "~") || absl::EndsWith(name, ".swp");
}

// Every regular file below `folder` (links are followed), under `prefix` inside the archive.
absl::Status Collect(const fs::path& folder, const std::string& prefix,
                     std::map<std::string, std::string>& out) {
  sys::RealFileSystem files;
  size_t total = 0;
  const auto is_needed = [](const std::string&) { return true; };
  return VisitFiles(folder, IsLeftOut, is_needed, [&](const fs::path& file) -> absl::Status {
    auto content = files.Read(file.string(), kLargestSite);
    if (!content.ok() && !absl::IsResourceExhausted(content.status())) return content.status();
    if (!content.ok() || (total += content->size()) > kLargestSite)
      return absl::InvalidArgumentError(
          absl::StrCat(folder.string(), " holds more than 64 MiB (at ", file.string(),
                       "); a site folder is for playbooks, roles and small files"));
    out[absl::StrCat(prefix, "/", file.lexically_relative(folder).string())] = *std::move(content);
    return absl::OkStatus();
  });
}

// Collects the files of inventory/hardware: validations need them along with the suites.
absl::Status CollectHardware(const fs::path& site, std::map<std::string, std::string>& out) {
  std::error_code error;
  if (!fs::is_directory(site / "inventory/hardware", error)) return absl::OkStatus();
  return Collect(site / "inventory/hardware", "inventory/hardware", out);
}

absl::Status CollectSuites(const std::string& site_folder,
                           std::map<std::string, std::string>& files) {
  const fs::path site(site_folder);
  std::error_code error;
  if (!fs::is_directory(site / "playbooks/suites", error)) {
    return absl::NotFoundError(absl::StrCat("no folder playbooks/suites in ", site_folder,
                                            "; run this in the site folder, or pass --site DIR "
                                            "(Muster's own suites are in /usr/share/muster)"));
  }
  RETURN_IF_ERROR(Collect(site / "playbooks/suites", "playbooks/suites", files));
  return CollectHardware(site, files);
}

absl::StatusOr<SiteBundle> Pack(const std::map<std::string, std::string>& files) {
  return PackFiles(files);
}

// A folder of playbooks, with the hardware of the site that it lies in.
absl::StatusOr<SiteBundle> PackFolder(const fs::path& folder) {
  std::map<std::string, std::string> files;
  RETURN_IF_ERROR(Collect(folder, folder.filename().string(), files));
  RETURN_IF_ERROR(CollectHardware(folder.parent_path(), files));
  if (files.empty()) return absl::NotFoundError(absl::StrCat("no files in ", folder.string()));
  return Pack(files);
}

}  // namespace

absl::StatusOr<SiteBundle> PackFiles(const std::map<std::string, std::string>& files) {
  SiteBundle bundle;
  ASSIGN_OR_RETURN(bundle.archive, sys::PackTarGz(files));
  bundle.sha256 = Sha256Hex(bundle.archive);
  return bundle;
}

absl::StatusOr<SiteBundle> PackSiteAt(const std::string& path) {
  std::error_code error;
  const fs::path named = fs::canonical(path, error);
  if (error) return absl::NotFoundError(absl::StrCat("site ", path, ": ", error.message()));
  ASSIGN_OR_RETURN(const fs::file_type type, TypeOf(named));
  if (type == fs::file_type::regular) return PackSite(path);
  ASSIGN_OR_RETURN(const fs::file_type playbooks, TypeOf(named / "playbooks"));
  return PackFolder(playbooks == fs::file_type::directory ? named / "playbooks" : named);
}

absl::StatusOr<SiteBundle> PackSite(const std::string& playbook_path) {
  std::error_code error;
  const fs::path playbook = fs::canonical(playbook_path, error);
  if (error)
    return absl::NotFoundError(absl::StrCat("playbook ", playbook_path, ": ", error.message()));
  ASSIGN_OR_RETURN(const fs::file_type type, TypeOf(playbook));
  if (type != fs::file_type::regular)
    return absl::InvalidArgumentError(absl::StrCat(
        playbook_path, " is not a file; specify a playbook, such as playbooks/site.yaml"));
  const fs::path folder = playbook.parent_path();
  ASSIGN_OR_RETURN(SiteBundle bundle, PackFolder(folder));
  bundle.playbook = (folder.filename() / playbook.filename()).string();
  return bundle;
}

absl::StatusOr<SiteBundle> PackSuites(const std::string& site_folder) {
  std::map<std::string, std::string> files;
  RETURN_IF_ERROR(CollectSuites(site_folder, files));
  return Pack(files);
}

absl::StatusOr<SiteBundle> PackImage(const std::string& site_folder, const std::string& image) {
  const fs::path site(site_folder);
  std::map<std::string, std::string> files;
  std::error_code error;
  if (fs::is_directory(site / "playbooks", error))
    RETURN_IF_ERROR(Collect(site / "playbooks", "playbooks", files));
  const std::string definition = image::DefinitionPath(image);
  sys::RealFileSystem disk;
  ASSIGN_OR_RETURN(files[definition], disk.Read(fs::absolute(site / definition, error).string()));
  return Pack(files);
}

absl::StatusOr<SiteBundle> PackReboot(const std::string& suites_of) {
  std::map<std::string, std::string> files = {
      {std::string(kNodeRebootPath), std::string(NodeRebootPlaybook())}};
  if (!suites_of.empty()) RETURN_IF_ERROR(CollectSuites(suites_of, files));
  ASSIGN_OR_RETURN(SiteBundle bundle, Pack(files));
  bundle.playbook = std::string(kNodeRebootPath);
  return bundle;
}

absl::Status UploadBundle(const Connection& connection, const SiteBundle& bundle) {
  v1::ArtifactService::Stub stub(connection.channel());
  v1::HasBundleRequest question;
  question.set_sha256(bundle.sha256);
  v1::HasBundleResponse answer;
  RETURN_IF_ERROR(Call(connection, stub, &v1::ArtifactService::Stub::HasBundle, question, &answer));
  if (answer.present()) return absl::OkStatus();

  grpc::ClientContext context;
  v1::UploadBundleResponse response;
  const auto writer = stub.UploadBundle(&context, &response);
  v1::UploadBundleRequest part;
  part.mutable_header()->set_sha256(bundle.sha256);
  part.mutable_header()->set_size(bundle.archive.size());
  bool open = writer->Write(part);
  for (size_t at = 0; open && at < bundle.archive.size(); at += kChunk) {
    part.set_data(bundle.archive.substr(at, kChunk));
    open = writer->Write(part);
  }
  writer->WritesDone();
  return Annotate(connection.Convert(writer->Finish()), "uploading the site folder");
}

}  // namespace muster::cli
