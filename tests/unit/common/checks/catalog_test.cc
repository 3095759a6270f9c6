#include "common/checks/catalog.h"

#include <fstream>
#include <iterator>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::checks {
namespace {

constexpr absl::string_view kPages = "docs/checks-{gpu,nic,system}.md";

// The pages on checks, one after the other.
std::string Document() {
  std::string text;
  for (const char* page : {"docs/checks-gpu.md", "docs/checks-nic.md", "docs/checks-system.md"}) {
    std::ifstream file(page);
    text.append(std::istreambuf_iterator<char>(file), {});
  }
  return text;
}

TEST(Catalog, NamesAreUnique) {
  std::set<absl::string_view> checks;
  for (const CheckSpec* check : Checks()) {
    EXPECT_TRUE(checks.insert(check->name).second) << check->name;
    std::set<absl::string_view> metrics, parameters;
    for (const MetricSpec& metric : check->metrics)
      EXPECT_TRUE(metrics.insert(metric.name).second) << check->name << " " << metric.name;
    for (const ParameterSpec& parameter : check->parameters)
      EXPECT_TRUE(parameters.insert(parameter.name).second) << check->name << " " << parameter.name;
  }
  EXPECT_FALSE(checks.empty());
}

TEST(Catalog, EveryEntryIsExplained) {
  for (const CheckSpec* check : Checks()) {
    EXPECT_FALSE(check->help.empty()) << check->name;
    EXPECT_FALSE(check->metrics.empty()) << check->name;
    for (const MetricSpec& metric : check->metrics) {
      EXPECT_FALSE(metric.help.empty()) << metric.name;
      EXPECT_FALSE(metric.unit.empty()) << metric.name;
    }
    for (const ParameterSpec& parameter : check->parameters)
      EXPECT_FALSE(parameter.help.empty()) << parameter.name;
  }
}

TEST(Catalog, DefaultsAreValuesOfTheirParameters) {
  for (const CheckSpec* check : Checks()) EXPECT_OK(Parameters::Parse(*check, {}).status());
}

TEST(Catalog, IsWhatTheDocumentSays) {
  const std::string document = Document();
  for (const CheckSpec* check : Checks()) {
    EXPECT_TRUE(absl::StrContains(document, absl::StrCat("\n## ", check->name, "\n")))
        << kPages << " have no section on " << check->name;
    for (const MetricSpec& metric : check->metrics)
      EXPECT_TRUE(absl::StrContains(document, absl::StrCat("`", metric.name, "`")))
          << kPages << " do not name " << metric.name << " of " << check->name;
    for (const ParameterSpec& parameter : check->parameters)
      EXPECT_TRUE(absl::StrContains(document, absl::StrCat("`", parameter.name, "`")))
          << kPages << " do not name " << parameter.name << " of " << check->name;
  }
}

TEST(Catalog, IsFoundByName) {
  ASSERT_NE(FindCheck("gpu-inventory"), nullptr);
  EXPECT_EQ(FindCheck("gpu-inventory")->name, "gpu-inventory");
  EXPECT_EQ(FindCheck("gpu-inventor"), nullptr);
}

}  // namespace
}  // namespace muster::checks
