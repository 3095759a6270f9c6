#include "controller/wiring/offer.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/version.h"
#include "controller/config.h"
#include "controller/http/packages.h"
#include "controller/snapshot/snapshot_server.h"
#include "controller/snapshot/snapshot_store.h"

namespace muster::controller {

namespace {

std::string Server(const Config& config) {
  return absl::StrCat("http://", HostOf(config.controller_address),
                      config.package_listen.substr(config.package_listen.rfind(':')));
}

std::map<std::string, std::vector<ControllerOffer::Repository>> SnapshotsOf(
    const Config& config, const snapshot::SnapshotStore& snapshots) {
  std::map<std::string, std::vector<ControllerOffer::Repository>> offered;
  for (const auto& each : snapshots.List()) {
    for (const v1::SnapshotRepository& from : each->repositories()) {
      ControllerOffer::Repository& to = offered[each->name()].emplace_back();
      to.name = from.name();
      to.uri = absl::StrCat(Server(config), snapshot::PathOf(each->name(), from.name()));
      for (const v1::SnapshotSuite& suite : from.suites()) to.suites.push_back(suite.name());
      to.components.assign(from.components().begin(), from.components().end());
      to.architectures.assign(from.architectures().begin(), from.architectures().end());
      to.signed_by = from.signed_by();
      to.key = from.key();
    }
  }
  return offered;
}

}  // namespace

ControllerOffer OfferOf(const Config& config, const snapshot::SnapshotStore& snapshots) {
  ControllerOffer offer{.version = kVersion,
                        .address = HostOf(config.controller_address),
                        .agent_packages = {},
                        .snapshots = SnapshotsOf(config, snapshots)};
  const absl::StatusOr<std::vector<PackageFile>> files =
      ListAgentPackages(config.package_directory);
  if (!files.ok()) return offer;
  const std::string base = Server(config) + "/packages/";
  for (const PackageFile& file : *files) {
    // An agent of another version has nothing to do with this controller's.
    if (file.version != kVersion) continue;
    offer.agent_packages[file.architecture] = {absl::StrCat(base, file.name), file.sha256};
  }
  return offer;
}

}  // namespace muster::controller
