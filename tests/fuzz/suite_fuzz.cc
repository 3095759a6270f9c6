// No text may crash the readers of suites and hardware files. Texts that parse must survive every
// operation on them.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "controller/validation/schedule/validation_state.h"
#include "controller/validation/suite/hardware.h"
#include "controller/validation/suite/suite.h"
#include "tests/fuzz/fuzz_target.h"

FUZZ_TARGET(suite, data, size) {
  using namespace muster::controller::validation;
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const auto suite = ParseSuite("playbooks/suites/s.yaml", text, muster::checks::Checks());
  if (!suite.ok() && suite.status().message().empty()) std::abort();
  if (suite.ok()) {
    // The fewest nodes with rounds of pairs in which one of them rests. One lacks hardware that
    // others have.
    std::vector<ValidationNode> nodes(3);
    for (size_t i = 0; i < nodes.size(); ++i) {
      nodes[i].name = absl::StrCat("c", i);
      nodes[i].uuid = absl::StrCat("u", i);
      nodes[i].traits.gpus = 2;
      nodes[i].traits.nics = true;
      nodes[i].traits.rdma = i > 0;
      nodes[i].traits.mounts = true;
    }
    (void)ValidationState::CheckSize(*suite, 100, 0);
    size_t checks = 0;
    for (const SuiteStage& stage : suite->stages) checks += stage.checks.size();
    ValidationState state("v", *suite, nodes, 0, {});
    state.Begin({"u0", "u1", "u2"}, absl::UnixEpoch());
    // Each check ends, so the validation does: three rounds with one pair each.
    std::set<std::string> started;
    for (size_t i = 0; i <= checks * 3 * 2 && !state.finished(); ++i) {
      const auto running = state.Running();
      if (running.empty()) std::abort();
      std::map<std::string, size_t> at_work;  // by node: checks in parallel, but one pair at a time
      for (const CheckPart* part : running) {
        if (!part->Partner().empty() && ++at_work[absl::StrCat(part->check, part->node)] > 1) {
          std::abort();
        }
      }
      const std::string id = running[0]->check_id;
      if (!started.insert(id).second) std::abort();
      state.OnReport(id, PartOutcome::kPass, absl::UnixEpoch());
    }
    if (!state.finished()) std::abort();
  }
  const auto library =
      ParseHardware({{"inventory/hardware/h.yaml", std::string(text)}}, muster::checks::Checks());
  if (!library.ok()) {
    if (library.status().message().empty()) std::abort();
    return 0;
  }
  for (const HardwareModel& model : library->models()) {
    for (const std::string& name : model.match) (void)library->Find(model.kind, name);
    for (const HardwareLimit& limit : model.limits) {
      if (limit.floor.has_value() && limit.source.empty()) std::abort();
    }
  }
  return 0;
}
