// All stacks of a site.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "controller/stack/gpu_models.h"
#include "controller/stack/stack.h"

namespace muster::controller::stack {

// Folders of a site.
inline constexpr char kStackFolder[] = "playbooks/stacks/";
inline constexpr char kHardwareFolder[] = "inventory/hardware/";

// Immutable; threads may share it.
class StackSet {
 public:
  StackSet() = default;

  // Reads the stacks (path → text, a README.md aside), whose names differ, and, where there are
  // any, what the hardware files say about generations of GPUs. InvalidArgument, with all errors as
  // JoinErrors() makes it: each with file:line:column, the line itself and the nearest known word.
  static absl::StatusOr<StackSet> Read(const std::map<std::string, std::string>& stacks,
                                       const std::map<std::string, std::string>& hardware);

  const std::map<std::string, Stack, std::less<>>& stacks() const { return stacks_; }
  const GpuModels& gpu_models() const { return gpu_models_; }
  const Stack* Find(absl::string_view name) const;  // nullptr: no such stack
  // What templates see. REQUIRES: there is a stack of that name.
  std::shared_ptr<const nlohmann::ordered_json> ValueOf(absl::string_view name) const;
  // "no stack 'debain12' (did you mean 'debian12'?)".
  std::string Unknown(absl::string_view name) const;

 private:
  std::map<std::string, Stack, std::less<>> stacks_;
  std::map<std::string, std::shared_ptr<const nlohmann::ordered_json>, std::less<>> values_;
  GpuModels gpu_models_;
};

}  // namespace muster::controller::stack
