#include "controller/playbook/schema/schema_sets.h"

#include "absl/strings/str_cat.h"

namespace muster::controller::playbook {

using Type = ParamType;

std::vector<Param> MountParams() {
  return {{"path", Type::kPath, "path", true}, {"source", Type::kText, "source"},
          {"type", Type::kText, "fs_type"},    {"options", Type::kTextList, "options"},
          {"state", Type::kWord, "state"},     {"after", Type::kTextList, "after"}};
}

std::string CheckMount(const Given& given) {
  if (!given.CertainlyPresent()) return "";
  for (const char* key : {"source", "type"}) {
    if (!given.Has(key)) return absl::StrCat("lacks '", key, "'");
  }
  return "";
}

std::string CheckMountEntry(const Given& given) {
  if (given.Text("state") == "absent") {
    return "has state absent: to undo an entry, remove it from the list";
  }
  return CheckMount(given);
}

std::vector<Param> FileEntryParams() {
  return {{"name", Type::kFileName, "name", true},
          {"content", Type::kContent, "content", false, true},
          {"template", Type::kTemplateFile, "content"},
          {"source", Type::kRoleFile, "content"}};
}

std::string CheckFileEntry(const Given& given) {
  int certain = 0, possible = 0;
  for (const char* key : {"content", "template", "source"}) {
    if (!given.Has(key)) continue;
    ++possible;
    certain += given.IsConstant(key) ? 1 : 0;
  }
  // A template may leave some of them empty.
  if (possible > 0 && certain < 2) return "";
  return "needs exactly one of content, template or source";
}

std::vector<Param> SlurmQosParams() {
  return {{"name", Type::kText, "name", true}, {"limits", Type::kTextMap, "limits"}};
}

std::vector<Param> SlurmAccountParams() {
  return {{"name", Type::kText, "name", true},
          {"parent", Type::kText, "parent"},
          {"organization", Type::kText, "organization"},
          {"description", Type::kText, "description"},
          {"limits", Type::kTextMap, "limits"}};
}

std::vector<Param> SlurmUserParams() {
  return {{"name", Type::kText, "name", true},
          {"accounts", Type::kTextList, "accounts", true},
          {"default_account", Type::kText, "default_account"},
          {"limits", Type::kTextMap, "limits"}};
}

}  // namespace muster::controller::playbook
