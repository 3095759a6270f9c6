// No text may crash the readers of an image's manifest and of its list of files. What they accept
// is written and read back as it was; no accepted name or path leads elsewhere.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "cli/image/image_diff.h"
#include "common/value/image_files.h"
#include "common/value/image_manifest.h"
#include "common/value/image_manifest_text.h"
#include "muster/v1/image.pb.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

void TryManifest(const std::string& text) {
  using namespace muster;
  const auto manifest = ReadImageManifest(text);
  if (!manifest.ok()) {
    if (manifest.status().message().empty()) std::abort();
    return;
  }
  for (const v1::ImageArtifact& artifact : manifest->artifacts()) {
    if (absl::StrContains(artifact.name(), "/") || absl::StartsWith(artifact.name(), ".") ||
        artifact.name() == kManifestFile)
      std::abort();
  }
  const auto written = WriteImageManifest(*manifest);
  if (!written.ok()) std::abort();
  const auto again = ReadImageManifest(*written);
  if (!again.ok() || ImageDigest(*again) != ImageDigest(*manifest)) std::abort();
}

void TryFiles(const std::string& text) {
  using namespace muster;
  ImageFilesReader reader(text);
  std::vector<ImageFile> files;
  while (true) {
    ImageFile file;
    const auto is_there = reader.Next(file);
    if (!is_there.ok()) {
      if (is_there.status().message().empty()) std::abort();
      return;
    }
    if (!*is_there) break;
    if (!absl::StartsWith(file.path, "/") || absl::StrContains(file.path + "/", "/../"))
      std::abort();
    files.push_back(std::move(file));
  }
  // One list has one text.
  const auto written = WriteImageFiles(files);
  if (!written.ok() || *written != text) std::abort();
  const auto diff = cli::DiffImageFiles(text, *written, 10);
  if (!diff.ok() || diff->added + diff->removed + diff->changed != 0) std::abort();
  const auto all = cli::DiffImageFiles("", text, 10);
  if (!all.ok() || all->added != files.size()) std::abort();
}

}  // namespace

FUZZ_TARGET(image, data, size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  TryManifest(text);
  TryFiles(text);
  const auto reference = muster::ParseImageReference(text);
  if (reference.ok() && text != reference->name &&
      text != reference->name + "@" + reference->digest)
    std::abort();
  return 0;
}
