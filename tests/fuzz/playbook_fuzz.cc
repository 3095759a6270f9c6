// No playbook may crash the loader or the compiler. The input is a task file, or, after a line
// "---8<---", a playbook, a task file and a template.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/strings/str_split.h"
#include "controller/inventory/inventory.h"
#include "controller/playbook/compiler.h"
#include "muster/v1/plan.pb.h"
#include "tests/fakes/fake_secret_source.h"
#include "tests/fuzz/fuzz_target.h"

namespace muster::controller {
namespace {

constexpr char kCluster[] = "cluster: c\nnodes: {c001: {role: compute}}\nvars: {v: \"{{ w }}\"}\n";

void Run(absl::string_view text) {
  const std::vector<std::string> parts = absl::StrSplit(text, "---8<---\n");
  FileTree site = {{"site.yaml", "- {play: p, hosts: all, roles: [r]}"},
                   {"playbooks/suites/acceptance.yaml", ""},
                   {"roles/r/tasks/main.yaml", parts[0]}};
  if (parts.size() > 1) {
    site["site.yaml"] = parts[0];
    site["roles/r/tasks/main.yaml"] = parts[1];
  }
  if (parts.size() > 2) site["roles/r/templates/t.j2"] = parts[2];
  const auto playbook = LoadPlaybook(site, "site.yaml");
  const auto inventory = ParseInventory({{"cluster.yaml", kCluster}});
  if (!playbook.ok() || !inventory.ok()) return;
  (void)SelectEndings(**playbook, *inventory, "", {});
  testing::FakeSecretSource secrets;
  const FactsByNode facts = {{"c001", {{"hostname", "c001"}}}};
  for (size_t play = 0; play < PlayNames(**playbook).size(); ++play) {
    (void)SelectPlayNodes(**playbook, play, *inventory, "");
    for (const NodePlan& plan :
         CompilePlay(**playbook, play, *inventory, facts, {"c001"}, {}, secrets)) {
      if (plan.plan != nullptr) (void)plan.plan->SerializeAsString();
    }
  }
}

}  // namespace
}  // namespace muster::controller

FUZZ_TARGET(playbook, data, size) {
  muster::controller::Run(absl::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
