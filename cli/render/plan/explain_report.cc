#include "cli/render/plan/explain_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/render/output.h"
#include "cli/render/plain_text.h"
#include "cli/render/run/run_report.h"
#include "common/base/proto_time.h"
#include "common/value/proto_value.h"
#include "muster/v1/explain.pb.h"

namespace muster::cli {
namespace {

using Json = nlohmann::ordered_json;

// JSON text as YAML, the form in which people write it.
std::string AsYaml(const std::string& text) {
  const Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return value.is_discarded() ? text + "\n" : ToYaml(value);
}

bool IsShort(const std::string& yaml) {
  return yaml.size() <= 80 && yaml.find('\n') >= yaml.size() - 1;
}

std::string Owner(const v1::VariableDefinition& definition) {
  return absl::StrCat(definition.level(),
                      definition.owner().empty() ? "" : absl::StrCat(" of ", definition.owner()));
}

std::string DefinitionLine(absl::string_view word, const v1::VariableDefinition& definition) {
  const std::string written = AsYaml(definition.written());
  const std::string head =
      absl::StrCat("  ", word, " ", Owner(definition), ", ", definition.place(), ":");
  if (IsShort(written)) return absl::StrCat(head, " ", Tame(written));
  return absl::StrCat(head, "\n", Indent(written, 6));
}

void AddSecrets(const google::protobuf::RepeatedPtrField<v1::ExplainedSecret>& secrets,
                std::string& text) {
  for (const v1::ExplainedSecret& secret : secrets) {
    absl::StrAppend(&text, "  secret ", secret.name(),
                    secret.exists() ? ": is set, and not shown\n" : ": would be generated\n");
  }
}

// The resource of a step: its type and the parameters that are set.
std::string Parameters(const v1::Step& step) {
  const Json value = ProtoToValue(step);
  std::string text;
  static const char* const kGeneral[] = {"step_id",     "name",      "source",          "notify",
                                         "skip_reason", "sensitive", "expect_unchanged"};
  for (const auto& [key, parameters] : value.items()) {
    if (std::find(std::begin(kGeneral), std::end(kGeneral), key) != std::end(kGeneral)) continue;
    Json shown = Json::object();
    for (const auto& [name, each] : parameters.items()) {
      const bool is_empty = each.is_null() || (each.is_structured() && each.empty()) ||
                            (each.is_string() && each.get_ref<const std::string&>().empty()) ||
                            (each.is_boolean() && !each.get<bool>()) ||
                            (each.is_number() && each == 0) || each == "unspecified";
      if (is_empty) continue;
      shown[name] = each;
      // In octal, as it is written.
      if (name == "mode" && each.is_number_unsigned())
        shown[name] = absl::StrFormat("%04o", each.get<uint32_t>());
    }
    // Contents are bytes, which JSON shows as base64.
    if (key == "file" && !step.file().content().empty()) shown["content"] = step.file().content();
    absl::StrAppend(&text, Indent(ToYaml(Json{{key, shown}}), 4));
  }
  return text;
}

std::string LastResult(const v1::ExplainedStep& step, absl::Time now) {
  if (!step.has_last_result()) return "  last result: none known\n";
  return absl::StrCat(
      "  last result, run ", step.last_run_id(), step.last_check_only() ? " (check)" : "", ", ",
      HumanTime(ToTime(step.last_result().started_at()), now), ":\n",
      Indent(RenderStep(step.last_result(), {.quiet_steps = true, .values = true, .output = true}),
             4));
}

}  // namespace

std::string RenderVariable(absl::string_view name, absl::string_view node,
                           const v1::ExplainVariableResponse& response) {
  std::string text;
  for (const v1::ExplainedVariable& variable : response.variables()) {
    absl::StrAppend(&text, text.empty() ? "" : "\n");
    const std::string where =
        variable.role().empty() ? "" : absl::StrCat(", role ", variable.role());
    const std::string value = variable.error().empty() ? AsYaml(variable.value()) : "";
    if (!variable.error().empty()) {
      absl::StrAppend(&text, name, " on ", node, where, " has no value:\n",
                      Indent(variable.error()));
    } else if (IsShort(value)) {
      absl::StrAppend(&text, name, " on ", node, where, ": ", Tame(value));
    } else {
      absl::StrAppend(&text, name, " on ", node, where, ":\n", Indent(value));
    }
    if (variable.definitions().empty()) {
      absl::StrAppend(&text, "  set by Muster itself\n");
    }
    for (int i = 0; i < variable.definitions_size(); ++i) {
      absl::StrAppend(&text, DefinitionLine(i == 0 ? "from" : "hides", variable.definitions(i)));
    }
    AddSecrets(variable.secrets(), text);
  }
  return text;
}

std::string RenderExplainedStep(const v1::ExplainStepResponse& response, absl::Time now) {
  std::string text;
  for (const v1::ExplainedStep& step : response.steps()) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", step.step().step_id(),
                    step.handler() ? " (handler)" : "", "\n  play ", step.play_index() + 1, ": ",
                    step.play(), "\n  written in ", step.step().source(), ":\n",
                    Indent(step.written(), 4));
    if (step.role_needs_size() > 0) {
      absl::StrAppend(&text, "  its role needs: ", absl::StrJoin(step.role_needs(), ", "), "\n");
    }
    for (const v1::ExplainedCondition& condition : step.conditions()) {
      absl::StrAppend(&text, "  when ", condition.text(), ": ", Tame(condition.value()), "\n");
    }
    if (!step.step().skip_reason().empty()) {
      absl::StrAppend(&text, "  skipped: ", step.step().skip_reason(), "\n");
    } else {
      absl::StrAppend(&text, "  on this node:\n", Parameters(step.step()));
    }
    if (step.step().notify_size() > 0) {
      absl::StrAppend(&text, "  notifies: ", absl::StrJoin(step.step().notify(), ", "), "\n");
    }
    AddSecrets(step.secrets(), text);
    absl::StrAppend(&text, LastResult(step, now));
  }
  if (!response.has_facts_at()) text += "\nthe node has not reported its facts yet\n";
  return text;
}

}  // namespace muster::cli
