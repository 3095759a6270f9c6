// What the controller does for a build of an image, which happens elsewhere.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "controller/playbook/compiler.h"
#include "muster/v1/image.pb.h"

namespace muster {
class Clock;
}

namespace muster::controller {
class Store;
}

namespace muster::controller::image {

// Thread-safe. Blocks for the store and the disk.
class ImageBuilds {
 public:
  struct Means {
    Store& store;
    Clock& clock;
    std::function<absl::StatusOr<FileTree>(const std::string& sha256)> load_bundle;
    std::function<ControllerOffer()> offer;
    // When the distribution made the newest index of a snapshot; InfinitePast: it does not say.
    // NotFound: there is no such snapshot.
    std::function<absl::StatusOr<absl::Time>(const std::string& snapshot)> packages_at;
    // The folder of the agent's packages.
    std::string package_directory;
  };

  // What `means` refers to must outlive the object.
  explicit ImageBuilds(Means means) : means_(std::move(means)) {}

  // See ImageService.PlanImage.
  absl::StatusOr<v1::PlanImageResponse> Plan(const v1::PlanImageRequest& request);
  // The path of the agent's package of that digest. NotFound: there is none.
  absl::StatusOr<std::string> AgentPackage(const std::string& sha256);

 private:
  absl::Status AddSnapshot(const std::string& name, const ControllerOffer& offer,
                           v1::PlanImageResponse& response);

  const Means means_;
};

}  // namespace muster::controller::image
