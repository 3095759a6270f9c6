#include "controller/metrics/metric_table.h"

#include <fstream>
#include <iterator>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "controller/metrics/readings.h"

namespace muster::controller {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Readings SmallCluster() {
  Readings readings;
  readings.version = "1.2.3";
  readings.started_at = absl::FromUnixMillis(1'700'000'000'500);
  readings.nodes = {{"c001", "in_service", "in service", true},
                    {"c002", "quarantined", "quarantined", false},
                    {"c003", "known", "", false}};
  readings.rollouts["paused"] = 1;
  readings.rollout_nodes = {{"pending", 2}, {"draining", 1}};
  readings.store_bytes = 12'345'678'901;
  readings.calls = {{.method = "RunService/ListRuns",
                     .durations = {1, 2, 0, 0, 0, 0, 0, 0, 1},
                     .seconds = 180.5,
                     .outcomes = {{"OK", 4}}}};
  return readings;
}

TEST(RenderMetrics, WritesPrometheusText) {
  const std::string page = RenderMetrics(SmallCluster());
  for (const char* line :
       {"# HELP muster_build_info 1; the version of musterd.\n# TYPE muster_build_info gauge\n"
        "muster_build_info{version=\"1.2.3\"} 1\n",
        "\nmuster_nodes{state=\"in_service\"} 1\nmuster_nodes{state=\"known\"} 1\n",
        "\nmuster_nodes_by_service{service=\"in service\"} 1\n",
        "\nmuster_node_in_service{node=\"c001\"} 1\nmuster_node_in_service{node=\"c002\"} 0\n",
        "\nmuster_rollouts{state=\"paused\"} 1\n", "\nmuster_rollout_nodes{step=\"pending\"} 2\n",
        "\nmuster_store_bytes 12345678901\n", "\nprocess_start_time_seconds 1700000000.5\n",
        "\nmuster_authority_expiry_timestamp_seconds inf\n",
        "\n# TYPE muster_call_duration_seconds histogram\n",
        "_bucket{method=\"RunService/ListRuns\",le=\"0.005\"} 1\n",
        "_bucket{method=\"RunService/ListRuns\",le=\"120\"} 3\n",
        "_bucket{method=\"RunService/ListRuns\",le=\"+Inf\"} 4\n",
        "muster_call_duration_seconds_sum{method=\"RunService/ListRuns\"} 180.5\n",
        "muster_call_duration_seconds_count{method=\"RunService/ListRuns\"} 4\n",
        "muster_calls_total{method=\"RunService/ListRuns\",code=\"OK\"} 4\n"})
    EXPECT_THAT(page, HasSubstr(line));
}

// One that is still to join is away for no reason that anybody has to look for.
TEST(RenderMetrics, OnlyNodesThatHaveJoinedAreConnectedOrNot) {
  const std::string page = RenderMetrics(SmallCluster());
  EXPECT_THAT(page, HasSubstr("\nmuster_node_connected{node=\"c001\"} 1\n"
                              "muster_node_connected{node=\"c002\"} 0\n"));
  EXPECT_THAT(page, Not(HasSubstr("muster_node_connected{node=\"c003\"}")));
}

TEST(RenderMetrics, NoTextEndsALabelOrALine) {
  Readings readings;
  readings.nodes = {{"a\"b\\c\nd", "enrolled", "", true}};
  EXPECT_THAT(RenderMetrics(readings),
              HasSubstr("\nmuster_node_connected{node=\"a\\\"b\\\\c\\nd\"} 1\n"));
}

TEST(RenderMetrics, LeavesOutFamiliesWithoutASample) {
  EXPECT_THAT(RenderMetrics({}), Not(HasSubstr("muster_rollouts")));
}

// What `promtool check metrics` asks for, and what a reader of the page relies on.
TEST(Metrics, FollowTheConventions) {
  std::set<absl::string_view> names;
  for (const Metric& metric : Metrics()) {
    EXPECT_TRUE(names.insert(metric.name).second) << metric.name;
    EXPECT_TRUE(absl::StartsWith(metric.name, "muster_") ||
                absl::StartsWith(metric.name, "process_"))
        << metric.name;
    EXPECT_EQ(absl::EndsWith(metric.name, "_total"), metric.kind == MetricKind::kCounter)
        << metric.name;
    EXPECT_TRUE(absl::EndsWith(metric.help, ".")) << metric.name;
    for (const MetricSample& sample : metric.read(SmallCluster())) {
      for (const auto& [label, value] : sample.labels)
        EXPECT_TRUE(label == "le" || absl::StrContains(metric.labels, label)) << metric.name;
    }
  }
}

TEST(Metrics, AreOnTheirPageInThisOrder) {
  std::ifstream in("docs/metrics.md");
  const std::string page{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  std::string table = "| metric | kind | labels | meaning |\n|---|---|---|---|\n";
  for (const Metric& metric : Metrics())
    absl::StrAppend(&table, "| `", metric.name, "` | ", MetricKindName(metric.kind), " | ",
                    metric.labels, " | ", metric.help, " |\n");
  EXPECT_THAT(page, HasSubstr(table)) << "docs/metrics.md needs this table:\n" << table;
}

}  // namespace
}  // namespace muster::controller
