// What the roles of an image's definition make of its root. Pure.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/image/definition.h"
#include "controller/playbook/compiler.h"
#include "muster/v1/plan.pb.h"

namespace muster::controller::image {

// The node that a root is compiled as. A site's own nodes cannot have the name.
inline constexpr char kRootNode[] = "muster-image";

struct ImagePlan {
  v1::Plan plan;  // complete, with identity and digest
  PlanBlobs blobs;
  std::vector<std::pair<std::string, std::string>> roles;     // name → SHA-256 of its steps
  std::vector<std::pair<std::string, std::string>> left_out;  // step's id → why
};

// Whether the roles and groups that the definition names exist: what can be known before there is a
// root. InvalidArgument as PlanImage().
absl::Status CheckImage(const muster::image::Definition& definition, const FileTree& site,
                        const std::map<std::string, std::string>& inventory_files);

// Compiles the definition's roles from `site`, in their order, for a node of the role "compute"
// that is in the definition's groups and has `facts`. Steps that read a secret are left out: an
// image is read by whoever boots it. `inventory_files` are those of the inventory as it was
// applied. InvalidArgument: the definition, the inventory or a role, with the place.
absl::StatusOr<ImagePlan> PlanImage(const muster::image::Definition& definition,
                                    const FileTree& site,
                                    std::map<std::string, std::string> inventory_files,
                                    nlohmann::ordered_json facts, ControllerOffer offer,
                                    absl::Time now);

}  // namespace muster::controller::image
