#include "controller/stack/stack.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/yaml/document.h"
#include "common/yaml/map_reader.h"
#include "controller/stack/stack_rules.h"

namespace muster::controller::stack {
namespace {

constexpr yaml::Limits kStackLimits = {/*max_bytes=*/64 << 10, /*max_depth=*/8,
                                       /*max_nodes=*/5'000};

bool IsPackageName(absl::string_view name) {
  return !name.empty() && absl::ascii_isalnum(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '+' || c == '-' ||
                  c == '.' || c == '_' || c == ':';
         });
}

// Reads one file.
class StackReader {
 public:
  StackReader(const yaml::Document& document, Errors* errors)
      : document_(document), errors_(*errors) {}

  Stack Read() {
    Stack stack;
    absl::string_view name = document_.file_name();
    name.remove_prefix(name.rfind('/') == absl::string_view::npos ? 0 : name.rfind('/') + 1);
    stack.name = std::string(absl::StripSuffix(name, ".yaml"));
    const yaml::Node& root = document_.root();
    stack.place = PlaceOf(root);
    yaml::MapReader reader(document_, root, "stack");
    if (!root.IsMap()) {
      errors_.Add(reader.Finish());
      return stack;
    }
    errors_.Add(reader.Required("description", &stack.description));
    ReadSystems(reader, stack);
    yaml::Node kernel;
    if (errors_.Add(reader.Required("kernel", &kernel))) {
      ReadRange(kernel, "kernel", stack.kernel);
      stack.kernel_place = PlaceOf(kernel);
    }
    for (const ComponentSpec& spec : ComponentSpecs()) {
      const yaml::Node* const node = reader.Take(spec.name);
      if (node != nullptr) {
        stack.components.emplace(std::string(spec.name), ReadComponent(*node, spec));
      }
    }
    errors_.Add(reader.Finish());
    return stack;
  }

 private:
  Place PlaceOf(const yaml::Node& node) const {
    return {document_.file_name(), std::max(node.mark().line, 1), std::max(node.mark().column, 1)};
  }

  void Wrong(const yaml::Node& node, absl::string_view message) {
    errors_.Add(document_.Error(node, message));
  }

  void ReadSystems(yaml::MapReader& reader, Stack& stack) {
    const yaml::Node* const list = reader.Take("os");
    if (list == nullptr || !list->IsSequence() || list->items().empty()) {
      return Wrong(list == nullptr ? document_.root() : *list,
                   "the stack lacks 'os', the list of systems that it was tested on, such as "
                   "[debian 12]");
    }
    for (const yaml::Node& item : list->items()) {
      std::string text;
      if (!errors_.Add(yaml::Read(document_, item, &text))) continue;
      const std::vector<absl::string_view> words = absl::StrSplit(text, ' ', absl::SkipEmpty());
      if (words.size() != 2 || !IsVersion(words[1])) {
        Wrong(item, absl::StrCat("'", text,
                                 "' must be a system as in os-release, ID and VERSION_ID: "
                                 "debian 12, rocky 9"));
        continue;
      }
      stack.os.push_back({absl::StrJoin(words, " "), PlaceOf(item)});
    }
  }

  bool ReadRange(const yaml::Node& node, absl::string_view what, VersionRange& range) {
    yaml::MapReader reader(document_, node, absl::StrCat("range '", what, "'"));
    if (!node.IsMap()) return errors_.Add(reader.Finish());
    const bool has_from = errors_.Add(reader.Required("from", &range.from));
    const bool has_below = errors_.Add(reader.Required("below", &range.below));
    if (!errors_.Add(reader.Finish()) || !has_from || !has_below) return false;
    for (const char* key : {"from", "below"}) {
      const yaml::Node& bound = *node.Find(key);
      if (!IsVersion(bound.text())) {
        Wrong(bound, absl::StrCat("'", bound.text(), "' is not a version such as 6.1"));
        return false;
      }
    }
    if (CompareVersions(range.from, range.below) >= 0) {
      Wrong(node, absl::StrCat("'", what, "' contains no version: ", range.ToString()));
      return false;
    }
    return true;
  }

  Component ReadComponent(const yaml::Node& node, const ComponentSpec& spec) {
    Component component;
    yaml::MapReader reader(document_, node, absl::StrCat(spec.name, " component"));
    if (!node.IsMap()) {
      errors_.Add(reader.Finish());
      return component;
    }
    component.version = ReadWord(reader, node, "version");
    if (!component.version.text.empty() && !IsVersion(component.version.text)) {
      Wrong(*node.Find("version"),
            absl::StrCat("'", component.version.text,
                         "' is not an exact version: it begins with a digit and has no blanks or "
                         "wildcards"));
    }
    for (const absl::string_view word : spec.words) {
      component.words[std::string(word)] = ReadWord(reader, node, word);
    }
    if (spec.has_module) {
      if (const yaml::Node* const kernels = reader.Take("kernels")) {
        VersionRange range;
        if (ReadRange(*kernels, "kernels", range)) component.kernels = std::move(range);
        component.kernels_place = PlaceOf(*kernels);
      }
    }
    if (const yaml::Node* const packages = reader.Take("packages")) {
      ReadPackages(*packages, component);
    }
    errors_.Add(reader.Finish());
    return component;
  }

  Word ReadWord(yaml::MapReader& reader, const yaml::Node& map, absl::string_view key) {
    Word word;
    errors_.Add(reader.Required(key, &word.text));
    const yaml::Node* const node = map.Find(key);
    word.place = PlaceOf(node == nullptr ? map : *node);
    return word;
  }

  void ReadPackages(const yaml::Node& map, Component& component) {
    if (!map.IsMap()) return Wrong(map, "'packages' must be a map: name → exact version");
    for (const yaml::Entry& entry : map.entries()) {
      Word version;
      if (!errors_.Add(yaml::Read(document_, entry.value, &version.text))) continue;
      version.place = PlaceOf(entry.value);
      if (!IsPackageName(entry.key)) {
        errors_.Add(document_.Error(
            entry.key_mark, absl::StrCat("'", entry.key, "' is not the name of a package")));
      } else if (!IsVersion(version.text)) {
        Wrong(entry.value,
              absl::StrCat("'", version.text, "' is not an exact version of ", entry.key));
      } else {
        component.packages.emplace(entry.key, std::move(version));
      }
    }
  }

  const yaml::Document& document_;
  Errors& errors_;
};

nlohmann::ordered_json RangeValue(const VersionRange& range) {
  return {{"from", range.from}, {"below", range.below}};
}

}  // namespace

const std::vector<ComponentSpec>& ComponentSpecs() {
  static const auto* const kSpecs = new std::vector<ComponentSpec>{
      {"driver", {"branch", "modules"}, /*has_module=*/true},
      {"fabric_manager", {}},
      {"cuda", {}},
      {"docker", {}},
      {"podman", {}},
      {"container_toolkit", {}},
      {"enroot", {}},
      {"pyxis", {"slurm"}},
      {"slurm", {}},
      {"beegfs", {}, /*has_module=*/true},
      {"doca", {}, /*has_module=*/true},
      {"ofed", {}, /*has_module=*/true},
  };
  return *kSpecs;
}

const Component* Stack::Find(absl::string_view component) const {
  const auto found = components.find(component);
  return found == components.end() ? nullptr : &found->second;
}

std::string Stack::WordOf(absl::string_view component, absl::string_view word) const {
  const Component* const part = Find(component);
  if (part == nullptr) return "";
  if (word == "version") return part->version.text;
  const auto found = part->words.find(word);
  return found == part->words.end() ? "" : found->second.text;
}

Stack ReadStack(const std::string& path, absl::string_view text, Errors* errors) {
  const absl::StatusOr<yaml::Document> document = yaml::Document::Parse(path, text, kStackLimits);
  if (!errors->Add(document.status())) return Stack();
  Errors here;
  Stack stack = StackReader(*document, &here).Read();
  // In a stack that is half read, each missing value would be a contradiction.
  if (!errors->AddAll(here.ToStatus())) return stack;
  CheckStack(stack, [&](const Place& place, absl::string_view message) {
    errors->Add(document->Error(yaml::Mark{place.line, place.column}, message));
  });
  return stack;
}

nlohmann::ordered_json ToValue(const Stack& stack) {
  nlohmann::ordered_json value = {{"name", stack.name}, {"description", stack.description}};
  value["os"] = nlohmann::ordered_json::array();
  for (const Word& os : stack.os) value["os"].push_back(os.text);
  value["kernel"] = RangeValue(stack.kernel);
  for (const ComponentSpec& spec : ComponentSpecs()) {
    nlohmann::ordered_json part = {{"version", stack.WordOf(spec.name, "version")}};
    for (const absl::string_view word : spec.words) {
      part[std::string(word)] = stack.WordOf(spec.name, word);
    }
    const Component* const component = stack.Find(spec.name);
    if (spec.has_module) {
      part["kernels"] = RangeValue(
          component == nullptr ? VersionRange() : component->kernels.value_or(VersionRange()));
    }
    part["packages"] = nlohmann::ordered_json::object();
    if (component != nullptr) {
      for (const auto& [name, version] : component->packages) part["packages"][name] = version.text;
    }
    value[std::string(spec.name)] = std::move(part);
  }
  return value;
}

}  // namespace muster::controller::stack
