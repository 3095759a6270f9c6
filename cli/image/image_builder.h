// Builds an image on this machine, from its definition and what the controller makes of it.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "muster/v1/image.pb.h"

namespace muster {
class Clock;
}

namespace muster::cli {

class BuildFolder;
class Connection;

struct ImageBuild {
  std::string name;     // of the image
  std::string site;     // the folder with images/ and playbooks/
  std::string sources;  // path of apt's sources; "": the snapshot's, or the distribution's archive
  std::string proxy;    // http://host:port for packages; "": none
  std::string keys;     // folder of the keys that sign its modules; "": they stay as they are
  bool is_fresh = false;    // make the first layer anew
  bool is_verbose = false;  // say what each program says
};

// What the builder needs besides.
struct BuildMeans {
  const Connection& connection;
  BuildFolder& folder;
  Clock& clock;
  // Lines for people, without their newlines.
  std::function<void(absl::string_view line)> say;
};

// Leaves the image's artifacts, each under its name, in the folder's Result(), and returns the
// manifest. Ctrl-C stops it: Cancelled. REQUIRES: CheckBuildTools() was OK.
absl::StatusOr<v1::ImageManifest> BuildImage(const ImageBuild& build, const BuildMeans& means);

}  // namespace muster::cli
