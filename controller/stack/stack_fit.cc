#include "controller/stack/stack_fit.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/text/counted.h"

namespace muster::controller::stack {
namespace {

std::string At(const Place& place, absl::string_view message) {
  return absl::StrCat(place.ToString(), ": ", message);
}

void CheckSystem(const Stack& stack, const NodeState& node, std::vector<std::string>& problems) {
  if (node.os_id.empty()) return;
  std::vector<std::string> known;
  for (const Word& os : stack.os) {
    const std::vector<absl::string_view> words = absl::StrSplit(os.text, ' ');
    if (words[0] == node.os_id && IsOfLine(node.os_version, words[1])) return;
    known.push_back(os.text);
  }
  problems.push_back(
      At(stack.os.front().place, absl::StrCat("the stack is for ", absl::StrJoin(known, ", "),
                                              ", not for ", node.os_id, " ", node.os_version)));
}

void CheckKernel(const Stack& stack, const NodeState& node, std::vector<std::string>& problems) {
  const auto check = [&](const std::string& kernel, absl::string_view does,
                         absl::string_view remedy) {
    if (kernel.empty() || stack.kernel.Contains(kernel)) return;
    problems.push_back(
        At(stack.kernel_place, absl::StrCat("the stack is for kernels ", stack.kernel.ToString(),
                                            ", and the node ", does, " ", kernel, remedy)));
  };
  check(node.kernel, "runs", "");
  if (node.next_kernel != node.kernel) {
    check(node.next_kernel, "will boot", " next: remove that kernel's packages");
  }
}

// The generations of the node's GPUs with what says so: "2 GPUs 10de:1b06".
std::map<const GpuGeneration*, std::vector<std::string>> GenerationsOf(const NodeState& node,
                                                                       const GpuModels& models) {
  std::map<std::string, int> devices;
  for (const std::string& device : node.gpu_devices) ++devices[device];
  std::map<const GpuGeneration*, std::vector<std::string>> generations;
  for (const auto& [device, count] : devices) {
    const GpuGeneration* const generation = GenerationOfDevice(device);
    if (generation == nullptr) continue;
    generations[generation].push_back(absl::StrCat(Counted(count, "GPU"), " 10de:", device));
  }
  if (const GpuGeneration* const generation = models.Find(node.gpu_model.text)) {
    generations[generation].push_back(
        absl::StrCat("gpu_model '", node.gpu_model.text, "' at ", node.gpu_model.place.ToString()));
  }
  return generations;
}

void CheckGpus(const Stack& stack, const NodeState& node, const GpuModels& models,
               std::vector<std::string>& problems) {
  const Component* const driver = stack.Find("driver");
  int branch = 0;
  if (driver == nullptr || !absl::SimpleAtoi(stack.WordOf("driver", "branch"), &branch)) return;
  const Place& branch_place = driver->words.at("branch").place;
  const Word& modules = driver->words.at("modules");
  const Component* const cuda = stack.Find("cuda");
  std::vector<std::pair<std::string, const GpuGeneration*>> sorted;
  for (const auto& [generation, sources] : GenerationsOf(node, models)) {
    sorted.emplace_back(absl::StrCat(generation->name, " (", absl::StrJoin(sources, ", "), ")"),
                        generation);
  }
  std::sort(sorted.begin(), sorted.end());
  for (const auto& [gpus, generation] : sorted) {
    const auto add = [&](const Place& place, absl::string_view text) {
      problems.push_back(At(place, text));
    };
    if (branch < generation->first_branch) {
      add(branch_place, absl::StrCat("driver branch ", branch, " does not know ", gpus, ": ",
                                     generation->first_branch, " is the first that does"));
    }
    if (generation->last_branch != 0 && branch > generation->last_branch) {
      add(branch_place, absl::StrCat("driver branch ", branch, " no longer supports ", gpus, ": ",
                                     generation->last_branch, " is the last that does"));
    }
    if (modules.text == "open" && generation->modules == GpuModules::kProprietary) {
      add(modules.place, absl::StrCat("the open kernel modules do not support ", gpus,
                                      ": it needs modules: proprietary"));
    }
    if (modules.text == "proprietary" && generation->modules == GpuModules::kOpen) {
      add(modules.place, absl::StrCat("the proprietary kernel modules do not support ", gpus,
                                      ": it needs modules: open"));
    }
    if (cuda != nullptr && generation->last_cuda != 0 &&
        CompareVersions(cuda->version.text, absl::StrCat(generation->last_cuda + 1)) >= 0) {
      add(cuda->version.place,
          absl::StrCat("CUDA ", cuda->version.text, " no longer supports ", gpus, ": ",
                       generation->last_cuda, " is the last that does"));
    }
  }
}

}  // namespace

std::vector<std::string> CheckFit(const Stack& stack, const NodeState& node,
                                  const GpuModels& models) {
  std::vector<std::string> problems;
  CheckSystem(stack, node, problems);
  CheckKernel(stack, node, problems);
  CheckGpus(stack, node, models, problems);
  return problems;
}

const std::vector<PinnedVariable>& PinnedVariables() {
  static const auto* const kVariables = new std::vector<PinnedVariable>{
      {"gpu_driver", "driver", "version"},
      {"gpu_driver_branch", "driver", "branch"},
      {"gpu_driver_modules", "driver", "modules"},
      {"gpu_driver_version", "driver", "version"},
      {"cuda_version", "cuda", "version"},
      {"docker_version", "docker", "version"},
      {"podman_version", "podman", "version"},
      {"container_toolkit_version", "container_toolkit", "version"},
      {"enroot_version", "enroot", "version"},
      {"pyxis_version", "pyxis", "version"},
      {"slurm_version", "slurm", "version"},
      {"slurm_package_version", "slurm", "version"},
      {"beegfs_version", "beegfs", "version"},
      {"beegfs_package_version", "beegfs", "version"},
  };
  return *kVariables;
}

std::string CheckPinned(const Stack& stack, const PinnedVariable& variable, absl::string_view value,
                        absl::string_view place) {
  const std::string wanted = stack.WordOf(variable.component, variable.word);
  absl::string_view given = value;
  absl::ConsumeSuffix(&given, "*");
  while (absl::ConsumeSuffix(&given, ".") || absl::ConsumeSuffix(&given, "-")) {
  }
  if (wanted.empty() || given.empty() || given == "auto") return "";
  if (IsOfLine(given, wanted) || IsOfLine(wanted, given)) return "";
  const Component& component = *stack.Find(variable.component);
  const Place& at = variable.word == "version" ? component.version.place
                                               : component.words.find(variable.word)->second.place;
  return absl::StrCat(place, ": ", variable.name, " is '", value, "', but stack '", stack.name,
                      "' says ", wanted, " (", at.ToString(),
                      "): remove the variable, or choose another stack");
}

}  // namespace muster::controller::stack
