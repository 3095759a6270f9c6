#include "controller/service/stack_service.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "controller/inventory/inventory.h"
#include "controller/playbook/compile/node_stack.h"
#include "controller/run/plan/values_of_facts.h"
#include "controller/service/front/refusal.h"
#include "controller/service/front/request_rules.h"
#include "controller/stack/stack_diff.h"
#include "controller/stack/stack_set.h"

namespace muster::controller {
namespace {

using Files = google::protobuf::RepeatedPtrField<v1::InventoryFile>;
using stack::Stack;
using stack::StackSet;

absl::StatusOr<StackSet> ReadSet(const Files& files) {
  ASSIGN_OR_RETURN(const auto contents,
                   SiteFiles(files, {stack::kStackFolder, stack::kHardwareFolder}));
  std::map<std::string, std::string> stacks;
  std::map<std::string, std::string> hardware;
  for (const auto& [path, content] : contents) {
    (absl::StartsWith(path, stack::kStackFolder) ? stacks : hardware).emplace(path, content);
  }
  return StackSet::Read(stacks, hardware);
}

v1::Stack ToProto(const Stack& stack) {
  v1::Stack out;
  out.set_name(stack.name);
  out.set_path(stack.place.file);
  out.set_description(stack.description);
  for (const stack::Word& os : stack.os) out.add_os(os.text);
  out.set_kernel_from(stack.kernel.from);
  out.set_kernel_below(stack.kernel.below);
  for (const stack::ComponentSpec& spec : stack::ComponentSpecs()) {
    const stack::Component* const component = stack.Find(spec.name);
    if (component == nullptr) continue;
    v1::StackComponent& part = *out.add_components();
    part.set_name(std::string(spec.name));
    part.set_version(component->version.text);
    for (const auto& [key, word] : component->words) (*part.mutable_details())[key] = word.text;
    if (component->kernels.has_value()) {
      (*part.mutable_details())["kernels"] = component->kernels->ToString();
    }
    for (const auto& [name, version] : component->packages) {
      v1::StackPackage& package = *part.add_packages();
      package.set_name(name);
      package.set_version(version.text);
    }
  }
  return out;
}

void AddChanges(const std::vector<stack::StackChange>& changes, v1::StackDiff& diff) {
  for (const stack::StackChange& each : changes) {
    v1::StackChange& change = *diff.add_changes();
    change.set_component(each.component);
    change.set_what(each.what);
    change.set_before(each.before);
    change.set_after(each.after);
    change.set_reported(each.reported);
  }
}

// Folds messages for single nodes that differ in nothing but `nodes` into one for all of them, in
// the order of the first nodes.
template <typename Message>
class Folder {
 public:
  void Add(const std::string& node, const Message& message) {
    const auto [found, is_new] = index_.emplace(message.SerializeAsString(), folded_.size());
    if (is_new) folded_.push_back({message, {}});
    folded_[found->second].second.push_back(node);
  }
  void MoveTo(google::protobuf::RepeatedPtrField<Message>* out) {
    for (auto& [message, nodes] : folded_) {
      message.set_nodes(FoldHostlist(std::move(nodes)));
      *out->Add() = std::move(message);
    }
  }

 private:
  std::map<std::string, size_t> index_;
  std::vector<std::pair<Message, std::vector<std::string>>> folded_;
};

}  // namespace

grpc::Status StackService::ReadStacks(grpc::ServerContext*, const v1::ReadStacksRequest* request,
                                      v1::ReadStacksResponse* response) {
  return Answer(Read(*request, *response), response);
}

grpc::Status StackService::CheckStacks(grpc::ServerContext*, const v1::CheckStacksRequest* request,
                                       v1::CheckStacksResponse* response) {
  return Answer(Check(*request, *response), response);
}

grpc::Status StackService::DiffStacks(grpc::ServerContext*, const v1::DiffStacksRequest* request,
                                      v1::DiffStacksResponse* response) {
  return Answer(Diff(*request, *response), response);
}

absl::Status StackService::Read(const v1::ReadStacksRequest& request,
                                v1::ReadStacksResponse& response) {
  ASSIGN_OR_RETURN(const StackSet stacks, ReadSet(request.files()));
  for (const auto& [name, stack] : stacks.stacks()) *response.add_stacks() = ToProto(stack);
  return absl::OkStatus();
}

absl::Status StackService::Check(const v1::CheckStacksRequest& request,
                                 v1::CheckStacksResponse& response) {
  ASSIGN_OR_RETURN(const StackSet stacks, ReadSet(request.files()));
  ASSIGN_OR_RETURN(const InventoryVersion version, inventory_.Latest());
  ASSIGN_OR_RETURN(const std::vector<const Node*> nodes,
                   Select(*version.inventory, request.nodes().empty() ? "all" : request.nodes()));
  ASSIGN_OR_RETURN(const FactsByNode facts, ReadAllFacts(store_));
  Folder<v1::NodeStack> folder;
  for (NodeStack& each :
       controller::CheckStacks(stacks, *version.inventory, facts, nodes, nullptr)) {
    v1::NodeStack row;
    row.set_stack(each.stack);
    row.set_chosen_at(each.place);
    for (std::string& problem : each.problems) row.add_problems(std::move(problem));
    row.set_without_facts(!each.has_facts);
    folder.Add(each.node, row);
  }
  folder.MoveTo(response.mutable_nodes());
  response.set_inventory_revision(version.revision);
  return absl::OkStatus();
}

absl::Status StackService::Diff(const v1::DiffStacksRequest& request,
                                v1::DiffStacksResponse& response) {
  ASSIGN_OR_RETURN(const StackSet stacks, ReadSet(request.files()));
  const Stack* const first = stacks.Find(request.stack());
  if (first == nullptr) return absl::NotFoundError(stacks.Unknown(request.stack()));
  if (const Stack* const second = stacks.Find(request.stack_or_nodes())) {
    v1::StackDiff& diff = *response.add_diffs();
    diff.set_from(first->name);
    diff.set_to(second->name);
    AddChanges(stack::DiffStacks(first, *second, {}), diff);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const InventoryVersion version, inventory_.Latest());
  const absl::StatusOr<std::vector<const Node*>> nodes =
      Select(*version.inventory, request.stack_or_nodes());
  if (!nodes.ok()) {
    return absl::NotFoundError(absl::StrCat(stacks.Unknown(request.stack_or_nodes()),
                                            ", and no nodes either: ", nodes.status().message()));
  }
  ASSIGN_OR_RETURN(const FactsByNode facts, ReadAllFacts(store_));
  Folder<v1::StackDiff> folder;
  for (NodeStack& each :
       controller::CheckStacks(stacks, *version.inventory, facts, *nodes, first)) {
    v1::StackDiff diff;
    diff.set_from(each.stack);
    diff.set_to(first->name);
    AddChanges(stack::DiffStacks(stacks.Find(each.stack), *first, ReportedBy(facts, each.node)),
               diff);
    for (std::string& problem : each.problems) diff.add_problems(std::move(problem));
    folder.Add(each.node, diff);
  }
  folder.MoveTo(response.mutable_diffs());
  return absl::OkStatus();
}

}  // namespace muster::controller
