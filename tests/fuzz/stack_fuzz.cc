// No text may crash the reader of stacks. Stacks that parse must survive every comparison.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include <nlohmann/json.hpp>

#include "absl/strings/string_view.h"
#include "controller/stack/stack_diff.h"
#include "controller/stack/stack_fit.h"
#include "controller/stack/stack_set.h"
#include "tests/fuzz/fuzz_target.h"

FUZZ_TARGET(stack, data, size) {
  using namespace muster::controller::stack;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto models = GpuModels::Read({{"inventory/hardware/h.yaml", text}});
  if (!models.ok() && models.status().message().empty()) std::abort();
  const auto set = StackSet::Read({{"playbooks/stacks/s.yaml", text}}, {});
  if (!set.ok()) {
    if (set.status().message().empty()) std::abort();
    return 0;
  }
  const Stack& stack = *set->Find("s");
  (void)set->ValueOf("s")->dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  if (!DiffStacks(&stack, stack, {}).empty()) std::abort();
  (void)DiffStacks(nullptr, stack, {text, text});
  NodeState node{.os_id = text.substr(0, 8),
                 .os_version = text.substr(0, 8),
                 .kernel = text,
                 .next_kernel = text.substr(0, 16),
                 .gpu_devices = {"1b06", "2901", text.substr(0, 4)}};
  node.gpu_model.text = text.substr(0, 20);
  (void)CheckFit(stack, node, models.ok() ? *models : GpuModels());
  for (const PinnedVariable& variable : PinnedVariables()) {
    const std::string wanted = stack.WordOf(variable.component, variable.word);
    if (!CheckPinned(stack, variable, wanted, "here").empty()) std::abort();
    (void)CheckPinned(stack, variable, text, "here");
  }
  return 0;
}
