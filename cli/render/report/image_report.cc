#include "cli/render/report/image_report.h"

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/image/image_diff.h"
#include "cli/render/output.h"
#include "cli/render/package_changes.h"
#include "cli/render/plain_text.h"
#include "cli/render/report/bundle_report.h"
#include "common/base/proto_time.h"
#include "common/base/text/counted.h"
#include "common/value/image_manifest.h"
#include "muster/v1/image.pb.h"

namespace muster::cli {
namespace {

std::string SystemOf(const v1::ImageManifest& manifest) {
  return absl::StrCat(manifest.distribution(), " ", manifest.architecture());
}

// "2h ago by admin:alice on build1 with muster 0.1.0", as far as it is known.
std::string BuiltOf(const v1::ImageBuild& build, absl::Time now) {
  std::string text = build.has_at() ? HumanTime(ToTime(build.at()), now) : "-";
  for (const auto& [before, value] : {std::pair("by ", build.by()),
                                      {"on ", build.on()},
                                      {"with muster ", build.muster_version()}})
    if (!value.empty()) absl::StrAppend(&text, " ", before, value);
  return text;
}

// What it was made from, as far as it is known.
std::string SourceOf(const v1::ImageManifest& manifest) {
  std::vector<std::string> parts;
  const v1::ImageBuild& build = manifest.build();
  if (!build.revision().empty()) parts.push_back(absl::StrCat("revision ", build.revision()));
  if (!build.bundle_sha256().empty())
    parts.push_back(absl::StrCat("site ", ShortDigest(build.bundle_sha256())));
  if (!manifest.snapshot().empty()) parts.push_back(absl::StrCat("snapshot ", manifest.snapshot()));
  return parts.empty() ? "-" : absl::StrJoin(parts, ", ");
}

std::string RolesOf(const v1::ImageManifest& manifest) {
  if (manifest.roles().empty()) return "";
  Table table({"ROLE", "SHA256 OF ITS STEPS"});
  for (const v1::ImageRole& role : manifest.roles()) table.AddRow({role.name(), role.sha256()});
  return absl::StrCat("\n", table.ToString());
}

std::string ArtifactsOf(const v1::ImageManifest& manifest) {
  Table table({"ARTIFACT", "SIZE", "SHA256"});
  for (const v1::ImageArtifact& artifact : manifest.artifacts())
    table.AddRow({artifact.name(), HumanBytes(artifact.size_bytes()), artifact.sha256()});
  return absl::StrCat("\n", table.ToString());
}

std::string PackagesOf(const v1::ImageManifest& manifest) {
  Table table({"PACKAGE", "VERSION", "ARCHITECTURE", "SIZE"});
  for (const v1::ImagePackage& package : manifest.packages())
    table.AddRow({package.name(), package.version(), package.architecture(),
                  HumanBytes(package.installed_bytes())});
  return absl::StrCat("\n", table.ToString());
}

// "~ NAME BEFORE -> AFTER", "+ NAME AFTER", "- NAME BEFORE".
std::string ChangeLine(absl::string_view name, absl::string_view before, absl::string_view after) {
  if (before.empty()) return absl::StrCat("+ ", name, " ", after, "\n");
  if (after.empty()) return absl::StrCat("- ", name, " ", before, "\n");
  return absl::StrCat("~ ", name, " ", before, " -> ", after, "\n");
}

// Sizes that look alike are no news.
std::string SizeChange(uint64_t before, uint64_t after) {
  const std::string from = HumanBytes(before), to = HumanBytes(after);
  return from == to ? absl::StrCat("other content, ", to) : absl::StrCat(from, " -> ", to);
}

// What kind of file it is, for "was a link".
absl::string_view KindOf(char type) {
  switch (type) {
    case 'f':
      return "file";
    case 'd':
      return "folder";
    case 'l':
      return "link";
    case 'c':
    case 'b':
      return "device";
    case 'p':
      return "pipe";
    default:
      return "socket";
  }
}

// Behind its path: the size of a file, the target of a link, the kind of others.
std::string Described(const ImageFile& file) {
  if (file.type == 'f') return HumanBytes(file.size);
  if (file.type == 'l') return absl::StrCat("-> ", CleanLine(file.target));
  return absl::StrCat("(", KindOf(file.type), ")");
}

std::string HowTheyDiffer(const ImageFile& before, const ImageFile& after) {
  std::vector<std::string> words;
  if (before.type != after.type) {
    words.push_back(absl::StrCat("was a ", KindOf(before.type), ", is a ", KindOf(after.type)));
  } else if (before.type == 'f' && before.size != after.size) {
    words.push_back(SizeChange(before.size, after.size));
  } else if (before.sha256 != after.sha256) {
    words.push_back("other content");
  } else if (before.target != after.target) {
    words.push_back(
        absl::StrCat("target ", CleanLine(before.target), " -> ", CleanLine(after.target)));
  }
  if (before.mode != after.mode)
    words.push_back(absl::StrFormat("mode %o -> %o", before.mode, after.mode));
  if (before.uid != after.uid || before.gid != after.gid)
    words.push_back(
        absl::StrCat("owner ", before.uid, ":", before.gid, " -> ", after.uid, ":", after.gid));
  return words.empty() ? "size" : absl::StrJoin(words, ", ");
}

std::string FileChangesOf(const ImageFilesDiff& diff) {
  const size_t total = diff.added + diff.removed + diff.changed;
  if (total == 0) return "\nno file differs\n";
  std::string text = "\n";
  for (const ImageFileChange& change : diff.files) {
    const std::string path = CleanLine((change.before ? change.before : change.after)->path);
    if (!change.before) {
      absl::StrAppend(&text, "+ ", path, " ", Described(*change.after), "\n");
    } else if (!change.after) {
      absl::StrAppend(&text, "- ", path, " ", Described(*change.before), "\n");
    } else {
      absl::StrAppend(&text, "~ ", path, ": ", HowTheyDiffer(*change.before, *change.after), "\n");
    }
  }
  if (total > diff.files.size())
    absl::StrAppend(&text, "… and ", total - diff.files.size(), " more; --files lists all\n");
  return absl::StrCat(text, "\n", Counted(diff.changed, "file"), " changed, ", diff.added, " new, ",
                      diff.removed, " gone\n");
}

using Json = nlohmann::ordered_json;

Json ValueOf(const std::string& text) { return text.empty() ? Json() : Json(text); }
Json ValueOf(const std::optional<uint64_t>& number) { return number ? Json(*number) : Json(); }
Json ValueOf(const std::optional<ImageFile>& file) {
  if (!file) return Json();
  return {{"type", std::string(1, file->type)},
          {"mode", absl::StrFormat("%o", file->mode)},
          {"uid", file->uid},
          {"gid", file->gid},
          {"size", file->size},
          {"sha256", ValueOf(file->sha256)},
          {"target", ValueOf(file->target)}};
}

// null: the files are not compared.
Json FilesValue(const std::optional<ImageFilesDiff>& diff) {
  if (!diff) return Json();
  Json changes = Json::array();
  for (const ImageFileChange& change : diff->files) {
    changes.push_back({{"path", (change.before ? change.before : change.after)->path},
                       {"before", ValueOf(change.before)},
                       {"after", ValueOf(change.after)}});
  }
  return {{"added", diff->added},
          {"removed", diff->removed},
          {"changed", diff->changed},
          {"changes", std::move(changes)}};
}

}  // namespace

Json ImageDiffValue(const v1::Image& before, const v1::Image& after, const ImageDiff& diff) {
  Json packages = Json::array(), roles = Json::array(), artifacts = Json::array();
  for (const PackageChangeRow& change : diff.packages)
    packages.push_back({{"name", change.name},
                        {"architecture", change.architecture},
                        {"before", ValueOf(change.before)},
                        {"after", ValueOf(change.after)}});
  for (const ImageRoleChange& change : diff.roles)
    roles.push_back({{"name", change.name},
                     {"before", ValueOf(change.before)},
                     {"after", ValueOf(change.after)}});
  for (const ImageArtifactChange& change : diff.artifacts)
    artifacts.push_back({{"name", change.name},
                         {"size_bytes_before", ValueOf(change.before)},
                         {"size_bytes_after", ValueOf(change.after)}});
  return {{"before", before.digest()},         {"after", after.digest()},
          {"packages", std::move(packages)},   {"roles", std::move(roles)},
          {"artifacts", std::move(artifacts)}, {"files", FilesValue(diff.files)}};
}

std::string RenderImages(const v1::ListImagesResponse& response, absl::Time now) {
  if (response.images().empty())
    return "no images; `muster image build` makes one, `muster image import` takes one from a "
           "folder\n";
  std::set<std::string> pinned;
  for (const v1::Image& image : response.images())
    if (image.pinned()) pinned.insert(image.manifest().name());
  Table table({"IMAGE", "DIGEST", "KIND", "SYSTEM", "SIZE", "PACKAGES", "KEPT", "MEANT"});
  const std::string* last = nullptr;
  for (const v1::Image& image : response.images()) {
    const v1::ImageManifest& manifest = image.manifest();
    // They come by name, then the newest first.
    const bool is_newest = last == nullptr || *last != manifest.name();
    last = &manifest.name();
    table.AddRow({manifest.name(), ShortDigest(image.digest()), manifest.kind(), SystemOf(manifest),
                  HumanBytes(ImageBytes(manifest)), absl::StrCat(image.packages()),
                  HumanTime(ToTime(image.kept_at()), now),
                  image.pinned()                                    ? "pinned"
                  : is_newest && pinned.count(manifest.name()) == 0 ? "newest"
                                                                    : ""});
  }
  return table.ToString();
}

std::string RenderImage(const v1::Image& image, absl::Time now, bool with_packages) {
  const v1::ImageManifest& manifest = image.manifest();
  uint64_t installed = 0;
  for (const v1::ImagePackage& package : manifest.packages())
    installed += package.installed_bytes();
  std::string text =
      absl::StrCat(BuildName(image), ": ", manifest.kind(), " image of ", SystemOf(manifest), ", ",
                   HumanBytes(ImageBytes(manifest)), image.pinned() ? ", pinned" : "", "\n\n");
  absl::StrAppend(&text, "digest    ", image.digest(), "\n");
  absl::StrAppend(&text, "built     ", BuiltOf(manifest.build(), now), "\n");
  absl::StrAppend(&text, "from      ", SourceOf(manifest), "\n");
  absl::StrAppend(&text, "kept      ", HumanTime(ToTime(image.kept_at()), now), " by ",
                  image.kept_by(), "\n");
  if (!manifest.kernel_arguments().empty())
    absl::StrAppend(&text, "kernel    ", absl::StrJoin(manifest.kernel_arguments(), " "), "\n");
  if (image.has_signed_kernel()) {
    const v1::SignedKernel& kernel = image.signed_kernel();
    absl::StrAppend(&text, "signed    ", HumanTime(ToTime(kernel.signed_at()), now), " by ",
                    kernel.signed_by(), ", certificate ", ShortDigest(kernel.certificate_sha256()),
                    ", as: ", kernel.command_line(), "\n");
  }
  absl::StrAppend(&text, "packages  ", manifest.packages_size(),
                  installed == 0 ? "" : absl::StrCat(", ", HumanBytes(installed), " installed"),
                  "\n");
  absl::StrAppend(&text, RolesOf(manifest), ArtifactsOf(manifest));
  return with_packages ? text + PackagesOf(manifest) : text;
}

std::string RenderSignedImage(const v1::Image& image) {
  const v1::SignedKernel& kernel = image.signed_kernel();
  std::vector<std::string> names;
  uint64_t bytes = 0;
  for (const v1::ImageArtifact& artifact : SignedArtifacts(kernel)) {
    names.push_back(artifact.name());
    bytes += artifact.size_bytes();
  }
  return absl::StrCat("image ", BuildName(image), " is signed: ", absl::StrJoin(names, ", "), ", ",
                      HumanBytes(bytes), ", for firmware with certificate ",
                      ShortDigest(kernel.certificate_sha256()), "\n",
                      "nodes with `boot_signed` boot it\n");
}

std::string RenderKeptImage(const v1::Image& image) {
  return absl::StrCat("image ", BuildName(image),
                      " is kept: ", HumanBytes(ImageBytes(image.manifest())), " in ",
                      Counted(image.manifest().artifacts_size(), "artifact"), ", ",
                      Counted(image.packages(), "package"), "\n");
}

std::string RenderVerifiedImage(absl::string_view name, const v1::VerifyImageResponse& response) {
  const std::string digest = ShortDigest(response.digest());
  if (response.faults().empty())
    return absl::StrCat("image ", name, ", build ", digest, ": everything is as it was kept\n");
  std::string text =
      absl::StrCat("image ", name, ", build ", digest, ": ",
                   CountedAre(response.faults_size(), "artifact"), " not as they were kept\n");
  for (const std::string& fault : response.faults()) absl::StrAppend(&text, "  ", fault, "\n");
  return absl::StrCat(text,
                      "`muster image import` of an exported copy sends what is damaged again, and "
                      "`muster image sign` makes signed.efi anew\n");
}

std::string RenderImageDiff(const v1::Image& before, const v1::Image& after,
                            const ImageDiff& diff) {
  std::string text = absl::StrCat(BuildName(before), " -> ", BuildName(after), "\n\n",
                                  RenderPackageChanges(diff.packages));
  if (!diff.roles.empty()) {
    text += "\n";
    for (const ImageRoleChange& role : diff.roles)
      text += ChangeLine(absl::StrCat("role ", role.name), ShortDigest(role.before),
                         ShortDigest(role.after));
  }
  if (!diff.artifacts.empty()) {
    text += "\n";
    for (const ImageArtifactChange& artifact : diff.artifacts) {
      if (artifact.before && artifact.after) {
        absl::StrAppend(&text, "~ ", artifact.name, ": ",
                        SizeChange(*artifact.before, *artifact.after), "\n");
        continue;
      }
      text += ChangeLine(artifact.name, artifact.before ? HumanBytes(*artifact.before) : "",
                         artifact.after ? HumanBytes(*artifact.after) : "");
    }
  }
  if (!diff.files.has_value())
    return text + "\nfiles are not compared: one of the images has no list of them\n";
  return text + FileChangesOf(*diff.files);
}

std::string RenderTransfer(absl::string_view what, absl::string_view artifact, uint64_t done,
                           uint64_t total) {
  return absl::StrCat(what, " ", artifact, ": ", HumanBytes(done), " of ", HumanBytes(total));
}

}  // namespace muster::cli
