// One node's steps of a play.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "controller/playbook/compile/left_out_roles.h"
#include "controller/playbook/compile/scopes.h"
#include "controller/playbook/compiler.h"
#include "controller/playbook/errors.h"
#include "controller/playbook/model.h"

namespace muster::v1 {
class ArchiveResource;
class RolePlan;
class Step;
}  // namespace muster::v1

namespace muster::controller::playbook {

// The builder puts contents up to this size into the plan. A larger one may be in it for one task
// and a blob for another.
inline constexpr size_t kAlwaysInline = 4 << 10;

// Rendered template files that are the same on many nodes, by RoleScope::CacheKey.
using ContentCache = std::map<std::string, std::shared_ptr<const Content>>;

// The tasks of a role that the chosen tags leave.
struct ChosenRole {
  const RoleUse* use = nullptr;
  std::vector<std::string> needs;  // only roles that are left
  std::vector<const Task*> tasks;
};

// Fills the plan and the blobs of one NodePlan, role by role.
class PlanBuilder {
 public:
  // All references must outlive the builder.
  // `keep_left_out_roles`: see CompileOptions.
  PlanBuilder(NodeScope& node, ContentCache& cache, bool keep_left_out_roles, NodePlan* out);

  // Leaves the role out if its `when` is false on the node.
  void AddRole(const ChosenRole& chosen);
  // After the last role. All errors of all roles.
  absl::Status Finish();

 private:
  // Whether the rest of the role is compiled: what follows a broken assertion would only err for
  // the same reason.
  bool AddTask(const Task& task, RoleScope& scope, v1::RolePlan* role);
  // Whether it holds.
  bool CheckAssertion(const Task& task, const tmpl::Scope& names);
  void AddLoop(const Task& task, RoleScope& scope, v1::RolePlan* role);
  void AddHandlers(const Role& role, RoleScope& scope, v1::RolePlan* plan);
  v1::Step* AddSkipped(const Task& task, absl::string_view reason, v1::RolePlan* role);
  // `label` tells the steps of a loop apart.
  absl::Status AddStep(const Task& task, RoleScope& scope, const tmpl::Scope& names,
                       absl::string_view label, v1::RolePlan* role);
  // `names` is the role's scope, or one within it that has `item`.
  absl::Status FillResource(const Task& task, RoleScope& scope, const tmpl::Scope& names,
                            v1::Step* step);
  // What parameters say beyond the fields that they set.
  struct Filled {
    bool sensitive = false;
    // Content of the role that makes up the step's file or archive, to be placed once everything
    // else is known.
    std::shared_ptr<const Content> whole;
    std::set<std::string> none;  // keys of those that are none on this node
  };
  // Sets `message`, the step's resource or an entry of a list in it.
  absl::Status FillParams(const std::vector<NodeParam>& params, const Task& task, RoleScope& scope,
                          const tmpl::Scope& names, google::protobuf::Message* message,
                          v1::Step* step, Filled* filled);
  // The same for the entries of a list that is written out.
  absl::Status FillElements(const NodeParam& list, const Task& task, RoleScope& scope,
                            const tmpl::Scope& names, google::protobuf::Message* message,
                            v1::Step* step, Filled* filled);
  absl::StatusOr<std::shared_ptr<const Content>> FindContent(const NodeParam& param,
                                                             const Value& value, const Task& task,
                                                             RoleScope& scope,
                                                             const tmpl::Scope& names);
  // Puts a content into `file`, a FileResource or an entry of a set, or beside the plan.
  template <typename File>
  absl::Status PlaceContent(const Content& content, const Task& task, File* file);
  template <typename File>
  absl::Status PlaceOwnContent(bool sensitive, const Task& task, File* file);
  // Puts a role's archive into the step, or beside the plan.
  absl::Status PlaceArchive(const Content& content, const Task& task, v1::ArchiveResource* archive);
  // Records secrets that the role being added has asked for.
  void NoteSecrets(const std::set<std::string>& names);
  std::string UniqueId(const std::string& id);
  bool Add(const absl::Status& status);

  NodeScope& node_;
  ContentCache& cache_;
  const bool keep_left_out_roles_;
  NodePlan* const out_;
  const Role* role_ = nullptr;  // the one being added
  LeftOutRoles left_out_;
  ErrorList errors_;
  std::map<std::string, size_t> ids_;  // with how often each was asked for
  size_t steps_ = 0;
  size_t inline_bytes_ = 0;
};

}  // namespace muster::controller::playbook
