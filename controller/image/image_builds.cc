#include "controller/image/image_builds.h"

#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/image/definition.h"
#include "common/value/proto_value.h"
#include "controller/http/packages.h"
#include "controller/image/image_plan.h"
#include "controller/run/plan/stored_inventory.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"

namespace muster::controller::image {

absl::StatusOr<v1::PlanImageResponse> ImageBuilds::Plan(const v1::PlanImageRequest& request) {
  ASSIGN_OR_RETURN(const FileTree site, means_.load_bundle(request.bundle_sha256()));
  const std::string path = muster::image::DefinitionPath(request.name());
  const auto text = site.find(path);
  if (text == site.end())
    return absl::InvalidArgumentError(absl::StrCat("the bundle has no ", path));
  ASSIGN_OR_RETURN(const muster::image::Definition definition,
                   muster::image::ParseDefinition(request.name(), path, text->second));
  const ControllerOffer offer = means_.offer();
  v1::PlanImageResponse response;
  RETURN_IF_ERROR(AddSnapshot(definition.snapshot, offer, response));
  for (const auto& [architecture, package] : offer.agent_packages) {
    v1::OfferedPackage& each = *response.add_agent_packages();
    each.set_architecture(architecture);
    each.set_sha256(package.sha256);
  }
  InventoryRecord record;
  RETURN_IF_ERROR(means_.store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(record, txn.inventory().Latest());
    return absl::OkStatus();
  }));
  ASSIGN_OR_RETURN(auto inventory, FilesOf(record));
  if (!request.has_facts()) {
    // Before a root is made for nothing.
    RETURN_IF_ERROR(CheckImage(definition, site, inventory));
    return response;
  }
  ASSIGN_OR_RETURN(ImagePlan plan,
                   PlanImage(definition, site, std::move(inventory), ProtoToValue(request.facts()),
                             offer, means_.clock.Now()));
  *response.mutable_plan() = std::move(plan.plan);
  for (const auto& [sha256, content] : plan.blobs) {
    v1::ImageBlob& blob = *response.add_blobs();
    blob.set_sha256(sha256);
    blob.set_content(*content);
  }
  for (auto& [name, sha256] : plan.roles) {
    v1::ImageRole& role = *response.add_roles();
    role.set_name(name);
    role.set_sha256(sha256);
  }
  for (auto& [step_id, reason] : plan.left_out) {
    v1::LeftOutStep& step = *response.add_left_out();
    step.set_step_id(step_id);
    step.set_reason(reason);
  }
  return response;
}

absl::Status ImageBuilds::AddSnapshot(const std::string& name, const ControllerOffer& offer,
                                      v1::PlanImageResponse& response) {
  if (name.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const absl::Time packages_at, means_.packages_at(name));
  if (packages_at != absl::InfinitePast())
    *response.mutable_packages_at() = ToTimestamp(packages_at);
  const auto found = offer.snapshots.find(name);
  if (found == offer.snapshots.end())
    return absl::NotFoundError(absl::StrCat("there is no snapshot ", name));
  for (const ControllerOffer::Repository& from : found->second) {
    v1::ImageRepository& to = *response.add_repositories();
    to.set_uri(from.uri);
    for (const std::string& suite : from.suites) to.add_suites(suite);
    for (const std::string& component : from.components) to.add_components(component);
    to.set_signed_by(from.signed_by);
    to.set_key(from.key);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ImageBuilds::AgentPackage(const std::string& sha256) {
  ASSIGN_OR_RETURN(const std::vector<PackageFile> packages,
                   ListAgentPackages(means_.package_directory));
  for (const PackageFile& each : packages) {
    if (each.sha256 == sha256) return absl::StrCat(means_.package_directory, "/", each.name);
  }
  return absl::NotFoundError(
      absl::StrCat("the controller has no package of the agent with the digest ", sha256));
}

}  // namespace muster::controller::image
