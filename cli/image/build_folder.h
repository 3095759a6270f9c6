// Where a person's builds of images lie: layers that are kept, and the folder of the build that is
// running.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/sys/process/process.h"
#include "common/sys/unique_fd.h"

namespace muster::cli {

// `wanted`, or else muster/images in $XDG_CACHE_HOME or ~/.cache. InvalidArgument: none of them is
// an absolute path, or it has characters that mean something to mmdebstrap.
absl::StatusOr<std::string> BuildFolderPath(const std::string& wanted);

// One build at a time. Destroying it removes the build's own folder and keeps the layers.
class BuildFolder {
 public:
  // A layer that was not used for so long is removed.
  static constexpr absl::Duration kLayerLife = absl::Hours(24 * 7);

  // Makes the folder (0700), removes what a build that was killed has left and old layers.
  // FailedPrecondition: another build is running there. `processes` must outlive the object.
  static absl::StatusOr<std::unique_ptr<BuildFolder>> Open(const std::string& path,
                                                           sys::ProcessRunner& processes,
                                                           absl::Time now);
  ~BuildFolder();
  BuildFolder(const BuildFolder&) = delete;
  BuildFolder& operator=(const BuildFolder&) = delete;

  // Paths of the build's own.
  std::string Root() const { return build_ + "/root"; }
  std::string Exchange() const { return build_ + "/exchange"; }
  std::string Result() const { return build_ + "/result"; }
  // For mmdebstrap, whose subordinate ids may not enter a person's home.
  const std::string& Scratch() const { return scratch_; }
  std::string File(const std::string& name) const { return build_ + "/" + name; }

  // The file of a base, whether it is there or not, and of a role's layer above it.
  std::string BasePath(const std::string& digest) const;
  std::string RolePath(const std::string& base_digest, const std::string& digest) const;
  // Whether that file is there; it counts as used now.
  bool Use(const std::string& path);
  // Gives the base that was made at NewLayer() its name, and removes the layers above an earlier
  // one: it may have been another.
  absl::Status KeepBase(const std::string& digest);
  // Gives the layer that was made there its name.
  absl::Status KeepRole(const std::string& base_digest, const std::string& digest);
  std::string NewLayer() const { return build_ + "/layer.tar"; }

 private:
  BuildFolder(std::string path, sys::UniqueFd lock, sys::ProcessRunner& processes)
      : path_(std::move(path)),
        build_(path_ + "/build"),
        lock_(std::move(lock)),
        processes_(processes) {}
  absl::Status RemoveBuild();
  absl::Status Keep(const std::string& path);

  const std::string path_;
  const std::string build_;
  std::string scratch_;  // in /var/tmp; removed with the build
  const sys::UniqueFd lock_;
  sys::ProcessRunner& processes_;
};

}  // namespace muster::cli
