// Playbook × inventory × facts → one Plan per node and play. Pure: no I/O, no clock, no network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::v1 {
class Plan;
}

namespace muster::controller {

class Inventory;
struct Playbook;  // a parsed playbook with its roles, templates and files

// The files of a site bundle: path relative to the site's folder → content.
using FileTree = std::map<std::string, std::string>;

// Reads the playbook and every role, task file, handler file and default that it names; also parses
// templates and expressions, so that a misspelled word is found before anything starts. Several
// errors come in one status, a paragraph each, with file:line:column.
absl::StatusOr<std::shared_ptr<const Playbook>> LoadPlaybook(const FileTree& site,
                                                             absl::string_view path);

// The reader that asks for a secret.
struct SecretReader {
  std::string role;      // whose tasks, templates or variables ask
  std::string playbook;  // path in the bundle
};

// The source of secrets for templates.
class SecretSource {
 public:
  virtual ~SecretSource() = default;
  // Returns the secret's value. A missing secret is generated from `generate_bytes` random bytes
  // and from then on belongs to the reader; without `generate_bytes`: NotFound. PermissionDenied,
  // with the remedy: the secret does not name the reader. Thread-safe.
  virtual absl::StatusOr<std::string> Get(absl::string_view name,
                                          std::optional<uint32_t> generate_bytes,
                                          const SecretReader& reader) = 0;
  // The value that a rotation is bringing to the nodes. NotFound: no rotation is in progress.
  // PermissionDenied as for Get(), except for the rotation's own playbook. Thread-safe.
  virtual absl::StatusOr<std::string> GetNext(absl::string_view name,
                                              const SecretReader& reader) = 0;
};

class RunOwners;

// What the controller offers to its nodes, as the template variable `muster`.
struct ControllerOffer {
  std::string version;  // of musterd; empty in tests of playbooks alone
  std::string address;  // where nodes reach it, without the port; likewise
  struct Package {
    std::string url, sha256;
  };
  // Packages of the agent of this version, by the package system's name of the architecture.
  std::map<std::string, Package> agent_packages;
  // A repository of a snapshot, as os_repositories has one.
  struct Repository {
    std::string name, uri;
    std::vector<std::string> suites, components, architectures;
    std::string signed_by, key;
  };
  // Snapshots by name.
  std::map<std::string, std::vector<Repository>> snapshots;
};

struct CompileOptions {
  std::string limit;              // node selector; empty: all
  std::vector<std::string> tags;  // empty: all
  bool check_only = false;
  bool want_diff = false;
  // True: roles whose `when` is false are in the plan, with all of their tasks as skipped steps, so
  // that they can be explained.
  bool keep_left_out_roles = false;
  std::map<std::string, nlohmann::ordered_json> extra_vars;  // -e
  ControllerOffer offer;
  // The claims of the run's earlier plays on the nodes. nullptr: each play stands alone.
  std::shared_ptr<RunOwners> owners = nullptr;
};

// sha256 → content. A content that many nodes share is one string for all of them.
using PlanBlobs = std::map<std::string, std::shared_ptr<const std::string>>;

// The result of compiling a play for one node. Exactly one of plan and error is set: a node whose
// variables do not fit fails alone.
struct NodePlan {
  std::string node;
  std::unique_ptr<v1::Plan> plan;  // without ids, sequence, expiry and digest, which the run sets
  PlanBlobs blobs;                 // contents that travel beside the plan
  std::map<std::string, std::set<std::string>> secrets;  // name → roles that asked for it
  absl::Status error;
};

// The names of the plays with roles or tasks, in order.
std::vector<std::string> PlayNames(const Playbook& playbook);

// InvalidArgument, with the nearest known one, for a tag that occurs nowhere in the playbook.
absl::Status CheckTags(const Playbook& playbook, const std::vector<std::string>& tags);

// InvalidArgument, with their places: variables of the inventory and of -e that no file of the site
// has a word for, although one of almost the same name has a default in one of its roles or is the
// controller's own. Other variables that nothing reads are the site's affair.
absl::Status CheckVariableNames(const FileTree& site, const Inventory& inventory,
                                const std::map<std::string, nlohmann::ordered_json>& extra_vars);

// The nodes of play `play_index` under `limit`, in inventory order.
absl::StatusOr<std::vector<std::string>> SelectPlayNodes(const Playbook& playbook,
                                                         size_t play_index,
                                                         const Inventory& inventory,
                                                         absl::string_view limit);

// A suite that nodes are to pass at the end of a playbook.
struct PlaybookEnding {
  std::string play;
  std::string suite;
  std::vector<std::string> nodes;  // in inventory order; at least one
};

// The plays with `validate` that have one of `tags` (empty: all) and name nodes under `limit`, in
// order. InvalidArgument with its place: a play names a node to which no play applies anything, or
// which another one of them names.
absl::StatusOr<std::vector<PlaybookEnding>> SelectEndings(const Playbook& playbook,
                                                          const Inventory& inventory,
                                                          absl::string_view limit,
                                                          const std::vector<std::string>& tags);

// Facts by node name, as JSON (see ProtoToValue); a node without an entry has none.
using FactsByNode = std::map<std::string, nlohmann::ordered_json>;

// Compiles one play for `nodes` (names from SelectPlayNodes), at most `batch` at a time, in their
// order; computes once what the nodes share. Ends early when `take` returns false.
void CompilePlayInBatches(const Playbook& playbook, size_t play_index, const Inventory& inventory,
                          const FactsByNode& facts, const std::vector<std::string>& nodes,
                          const CompileOptions& options, SecretSource& secrets, size_t batch,
                          absl::FunctionRef<bool(std::vector<NodePlan>)> take);

// Compiles all of them at once.
std::vector<NodePlan> CompilePlay(const Playbook& playbook, size_t play_index,
                                  const Inventory& inventory, const FactsByNode& facts,
                                  const std::vector<std::string>& nodes,
                                  const CompileOptions& options, SecretSource& secrets);

}  // namespace muster::controller
