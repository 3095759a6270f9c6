// A tested set of versions that belong together: a file of playbooks/stacks. docs/stacks.md
// describes the format.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "absl/strings/string_view.h"
#include "controller/inventory/errors.h"
#include "controller/inventory/inventory.h"
#include "controller/stack/version.h"

namespace muster::controller::stack {

// A value with the place where it is written.
struct Word {
  std::string text;
  Place place;
};

// A part of a stack, such as the driver.
struct Component {
  Word version;
  std::map<std::string, Word, std::less<>> words;  // "branch", "modules"; see ComponentSpec
  std::optional<VersionRange> kernels;             // that its module builds for
  Place kernels_place;
  std::map<std::string, Word> packages;  // name → exact version
};

// What a component may say beside `version`, `packages` and `kernels`.
struct ComponentSpec {
  absl::string_view name;
  std::vector<absl::string_view> words;  // all required
  bool has_module = false;               // for the kernel, so that it may have `kernels`
};
// In the order in which people see them.
const std::vector<ComponentSpec>& ComponentSpecs();

struct Stack {
  std::string name;  // from its file: "debian12"
  std::string description;
  std::vector<Word> os;  // "debian 12"
  VersionRange kernel;
  Place kernel_place;
  std::map<std::string, Component, std::less<>> components;
  Place place;

  const Component* Find(absl::string_view component) const;
  // The text of a word of a component that the stack names; "" without it.
  std::string WordOf(absl::string_view component, absl::string_view word) const;
};

// Reads one file and checks that it holds together (see CheckStack). Adds all errors, with their
// lines, to *errors; after an error the result is only good for finding further ones. Pure.
Stack ReadStack(const std::string& path, absl::string_view text, Errors* errors);

// What templates see as `stack`. Every component has all of its keys: those that the stack does not
// name are "", and `packages` is {}.
nlohmann::ordered_json ToValue(const Stack& stack);

}  // namespace muster::controller::stack
