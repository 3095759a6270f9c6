#include "controller/validation/verdict/circumstances.h"

#include <algorithm>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "common/base/digest.h"
#include "common/checks/parameter_value.h"
#include "controller/validation/verdict/population.h"
#include "muster/v1/validation.pb.h"

namespace muster::controller::validation {
namespace {

constexpr size_t kDigestLength = 16;

// Parameters that no value depends on.
struct Aside {
  absl::string_view check;  // "": all checks
  absl::string_view parameter;
};
constexpr Aside kAsides[] = {
    // They choose parts, each of which is compared with its like.
    {"", "gpus"},
    {"nic-link", "interfaces"},
    // They set expectations, and when a check is given up: what passed has met them.
    {"", "max-temperature"},
    {"", "meet-timeout"},
    {"nic-link", "speed"},
    {"nic-link", "mtu"},
    // It says how long counters are watched; the link's speed does not depend on it.
    {"nic-link", "duration"},
};

// Checks whose tools do not report how they measure: lldpcli names neighbors, and the number of
// threads is that of the processors, one of which may be missing.
constexpr absl::string_view kWithoutEngines[] = {"nic-link", "memory-bandwidth"};

bool IsAside(absl::string_view check, absl::string_view parameter) {
  return std::any_of(std::begin(kAsides), std::end(kAsides), [&](const Aside& aside) {
    return aside.parameter == parameter && (aside.check.empty() || aside.check == check);
  });
}

// "180" for "3m": one value can be written in several ways.
std::string Canonical(const checks::ParameterSpec& spec, const std::string& text) {
  if (text.empty()) return "";
  if (checks::IsNumeric(spec.type)) {
    const absl::StatusOr<double> number = checks::ParseNumber(spec, text);
    if (number.ok()) return absl::StrFormat("%.17g", *number);
  }
  if (spec.type == checks::ParameterType::kWords) {
    return absl::StrJoin(checks::SplitWords(text), ",");
  }
  return text;
}

}  // namespace

std::string ParametersDigest(const checks::CheckSpec& check,
                             const std::map<std::string, std::string>& given) {
  std::string all;
  for (const checks::ParameterSpec& spec : check.parameters) {
    if (IsAside(check.name, spec.name)) continue;
    const std::string name(spec.name);
    const auto found = given.find(name);
    const std::string text = found != given.end() ? found->second : std::string(spec.default_text);
    absl::StrAppend(&all, name, "=", Canonical(spec, text), "\n");
  }
  return Sha256Hex(all).substr(0, kDigestLength);
}

std::string ParametersDigest(const SuiteStage& stage, const SuiteCheck& check) {
  std::string own = ParametersDigest(*check.spec, check.parameters);
  if (!stage.side_by_side || check.spec->load == checks::Load::kIdle) return own;
  std::vector<std::string> beside;
  for (const SuiteCheck& other : stage.checks) {
    if (&other == &check || other.spec->load == checks::Load::kIdle) continue;
    beside.push_back(absl::StrCat(std::string(other.spec->name), " ",
                                  ParametersDigest(*other.spec, other.parameters)));
  }
  if (beside.empty()) return own;
  std::sort(beside.begin(), beside.end());
  return Sha256Hex(absl::StrCat(own, "\n", absl::StrJoin(beside, "\n"))).substr(0, kDigestLength);
}

std::string EnginesOf(const v1::CheckResult& result) {
  for (const absl::string_view check : kWithoutEngines) {
    if (result.check() == check) return "";
  }
  std::vector<std::string> tools(result.tools().begin(), result.tools().end());
  std::sort(tools.begin(), tools.end());
  return absl::StrJoin(tools, ", ");
}

std::string CircumstancesOf(const v1::CheckResult& result, const v1::Subject* subject) {
  const std::string engines = EnginesOf(result);
  if (subject != nullptr) return absl::StrCat(engines, "\n", PopulationOf(*subject));
  std::vector<std::string> parts;
  for (const v1::Subject& part : result.subjects()) parts.push_back(PopulationOf(part));
  std::sort(parts.begin(), parts.end());
  return absl::StrCat(engines, "\n", absl::StrJoin(parts, "\n"));
}

}  // namespace muster::controller::validation
