#include "cli/image/image_diff.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status.h"
#include "muster/v1/image.pb.h"

namespace muster::cli {
namespace {

// What each of two images has under a key.
template <typename Key, typename Value>
using Pairs = std::map<Key, std::pair<Value, Value>>;

using Words = std::vector<std::string>;

std::string Joined(const Words& words) { return absl::StrJoin(words, ", "); }

std::vector<PackageChangeRow> DiffPackages(const v1::ImageManifest& before,
                                           const v1::ImageManifest& after) {
  Pairs<std::pair<std::string, std::string>, Words> versions;
  for (const v1::ImagePackage& package : before.packages())
    versions[{package.name(), package.architecture()}].first.push_back(package.version());
  for (const v1::ImagePackage& package : after.packages())
    versions[{package.name(), package.architecture()}].second.push_back(package.version());
  std::vector<PackageChangeRow> changes;
  for (const auto& [package, each] : versions) {
    if (each.first == each.second) continue;
    changes.push_back({package.first, package.second, Joined(each.first), Joined(each.second)});
  }
  return changes;
}

std::vector<ImageRoleChange> DiffRoles(const v1::ImageManifest& before,
                                       const v1::ImageManifest& after) {
  Pairs<std::string, Words> digests;
  for (const v1::ImageRole& role : before.roles())
    digests[role.name()].first.push_back(role.sha256());
  for (const v1::ImageRole& role : after.roles())
    digests[role.name()].second.push_back(role.sha256());
  std::vector<ImageRoleChange> changes;
  for (const auto& [name, each] : digests) {
    if (each.first != each.second)
      changes.push_back({name, Joined(each.first), Joined(each.second)});
  }
  return changes;
}

std::vector<ImageArtifactChange> DiffArtifacts(const v1::ImageManifest& before,
                                               const v1::ImageManifest& after) {
  Pairs<std::string, const v1::ImageArtifact*> artifacts;
  for (const v1::ImageArtifact& artifact : before.artifacts())
    artifacts[artifact.name()].first = &artifact;
  for (const v1::ImageArtifact& artifact : after.artifacts())
    artifacts[artifact.name()].second = &artifact;
  std::vector<ImageArtifactChange> changes;
  for (const auto& [name, each] : artifacts) {
    const auto [old_one, new_one] = each;
    if (old_one != nullptr && new_one != nullptr && old_one->sha256() == new_one->sha256())
      continue;
    ImageArtifactChange& change = changes.emplace_back();
    change.name = name;
    if (old_one != nullptr) change.before = old_one->size_bytes();
    if (new_one != nullptr) change.after = new_one->size_bytes();
  }
  return changes;
}

// A list of files with the one that it has come to.
class Side {
 public:
  Side(absl::string_view text, const char* which) : reader_(text), which_(which) {}

  absl::Status Next() {
    const absl::StatusOr<bool> is_there = reader_.Next(file_);
    RETURN_IF_ERROR(Annotate(is_there.status(), which_));
    is_there_ = *is_there;
    return absl::OkStatus();
  }
  bool is_there() const { return is_there_; }
  const ImageFile& file() const { return file_; }

 private:
  ImageFilesReader reader_;
  const char* const which_;
  ImageFile file_;
  bool is_there_ = false;
};

}  // namespace

ImageDiff DiffImageManifests(const v1::ImageManifest& before, const v1::ImageManifest& after) {
  return {.packages = DiffPackages(before, after),
          .roles = DiffRoles(before, after),
          .artifacts = DiffArtifacts(before, after),
          .files = std::nullopt};
}

absl::StatusOr<ImageFilesDiff> DiffImageFiles(absl::string_view before, absl::string_view after,
                                              size_t max_files) {
  Side old_side(before, "the first image"), new_side(after, "the second image");
  RETURN_IF_ERROR(old_side.Next());
  RETURN_IF_ERROR(new_side.Next());
  ImageFilesDiff diff;
  while (old_side.is_there() || new_side.is_there()) {
    // Both lists are sorted: the smaller path is the one that the other does not have.
    const int order = !new_side.is_there()   ? -1
                      : !old_side.is_there() ? 1
                                             : old_side.file().path.compare(new_side.file().path);
    if (order != 0 || old_side.file() != new_side.file()) {
      ++(order < 0 ? diff.removed : order > 0 ? diff.added : diff.changed);
      if (diff.files.size() < max_files) {
        ImageFileChange& change = diff.files.emplace_back();
        if (order <= 0) change.before = old_side.file();
        if (order >= 0) change.after = new_side.file();
      }
    }
    if (order <= 0) RETURN_IF_ERROR(old_side.Next());
    if (order >= 0) RETURN_IF_ERROR(new_side.Next());
  }
  return diff;
}

}  // namespace muster::cli
