#include "agent/burnin/gpu/dcgm/diagnostics.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace muster::burnin {
namespace {

using Json = nlohmann::json;

// DCGM 4, and what came before it.
constexpr const char* kRoots[] = {"DCGM Diagnostic", "DCGM GPU Diagnostic"};
constexpr size_t kMaxTests = 4096;
constexpr size_t kMaxTexts = 16;  // of one test
constexpr size_t kMaxTextBytes = 512;

// dcgmErrorCategory_enum of dcgm_errors.h.
constexpr int kSoftware[] = {3, 4, 6, 7, 8};
constexpr char kDeployment[] = "Deployment";
// Tests of the category Deployment that look at hardware, for a DCGM that does not tell categories.
constexpr const char* kHardwareOfDeployment[] = {"inforom", "page retirement", "row remap"};

const Json& Member(const Json& object, const char* name) {
  static const Json nothing;
  if (!object.is_object()) return nothing;
  const auto found = object.find(name);
  return found == object.end() ? nothing : *found;
}

std::string TextOf(const Json& value) {
  if (!value.is_string()) return "";
  return value.get_ref<const std::string&>().substr(0, kMaxTextBytes);
}

std::string TextOf(const Json& object, const char* name) { return TextOf(Member(object, name)); }

DcgmStatus StatusOf(const std::string& word) {
  const std::string lower = absl::AsciiStrToLower(word);
  if (lower == "pass") return DcgmStatus::kPass;
  if (lower == "fail") return DcgmStatus::kFail;
  if (lower == "warn") return DcgmStatus::kWarn;
  return DcgmStatus::kSkip;  // "skip", "skipped", "not run"
}

std::vector<DcgmWarning> WarningsOf(const Json& list) {
  std::vector<DcgmWarning> warnings;
  if (!list.is_array()) return warnings;
  for (const Json& each : list) {
    if (warnings.size() == kMaxTexts) break;
    DcgmWarning warning{each.is_object() ? TextOf(each, "warning") : TextOf(each)};
    if (const Json& category = Member(each, "error_category"); category.is_number_integer())
      warning.category = category.get<int>();
    if (!warning.text.empty()) warnings.push_back(std::move(warning));
  }
  return warnings;
}

std::vector<std::string> InfosOf(const Json& value) {
  std::vector<std::string> infos;
  if (value.is_string()) infos.push_back(TextOf(value));
  if (!value.is_array()) return infos;
  for (const Json& each : value)
    if (each.is_string() && infos.size() < kMaxTexts) infos.push_back(TextOf(each));
  return infos;
}

// A list of GPUs is of the node.
int GpuOf(const Json& result) {
  int gpu = DcgmTest::kNoGpu;
  const std::string group = TextOf(result, "entity_group");
  if (const Json& id = Member(result, "entity_id"); id.is_number_integer())
    return group.empty() || absl::EqualsIgnoreCase(group, "GPU") ? id.get<int>() : gpu;
  if (absl::SimpleAtoi(TextOf(result, "gpu_ids"), &gpu) ||
      absl::SimpleAtoi(TextOf(result, "gpu_id"), &gpu))
    return gpu;
  return DcgmTest::kNoGpu;
}

void TakeTest(const std::string& category, const Json& test, std::vector<DcgmTest>& tests) {
  const std::string name = TextOf(test, "name");
  const Json& results = Member(test, "results");
  if (name.empty() || !results.is_array()) return;
  for (const Json& result : results) {
    if (tests.size() == kMaxTests) return;
    if (!result.is_object()) continue;
    tests.push_back({.category = category,
                     .name = name,
                     .gpu = GpuOf(result),
                     .status = StatusOf(TextOf(result, "status")),
                     .warnings = WarningsOf(Member(result, "warnings")),
                     .infos = InfosOf(Member(result, "info"))});
  }
}

}  // namespace

absl::StatusOr<DcgmReport> ParseDcgm(absl::string_view output) {
  const size_t from = output.find('{'), to = output.rfind('}');
  if (from == absl::string_view::npos || to == absl::string_view::npos || to < from)
    return absl::InvalidArgumentError("dcgmi has printed no result");
  const absl::string_view text = output.substr(from, to - from + 1);
  const Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  const Json* root = nullptr;
  for (const char* name : kRoots) {
    if (const Json& member = Member(json, name); member.is_object()) root = &member;
  }
  if (root == nullptr) return absl::InvalidArgumentError("dcgmi has printed something else");
  DcgmReport report;
  for (const Json* of : {static_cast<const Json*>(root), &Member(*root, "metadata")}) {
    if (report.version.empty()) report.version = TextOf(*of, "version");
  }
  report.error = TextOf(*root, "runtime_error");
  const Json& categories = Member(*root, "test_categories");
  if (!categories.is_array()) return report;
  for (const Json& category : categories) {
    const Json& tests = Member(category, "tests");
    if (!tests.is_array()) continue;
    for (const Json& test : tests) TakeTest(TextOf(category, "category"), test, report.tests);
  }
  return report;
}

bool IsHardware(const DcgmTest& test) {
  const bool is_told = std::any_of(test.warnings.begin(), test.warnings.end(),
                                   [](const DcgmWarning& warning) { return warning.category > 0; });
  if (is_told) {
    return std::any_of(test.warnings.begin(), test.warnings.end(), [](const DcgmWarning& warning) {
      return warning.category > 0 && std::find(std::begin(kSoftware), std::end(kSoftware),
                                               warning.category) == std::end(kSoftware);
    });
  }
  if (test.category != kDeployment) return true;
  const std::string name = absl::AsciiStrToLower(test.name);
  return std::any_of(std::begin(kHardwareOfDeployment), std::end(kHardwareOfDeployment),
                     [&](const char* part) { return absl::StrContains(name, part); });
}

std::string Describe(const DcgmTest& test) {
  std::vector<std::string> texts;
  for (const DcgmWarning& warning : test.warnings) texts.push_back(warning.text);
  if (texts.empty()) texts = test.infos;
  return absl::StrCat(test.name, texts.empty() ? "" : ": ", absl::StrJoin(texts, "; "));
}

}  // namespace muster::burnin
