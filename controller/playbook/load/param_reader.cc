#include "controller/playbook/load/param_reader.h"

#include <algorithm>
#include <map>
#include <utility>

#include <google/protobuf/message.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/text/nearest_word.h"
#include "controller/playbook/schema/given.h"
#include "controller/playbook/words.h"

namespace muster::controller::playbook {
namespace {

// Numbers and booleans keep their YAML type; everything else is taken as written.
Scalars ScalarsOf(ParamType type) {
  switch (type) {
    case ParamType::kBool:
    case ParamType::kFalse:
    case ParamType::kNumber:
    case ParamType::kMode:
    case ParamType::kMapList:
      return Scalars::kTyped;
    default:
      return Scalars::kText;
  }
}

template <typename T>
std::vector<std::string> NamesOf(const std::map<std::string, T, std::less<>>& map) {
  std::vector<std::string> names;
  for (const auto& [name, value] : map) names.push_back(name);
  return names;
}

}  // namespace

ParamReader::ParamReader(const yaml::Document& document, const FileTree& site,
                         const std::string& folder, const Role& role, bool in_handler,
                         ErrorList* errors)
    : document_(document),
      site_(site),
      folder_(folder),
      role_(role),
      in_handler_(in_handler),
      errors_(errors) {}

bool ParamReader::Read(const yaml::Node& map, yaml::Mark place, absl::string_view what,
                       const std::vector<Param>& params, ParamsCheck check,
                       google::protobuf::Message* message, std::vector<NodeParam>* depending) {
  bool good = CheckKeys(document_, map, what, KeysOf(params), errors_);
  GivenParams given(in_handler_);
  for (const yaml::Entry& row : map.entries()) {
    const Param* param = FindParam(params, row.key);
    if (param == nullptr) continue;
    if (row.value.IsNull()) {
      good = errors_->Add(document_.Error(
          row.value, absl::StrCat("'", row.key, "' is empty: set a value or remove it")));
      continue;
    }
    if (param->type == ParamType::kMapList && !row.value.IsScalar()) {
      given.Add(row.key, ValueTemplate());
      if (!ReadMapList(row.value, *param, message, depending)) good = false;
      continue;
    }
    const absl::StatusOr<ValueTemplate> value =
        ValueTemplate::FromYaml(document_, row.value, ScalarsOf(param->type));
    if (!errors_->Add(value.status())) {
      good = false;
      continue;
    }
    given.Add(row.key, *value);
    if (!ReadValue(row.value, *param, *value, message, depending)) good = false;
  }
  if (!good) return false;  // further errors may only be consequences
  for (const Param& param : params) {
    if (!param.required || given.Has(param.key)) continue;
    return errors_->Add(document_.Error(place, absl::StrCat(what, " lacks '", param.key, "'")));
  }
  const std::string wrong = check == nullptr ? "" : check(given);
  return wrong.empty() || errors_->Add(document_.Error(place, absl::StrCat(what, " ", wrong)));
}

bool ParamReader::ReadValue(const yaml::Node& node, const Param& param, const ValueTemplate& value,
                            google::protobuf::Message* message, std::vector<NodeParam>* depending) {
  if (!value.constant()) {
    depending->push_back({&param, value, node});
    return true;
  }
  if (param.type == ParamType::kTemplateFile || param.type == ParamType::kRoleFile) {
    depending->push_back({&param, value, node});
    return CheckRoleFile(param, node, ConstantText(value).value_or(""));
  }
  bool sensitive = false;  // a constant contains no secret
  const absl::Status set = SetField(param, value.value(), message, &sensitive);
  return set.ok() || errors_->Add(document_.Error(node, set.message()));
}

bool ParamReader::ReadMapList(const yaml::Node& list, const Param& param,
                              google::protobuf::Message* message,
                              std::vector<NodeParam>* depending) {
  const std::vector<yaml::Node> one = {list};
  const std::string what = absl::StrCat("an entry of '", param.key, "'");
  NodeParam rest{&param, ValueTemplate(), list};
  bool good = true, depends = false;
  for (const yaml::Node& item : list.IsMap() ? one : list.items()) {
    if (!item.IsMap()) {
      good = errors_->Add(document_.Error(
          item, absl::StrCat(what, " is a map (", absl::StrJoin(KeysOf(param.elements), ", "),
                             "), not ", yaml::KindName(item.kind()))));
      continue;
    }
    std::vector<NodeParam>& of_node = rest.elements.emplace_back();
    if (!Read(item, item.mark(), what, param.elements, param.check_element,
              AddElement(param, message), &of_node)) {
      good = false;
    }
    depends = depends || !of_node.empty();
  }
  if (depends) {
    depending->push_back(std::move(rest));
  } else if (const absl::Status twice = CheckElementsDiffer(param, *message); good && !twice.ok()) {
    good = errors_->Add(document_.Error(list, twice.message()));
  }
  return good;
}

bool ParamReader::CheckRoleFile(const Param& param, const yaml::Node& node,
                                const std::string& name) {
  const bool is_template = param.type == ParamType::kTemplateFile;
  const std::vector<std::string> known =
      is_template ? NamesOf(role_.templates) : NamesOf(role_.files);
  if (std::find(known.begin(), known.end(), name) != known.end()) return true;
  // A template that does not parse has been reported already.
  const std::string path = absl::StrCat(folder_, is_template ? "templates/" : "files/", name);
  if (site_.find(path) != site_.end()) return true;
  return errors_->Add(
      document_.Error(node, absl::StrCat("no file ", path, DidYouMean(name, known))));
}

}  // namespace muster::controller::playbook
