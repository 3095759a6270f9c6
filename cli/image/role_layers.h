// The layers of an image above its base: what each role has made of the root below it. Pure.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "muster/v1/image.pb.h"
#include "muster/v1/plan.pb.h"

namespace muster::cli {

struct RoleLayer {
  std::string role;
  // Over the base and all steps up to the role's last one: what the layer is kept under.
  std::string digest;
  // The role alone, for the agent.
  v1::Plan plan;
};

// The layers of `plan`, whose roles have the digests in `roles`, upon the base with `base_digest`:
// in the order in which they are laid, which is the plan's, but that no role comes before one that
// it needs. The plan's needs have no cycles (the controller has compiled it).
std::vector<RoleLayer> RoleLayers(absl::string_view base_digest, const v1::Plan& plan,
                                  const google::protobuf::RepeatedPtrField<v1::ImageRole>& roles);

}  // namespace muster::cli
