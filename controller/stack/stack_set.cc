#include "controller/stack/stack_set.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status.h"
#include "common/base/text/nearest_word.h"
#include "controller/inventory/errors.h"

namespace muster::controller::stack {
namespace {

constexpr size_t kMaxStacks = 200;
constexpr size_t kMaxName = 64;

// The name of a stack is written in inventories and command lines, beside the names of nodes.
bool IsStackName(absl::string_view name) {
  return !name.empty() && name.size() <= kMaxName &&
         absl::ascii_isalnum(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_islower(static_cast<unsigned char>(c)) ||
                  absl::ascii_isdigit(static_cast<unsigned char>(c)) || c == '-' || c == '_' ||
                  c == '.';
         });
}

}  // namespace

absl::StatusOr<StackSet> StackSet::Read(const std::map<std::string, std::string>& stacks,
                                        const std::map<std::string, std::string>& hardware) {
  StackSet set;
  Errors errors;
  if (stacks.size() > kMaxStacks) {
    return absl::InvalidArgumentError(
        absl::StrCat(stacks.size(), " stacks; at most ", kMaxStacks, " are read"));
  }
  std::map<std::string, std::string> path_of;  // by name
  for (const auto& [path, text] : stacks) {
    const absl::string_view name = absl::string_view(path).substr(path.rfind('/') + 1);
    if (name == "README.md") continue;
    if (!absl::EndsWith(path, ".yaml") || !IsStackName(name.substr(0, name.size() - 5))) {
      errors.Add(absl::InvalidArgumentError(
          absl::StrCat(path,
                       ": a stack is a file NAME.yaml; its name has small letters, digits, "
                       "'-', '_' and '.'")));
      continue;
    }
    const std::string key(name.substr(0, name.size() - 5));
    if (const auto [taken, is_new] = path_of.emplace(key, path); !is_new) {
      errors.Add(absl::InvalidArgumentError(absl::StrCat(path, ": ", taken->second, " is a stack '",
                                                         key, "', too; rename one of the files")));
    }
    Stack stack = ReadStack(path, text, &errors);
    if (!errors.empty()) continue;
    set.values_[key] = std::make_shared<const nlohmann::ordered_json>(ToValue(stack));
    set.stacks_.emplace(key, std::move(stack));
  }
  if (!stacks.empty()) {
    absl::StatusOr<GpuModels> models = GpuModels::Read(hardware);
    if (errors.AddAll(models.status())) set.gpu_models_ = *std::move(models);
  }
  RETURN_IF_ERROR(errors.ToStatus());
  return set;
}

const Stack* StackSet::Find(absl::string_view name) const {
  const auto found = stacks_.find(name);
  return found == stacks_.end() ? nullptr : &found->second;
}

std::shared_ptr<const nlohmann::ordered_json> StackSet::ValueOf(absl::string_view name) const {
  return values_.find(name)->second;
}

std::string StackSet::Unknown(absl::string_view name) const {
  std::vector<std::string> known;
  for (const auto& [each, stack] : stacks_) known.push_back(each);
  std::string hint = DidYouMean(name, known);
  if (hint.empty()) {
    hint = known.empty() ? absl::StrCat(": there are no files in ", kStackFolder)
                         : absl::StrCat(" (known: ", absl::StrJoin(known, ", "), ")");
  }
  return absl::StrCat("no stack '", name, "'", hint);
}

}  // namespace muster::controller::stack
