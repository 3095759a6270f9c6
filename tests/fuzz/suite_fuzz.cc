// No text may crash the readers of suites and hardware files. What parses must survive what is done
// with it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/string_view.h"
#include "controller/validation/hardware.h"
#include "controller/validation/suite.h"
#include "controller/validation/validation_state.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace muster::controller::validation;
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const auto suite = ParseSuite("playbooks/suites/s.yaml", text, muster::checks::Checks());
  if (!suite.ok() && suite.status().message().empty()) std::abort();
  if (suite.ok()) {
    ValidationNode node;
    node.name = "c1";
    node.uuid = "u1";
    node.traits = {2, true, true};
    (void)ValidationState::CheckSize(*suite, 100, 0);
    ValidationState state("v", *suite, {node}, 0, {});
    state.Begin({"u1"}, absl::UnixEpoch());
    // Each check ends, so the validation does.
    for (int i = 0; i < 5000 && !state.finished(); ++i) {
      const auto running = state.Running();
      if (running.empty()) std::abort();
      state.OnReport(std::string(running[0]->check_id), PartOutcome::kPass, absl::UnixEpoch());
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
