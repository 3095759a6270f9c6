// The parts that commands have in common which change the nodes of a running cluster: the site, and
// runs of its playbook on those that have to know of the change.
#pragma once

#include <iosfwd>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/context.h"

namespace CLI {
class App;
}

namespace muster::cli {

class Connection;
struct Bystanders;
struct InventoryChange;

struct SiteOptions {
  std::string site = ".", inventory = "inventory", playbook = "playbooks/site.yaml";
  std::vector<std::string> extra_vars;
  bool plan = false, yes = false, verbose = false;

  std::string inventory_path() const { return InSite(inventory); }
  std::string playbook_path() const { return InSite(playbook); }
  std::string InSite(const std::string& path) const;
  // Whether the playbook has the part that tells a node the names and addresses of all others.
  bool HasNamesTag() const;
};

// Adds --site, --inventory, --plan and --yes. `options` must outlive the command.
void AddInventoryOptions(CLI::App& command, SiteOptions& options);
// Those, --playbook, --extra-vars and --verbose.
void AddSiteOptions(CLI::App& command, SiteOptions& options);

// The nodes whose configuration lists all nodes: slurmctld's, and the servers of files, packages,
// time and metrics, which are login and storage nodes.
inline constexpr char kListingNodes[] = "login,storage";

// The edit of the inventory, as a diff and as what it changes.
std::string DescribeEdit(const InventoryChange& change);
// "  1. write inventory and apply it\n  2. …".
std::string NumberSteps(const std::vector<std::string>& steps);

struct PlaybookRun {
  std::string limit;
  std::string tag;  // only that part of it, on nodes that the change is not about: without those
                    // that are busy
  bool skip_validation = false;
};
absl::StatusOr<int> RunPlaybook(Context& context, Connection& connection,
                                const SiteOptions& options, const PlaybookRun& run);

// Brings /etc/hosts of the other workers up to date. Those that are away or busy are told by the
// next apply, and hold up nobody. `names` are the nodes that the change is about. The exit code is
// that of the run.
absl::StatusOr<int> TellNames(Context& context, Connection& connection, const SiteOptions& options,
                              const std::set<std::string>& names);

// Brings what lists all nodes on login and storage nodes up to date: /etc/hosts and the boot
// server's addresses. Where that fails, the command that repeats it goes to standard error. The
// exit code is that of the run. REQUIRES: options.HasNamesTag().
absl::StatusOr<int> TellLists(Context& context, Connection& connection, const SiteOptions& options);
// The same as a command for a shell.
std::string CommandThatTellsLists(const SiteOptions& options);

// Nodes that have joined, on their way to jobs: the other workers learn their names, then the
// playbook configures them and the nodes that list all nodes, and ends with what validates them.
// The exit code is that of the playbook.
absl::StatusOr<int> TakeIn(Context& context, Connection& connection, const SiteOptions& options,
                           const std::vector<std::string>& names, bool skip_validation);
// The steps of TakeIn(), for people.
std::vector<std::string> StepsOfTakingIn(const SiteOptions& options,
                                         const std::vector<std::string>& names,
                                         bool skip_validation);

// Looks at the bystanders again and compares.
absl::StatusOr<std::string> CompareBystanders(const Connection& connection,
                                              const std::set<std::string>& concerned,
                                              const Bystanders& before);

}  // namespace muster::cli
