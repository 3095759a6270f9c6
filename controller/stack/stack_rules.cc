#include "controller/stack/stack_rules.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/text/nearest_word.h"
#include "controller/stack/gpu_generation.h"

namespace muster::controller::stack {
namespace {

using Report = absl::FunctionRef<void(const Place& place, absl::string_view message)>;

// The packages of the container toolkit. They are built together, and apt resolves them one by one:
// each of another version than the rest fails at run time only.
constexpr absl::string_view kToolkitPackages[] = {
    "libnvidia-container-tools", "libnvidia-container1", "nvidia-container-toolkit",
    "nvidia-container-toolkit-base"};

// The oldest driver branch for each major version of CUDA's libraries ("minor version
// compatibility" in the CUDA release notes).
struct CudaRow {
  int major;
  int first_branch;
};
constexpr CudaRow kCuda[] = {{11, 450}, {12, 525}, {13, 580}};

// The number that a version begins with.
int MajorOf(absl::string_view version) {
  int number = 0;
  (void)absl::SimpleAtoi(version.substr(0, version.find('.')), &number);
  return number;
}

void CheckDriver(const Stack& stack, Report report) {
  const Component* const driver = stack.Find("driver");
  if (driver == nullptr) return;
  const Word& branch = driver->words.at("branch");
  const Word& modules = driver->words.at("modules");
  int number = 0;
  if (!std::all_of(branch.text.begin(), branch.text.end(),
                   [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }) ||
      branch.text.size() != 3 || !absl::SimpleAtoi(branch.text, &number)) {
    report(branch.place,
           absl::StrCat("'", branch.text, "' is not a driver branch: three digits, such as 535"));
    return;
  }
  if (!IsOfLine(driver->version.text, branch.text)) {
    report(driver->version.place,
           absl::StrCat("driver ", driver->version.text, " is not of branch ", branch.text));
  }
  if (modules.text != "open" && modules.text != "proprietary") {
    report(modules.place,
           absl::StrCat("'modules' must be open or proprietary, not '", modules.text, "'"));
  } else if (modules.text == "open" && number < kFirstOpenBranch) {
    report(modules.place, absl::StrCat("branch ", branch.text, " has no open kernel modules: ",
                                       kFirstOpenBranch, " is the first that has"));
  }
}

void CheckFabricManager(const Stack& stack, Report report) {
  const Component* const manager = stack.Find("fabric_manager");
  if (manager == nullptr) return;
  const std::string driver = stack.WordOf("driver", "version");
  if (driver.empty()) {
    report(manager->version.place, "the stack has a fabric manager, but no driver that it is for");
  } else if (manager->version.text != driver) {
    report(manager->version.place,
           absl::StrCat("fabric manager ", manager->version.text, " cannot run with driver ",
                        driver, ": both must have exactly the same version"));
  }
}

void CheckPyxis(const Stack& stack, Report report) {
  const Component* const pyxis = stack.Find("pyxis");
  if (pyxis == nullptr) return;
  const Word& built_for = pyxis->words.at("slurm");
  const std::string slurm = stack.WordOf("slurm", "version");
  if (slurm.empty()) {
    report(pyxis->version.place, "the stack has pyxis, a plugin of Slurm, but no slurm");
  } else if (!IsOfLine(slurm, built_for.text)) {
    report(built_for.place,
           absl::StrCat("pyxis is built for Slurm ", built_for.text, ", but the stack has Slurm ",
                        slurm, ": build it against the headers of that version"));
  } else if (std::count(built_for.text.begin(), built_for.text.end(), '.') == 0) {
    report(built_for.place, absl::StrCat("'", built_for.text,
                                         "' must be the Slurm release that pyxis is built for, "
                                         "such as 24.11"));
  }
  if (stack.Find("enroot") == nullptr) {
    report(pyxis->version.place, "the stack has pyxis, which starts enroot, but no enroot");
  }
}

void CheckCuda(const Stack& stack, Report report) {
  const Component* const cuda = stack.Find("cuda");
  if (cuda == nullptr) return;
  const int major = MajorOf(cuda->version.text);
  const auto* const row = std::find_if(std::begin(kCuda), std::end(kCuda),
                                       [&](const CudaRow& each) { return each.major == major; });
  const std::string branch = stack.WordOf("driver", "branch");
  if (row == std::end(kCuda)) {
    report(cuda->version.place, absl::StrCat("CUDA ", major, " is not known (known: 11, 12, 13)"));
  } else if (IsVersion(branch) && CompareVersions(branch, absl::StrCat(row->first_branch)) < 0) {
    report(cuda->version.place, absl::StrCat("CUDA ", major, " needs driver branch ",
                                             row->first_branch, " or later, not ", branch));
  }
}

// A module that does not build for every kernel of the stack breaks at some node's next update.
void CheckKernels(const Stack& stack, Report report) {
  for (const ComponentSpec& spec : ComponentSpecs()) {
    const Component* const component = stack.Find(spec.name);
    if (component == nullptr || !spec.has_module) continue;
    if (spec.name == "beegfs" && !component->kernels.has_value()) {
      report(component->version.place,
             "'beegfs' lacks 'kernels': those that its client builds for, such as {from: \"5.14\", "
             "below: \"6.13\"}");
    } else if (component->kernels.has_value() && !component->kernels->Contains(stack.kernel)) {
      report(component->kernels_place,
             absl::StrCat(spec.name, " ", component->version.text, " builds for kernels ",
                          component->kernels->ToString(), ", but the stack's are ",
                          stack.kernel.ToString()));
    }
  }
}

void CheckToolkit(const Component& toolkit, Report report) {
  if (toolkit.packages.empty()) return;
  const std::vector<std::string> known(std::begin(kToolkitPackages), std::end(kToolkitPackages));
  std::vector<std::string> missing;
  for (const std::string& name : known) {
    if (toolkit.packages.count(name) == 0) missing.push_back(name);
  }
  const auto& [first, version] = *toolkit.packages.begin();
  for (const auto& [name, other] : toolkit.packages) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      report(other.place, absl::StrCat("'", name, "' is not a package of the container toolkit",
                                       DidYouMean(name, known)));
    } else if (other.text != version.text) {
      report(other.place,
             absl::StrCat(name, " ", other.text, " does not fit ", first, " ", version.text,
                          ": the toolkit's four packages must have "
                          "one version"));
    }
  }
  if (!missing.empty()) {
    report(version.place,
           absl::StrCat("the packages of the container toolkit lack ", absl::StrJoin(missing, ", "),
                        ": pin all four of them, or none"));
  }
}

// "1:2.3-4" without what stands before the colon.
absl::string_view WithoutEpoch(absl::string_view version) {
  const size_t colon = version.find(':');
  return colon == absl::string_view::npos ? version : version.substr(colon + 1);
}

void CheckPackages(const Stack& stack, Report report) {
  std::map<std::string, std::pair<absl::string_view, const Word*>> owners;
  for (const ComponentSpec& spec : ComponentSpecs()) {
    const Component* const component = stack.Find(spec.name);
    if (component == nullptr) continue;
    if (spec.name == "container_toolkit") CheckToolkit(*component, report);
    for (const auto& [name, version] : component->packages) {
      if (!IsOfLine(WithoutEpoch(version.text), component->version.text)) {
        report(version.place, absl::StrCat(name, " ", version.text, " is not of ", spec.name, " ",
                                           component->version.text));
      }
      const auto [owner, is_new] = owners.emplace(name, std::make_pair(spec.name, &version));
      if (!is_new && owner->second.second->text != version.text) {
        report(version.place, absl::StrCat(name, " has version ", owner->second.second->text,
                                           " at '", owner->second.first, "' (",
                                           owner->second.second->place.ToString(), ")"));
      }
    }
  }
}

}  // namespace

void CheckStack(const Stack& stack, Report report) {
  CheckDriver(stack, report);
  CheckFabricManager(stack, report);
  CheckCuda(stack, report);
  CheckPyxis(stack, report);
  CheckKernels(stack, report);
  CheckPackages(stack, report);
  if (stack.Find("doca") != nullptr && stack.Find("ofed") != nullptr) {
    report(stack.Find("ofed")->version.place,
           "the stack has both doca and ofed, which bring the same modules: remove one");
  }
}

}  // namespace muster::controller::stack
