#include "cli/render/output.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace muster::cli {
namespace {

using Value = nlohmann::ordered_json;

TEST(Output, TablesAlignByWhatIsSeen) {
  Table table({"NODE", "HARDWARE"});
  table.AddRow({"c001", "2 × 16 cores"});
  table.AddRow({"a-long-name", ""});
  EXPECT_EQ(table.ToString(),
            "NODE         HARDWARE\n"
            "c001         2 × 16 cores\n"
            "a-long-name\n");
}

TEST(Output, YamlNestsAndQuotesOnlyWhatNeedsIt) {
  const Value value = {
      {"name", "c001"},
      {"on", "yes"},
      {"mode", "0400"},
      {"empty", Value::array()},
      {"text", "two\nlines"},
      {"none", nullptr},
      {"gpus", Value::array({{{"index", 0}, {"name", "h100"}}, {{"index", 1}, {"name", "h100"}}})},
      {"groups", {"all", "gpu"}}};
  EXPECT_EQ(ToYaml(value),
            "name: c001\n"
            "\"on\": \"yes\"\n"
            "mode: \"0400\"\n"
            "empty: []\n"
            "text: \"two\\nlines\"\n"
            "none: null\n"
            "gpus:\n"
            "  - index: 0\n"
            "    name: h100\n"
            "  - index: 1\n"
            "    name: h100\n"
            "groups:\n"
            "  - all\n"
            "  - gpu\n");
}

TEST(Output, TimesForPeople) {
  const absl::Time now = absl::FromUnixSeconds(1'000'000);
  EXPECT_EQ(HumanTime(now - absl::Seconds(5), now), "5s ago");
  EXPECT_EQ(HumanTime(now + absl::Hours(3), now), "in 3h 00m");
  EXPECT_EQ(HumanTime(absl::UnixEpoch(), now), "never");
}

}  // namespace
}  // namespace muster::cli
