#include "cli/image/build_calls.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "cli/connection.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/pki/certificate.h"
#include "common/sys/file_system.h"
#include "muster/v1/image.grpc.pb.h"

namespace muster::cli {
namespace {

namespace fs = std::filesystem;

using ImageStub = v1::ImageService::Stub;

// A site has hundreds of files, and all of its roles may be in the image.
constexpr absl::Duration kPlanTimeout = absl::Minutes(2);

absl::Status NoDefinition(const fs::path& site, const std::string& name) {
  std::vector<std::string> known;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(site / image::kImageFolder, error)) {
    if (fs::exists(entry.path() / image::kDefinitionFile, error))
      known.push_back(entry.path().filename().string());
  }
  std::sort(known.begin(), known.end());
  return absl::NotFoundError(absl::StrCat(
      "there is no ", (site / image::DefinitionPath(name)).string(),
      known.empty() ? "; run this in the site folder, or pass --site DIR (Muster's own images are "
                      "in /usr/share/muster)"
                    : absl::StrCat("; the site has ", absl::StrJoin(known, ", "))));
}

}  // namespace

absl::StatusOr<image::Definition> ReadDefinition(const std::string& site, const std::string& name) {
  if (!image::IsImageName(name)) return image::ParseDefinition(name, "", "").status();
  sys::RealFileSystem files;
  const std::string path = image::DefinitionPath(name);
  std::error_code error;
  const fs::path folder = fs::absolute(site, error);
  const absl::StatusOr<std::string> text = files.Read((folder / path).string());
  if (absl::IsNotFound(text.status())) return NoDefinition(folder.lexically_normal(), name);
  RETURN_IF_ERROR(text.status());
  return image::ParseDefinition(name, path, *text);
}

absl::StatusOr<v1::PlanImageResponse> PlanImage(const Connection& connection,
                                                const std::string& bundle_sha256,
                                                const std::string& name, const v1::Facts* facts) {
  ImageStub stub(connection.channel());
  v1::PlanImageRequest request;
  request.set_bundle_sha256(bundle_sha256);
  request.set_name(name);
  if (facts != nullptr) *request.mutable_facts() = *facts;
  v1::PlanImageResponse response;
  RETURN_IF_ERROR(Call(connection, stub, &ImageStub::PlanImage, request, &response, kPlanTimeout));
  return response;
}

absl::Status ReadAgentPackage(const Connection& connection, const std::string& sha256,
                              const std::string& path) {
  ImageStub stub(connection.channel());
  grpc::ClientContext context;
  v1::ReadAgentPackageRequest request;
  request.set_sha256(sha256);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  Sha256 digest;
  const auto reader = stub.ReadAgentPackage(&context, request);
  v1::ReadAgentPackageResponse piece;
  while (reader->Read(&piece)) {
    file.write(piece.data().data(), static_cast<std::streamsize>(piece.data().size()));
    digest.Update(piece.data());
  }
  RETURN_IF_ERROR(Annotate(connection.Convert(reader->Finish()), "fetching the agent's package"));
  file.close();
  if (!file.good()) return absl::UnavailableError(absl::StrCat("writing ", path, " failed"));
  if (digest.FinishHex() == sha256) return absl::OkStatus();
  return absl::DataLossError("the agent's package came with another digest than was announced");
}

std::string PersonOf(const Connection& connection) {
  const absl::StatusOr<pki::Certificate> certificate =
      pki::ParseCertificate(connection.certificate_pem());
  if (!certificate.ok() || certificate->uri_sans.empty()) return "";
  return absl::StrCat(absl::StripPrefix(certificate->organization, "muster:"), ":",
                      absl::StripPrefix(certificate->uri_sans[0], "muster://user/"));
}

}  // namespace muster::cli
