#include "controller/wiring/offer.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/version.h"
#include "controller/config.h"
#include "controller/http/packages.h"

namespace muster::controller {

ControllerOffer OfferOf(const Config& config) {
  ControllerOffer offer{
      .version = kVersion, .address = HostOf(config.controller_address), .agent_packages = {}};
  const absl::StatusOr<std::vector<PackageFile>> files =
      ListAgentPackages(config.package_directory);
  if (!files.ok()) return offer;
  const std::string base =
      absl::StrCat("http://", HostOf(config.controller_address),
                   config.package_listen.substr(config.package_listen.rfind(':')), "/packages/");
  for (const PackageFile& file : *files) {
    // An agent of another version has nothing to do with this controller's.
    if (file.version != kVersion) continue;
    offer.agent_packages[file.architecture] = {absl::StrCat(base, file.name), file.sha256};
  }
  return offer;
}

}  // namespace muster::controller
