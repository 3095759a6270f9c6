#include "common/value/image_manifest.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <tuple>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/base/text/plain_text.h"
#include "common/value/disk_layout.h"
#include "muster/v1/image.pb.h"

namespace muster {
namespace {

constexpr size_t kMaxName = 64;
constexpr size_t kMaxWord = 256;
constexpr size_t kMinDigestDigits = 8;
constexpr size_t kShownDigits = 12;
// Distributions have some 70,000 packages, and installers take a few thousand of them.
constexpr int kMaxPackages = 30'000;
constexpr int kMaxRoles = 1000;
constexpr int kMaxArtifacts = 32;
constexpr int kMaxKernelArguments = 128;
// Firmware reads it as a whole.
constexpr uint64_t kMaxSignedBytes = uint64_t{1} << 30;
// A package's words for itself; what is added up must not overflow.
constexpr uint64_t kMaxInstalledBytes = uint64_t{1} << 50;

constexpr char kNameRule[] =
    "letters, digits, '.', '_' and '-', at most 64, beginning with a letter or digit";

bool IsNameCharacter(unsigned char c) {
  return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-';
}

bool IsName(absl::string_view name) {
  return !name.empty() && name.size() <= kMaxName &&
         absl::ascii_isalnum(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(), IsNameCharacter);
}

// One word of visible ASCII characters.
bool IsWord(absl::string_view text) {
  return !text.empty() && text.size() <= kMaxWord &&
         std::all_of(text.begin(), text.end(), absl::ascii_isgraph);
}

bool IsLine(absl::string_view text) {
  return text.size() <= kMaxWord && IsPlain(text, Lines::kOne);
}

absl::Status Wrong(absl::string_view field, absl::string_view value, absl::string_view rule) {
  return absl::InvalidArgumentError(absl::StrCat("the image's manifest: ", field, " '",
                                                 PlainText(value, Lines::kOne, kMaxName),
                                                 "' must be ", rule));
}

absl::Status CheckCount(absl::string_view field, int count, int most) {
  if (count <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the image's manifest: ", field, " has ", count, " entries, at most ", most));
}

// A rule for one field of text.
struct TextRule {
  bool (*is_right)(absl::string_view);
  const char* words;
};
const TextRule kWord = {IsWord, "one word of visible characters, at most 256"};
const TextRule kLine = {IsLine, "one line of text, at most 256 bytes"};
const TextRule kName = {IsName, kNameRule};
const TextRule kSha256 = {IsSha256, "a SHA-256 in lower-case hex"};
const TextRule kKind = {[](absl::string_view text) { return text == "ram" || text == "disk"; },
                        "'ram' or 'disk'"};

absl::Status Check(const TextRule& rule, absl::string_view field, absl::string_view value) {
  return rule.is_right(value) ? absl::OkStatus() : Wrong(field, value, rule.words);
}

auto OrderOf(const v1::ImagePackage& package) {
  return std::tie(package.name(), package.architecture(), package.version());
}

absl::Status CheckPackages(const v1::ImageManifest& manifest) {
  RETURN_IF_ERROR(CheckCount("packages", manifest.packages_size(), kMaxPackages));
  for (int i = 0; i < manifest.packages_size(); ++i) {
    const v1::ImagePackage& package = manifest.packages(i);
    const std::string at = absl::StrCat("packages[", i, "].");
    RETURN_IF_ERROR(Check(kWord, at + "name", package.name()));
    RETURN_IF_ERROR(Check(kWord, at + "version", package.version()));
    RETURN_IF_ERROR(Check(kWord, at + "architecture", package.architecture()));
    if (package.installed_bytes() > kMaxInstalledBytes)
      return Wrong(at + "installed_bytes", absl::StrCat(package.installed_bytes()),
                   absl::StrCat("at most ", kMaxInstalledBytes));
    if (i > 0 && !(OrderOf(manifest.packages(i - 1)) < OrderOf(package)))
      return Wrong(absl::StrCat("packages[", i, "]"), package.name(),
                   "another package than the one before, and later by name, architecture and "
                   "version");
  }
  return absl::OkStatus();
}

absl::Status CheckSignedFile(const std::string& at, const v1::ImageArtifact& file,
                             absl::string_view name) {
  RETURN_IF_ERROR(Check(kSha256, at + "sha256", file.sha256()));
  if (file.name() != name) return Wrong(at + "name", file.name(), name);
  if (file.size_bytes() > 0 && file.size_bytes() <= kMaxSignedBytes) return absl::OkStatus();
  return Wrong(at + "size_bytes", absl::StrCat(file.size_bytes()),
               absl::StrCat("1 to ", kMaxSignedBytes));
}

absl::Status CheckArtifacts(const v1::ImageManifest& manifest) {
  RETURN_IF_ERROR(CheckCount("artifacts", manifest.artifacts_size(), kMaxArtifacts));
  bool has_root = false;
  for (int i = 0; i < manifest.artifacts_size(); ++i) {
    const v1::ImageArtifact& artifact = manifest.artifacts(i);
    const std::string at = absl::StrCat("artifacts[", i, "].");
    RETURN_IF_ERROR(Check(kName, at + "name", artifact.name()));
    if (artifact.name() == kManifestFile)
      return Wrong(at + "name", artifact.name(), "another name: it is the manifest's own file");
    if (artifact.name() == kSignedArtifact || artifact.name() == kLoaderArtifact)
      return Wrong(at + "name", artifact.name(), "another name: it is signed beside the image");
    RETURN_IF_ERROR(Check(kSha256, at + "sha256", artifact.sha256()));
    if (artifact.size_bytes() == 0 || artifact.size_bytes() > kMaxArtifactBytes)
      return Wrong(at + "size_bytes", absl::StrCat(artifact.size_bytes()),
                   "from 1 to 64 GiB (68719476736)");
    if (i > 0 && !(manifest.artifacts(i - 1).name() < artifact.name()))
      return Wrong(at + "name", artifact.name(), "another one than before, and later by name");
    has_root |= artifact.name() == kRootArtifact;
  }
  if (has_root) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the image's manifest: artifacts has no ", kRootArtifact));
}

}  // namespace

std::string ImageDigest(const v1::ImageManifest& manifest) {
  v1::ImageManifest without = manifest;
  without.clear_build();
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    without.SerializeToCodedStream(&coded);
  }
  return Sha256Hex(bytes);
}

void SortImageManifest(v1::ImageManifest& manifest) {
  std::sort(
      manifest.mutable_packages()->begin(), manifest.mutable_packages()->end(),
      [](const v1::ImagePackage& a, const v1::ImagePackage& b) { return OrderOf(a) < OrderOf(b); });
  std::sort(
      manifest.mutable_artifacts()->begin(), manifest.mutable_artifacts()->end(),
      [](const v1::ImageArtifact& a, const v1::ImageArtifact& b) { return a.name() < b.name(); });
}

absl::Status CheckImageManifest(const v1::ImageManifest& manifest) {
  if (manifest.ByteSizeLong() > kMaxManifestBytes)
    return absl::InvalidArgumentError(absl::StrCat("the image's manifest has ",
                                                   manifest.ByteSizeLong(), " bytes, at most ",
                                                   kMaxManifestBytes));
  RETURN_IF_ERROR(Check(kName, "name", manifest.name()));
  RETURN_IF_ERROR(Check(kKind, "kind", manifest.kind()));
  RETURN_IF_ERROR(Check(kName, "distribution", manifest.distribution()));
  RETURN_IF_ERROR(Check(kName, "architecture", manifest.architecture()));
  if (!manifest.snapshot().empty()) RETURN_IF_ERROR(Check(kName, "snapshot", manifest.snapshot()));
  RETURN_IF_ERROR(
      CheckCount("kernel_arguments", manifest.kernel_arguments_size(), kMaxKernelArguments));
  for (int i = 0; i < manifest.kernel_arguments_size(); ++i)
    RETURN_IF_ERROR(
        Check(kWord, absl::StrCat("kernel_arguments[", i, "]"), manifest.kernel_arguments(i)));
  RETURN_IF_ERROR(CheckPackages(manifest));
  RETURN_IF_ERROR(CheckCount("roles", manifest.roles_size(), kMaxRoles));
  for (int i = 0; i < manifest.roles_size(); ++i) {
    const std::string at = absl::StrCat("roles[", i, "].");
    RETURN_IF_ERROR(Check(kWord, at + "name", manifest.roles(i).name()));
    RETURN_IF_ERROR(Check(kSha256, at + "sha256", manifest.roles(i).sha256()));
  }
  RETURN_IF_ERROR(CheckArtifacts(manifest));
  if (manifest.has_disk() != (manifest.kind() == "disk"))
    return Wrong("disk", manifest.kind(), "there where the kind is disk, and nowhere else");
  if (manifest.has_disk()) RETURN_IF_ERROR(CheckDiskLayout(manifest.disk()));
  const v1::ImageBuild& build = manifest.build();
  RETURN_IF_ERROR(Check(kLine, "build.by", build.by()));
  RETURN_IF_ERROR(Check(kLine, "build.on", build.on()));
  RETURN_IF_ERROR(Check(kLine, "build.muster_version", build.muster_version()));
  RETURN_IF_ERROR(Check(kLine, "build.revision", build.revision()));
  if (!build.bundle_sha256().empty())
    RETURN_IF_ERROR(Check(kSha256, "build.bundle_sha256", build.bundle_sha256()));
  return absl::OkStatus();
}

absl::Status CheckSignedKernel(const v1::SignedKernel& kernel, absl::string_view kind) {
  RETURN_IF_ERROR(CheckSignedFile("signed_kernel.artifact.", kernel.artifact(), kSignedArtifact));
  if (kernel.has_loader() != (kind == "disk"))
    return Wrong("signed_kernel.loader", kernel.loader().name(),
                 "there where the image is of the kind disk, and nowhere else");
  if (kernel.has_loader())
    RETURN_IF_ERROR(CheckSignedFile("signed_kernel.loader.", kernel.loader(), kLoaderArtifact));
  return Check(kSha256, "signed_kernel.certificate_sha256", kernel.certificate_sha256());
}

std::vector<v1::ImageArtifact> SignedArtifacts(const v1::SignedKernel& kernel) {
  std::vector<v1::ImageArtifact> artifacts = {kernel.artifact()};
  if (kernel.has_loader()) artifacts.push_back(kernel.loader());
  return artifacts;
}

std::string CheckImageName(absl::string_view name) {
  if (IsName(name)) return "";
  return absl::StrCat("'", PlainText(name, Lines::kOne, kMaxName), "' cannot name an image: write ",
                      kNameRule);
}

absl::StatusOr<ImageReference> ParseImageReference(absl::string_view text) {
  const size_t at = text.find('@');
  ImageReference reference;
  reference.name = std::string(text.substr(0, at));
  if (std::string fault = CheckImageName(reference.name); !fault.empty())
    return absl::InvalidArgumentError(fault);
  if (at == absl::string_view::npos) return reference;
  reference.digest = std::string(text.substr(at + 1));
  const bool is_digest =
      reference.digest.size() >= kMinDigestDigits && reference.digest.size() <= 64 &&
      std::all_of(reference.digest.begin(), reference.digest.end(),
                  [](unsigned char c) { return absl::ascii_isdigit(c) || (c >= 'a' && c <= 'f'); });
  if (is_digest) return reference;
  return absl::InvalidArgumentError(absl::StrCat(
      "'", PlainText(text, Lines::kOne, kMaxName + kMaxName), "' does not name an image: after '@'",
      " belong 8 to 64 digits of its digest, in lower-case hex; `muster image list` shows them"));
}

std::string BuildName(absl::string_view name, absl::string_view digest) {
  return absl::StrCat(name, "@", digest.substr(0, kShownDigits));
}

std::string BuildName(const v1::Image& image) {
  return BuildName(image.manifest().name(), image.digest());
}

const v1::ImageArtifact* FindArtifact(const v1::Image& image, absl::string_view name) {
  for (const v1::ImageArtifact& artifact : image.manifest().artifacts()) {
    if (artifact.name() == name) return &artifact;
  }
  const v1::SignedKernel& kernel = image.signed_kernel();
  if (image.has_signed_kernel() && name == kSignedArtifact) return &kernel.artifact();
  return kernel.has_loader() && name == kLoaderArtifact ? &kernel.loader() : nullptr;
}

uint64_t ImageBytes(const v1::ImageManifest& manifest) {
  uint64_t bytes = 0;
  for (const v1::ImageArtifact& artifact : manifest.artifacts()) bytes += artifact.size_bytes();
  return bytes;
}

}  // namespace muster
