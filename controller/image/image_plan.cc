#include "controller/image/image_plan.h"

#include <algorithm>
#include <memory>
#include <optional>

#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/yaml/value.h"
#include "controller/inventory/inventory.h"
#include "controller/run/plan/plan_finish.h"

namespace muster::controller::image {
namespace {

using muster::image::Definition;
using muster::image::Reference;

constexpr char kRoleFolder[] = "playbooks/roles/";
// Among a site's own files, where neither can be: they have no names that begin with a dot.
constexpr char kPlaybookPath[] = "playbooks/.image.yaml";
constexpr char kNodeFile[] = ".image.yaml";

// Gives every secret one value that is nowhere else, by which a step that was given one is known.
class Placeholders final : public SecretSource {
 public:
  absl::StatusOr<std::string> Get(absl::string_view, std::optional<uint32_t>,
                                  const SecretReader&) override {
    return value_;
  }
  absl::StatusOr<std::string> GetNext(absl::string_view, const SecretReader&) override {
    return absl::NotFoundError("nothing is rotated in an image");
  }

  const std::string& value() const { return value_; }

 private:
  const std::string value_ = Sha256Hex(RandomBytes(32));
};

bool HasRole(const FileTree& site, const std::string& role) {
  const std::string folder = absl::StrCat(kRoleFolder, role, "/");
  const auto found = site.lower_bound(folder);
  return found != site.end() && absl::StartsWith(found->first, folder);
}

absl::Status CheckRoles(const Definition& definition, const FileTree& site) {
  for (const Reference& role : definition.roles) {
    if (!HasRole(site, role.text))
      return definition.document.Error(
          role.node,
          absl::StrCat("there is no role '", role.text, "' in the site's folder ", kRoleFolder));
  }
  return absl::OkStatus();
}

absl::Status CheckGroups(const Definition& definition, const Inventory& inventory) {
  for (const Reference& group : definition.groups) {
    const Group* const found = inventory.FindGroup(group.text);
    if (found == nullptr)
      return definition.document.Error(
          group.node, absl::StrCat("the inventory has no group '", group.text, "'"));
    if (found->implicit)
      return definition.document.Error(
          group.node, absl::StrCat("'", group.text, "' is a group by itself; leave it out"));
  }
  return absl::OkStatus();
}

// JSON is YAML.
std::string PlaybookText(const Definition& definition) {
  nlohmann::ordered_json play = {{"play", absl::StrCat("image ", definition.name)},
                                 {"hosts", kRootNode},
                                 {"roles", nlohmann::ordered_json::array()}};
  for (const Reference& role : definition.roles) play["roles"].push_back(role.text);
  return nlohmann::ordered_json::array({std::move(play)}).dump();
}

std::string NodeText(const Definition& definition) {
  nlohmann::ordered_json node = {{"role", "compute"}};
  for (const Reference& group : definition.groups) node["groups"].push_back(group.text);
  return nlohmann::ordered_json{{"nodes", {{kRootNode, std::move(node)}}}}.dump();
}

// Removes the steps that are not for an image.
void LeaveOut(google::protobuf::RepeatedPtrField<v1::Step>& steps, ImagePlan& out) {
  const auto is_out = [&](const v1::Step& step) {
    if (!step.sensitive()) return !step.skip_reason().empty();
    out.left_out.emplace_back(step.step_id(), "it has a secret");
    return true;
  };
  steps.erase(std::remove_if(steps.begin(), steps.end(), is_out), steps.end());
}

// The contents that steps name.
void DropOtherBlobs(ImagePlan& out) {
  const std::string plan = out.plan.SerializeAsString();
  for (auto blob = out.blobs.begin(); blob != out.blobs.end();)
    blob = absl::StrContains(plan, blob->first) ? std::next(blob) : out.blobs.erase(blob);
}

absl::Status CheckWithoutSecrets(const ImagePlan& out, const std::string& placeholder) {
  bool is_found = false;
  for (const v1::RolePlan& role : out.plan.roles())
    is_found = is_found || absl::StrContains(role.SerializeAsString(), placeholder);
  for (const auto& [_, content] : out.blobs)
    is_found = is_found || absl::StrContains(*content, placeholder);
  if (!is_found) return absl::OkStatus();
  return absl::InternalError("a step that has a secret was about to become a part of the image");
}

}  // namespace

absl::Status CheckImage(const Definition& definition, const FileTree& site,
                        const std::map<std::string, std::string>& inventory_files) {
  RETURN_IF_ERROR(CheckRoles(definition, site));
  ASSIGN_OR_RETURN(const Inventory inventory, ParseInventory(inventory_files));
  if (inventory.FindNode(kRootNode) != nullptr)
    return absl::InvalidArgumentError(
        absl::StrCat("the inventory has a node ", kRootNode,
                     ", which is the name of images' roots; give that node another name"));
  return CheckGroups(definition, inventory);
}

absl::StatusOr<ImagePlan> PlanImage(const Definition& definition, const FileTree& site,
                                    std::map<std::string, std::string> inventory_files,
                                    nlohmann::ordered_json facts, ControllerOffer offer,
                                    absl::Time now) {
  RETURN_IF_ERROR(CheckImage(definition, site, inventory_files));
  inventory_files[kNodeFile] = NodeText(definition);
  ASSIGN_OR_RETURN(const Inventory inventory, ParseInventory(inventory_files));
  ImagePlan out;
  if (!definition.roles.empty()) {
    FileTree tree = site;
    tree[kPlaybookPath] = PlaybookText(definition);
    ASSIGN_OR_RETURN(const std::shared_ptr<const Playbook> playbook,
                     LoadPlaybook(tree, kPlaybookPath));
    CompileOptions options;
    for (const yaml::Entry& entry : definition.variables.entries())
      options.extra_vars[entry.key] = yaml::ToValue(entry.value);
    options.offer = std::move(offer);
    Placeholders secrets;
    FactsByNode facts_by_node;
    facts_by_node[kRootNode] = std::move(facts);
    std::vector<NodePlan> plans = CompilePlay(*playbook, 0, inventory, std::move(facts_by_node),
                                              {kRootNode}, options, secrets);
    if (plans.size() != 1) return absl::InternalError("an image was not compiled as one node");
    RETURN_IF_ERROR(Annotate(plans[0].error, absl::StrCat("image ", definition.name)));
    out.plan = std::move(*plans[0].plan);
    out.blobs = std::move(plans[0].blobs);
    for (v1::RolePlan& role : *out.plan.mutable_roles()) {
      LeaveOut(*role.mutable_steps(), out);
      LeaveOut(*role.mutable_handlers(), out);
      out.roles.emplace_back(role.name(), Sha256Hex(SerializeDeterministically(role)));
    }
    DropOtherBlobs(out);
    RETURN_IF_ERROR(CheckWithoutSecrets(out, secrets.value()));
  }
  RETURN_IF_ERROR(FinishPlan({.run_id = absl::StrCat("image-", definition.name),
                              .node_uuid = kRootNode,
                              .node_name = kRootNode,
                              .sequence = 1,
                              .expires_at = now + kPlanLifetime},
                             out.plan, out.blobs));
  return out;
}

}  // namespace muster::controller::image
